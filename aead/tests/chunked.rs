//! What chunked blocks promise, with and without workers.

use schwann_aead::parallel::{Strategy, Workers};
use schwann_aead::{ChunkSize, ChunkedError, ChunkedOpener, ChunkedSealer, Key, Tag};

fn size() -> ChunkSize {
    ChunkSize::new(512).unwrap()
}

fn pair() -> (ChunkedSealer, ChunkedOpener) {
    let key = || Key::new(&[9; 32]);
    (ChunkedSealer::new(key(), size()), ChunkedOpener::new(key(), size()))
}

fn plain(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 % 251) as u8).collect()
}

fn seal(sealer: &mut ChunkedSealer, block: &mut [u8]) -> Vec<Tag> {
    let mut tags = vec![Tag([0; 16]); size().count(block.len())];
    sealer.seal(block, &mut tags).unwrap();
    tags
}

#[test]
fn blocks_of_any_length_open_in_order() {
    let (mut sealer, mut opener) = pair();
    for length in [0, 1, 511, 512, 513, 8191, 8192, 8193, 100_000] {
        let mut block = plain(length);
        let tags = seal(&mut sealer, &mut block);
        assert!(length < 16 || block != plain(length));
        opener.open(&mut block, &tags).unwrap();
        assert_eq!(block, plain(length));
    }
}

#[test]
fn equal_blocks_do_not_seal_alike() {
    let (mut sealer, _) = pair();
    let (mut first, mut second) = (plain(2048), plain(2048));
    seal(&mut sealer, &mut first);
    seal(&mut sealer, &mut second);
    for (i, a) in first.chunks(512).enumerate() {
        for (j, b) in first.chunks(512).chain(second.chunks(512)).enumerate() {
            assert!(i == j || a != b);
        }
    }
}

#[test]
fn a_block_cut_at_a_chunks_border_is_refused() {
    let (mut sealer, mut opener) = pair();
    let mut block = plain(2048);
    let tags = seal(&mut sealer, &mut block);
    assert_eq!(opener.open(&mut block[..1024], &tags[..2]), Err(ChunkedError::Forged));
    assert!(block[..1024].iter().all(|&byte| byte == 0));
}

#[test]
fn exchanged_chunks_are_refused() {
    let (mut sealer, mut opener) = pair();
    let mut block = plain(1024);
    let mut tags = seal(&mut sealer, &mut block);
    let (first, second) = block.split_at_mut(512);
    first.swap_with_slice(second);
    tags.swap(0, 1);
    assert_eq!(opener.open(&mut block, &tags), Err(ChunkedError::Forged));
    assert!(block.iter().all(|&byte| byte == 0));
}

#[test]
fn a_repeated_block_is_refused_and_the_next_one_opens() {
    let (mut sealer, mut opener) = pair();
    let (mut first, mut second) = (plain(5000), plain(300));
    let first_tags = seal(&mut sealer, &mut first);
    let second_tags = seal(&mut sealer, &mut second);
    let mut again = first.clone();
    opener.open(&mut first, &first_tags).unwrap();
    assert_eq!(opener.open(&mut again, &first_tags), Err(ChunkedError::Forged));
    opener.open(&mut second, &second_tags).unwrap();
    assert_eq!(second, plain(300));
}

#[test]
fn a_wrong_number_of_tags_changes_nothing() {
    let (mut sealer, _) = pair();
    let mut block = plain(600);
    assert_eq!(sealer.seal(&mut block, &mut [Tag([0; 16]); 1]), Err(ChunkedError::TagCount));
    assert_eq!(sealer.seal(&mut block, &mut [Tag([0; 16]); 3]), Err(ChunkedError::TagCount));
    assert_eq!(block, plain(600));
}

#[test]
fn chunk_sizes_outside_the_limits_do_not_exist() {
    assert!(ChunkSize::new(511).is_none());
    assert!(ChunkSize::new(65_537).is_none());
    assert_eq!(ChunkSize::new(65_536).unwrap().get(), 65_536);
}

#[test]
fn workers_make_the_same_bytes_as_the_caller_alone() {
    for strategy in [Strategy::Pool, Strategy::Spawn] {
        for count in [1, 2, 5] {
            let mut workers = Workers::new(strategy, count);
            let ((mut alone, mut opener), (mut together, _)) = (pair(), pair());
            for length in [0, 100, 70_000, 1_000_000, 3_000_001] {
                let (mut expected, mut block) = (plain(length), plain(length));
                let expected_tags = seal(&mut alone, &mut expected);
                let mut tags = vec![Tag([0; 16]); expected_tags.len()];
                together.seal_parallel(&mut workers, &mut block, &mut tags).unwrap();
                assert!(block == expected);
                assert!(tags.iter().zip(&expected_tags).all(|(a, b)| a.matches(b)));
                opener.open_parallel(&mut workers, &mut block, &tags).unwrap();
                assert!(block == plain(length));
            }
        }
    }
}

#[test]
fn workers_refuse_a_forged_chunk_and_leave_zeros() {
    let mut workers = Workers::new(Strategy::Pool, 3);
    let (mut sealer, mut opener) = pair();
    let mut block = plain(2_000_000);
    let tags = seal(&mut sealer, &mut block);
    block[1_234_567] ^= 1;
    assert_eq!(opener.open_parallel(&mut workers, &mut block, &tags), Err(ChunkedError::Forged));
    assert!(block.iter().all(|&byte| byte == 0));
}
