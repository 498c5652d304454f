use std::sync::Mutex;

use super::*;
use crate::policy::{Access, Verdict};
use crate::store::Capacity;
use crate::wire::{DataType, Event, Header, LAST, NEVER, SamplesDefinition, Selection, Totals};

/// Feeds requests in pieces of a given size and gathers the replies. A wait that has to wait times out at once.
fn exchange(conversation: &mut Conversation, mut requests: &[u8], piece: usize) -> (Vec<u8>, Step) {
    let mut replies = Vec::new();
    loop {
        match conversation.poll() {
            Step::Read(_) if requests.is_empty() => return (replies, conversation.poll()),
            Step::Read(_) => {
                let space = conversation.space();
                let count = space.len().min(piece).min(requests.len());
                assert!(count > 0, "the conversation wants to read but has no room");
                space[..count].copy_from_slice(&requests[..count]);
                conversation.filled(count);
                requests = &requests[count..];
            }
            Step::Send => {
                for part in conversation.parts() {
                    replies.extend_from_slice(&part);
                }
                conversation.sent();
            }
            Step::Wait(_) => {
                let end = conversation.buffer().totals();
                conversation.finish_wait(end);
            }
            Step::Close => return (replies, Step::Close),
        }
    }
}

fn conversation(policy: Policy) -> Conversation {
    Conversation::new(Buffer::default(), Arc::new(policy), PeerId(0))
}

fn request(command: Command, order: ByteOrder, payload: &[u8]) -> Vec<u8> {
    let payload_bytes = u32::try_from(payload.len()).unwrap();
    let mut message = Definition { code: command.code(), order, payload_bytes }.encode().to_vec();
    message.extend_from_slice(payload);
    message
}

fn header(order: ByteOrder, channel_count: u32, data_type: DataType) -> Vec<u8> {
    let header = Header::new(channel_count, 100.0, data_type);
    request(Command::PutHeader, order, &header.encode(order, Totals::default()))
}

fn samples(order: ByteOrder, channel_count: u32, data_type: DataType, values: &[u8]) -> Vec<u8> {
    let count = u32::try_from(values.len() / data_type.size()).unwrap() / channel_count;
    let block = SamplesDefinition::new(channel_count, count, data_type).unwrap();
    let mut payload = block.encode(order).to_vec();
    payload.extend_from_slice(values);
    request(Command::PutSamples, order, &payload)
}

fn reply(code: u16, order: ByteOrder) -> Vec<u8> {
    Definition { code, order, payload_bytes: 0 }.encode().to_vec()
}

const LITTLE: ByteOrder = ByteOrder::Little;
const BIG: ByteOrder = ByteOrder::Big;

#[test]
fn requests_are_understood_however_they_are_cut() {
    let mut script = header(LITTLE, 2, DataType::Int16);
    script.extend(samples(LITTLE, 2, DataType::Int16, &[1, 0, 2, 0]));
    script.extend(samples(BIG, 2, DataType::Int16, &[0, 3, 0, 4]));
    script.extend(samples(LITTLE, 2, DataType::Int16, &[7; 100_000]));
    script.extend(request(Command::GetSamples, LITTLE, &Selection { begin: 0, end: 2 }.encode(LITTLE)));
    script.extend(request(Command::GetSamples, BIG, &Selection { begin: 1, end: 2 }.encode(BIG)));
    script.extend(request(Command::Wait, BIG, &[0; 12]));
    let (whole, _) = exchange(&mut conversation(Policy::default()), &script, usize::MAX);
    for piece in [1, 2, 3, 7, 24, 1000, 70_000] {
        let (replies, step) = exchange(&mut conversation(Policy::default()), &script, piece);
        assert_eq!(replies, whole, "in pieces of {piece}");
        assert_eq!(step, Step::Read(Progress::Between));
    }
    let mut want: Vec<u8> = (0..4).flat_map(|_| reply(0x0104, LITTLE)).collect();
    want[16..24].copy_from_slice(&reply(0x0104, BIG));
    want.extend([1, 0, 4, 2, 28, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 12, 0, 0, 0]);
    want.extend([1, 0, 2, 0, 3, 0, 4, 0, 7, 7, 7, 7]);
    want.extend([0, 1, 2, 4, 0, 0, 0, 24, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 8]);
    want.extend([0, 3, 0, 4, 7, 7, 7, 7]);
    want.extend([0, 1, 4, 4, 0, 0, 0, 8, 0, 0, 0x61, 0xAA, 0, 0, 0, 0]);
    assert_eq!(whole, want);
}

