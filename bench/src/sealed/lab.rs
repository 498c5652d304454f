//! A lab of two devices, in memory and as a folder of keys.

use std::path::Path;

use schwann::security::keys::store;
use schwann_session::keystore::Bundle;
use schwann_session::{
    AuthorityKey, ClassicSuite, Context, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList,
    Roles, Statement, SystemEntropy, UnixSeconds,
};
use zeroize::Zeroizing;

use crate::Reason;

/// The lab, and what each of its devices proves itself with.
pub(crate) struct Lab {
    authority: AuthorityKey,
    revoked: RevocationList<Vec<u8>>,
    inlet: Credentials,
    outlet: Credentials,
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Inlet,
    Outlet,
}

impl Lab {
    pub(super) fn new() -> Result<Self, Reason> {
        let authority = AuthorityKey::generate(&mut SystemEntropy)?;
        let device = |serial| -> Result<Credentials, Reason> {
            let key = DeviceKey::generate(&mut SystemEntropy)?;
            let certificate = authority.certify(statement(&key, serial)?);
            Ok(Credentials::new(key, certificate, &mut SystemEntropy)?)
        };
        let (inlet, outlet) = (device(1)?, device(2)?);
        let revoked = RevocationList::sign(&authority, 1, NOW, &DISCOVERY_KEY, &[])?;
        Ok(Self { authority, revoked, inlet, outlet })
    }

    /// One step of a handshake at an end.
    pub(super) fn with<R>(&self, end: End, step: impl FnOnce(&mut Context<'_>) -> R) -> R {
        step(&mut Context {
            calendar: NOW.into(),
            classic: ClassicSuite::Certified,
            credentials: if end == End::Inlet { &self.inlet } else { &self.outlet },
            entropy: &mut SystemEntropy,
            lab: &self.authority.lab(),
            revoked: self.revoked.view(),
        })
    }
}

/// Writes the keys of a device of a new lab, without a passphrase.
pub(crate) fn install_keys(folder: &Path) -> Result<(), Reason> {
    let authority = AuthorityKey::generate(&mut SystemEntropy)?;
    let device = DeviceKey::generate(&mut SystemEntropy)?;
    let bundle = Bundle {
        certificate: authority.certify(statement(&device, 1)?),
        device,
        discovery: Zeroizing::new(DISCOVERY_KEY),
        lab: authority.lab(),
        revoked: RevocationList::sign(&authority, 1, NOW, &DISCOVERY_KEY, &[])?,
    };
    Ok(store::install(folder, &bundle, None)?)
}

fn statement(key: &DeviceKey, serial: u64) -> Result<Statement, Reason> {
    Ok(Statement {
        device: key.public(),
        flags: Flags::CLASSIC,
        lab: LabId([0; 16]),
        name: DeviceName::new("bench").ok_or("a proper name")?,
        not_after: UnixSeconds(u64::MAX),
        not_before: UnixSeconds(0),
        roles: Roles::BOTH,
        serial,
    })
}

const NOW: UnixSeconds = UnixSeconds(1_767_225_600);
/// The lab lives for a measurement only.
const DISCOVERY_KEY: [u8; 32] = [7; 32];
