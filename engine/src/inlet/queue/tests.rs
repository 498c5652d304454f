use schwann_proto::stream::ChannelFormat;
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp};

use super::*;

const RATE: f64 = 100.0;

fn layout(format: ChannelFormat) -> Layout {
    Layout::new(format, 1, ByteOrder::NATIVE)
}

fn queue(format: ChannelFormat, capacity: usize, byte_limit: usize) -> SampleQueue {
    SampleQueue::new(QueueCodec::new(layout(format), RATE), capacity, byte_limit)
}

/// `count` samples with the values `first`, `first + 1`, …; the first has a stamp, the others have none.
fn chunk(first: i32, count: i32) -> Vec<u8> {
    let values: Vec<i32> = (first..first + count).collect();
    let mut bytes = Vec::new();
    let stamp = Stamp::Sent(f64::from(first) / RATE);
    layout(ChannelFormat::Int32).encode_chunk(stamp, &values, &mut bytes).expect("a vector has room");
    bytes
}

/// Hands bytes over as a socket would, `bite` at a time.
fn arrive(queue: &mut SampleQueue, mut bytes: &[u8], bite: usize) -> Result<(), Malformed> {
    while !bytes.is_empty() {
        let mut block = queue.take_tail();
        assert!(!block.room().is_empty());
        let count = block.fill(&bytes[..bite.min(bytes.len())]);
        bytes = &bytes[count..];
        queue.put_back(block)?;
    }
    Ok(())
}

fn pop(queue: &mut SampleQueue) -> Option<(f64, i32)> {
    let mut value = [0];
    let (stamp, outcome) = queue.pop(|codec, values| codec.read(values, &mut value))?;
    outcome.expect("a number");
    Some((stamp, value[0]))
}

fn assert_next(queue: &mut SampleQueue, value: i32) {
    let (stamp, popped) = pop(queue).expect("a sample");
    assert_eq!(popped, value);
    assert!((stamp - f64::from(value) / RATE).abs() < 1e-6, "{stamp} {value}");
}

#[test]
fn samples_survive_every_cut_between_reads_and_blocks() {
    for bite in [1, 7, 4096, BLOCK_LEN - 1, BLOCK_LEN, 3 * BLOCK_LEN] {
        let mut queue = queue(ChannelFormat::Int32, usize::MAX, usize::MAX);
        let count = if bite == 1 { 2000 } else { 200_000 };
        arrive(&mut queue, &chunk(0, count), bite).expect("samples");
        assert_eq!(queue.len(), count as usize);
        (0..count).for_each(|value| assert_next(&mut queue, value));
        assert_eq!((queue.len(), queue.byte_len(), queue.dropped()), (0, 0, 0));
    }
}

#[test]
fn pulls_between_arrivals_take_turns_with_them() {
    let mut queue = queue(ChannelFormat::Int32, usize::MAX, usize::MAX);
    let bytes = chunk(0, 300_000);
    let mut next = 0;
    for (round, part) in bytes.chunks(50_021).enumerate() {
        arrive(&mut queue, part, 20_000).expect("samples");
        for _ in 0..(round * 7919) % (queue.len() + 1) {
            assert_next(&mut queue, next);
            next += 1;
        }
    }
    (next..300_000).for_each(|value| assert_next(&mut queue, value));
    assert!(queue.blocks.len() == 1 && queue.blocks[0].bytes.len() == BLOCK_LEN);
}

#[test]
fn a_string_longer_than_a_block_gets_a_larger_one_and_gives_it_back() {
    let mut queue = queue(ChannelFormat::String, usize::MAX, usize::MAX);
    let long = vec![b'x'; 5 * BLOCK_LEN];
    let mut bytes = Vec::new();
    for text in [b"a".as_slice(), &long, b"", &long, b"z"] {
        layout(ChannelFormat::String).encode_strings(Stamp::Sent(1.0), [text], &mut bytes).expect("room");
    }
    arrive(&mut queue, &bytes, 10_000).expect("samples");
    assert_eq!(queue.len(), 5);
    for expected in [b"a".as_slice(), &long, b"", &long, b"z"] {
        let mut text: Vec<u8> = Vec::new();
        let popped = queue.pop(|codec, values| codec.read_strings(values, |bytes| text.extend(bytes)));
        assert!(popped.is_some_and(|(_, outcome)| outcome.is_ok()) && text == expected);
    }
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        layout(ChannelFormat::String)
            .encode_strings(Stamp::Sent(1.0), [b"s".as_slice()], &mut bytes)
            .expect("room");
    }
    for part in bytes.chunks(10_000) {
        arrive(&mut queue, part, 10_000).expect("samples");
        queue.flush();
    }
    let kept: usize = queue.blocks.iter().chain(&queue.spare).map(|block| block.bytes.len()).sum();
    assert!(kept <= 2 * BLOCK_LEN, "{kept}");
}

