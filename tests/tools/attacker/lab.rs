//! The lab whose members the two ends are. The attacker's part of the program does not use it.

use std::sync::Arc;

use schwann::security::{Member, Policy, Trust};
use schwann::{Config, Context};
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList, Roles, Statement,
    SystemEntropy, UnixSeconds,
};

/// A member that may only do `roles`, with keys of its own.
pub(crate) fn member(serial: u64, roles: Roles) -> Member {
    let authority = AuthorityKey::from_seed(&AUTHORITY_SEED);
    let key = DeviceKey::generate(&mut SystemEntropy).expect("random bytes");
    let certificate = authority.certify(Statement {
        device: key.public(),
        flags: Flags::NONE,
        lab: LabId([0; 16]),
        name: DeviceName::new(&format!("device {serial}")).expect("a name"),
        not_after: UnixSeconds(u64::MAX),
        not_before: UnixSeconds(0),
        roles,
        serial,
    });
    let credentials = Credentials::new(key, certificate, &mut SystemEntropy).expect("its certificate");
    let revoked = RevocationList::sign(&authority, 1, UnixSeconds(1), &DISCOVERY_KEY, &[]).expect("a list");
    Member::new(authority.lab(), credentials, revoked, &DISCOVERY_KEY)
}

/// A configuration that seals everything, and talks to this machine alone.
pub(crate) fn context(member: Member) -> Arc<Context> {
    // Ranges that another run at the same time does not use.
    let base = 22_000 + std::os::unix::process::parent_id() % 200 * 40;
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [tuning]\nLocalSocket=0\n[lab]\nSessionID=attacked-{base}\n",
        base + 39
    );
    let config = Config::parse(&text).expect("a valid configuration");
    Arc::new(Context::with_trust(config, Trust::new(Policy::Require, Some(member))))
}

/// The same in every process: it stands for what `schwann keys` distributes.
const AUTHORITY_SEED: [u8; 32] = [0xA7; 32];
const DISCOVERY_KEY: [u8; 32] = [0xD7; 32];
