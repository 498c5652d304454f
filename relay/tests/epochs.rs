//! What an epoch's key seals, and when it is wiped.

#[path = "common/lab.rs"]
mod lab;

use lab::{Fixture, NOW, Seeded};
use schwann_relay::{Before, Moment, Run, SealError, Start, StreamId};
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, Roles, Statement, UnixSeconds,
};

/// The same device each time, with the certificate `serial`.
fn device(serial: u64) -> Credentials {
    let authority = AuthorityKey::from_seed(&[7; 32]);
    let key = DeviceKey::from_seed(&[5; 32]);
    let certificate = authority.certify(Statement {
        device: key.public(),
        flags: Flags::NONE,
        lab: authority.lab().id(),
        name: DeviceName::new("device").unwrap(),
        not_after: UnixSeconds(NOW.0 + 1_000_000),
        not_before: UnixSeconds(NOW.0 - 1_000_000),
        roles: Roles::PUBLISH,
        serial,
    });
    Credentials::new(key, certificate, &mut Seeded::new(3)).unwrap()
}

fn moment<'a>(credentials: &'a Credentials, entropy: &'a mut Seeded, list_number: u64) -> Moment<'a> {
    Moment { credentials, entropy, list_number, now: NOW }
}

fn begin(credentials: &Credentials, entropy: &mut Seeded) -> Run {
    let fixture = Fixture::the();
    let (lab, stream) = (fixture.lab_id(), StreamId([3; 16]));
    let start = Start { lab, stream, description: b"<info/>".to_vec(), before: Before::NONE };
    Run::begin(start, &mut moment(credentials, entropy, 1)).unwrap()
}

/// The certificate is among the associated data: with another one, the same key and nonce would seal a second text (relay §5).
#[test]
fn a_renewed_certificate_is_announced_with_the_next_epoch_and_no_sooner() {
    let (old, new, mut entropy) = (device(1), device(2), Seeded::new(1));
    let mut run = begin(&old, &mut entropy);
    let first = run.announcement().to_vec();
    run.seal(b"samples", 1, &mut moment(&new, &mut entropy, 1)).unwrap();
    assert_eq!(run.announcement(), first);
    run.seal(b"samples", 1, &mut moment(&new, &mut entropy, 2)).unwrap();
    let certificate = new.certificate().encode();
    assert!(run.announcement().windows(certificate.len()).any(|part| part == certificate));
    assert!(!first.windows(certificate.len()).any(|part| part == certificate));
}

#[test]
fn the_key_of_an_epoch_that_is_forgotten_is_wrapped_for_no_member() {
    let (edge, mut entropy) = (device(1), Seeded::new(1));
    let mut run = begin(&edge, &mut entropy);
    for list_number in [2, 3] {
        run.seal(b"samples", 1, &mut moment(&edge, &mut entropy, list_number)).unwrap();
    }
    let member = [&Fixture::the().recorder.public];
    let mut wraps =
        |run: &Run, epoch| run.wrapped_of(epoch, &member, &mut moment(&edge, &mut entropy, 3)).err();
    assert_eq!([0, 1, 2].map(|epoch| wraps(&run, epoch)), [None; 3]);
    run.forget_epochs_before(2);
    let gone = Some(SealError::Exhausted);
    assert_eq!([0, 1, 2].map(|epoch| wraps(&run, epoch)), [gone, gone, None]);
    run.forget_epochs_before(3);
    assert_eq!(wraps(&run, run.epoch()), None, "the present one stays");
}
