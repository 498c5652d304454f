//! A stranger's bytes to either side of a handshake, in pieces: no session, and the same end however they are cut.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use core::cell::RefCell;

use common::{Device, Seeded, small_pair};
use libfuzzer_sys::fuzz_target;
use schwann_session::{Initiator, Progress, Refusal, Responder, Suite};

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the side and the suite, the second where to cut.
    let [choice, cut, bytes @ ..] = input else { return };
    let cut = usize::from(*cut).min(bytes.len());
    let whole = outcome(*choice, &[bytes]);
    if !bytes[..cut].is_empty() && cut < bytes.len() {
        assert_eq!(whole, outcome(*choice, &[&bytes[..cut], &bytes[cut..]]));
    }
    assert!(!matches!(whole, Ok(Progress::Done { .. })), "a stranger got a session");
});

thread_local! {
    /// Made once: keys and certificates do not change with what strangers say.
    static DEVICES: RefCell<(Device, Device)> = RefCell::new(small_pair());
}

fn outcome(choice: u8, pieces: &[&[u8]]) -> Result<Progress, Refusal> {
    DEVICES.with_borrow_mut(|(inlet, outlet)| {
        (inlet.entropy, outlet.entropy) = (Seeded(7), Seeded(8));
        let suite = if choice & 2 == 0 { Suite::Hybrid } else { Suite::Classic };
        if choice & 1 == 0 {
            let mut responder = Responder::new();
            in_turn(pieces, |piece| responder.handle(piece, &mut outlet.context()))
        } else {
            let mut initiator = Initiator::new(suite, &mut inlet.context())?;
            in_turn(pieces, |piece| initiator.handle(piece, &mut inlet.context()))
        }
    })
}

fn in_turn(
    pieces: &[&[u8]],
    mut handle: impl FnMut(&[u8]) -> Result<Progress, Refusal>,
) -> Result<Progress, Refusal> {
    pieces.iter().try_fold(Progress::NeedsMore, |_, piece| handle(piece))
}
