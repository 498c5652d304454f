//! `schwann keys rotate`: this machine gets a new key, and its old one is revoked.

use std::io::{self, Write as _};

use schwann::security::keys::alone;
use schwann::security::keys::store::{self, AUTHORITY, DEVICE_KEY};
use schwann_session::keystore::{Bundle, Kind};
use schwann_session::{AuthorityKey, DeviceKey, Roles, SystemEntropy};

use super::revoke::Said;
use super::text::Secret;
use super::{Keys, OWN_DAYS, device_of, failed, statement};
use crate::exit::{Outcome, Problem};

impl Keys {
    /// Gives this machine a new key, and revokes the old one.
    pub(super) fn rotate(&self, at: Option<&str>) -> Outcome {
        if !self.path(AUTHORITY).exists() {
            return self.rotate_member(at);
        }
        if at.is_some() {
            return Err(failed(
                "this computer has the lab's authority and needs no other for a new key; leave out --at",
            ));
        }
        let authority = self.authority()?;
        let old = self.certificate()?.statement;
        let passphrase = self.new_passphrase("a passphrase for the new key")?;
        let passphrase = passphrase.as_ref().map(|secret| secret.as_slice());
        // First of all: if this ends half-way, the old key is out, and the same command goes on.
        self.revoke_with(&authority, Said::Serial(old.serial))?;
        {
            let _turn = self.turn()?;
            let _alone = alone(&self.folder).map_err(failed)?;
            self.certify_self(&authority, old.name.as_str(), passphrase)?;
        }
        let key = device_of(&self.unlocked(passphrase)?)?.public();
        writeln!(io::stdout().lock(), "This computer has a new key, {}.", key.fingerprint())?;
        self.installed()
    }

    /// Opens the key that lies in the folder now: the old one may be unlocked in memory.
    fn unlocked(&self, passphrase: Option<&[u8]>) -> Result<Secret, Problem> {
        let path = self.path(DEVICE_KEY);
        let Some(passphrase) = passphrase else { return store::private(&path, Kind::Device).map_err(failed) };
        let bytes = store::read(&path).map_err(failed)?;
        let fresh = store::open(&path, &bytes, Kind::Device, passphrase).map_err(failed)?;
        // Where there is no memory for an open key, status says so.
        let _ = store::unlock(&path, &fresh);
        Ok(fresh)
    }

    /// Gives this machine a new key with a certificate.
    pub(super) fn certify_self(
        &self,
        authority: &AuthorityKey,
        name: &str,
        passphrase: Option<&[u8]>,
    ) -> Result<(), Problem> {
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let lab = authority.lab();
        let statement = statement(device.public(), name, self.next_serial(&lab)?, OWN_DAYS, Roles::BOTH)?;
        let certificate = authority.certify(statement);
        self.record(&certificate)?;
        let (discovery, revoked) = (self.discovery(&lab)?, self.revoked(&lab)?);
        let bundle = Bundle { certificate, device, discovery, lab, revoked };
        store::install(&self.folder, &bundle, passphrase).map_err(failed)
    }
}
