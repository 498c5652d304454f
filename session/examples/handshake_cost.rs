//! How much CPU time a handshake takes, a side: `cargo run --release -p schwann-session --example handshake_cost`.
//!
//! Both sides take turns in one thread; each one's own steps are timed, with fresh keys every time.
//! Prints one line per suite and fails if the hybrid suite takes a millisecond or more a side.

use core::time::Duration;
use std::time::Instant;

use schwann_session::{
    AuthorityKey, ClassicSuite, Context, Credentials, DeviceKey, DeviceName, Flags, Initiator, LabId,
    Responder, RevocationList, Roles, Statement, Suite, SystemEntropy, UnixSeconds,
};

fn main() {
    let authority = AuthorityKey::generate(&mut SystemEntropy).expect("random bytes");
    let (inlet, outlet) = (device(&authority, 1), device(&authority, 2));
    let revoked = RevocationList::sign(&authority, 1, NOW, &[0; 32], &[]).expect("short");
    let lab = authority.lab();
    let mut slow = false;
    for suite in [Suite::Hybrid, Suite::Classic] {
        let (mut inlet_times, mut outlet_times) = (Vec::new(), Vec::new());
        for _ in 0..500 {
            let context = |credentials| (credentials, lab, revoked.view());
            let (a, b) = handshake(suite, context(&inlet), context(&outlet));
            inlet_times.push(a);
            outlet_times.push(b);
        }
        let (inlet, outlet) = (median(inlet_times), median(outlet_times));
        println!("{suite:?}: inlet {inlet:?}, outlet {outlet:?} (median of 500)");
        slow |= suite == Suite::Hybrid && inlet.max(outlet) >= Duration::from_millis(1);
    }
    assert!(!slow, "a hybrid handshake takes a millisecond or more a side");
}

type Known<'a> = (&'a Credentials, schwann_session::Lab, RevocationList<&'a [u8]>);

/// Runs one handshake and tells how long each side computed.
fn handshake(suite: Suite, inlet: Known<'_>, outlet: Known<'_>) -> (Duration, Duration) {
    let start = Instant::now();
    let mut initiator = with(&inlet, |context| Initiator::new(suite, context)).expect("permitted");
    let first = initiator.poll_output().to_vec();
    initiator.sent(first.len());
    let inlet_began = start.elapsed();

    let start = Instant::now();
    let mut responder = Responder::new();
    let _ = with(&outlet, |context| responder.handle(&first, context)).expect("proper");
    let second = responder.poll_output().to_vec();
    responder.sent(second.len());
    let outlet_answered = start.elapsed();

    let start = Instant::now();
    let _ = with(&inlet, |context| initiator.handle(&second, context)).expect("proper");
    let third = initiator.poll_output().to_vec();
    initiator.sent(third.len());
    assert!(initiator.finish().is_some());
    let inlet_done = start.elapsed();

    let start = Instant::now();
    let _ = with(&outlet, |context| responder.handle(&third, context)).expect("proper");
    responder.sent(responder.poll_output().len());
    assert!(responder.finish().is_some());
    (inlet_began + inlet_done, outlet_answered + start.elapsed())
}

fn with<R>(known: &Known<'_>, step: impl FnOnce(&mut Context<'_>) -> R) -> R {
    let (credentials, lab, revoked) = known;
    step(&mut Context {
        classic: ClassicSuite::Certified,
        credentials,
        entropy: &mut SystemEntropy,
        lab,
        now: NOW,
        revoked: *revoked,
    })
}

fn device(authority: &AuthorityKey, serial: u64) -> Credentials {
    let key = DeviceKey::generate(&mut SystemEntropy).expect("random bytes");
    let certificate = authority.certify(Statement {
        device: key.public(),
        flags: Flags::CLASSIC,
        lab: LabId([0; 16]),
        name: DeviceName::new("bench").expect("a proper name"),
        not_after: UnixSeconds(NOW.0 + 1),
        not_before: NOW,
        roles: Roles::BOTH,
        serial,
    });
    Credentials::new(key, certificate, &mut SystemEntropy).expect("its own certificate")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

const NOW: UnixSeconds = UnixSeconds(1_767_225_600);
