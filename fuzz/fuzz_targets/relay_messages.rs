//! Messages from a hub: none panics, and none that nobody signed counts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_relay::{Announcement, Block, ClockMessage, Follower, Note, WrappingKey, WrappingPublic};
use schwann_session::{AuthorityKey, RevocationList, UnixSeconds};

const NOW: UnixSeconds = UnixSeconds(1_767_225_600);

fuzz_target!(|bytes: &[u8]| {
    let authority = AuthorityKey::from_seed(&[7; 32]);
    let lab = authority.lab();
    let revoked = RevocationList::sign(&authority, 1, NOW, &[9; 32], &[]).expect("no serials");
    let _ = Note::parse(bytes, &lab, NOW, &revoked);
    let _ = ClockMessage::parse(bytes, &lab, NOW, &revoked);
    let _ = WrappingPublic::parse(bytes, &lab, NOW, &revoked);
    let block = Block::parse(bytes);
    if let Ok(announcement) = Announcement::parse(bytes, &lab, &revoked) {
        let mut follower = Follower::new(&announcement);
        let _ = follower.wrapped(bytes, &WrappingKey::from_seed(&[1; 32]));
        let _ = follower.announcement(&announcement);
        if let Ok(block) = block {
            let _ = follower.take(&block);
        }
        let _ = follower.report();
    }
});
