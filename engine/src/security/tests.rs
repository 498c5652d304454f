//! A certificate that is renewed in the key folder while programs run.

use alloc::sync::Arc;
use std::path::Path;

use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::{IpVersion, StreamInfo};
use schwann_session::keystore::Bundle;
use schwann_session::{
    AuthorityKey, Certificate, DeviceKey, DeviceName, Flags, LabId, RevocationList, Statement, SystemEntropy,
    UnixSeconds,
};

use super::keys::{store, store_update};
use super::*;
use crate::inlet::Recover;
use crate::{Config, Context, Error, Flush, Inlet, InletOptions, Outlet, OutletOptions};

const LONG: f64 = 20.0;
/// 2001: no clock is that wrong.
const PAST: UnixSeconds = UnixSeconds(1_000_000_000);
const NEVER: UnixSeconds = UnixSeconds(u64::MAX);

struct Lab(AuthorityKey);

impl Lab {
    fn new() -> Self {
        Self(AuthorityKey::generate(&mut SystemEntropy).expect("random bytes"))
    }

    fn certify(&self, key: &DeviceKey, serial: u64, not_after: UnixSeconds) -> Certificate {
        self.0.certify(Statement {
            device: key.public(),
            flags: Flags::NONE,
            lab: LabId([0; 16]),
            name: DeviceName::new("device").expect("a name"),
            not_after,
            not_before: UnixSeconds(0),
            roles: Roles::BOTH,
            serial,
        })
    }

    /// A key folder with a device of its own.
    fn folder(&self, serial: u64, not_after: UnixSeconds) -> tempfolder::Folder {
        let folder = tempfolder::Folder::new();
        self.install(&folder.0, &key(), serial, not_after);
        folder
    }

    fn install(&self, folder: &Path, key: &DeviceKey, serial: u64, not_after: UnixSeconds) {
        let bundle = Bundle {
            certificate: self.certify(key, serial, not_after),
            device: DeviceKey::from_seed(&key.seed()),
            discovery: [7; 32].into(),
            revoked: RevocationList::sign(&self.0, 1, UnixSeconds(1), &[7; 32], &[]).expect("a list"),
            lab: self.0.lab(),
        };
        store::install(folder, &bundle, None).expect("written");
    }

    /// What `schwann keys trust` does with a new certificate for the same key.
    fn renew(&self, folder: &Path, serial: u64, not_after: UnixSeconds) {
        let seed = store::private(&folder.join(store::DEVICE_KEY), schwann_session::keystore::Kind::Device);
        let key = DeviceKey::from_seed(seed.expect("a key").as_slice().try_into().expect("32 bytes"));
        let certificate = self.certify(&key, serial, not_after);
        store::write_private(&folder.join(store::CERTIFICATE), &certificate.encode()).expect("written");
    }
}

/// A folder that goes with the test.
mod tempfolder {
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::path::PathBuf;

    pub(super) struct Folder(pub(super) PathBuf);

