//! Requests to a FieldTrip buffer: pieces do not matter, and nothing brings the server down.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use schwann_fieldtrip::conversation::{Conversation, Step};
use schwann_fieldtrip::{Buffer, Capacity, Limits, PeerId, Policy};

static POLICY: LazyLock<Arc<Policy>> = LazyLock::new(|| {
    let limits = Limits { unfinished_bytes: 1 << 20, reply_bytes: 1000, ..Limits::default() };
    Arc::new(Policy { limits, ..Policy::default() })
});

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the length of the pieces.
    let Some((piece, requests)) = input.split_first() else { return };
    let whole = exchange(requests, usize::MAX);
    let pieces = exchange(requests, usize::from(*piece).max(1));
    // Not the bytes: the server fills in the time of some events.
    assert_eq!(whole.len(), pieces.len());
});

/// The replies; a wait that has to wait times out at once.
fn exchange(mut requests: &[u8], piece: usize) -> Vec<u8> {
    let capacity = Capacity { samples: 1000, wide_bytes: 100_000, events: 10, event_bytes: 10_000 };
    let mut conversation = Conversation::new(Buffer::new(capacity), Arc::clone(&POLICY), PeerId(0));
    let mut replies = Vec::new();
    loop {
        match conversation.poll() {
            Step::Read(_) if requests.is_empty() => return replies,
            Step::Read(_) => {
                let space = conversation.space();
                let count = space.len().min(piece).min(requests.len());
                space[..count].copy_from_slice(&requests[..count]);
                conversation.filled(count);
                requests = &requests[count..];
            }
            Step::Send => {
                conversation.parts().iter().for_each(|part| replies.extend_from_slice(part));
                conversation.sent();
            }
            Step::Wait(_) => {
                let end = conversation.buffer().totals();
                conversation.finish_wait(end);
            }
            Step::Close => return replies,
        }
    }
}
