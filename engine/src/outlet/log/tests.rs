use schwann_proto::stream::ChannelFormat;
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp};

use super::*;

const RATE: f64 = 100.0;

fn codec() -> SampleCodec {
    SampleCodec::plain(Layout::new(ChannelFormat::Int16, 1, ByteOrder::NATIVE), RATE)
}

/// Appends `values`, the first at `first` seconds, the others deduced.
fn append(log: &mut Log, tracker: &mut StampTracker, first: f64, values: &[i16]) -> u64 {
    let mut bytes = Vec::new();
    codec().layout().encode_chunk(Stamp::from(first), values, &mut bytes).expect("a vector has room");
    let before = *tracker;
    codec().skip(&bytes, values.len(), tracker);
    log.append(&mut bytes, values.len() as u64, before)
}

/// Reads stamps and values out of encoded bytes.
fn decode(bytes: &[u8]) -> Vec<(f64, i16)> {
    let mut values = vec![0; 1000];
    let mut stamps = vec![0.0; 1000];
    let count = codec().layout().decode_chunk(bytes, &mut values, &mut stamps, &mut codec().stamp_tracker());
    let count = count.expect("our own samples").samples;
    stamps.into_iter().zip(values).take(count).collect()
}

/// Everything from `position` on, taken in as many rounds as it takes.
fn bytes_from(log: &mut Log, position: u64) -> Vec<u8> {
    let (mut blocks, mut bytes) = (Vec::new(), Vec::new());
    while log.blocks_from(position + bytes.len() as u64, 16, &mut blocks) {
        let at = position + bytes.len() as u64;
        blocks.iter().for_each(|block| bytes.extend_from_slice(block.from(at)));
    }
    bytes
}

#[test]
fn what_is_appended_can_be_read_from_any_position() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1, 2, 3]);
    let second = append(&mut log, &mut tracker, 2.0, &[4]);
    assert_eq!(decode(&bytes_from(&mut log, 0)), [(1.0, 1), (1.01, 2), (1.02, 3), (2.0, 4)]);
    let third = append(&mut log, &mut tracker, 3.0, &[5]);
    assert_eq!(decode(&bytes_from(&mut log, second)), [(2.0, 4), (3.0, 5)]);
    assert_eq!(decode(&bytes_from(&mut log, third)), [(3.0, 5)]);
    let end = log.end();
    assert!(bytes_from(&mut log, end).is_empty());
}

#[test]
fn what_all_have_taken_is_let_go() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1, 2, 3]);
    let mut blocks = Vec::new();
    log.blocks_from(0, 16, &mut blocks);
    let second = append(&mut log, &mut tracker, 2.0, &[4]);
    log.release(second);
    assert_eq!(log.stored_bytes(), 11);
    let end = log.end();
    log.release(end);
    assert_eq!(log.stored_bytes(), 0);
    append(&mut log, &mut tracker, 3.0, &[5]);
    assert_eq!(decode(&bytes_from(&mut log, end)), [(3.0, 5)]);
}

#[test]
fn a_consumer_within_its_limit_skips_nothing() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1, 2, 3]);
    assert!(log.skip(0, 3).is_none());
}

#[test]
fn the_first_sample_behind_a_gap_has_its_true_stamp() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1, 2, 3, 4, 5]);
    let skip = log.skip(0, 2).expect("five samples, two permitted");
    assert_eq!((skip.dropped, skip.begun.len()), (3, 0));
    let mut rest = skip.first;
    rest.extend(bytes_from(&mut log, skip.position));
    assert_eq!(decode(&rest), [(1.03, 4), (1.04, 5)]);
}

#[test]
fn a_sample_that_was_begun_is_sent_to_its_end() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1, 2, 3, 4, 5]);
    // Tag and stamp of the first sample have gone out, and one of the two bytes of its value.
    let skip = log.skip(10, 1).expect("four samples too many");
    assert_eq!((skip.dropped, skip.begun.as_slice()), (3, &1_i16.to_ne_bytes()[1..]));
    assert_eq!(decode(&skip.first), [(1.04, 5)]);
    assert_eq!(skip.position, log.end());
}

#[test]
fn large_pushes_become_blocks_without_a_copy() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    let values: Vec<i16> = (0..10_000).collect();
    let mut bytes = Vec::new();
    codec().layout().encode_chunk(Stamp::Sent(1.0), &values, &mut bytes).expect("a vector has room");
    let address = bytes.as_ptr();
    log.append(&mut bytes, values.len() as u64, tracker);
    assert!(bytes.is_empty());
    let mut blocks = Vec::new();
    log.blocks_from(0, 16, &mut blocks);
    assert_eq!(blocks[0].from(0).as_ptr(), address);
    tracker.resolve(Stamp::Sent(1.0));
    let skip = log.skip(0, 1).expect("far behind");
    assert_eq!(decode(&skip.first)[0].1, 9999);
}

#[test]
fn a_log_is_over_once_a_block_can_go() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1, 2, 3]);
    bytes_from(&mut log, 0);
    assert!(!log.is_over(1, usize::MAX));
    append(&mut log, &mut tracker, 2.0, &[4]);
    assert!(log.is_over(1, usize::MAX));
    assert!(!log.is_over(2, usize::MAX));
    assert!(log.is_over(2, 4));
    assert_eq!(log.samples_in(8), 1);
}

#[test]
fn a_growing_block_has_its_memory_before_samples_come() {
    let (mut log, mut tracker) = (Log::new(codec()), codec().stamp_tracker());
    append(&mut log, &mut tracker, 1.0, &[1]);
    for _ in 0..3 {
        let (memory, capacity) = (log.tail.bytes.as_ptr(), log.tail.bytes.capacity());
        assert!(capacity >= BLOCK_LEN);
        append(&mut log, &mut tracker, 2.0, &[2; 1000]);
        assert_eq!((log.tail.bytes.as_ptr(), log.tail.bytes.capacity()), (memory, capacity));
        // The server thread takes the present block; another block grows from now on.
        let blocks_before = log.frozen.len();
        assert!(log.blocks_from(log.end() - 1, 1, &mut Vec::new()));
        assert_eq!(log.frozen.len(), blocks_before + 1);
    }
}

#[test]
fn the_memory_of_large_blocks_goes_back_once_all_have_taken_them() {
    let mut log = Log::new(codec());
    for _ in 0..6 {
        // More than a block that is kept; what the bytes mean does not matter here.
        log.append(&mut vec![1; 2 * SPARE_LEN], 1, codec().stamp_tracker());
    }
    assert_eq!(log.stored_bytes(), 12 * SPARE_LEN);
    log.release(log.end());
    let kept: usize = log.spare.iter().chain([&log.tail]).map(|block| block.bytes.capacity()).sum();
    assert_eq!(log.stored_bytes(), 0);
    assert!(kept <= SPARE_BLOCKS * SPARE_LEN + BLOCK_LEN, "{kept}");
}
