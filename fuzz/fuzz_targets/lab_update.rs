//! Pieces of a lab update from a member that may be malicious. Memory is bounded, and a whole update is the pieces in
//! order.
#![no_main]

#[allow(dead_code, reason = "the engine uses all of it")]
#[path = "../../engine/src/security/link/update.rs"]
mod lab_update;

use lab_update::{Assembly, pieces};
use libfuzzer_sys::fuzz_target;
use schwann_session::control::Piece;

fuzz_target!(|bytes: &[u8]| {
    let mut assembly = Assembly::default();
    let (mut rest, mut expected) = (bytes, Vec::new());
    // A length, then a message of that length, and so on.
    while let Some((len, after)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_le_bytes(*len)).min(after.len());
        let (message, after) = after.split_at(len);
        rest = after;
        let piece = Piece::parse(message);
        if piece.as_ref().is_some_and(|piece| piece.offset == 0) {
            expected.clear();
        }
        expected.extend_from_slice(piece.map_or(&[], |piece| piece.bytes));
        if let Some(update) = assembly.add(message) {
            assert_eq!(*update, expected, "what was sent since the last beginning, and nothing else");
            assert!(update.len() <= 524_456, "longer than the longest update");
        }
    }
    // Whatever was sent before, a proper update is taken in.
    let most = 256 + bytes.len() % 16_129;
    let messages = pieces(7, bytes, most);
    let whole = messages.iter().filter_map(|message| assembly.add(message)).last();
    assert_eq!(whole.as_ref().map(|update| update.as_slice()), (!bytes.is_empty()).then_some(bytes));
});
