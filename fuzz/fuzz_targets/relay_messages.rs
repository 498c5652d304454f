//! Messages from a hub: none panics, and none without a signature counts.
#![no_main]

#[allow(dead_code, reason = "the tests of the relay use all of it")]
#[path = "../../relay/tests/common/lab.rs"]
mod lab;
#[allow(dead_code, reason = "the tests of the relay use all of it")]
#[path = "../../relay/src/vectors.rs"]
mod vectors;

use lab::{Fixture, NOW};
use libfuzzer_sys::fuzz_target;
use schwann_relay::{Announcement, Block, ClockMessage, Follower, Note, Taken, WrappingPublic};
use vectors::message;

fuzz_target!(|bytes: &[u8]| {
    let (lab, revoked) = (&Fixture::the().lab, &Fixture::the().lists[0]);
    let _ = Note::parse(bytes, lab, NOW, revoked);
    let _ = ClockMessage::parse(bytes, lab, NOW, revoked);
    let _ = WrappingPublic::parse(bytes, lab, NOW, revoked);
    let _ = Announcement::parse(bytes, lab, revoked);
    if bytes.starts_with(b"SR") {
        hears(bytes, false);
        hears(bytes, true);
    }
});

/// A member that follows the run of the vectors hears anything, before its keys are here or after.
fn hears(bytes: &[u8], has_keys: bool) {
    let fixture = Fixture::the();
    let (lab, revoked, key) = (&fixture.lab, &fixture.lists[0], &fixture.recorder.wrapping);
    let announced = message("announcement");
    let announcement = Announcement::parse(&announced, lab, revoked).expect("it is of the vectors");
    let mut follower = Follower::new(&announcement);
    if has_keys {
        assert_eq!(follower.wrapped(&message("wrapped keys"), key), Ok(true));
        follower.announcement(&announcement).expect("its key is here");
    }
    let unwrapped = follower.wrapped(bytes, key);
    assert!(unwrapped != Ok(true) || bytes == message("wrapped keys"));
    if let Ok(other) = Announcement::parse(bytes, lab, revoked) {
        let _ = follower.announcement(&other);
        let _ = follower.followed_by(&other);
    }
    if let Ok(block) = Block::parse(bytes) {
        let _ = follower.look_at(&block);
        let taken = follower.take(&block);
        let is_signed = ["block 0", "block 1", "end"].iter().any(|name| bytes == message(name));
        assert!(!matches!(taken, Ok(Taken::New(..) | Taken::NoKey)) || is_signed);
    }
    if let Ok(note) = Note::parse(bytes, lab, NOW, revoked) {
        let _ = follower.loss(&note);
    }
    let _ = follower.report();
}