#[test]
fn announcements_beyond_reason_close_the_connection_before_memory_is_taken() {
    for (command, length) in [
        (Command::PutSamples, u32::MAX),
        (Command::PutHeader, (64 << 20) + 25),
        (Command::PutEvents, (16 << 20) + 1),
        (Command::GetHeader, 5000),
        (Command::Wait, u32::MAX),
    ] {
        let announced = Definition { code: command.code(), order: LITTLE, payload_bytes: length }.encode();
        let (replies, step) = exchange(&mut conversation(Policy::default()), &announced, 99);
        assert_eq!((replies.len(), step), (0, Step::Close), "{command:?}");
    }
    for unknown in [0, 0x0106, 0x0204, 0x0401, 0x0504, 0xFFFF] {
        let message = Definition { code: unknown, order: LITTLE, payload_bytes: 0 }.encode();
        assert_eq!(exchange(&mut conversation(Policy::default()), &message, 99), (Vec::new(), Step::Close));
    }
}

#[test]
fn a_refused_big_block_is_read_past_without_memory_and_answered() {
    let mut conversation = conversation(Policy::default());
    let mut script = samples(LITTLE, 1, DataType::Uint8, &[0; 600_000]);
    script.extend(header(LITTLE, 1, DataType::Uint8));
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[1; 600_001]));
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[2; 600_000]));
    let (replies, _) = exchange(&mut conversation, &script, 10_000);
    let codes = [0x0105, 0x0104, 0x0105, 0x0104].map(|code| reply(code, LITTLE)).concat();
    assert_eq!(replies, codes);
    assert_eq!(conversation.buffer().totals().unwrap().samples, 600_000);
}

#[test]
fn unfinished_requests_share_a_budget() {
    let limits = crate::Limits { unfinished_bytes: 100_000, ..crate::Limits::default() };
    let mut conversation = conversation(Policy { limits, ..Policy::default() });
    let mut script = header(LITTLE, 1, DataType::Uint8);
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[0; 90_000]));
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[0; 90_000]));
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[0; 110_000]));
    let (replies, step) = exchange(&mut conversation, &script, 10_000);
    assert_eq!((replies.len(), step), (24, Step::Close));
}

#[test]
fn a_reader_may_not_write() {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(1, 1.0, DataType::Uint8)).unwrap();
    let policy = Arc::new(Policy { access: Access::ReadOnly, ..Policy::default() });
    let mut conversation = Conversation::new(buffer, policy, PeerId(0));
    let mut script = header(LITTLE, 2, DataType::Uint8);
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[1; 40_000]));
    script.extend(request(Command::FlushHeader, LITTLE, &[]));
    script.extend(request(Command::PutEventsUnanswered, LITTLE, &[]));
    script.extend(request(Command::GetSamples, LITTLE, &[]));
    let (replies, _) = exchange(&mut conversation, &script, 1000);
    assert_eq!(replies, [0x0105, 0x0105, 0x0305, 0x0205].map(|code| reply(code, LITTLE)).concat());
    assert_eq!(conversation.buffer().header().unwrap().0.channel_count, 1);
}

#[test]
fn a_gate_sees_every_request_and_can_refuse_it() {
    struct Log(Mutex<Vec<(Command, u32)>>);
    impl crate::Gate for Log {
        fn judge(&self, _: PeerId, command: Command, payload_bytes: u32) -> Verdict {
            self.0.lock().unwrap().push((command, payload_bytes));
            if command == Command::GetHeader { Verdict::Refuse } else { Verdict::Permit }
        }
    }
    let log = Arc::new(Log(Mutex::default()));
    let mut conversation = conversation(Policy { gate: Some(log.clone()), ..Policy::default() });
    let mut script = header(LITTLE, 1, DataType::Uint8);
    script.extend(request(Command::GetHeader, LITTLE, &[]));
    script.extend(samples(LITTLE, 1, DataType::Uint8, &[0; 50_000]));
    let (replies, _) = exchange(&mut conversation, &script, 1000);
    assert_eq!(replies, [0x0104, 0x0205, 0x0104].map(|code| reply(code, LITTLE)).concat());
    let seen = log.0.lock().unwrap().clone();
    assert_eq!(seen, [(Command::PutHeader, 24), (Command::GetHeader, 0), (Command::PutSamples, 50_016)]);
}

