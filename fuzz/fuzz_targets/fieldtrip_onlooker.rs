//! Requests of a device that may only read: pieces do not matter, and what passes changes no buffer.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use schwann_fieldtrip::conversation::{Conversation, Step};
use schwann_fieldtrip::wire::{DataType, Event, Header};
use schwann_fieldtrip::{Buffer, Capacity, Limits, Onlooker, PeerId, Policy};

static POLICY: LazyLock<Arc<Policy>> = LazyLock::new(|| {
    let limits = Limits { unfinished_bytes: 1 << 20, reply_bytes: 1000, ..Limits::default() };
    Arc::new(Policy { limits, ..Policy::default() })
});

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the length of the pieces.
    let Some((piece, requests)) = input.split_first() else { return };
    let whole = Onlooker::default().look(requests);
    let mut onlooker = Onlooker::default();
    let pieces = requests.chunks(usize::from(*piece).max(1)).try_for_each(|piece| onlooker.look(piece));
    assert_eq!(whole, pieces);
    if whole.is_ok() {
        let buffer = filled();
        let before = (buffer.header(), buffer.samples(None), buffer.events(None));
        serve(&buffer, requests);
        assert_eq!(before, (buffer.header(), buffer.samples(None), buffer.events(None)));
    }
});

fn filled() -> Buffer {
    let capacity = Capacity { samples: 100, wide_bytes: 100_000, events: 10, event_bytes: 10_000 };
    let buffer = Buffer::new(capacity);
    buffer.put_header(Header::new(2, 100.0, DataType::Int16)).expect("a small header");
    buffer.put_samples(2, &[1_i16, 2, 3, 4]).expect("two samples");
    buffer.put_events(&[Event::number(1, "trigger", 7)]).expect("an event");
    buffer
}

fn serve(buffer: &Buffer, mut requests: &[u8]) {
    let mut conversation = Conversation::new(buffer.clone(), Arc::clone(&POLICY), PeerId(0));
    loop {
        match conversation.poll() {
            Step::Read(_) if requests.is_empty() => return,
            Step::Read(_) => {
                let space = conversation.space();
                let count = space.len().min(requests.len());
                space[..count].copy_from_slice(&requests[..count]);
                conversation.filled(count);
                requests = &requests[count..];
            }
            Step::Send => conversation.sent(),
            Step::Wait(_) => {
                let end = conversation.buffer().totals();
                conversation.finish_wait(end);
            }
            Step::Close => return,
        }
    }
}