#[test]
fn an_announcement_beyond_the_limit_is_refused_before_memory_is_taken() {
    let mut queue = queue(ChannelFormat::String, usize::MAX, usize::MAX);
    // A stamp that is deduced, a length of eight bytes, and a gigabyte announced.
    let mut bytes = vec![1, 8];
    bytes.extend_from_slice(&(1_u64 << 30).to_ne_bytes());
    assert!(arrive(&mut queue, &bytes, 1).is_err());
    assert!(queue.blocks.iter().all(|block| block.bytes.len() == BLOCK_LEN));
}

#[test]
fn the_oldest_samples_are_dropped_and_the_others_keep_their_stamps() {
    for bite in [100, 9_999, 1_000_000] {
        let mut queue = queue(ChannelFormat::Int32, 1000, usize::MAX);
        arrive(&mut queue, &chunk(0, 100_000), bite).expect("samples");
        assert_eq!((queue.len(), queue.dropped()), (1000, 99_000));
        (99_000..100_000).for_each(|value| assert_next(&mut queue, value));
        assert_eq!(pop(&mut queue), None);
    }
}

#[test]
fn bytes_are_limited_whatever_the_capacity() {
    let mut queue = queue(ChannelFormat::Int32, usize::MAX, 50_000);
    arrive(&mut queue, &chunk(0, 100_000), 10_000).expect("samples");
    assert!(queue.byte_len() <= 50_000 && queue.len() > 9_000);
    let first = 100_000 - queue.len() as i32;
    assert_eq!(queue.dropped(), first as u64);
    (first..100_000).for_each(|value| assert_next(&mut queue, value));
}

#[test]
fn a_flush_forgets_all_and_deduced_stamps_go_on() {
    let mut queue = queue(ChannelFormat::Int32, usize::MAX, usize::MAX);
    let bytes = chunk(0, 1000);
    let (front, back) = bytes.split_at(bytes.len() / 2 + 3);
    arrive(&mut queue, front, front.len()).expect("samples");
    let flushed = queue.flush() as i32;
    assert!(flushed >= 499 && queue.len() == 0);
    arrive(&mut queue, back, back.len()).expect("samples");
    (flushed..1000).for_each(|value| assert_next(&mut queue, value));
}

#[test]
fn chunks_equal_single_samples() {
    let mut queue = queue(ChannelFormat::Int32, usize::MAX, usize::MAX);
    arrive(&mut queue, &chunk(0, 100_000), 30_000).expect("samples");
    let mut next = 0;
    let (mut values, mut stamps) = (vec![0; 4097], vec![0.0; 4097]);
    while queue.len() > 0 {
        let count = queue.pop_chunk(&mut values, &mut stamps);
        assert!(count > 0);
        for (value, stamp) in values.iter().zip(&stamps).take(count) {
            assert!(*value == next && (stamp - f64::from(next) / RATE).abs() < 1e-6);
            next += 1;
        }
    }
    assert_eq!(next, 100_000);
}

#[test]
fn room_for_newer_samples_elsewhere_is_made_at_the_old_end() {
    let mut queue = queue(ChannelFormat::Int32, 1000, usize::MAX);
    arrive(&mut queue, &chunk(0, 900), 4096).expect("samples");
    queue.make_room(100, 0);
    assert_eq!((queue.len(), queue.dropped()), (900, 0));
    queue.make_room(300, 0);
    assert_eq!((queue.len(), queue.dropped()), (700, 200));
    assert_next(&mut queue, 200);
    queue.make_room(5000, 0);
    assert_eq!((queue.len(), queue.dropped()), (0, 899));
}