#[test]
fn long_replies_leave_in_windows_and_end_if_the_ring_overtakes_them() {
    let limits = crate::Limits { reply_bytes: 10_000, ..crate::Limits::default() };
    for order in [LITTLE, BIG] {
        let buffer = Buffer::new(Capacity { samples: 100_000, ..Capacity::default() });
        buffer.put_header(Header::new(1, 1.0, DataType::Int16)).unwrap();
        let values: Vec<i16> = (0..100_000_u32).map(|n| n as i16).collect();
        buffer.put_samples(1, &values).unwrap();
        let policy = Arc::new(Policy { limits, ..Policy::default() });
        let mut conversation = Conversation::new(buffer.clone(), policy, PeerId(0));
        let everything =
            request(Command::GetSamples, order, &Selection { begin: 0, end: LAST }.encode(order));
        let (replies, _) = exchange(&mut conversation, &everything, 99);
        let mut back = replies[24..].to_vec();
        order.convert(2, &mut back);
        assert_eq!(back, bytemuck::cast_slice::<i16, u8>(&values));
        let space = conversation.space();
        space[..everything.len()].copy_from_slice(&everything);
        conversation.filled(everything.len());
        assert_eq!(conversation.poll(), Step::Send);
        buffer.put_samples(1, &values[..50_000]).unwrap();
        conversation.sent();
        assert_eq!(conversation.poll(), Step::Close);
    }
}

#[test]
fn replies_to_pipelined_requests_leave_together() {
    let mut conversation = conversation(Policy::default());
    let mut script = header(LITTLE, 1, DataType::Uint8);
    for _ in 0..100 {
        script.extend(samples(LITTLE, 1, DataType::Uint8, &[1, 2]));
    }
    let space = conversation.space();
    space[..script.len()].copy_from_slice(&script);
    conversation.filled(script.len());
    assert_eq!(conversation.poll(), Step::Send);
    assert_eq!(conversation.parts().iter().map(|part| part.len()).sum::<usize>(), 101 * 8);
    conversation.sent();
    assert_eq!(conversation.poll(), Step::Read(Progress::Between));
}

#[test]
fn mutated_requests_neither_panic_nor_stall_nor_grow() {
    let mut seeds = Vec::new();
    for order in [LITTLE, BIG] {
        let mut events = Vec::new();
        Event::number(5, "trigger", 7).encode(order, &mut events);
        Event::text(-1, "stim", "left").encode(order, &mut events);
        let wait = WaitRequest { threshold: Totals { samples: NEVER, events: 3 }, timeout_ms: 5 };
        seeds.extend([
            header(order, 2, DataType::Int16),
            samples(order, 2, DataType::Int16, &[1; 40]),
            samples(order, 2, DataType::Int16, &[1; 33_000]),
            request(Command::PutEvents, order, &events),
            request(Command::GetHeader, order, &[]),
            request(Command::GetSamples, order, &Selection { begin: 1, end: 3 }.encode(order)),
            request(Command::GetEvents, order, &Selection { begin: 0, end: 1 }.encode(order)),
            request(Command::Wait, order, &wait.encode(order)),
            request(Command::FlushSamples, order, &[]),
            request(Command::PutSamplesUnanswered, order, &samples(order, 2, DataType::Int16, &[1; 8])[8..]),
        ]);
    }
    let mut random = Random(0x5EED);
    let small = Capacity { samples: 5000, events: 10, ..Capacity::default() };
    let buffer = Buffer::new(small);
    let policy = Arc::new(Policy::default());
    for _ in 0..3000 {
        let mut conversation = Conversation::new(buffer.clone(), Arc::clone(&policy), PeerId(0));
        let mut script = Vec::new();
        for _ in 0..random.below(6) + 1 {
            let mut message = seeds[random.below(seeds.len())].clone();
            for _ in 0..random.below(4) {
                let place = random.below(message.len().min(64));
                message[place] = [0, 1, 2, 0x7F, 0x80, 0xFF, random.below(256) as u8][random.below(7)];
            }
            script.extend(message);
        }
        exchange(&mut conversation, &script, 1 + random.below(50_000));
    }
    let (held, _) = buffer.header().map_or((0, ()), |(header, _)| (header.chunk_bytes.len(), ()));
    assert!(held <= 64 << 20);
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64: good enough to choose bytes with, and the same in every run.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
