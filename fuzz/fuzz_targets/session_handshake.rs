//! A stranger's bytes to either side of a handshake, in pieces: no session, and the same end however they are cut.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{Seeded, small_pair};
use libfuzzer_sys::fuzz_target;
use schwann_session::{Initiator, Progress, Refusal, Responder, Suite};

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the side and the suite, the second where to cut.
    let [choice, cut, bytes @ ..] = input else { return };
    let cut = usize::from(*cut).min(bytes.len());
    let whole = outcome(*choice, &[bytes]);
    assert_eq!(whole, outcome(*choice, &[&bytes[..cut], &bytes[cut..]]));
    assert!(!matches!(whole, Ok(Progress::Done { .. })), "a stranger got a session");
});

fn outcome(choice: u8, pieces: &[&[u8]]) -> Result<Progress, Refusal> {
    let (mut inlet, mut outlet) = small_pair();
    (inlet.entropy, outlet.entropy) = (Seeded(7), Seeded(8));
    let suite = if choice & 2 == 0 { Suite::Hybrid } else { Suite::Classic };
    let mut initiator = Initiator::new(suite, &mut inlet.context())?;
    let mut responder = Responder::new();
    let mut last = Ok(Progress::NeedsMore);
    for piece in pieces {
        last = if choice & 1 == 0 {
            responder.handle(piece, &mut outlet.context())
        } else {
            initiator.handle(piece, &mut inlet.context())
        };
        let _ = last?;
    }
    last
}