    impl Folder {
        pub(super) fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("schwann-renewal-{}-{number}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn key() -> DeviceKey {
    DeviceKey::generate(&mut SystemEntropy).expect("random bytes")
}

/// The configuration of a program that has these keys.
fn program(folder: &Path) -> Arc<Context> {
    let config = Config::parse("[ports]\nIPv6=disable\n[multicast]\nResolveScope=machine\n").expect("valid");
    let member = store::member(folder).expect("a member");
    Arc::new(Context::with_trust(config, Trust::new(Policy::Require, Some(member))))
}

fn outlet(config: &Arc<Context>) -> Outlet {
    let info = StreamInfo::new("Renewed", "EEG", 1, 100.0, ChannelFormat::Float32, "renewed");
    Outlet::in_context(&info.expect("valid"), &OutletOptions::default(), Arc::clone(config))
        .expect("an outlet")
}

fn inlet(outlet: &Outlet, config: &Arc<Context>, recover: Recover) -> Result<Inlet, Error> {
    let mut info = outlet.info().clone();
    info.set_address(IpVersion::V4, "127.0.0.1");
    Inlet::in_context(&info, &InletOptions { recover, ..InletOptions::default() }, Arc::clone(config))
}

fn passes(outlet: &Outlet, inlet: &Inlet, value: f32) -> bool {
    outlet.push_sample(&[value], 1.0, Flush::Now).expect("a push");
    let mut sample = [0.0_f32];
    inlet.pull_sample(&mut sample, LONG) == Ok(Some(1.0)) && sample == [value]
}

#[test]
fn a_program_of_a_former_lab_leaves_the_new_labs_list_alone() {
    let (former, present) = (Lab::new(), Lab::new());
    let folder = former.folder(1, NEVER);
    let update = |lab: &Lab, number: u64| {
        let list = RevocationList::sign(&lab.0, number, UnixSeconds(1), &[8; 32], &[9]).expect("a list");
        [list.as_bytes(), &[8; 32]].concat()
    };
    let stored = || std::fs::read(folder.0.join(store::REVOKED)).expect("a list");
    store_update(&folder.0, 5, &update(&former, 5)).expect("written");
    assert_eq!(stored()[20], 5, "a program stores what it learns of its own lab");
    present.install(&folder.0, &key(), 2, NEVER);
    let joined = stored();
    store_update(&folder.0, 9, &update(&former, 9)).expect("nothing to do");
    assert!(stored() == joined);
    assert_eq!(store::member(&folder.0).expect("a member").revocation_number(), 1);
}

#[test]
fn an_expired_inlet_connects_once_its_certificate_is_renewed() {
    let lab = Lab::new();
    let (sender, receiver) = (lab.folder(1, NEVER), lab.folder(2, PAST));
    let (sending, receiving) = (program(&sender.0), program(&receiver.0));
    let outlet = outlet(&sending);
    assert_eq!(inlet(&outlet, &receiving, Recover::No).err(), Some(Error::Unsealed));
    let reason = reason();
    assert!(reason.contains("expired") && reason.contains("`schwann keys join`"), "{reason}");
    lab.renew(&receiver.0, 3, NEVER);
    let inlet = inlet(&outlet, &receiving, Recover::No).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    assert!(passes(&outlet, &inlet, 5.0));
    assert_eq!(outlet.consumers().len(), 1);
}

#[test]
fn an_outlet_whose_certificate_expires_goes_on_and_is_believed_again_once_it_has_another() {
    let lab = Lab::new();
    let (sender, receiver) = (lab.folder(1, NEVER), lab.folder(2, NEVER));
    let (sending, receiving) = (program(&sender.0), program(&receiver.0));
    let outlet = outlet(&sending);
    let early = inlet(&outlet, &receiving, Recover::No).expect("an inlet");
    early.open_stream(LONG).expect("a connection");
    lab.renew(&sender.0, 3, PAST);
    let late = inlet(&outlet, &receiving, Recover::No).expect("an inlet");
    assert_eq!(late.open_stream(LONG), Err(Error::Lost));
    assert_eq!(late.refusal(), Some(Refusal::Expired));
    assert!(passes(&outlet, &early, 6.0), "a session that stands goes on");
    // A device with another key altogether.
    lab.install(&sender.0, &key(), 4, NEVER);
    let again = inlet(&outlet, &receiving, Recover::No).expect("an inlet");
    again.open_stream(LONG).expect("a connection");
    assert!(passes(&outlet, &again, 7.0));
    assert_eq!(again.peer().map(|peer| peer.statement.serial), Some(4));
    assert_eq!(early.peer().map(|peer| peer.statement.serial), Some(1));
}

#[test]
fn what_is_no_certificate_of_the_lab_is_not_taken_over() {
    let (lab, other) = (Lab::new(), Lab::new());
    let folder = lab.folder(1, NEVER);
    let member = store::member(&folder.0).expect("a member");
    let serial = || {
        member.with_context(|_| ());
        member.credentials().certificate().statement.serial
    };
    let write =
        |bytes: &[u8]| store::write_private(&folder.0.join(store::CERTIFICATE), bytes).expect("written");
    write(b"damaged");
    assert_eq!(serial(), 1);
    write(&lab.certify(&key(), 2, NEVER).encode());
    assert_eq!(serial(), 1, "for a key that is not here");
    other.renew(&folder.0, 3, NEVER);
    assert_eq!(serial(), 1, "of another lab");
    lab.renew(&folder.0, 4, NEVER);
    assert_eq!(serial(), 4);
}
