use super::*;
use aes::cipher::KeyInit;
use alloc::vec;

/// NIST SP 800-38A §F.5.1 and §F.5.5: key, first plaintext blocks and what becomes of them.
const COUNTER: [u8; 16] =
    [0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];
const PLAIN: [u8; 32] = [
    0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a, 0xae,
    0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51,
];

#[test]
fn counter_mode_equals_the_standards_examples() {
    let key =
        [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c];
    let mut data = PLAIN;
    Ctr::new(aes::Aes128Enc::new(&key.into()), COUNTER).apply(&mut data);
    assert_eq!(data[..4], [0x87, 0x4d, 0x61, 0x91]);
    assert_eq!(data[16..20], [0x98, 0x06, 0xf6, 0x6b]);

    let key = [
        0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f,
        0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4,
    ];
    let mut data = PLAIN;
    Ctr::new(aes::Aes256Enc::new(&key.into()), COUNTER).apply(&mut data);
    assert_eq!(data[..4], [0x60, 0x1e, 0xc3, 0x13]);
    assert_eq!(data[16..20], [0xf4, 0x43, 0xe3, 0xca]);
}

#[test]
fn the_counter_carries_over_every_byte_at_any_length() {
    // The counter passes 2^64 and 2^128 within the data; a block at a time is the reference.
    for counter in [u128::from(u64::MAX) - 40, u128::MAX - 40, 0] {
        let start = counter.to_be_bytes();
        let aes = || aes::Aes128Enc::new(&[7; 16].into());
        for len in [0, 1, 15, 16, 17, 1_023, 1_024, 1_025, 3_000, 20_000] {
            let mut whole = vec![0; len];
            Ctr::new(aes(), start).apply(&mut whole);
            let mut parts = vec![0; len];
            let mut single = Ctr::new(aes(), start);
            parts.chunks_mut(16).for_each(|block| single.apply(block));
            assert_eq!(whole, parts, "{len} bytes from {counter:#x}");
            for step in [1, 7, 100, 1_500] {
                let mut parts = vec![0; len];
                let mut pieces = Ctr::new(aes(), start);
                parts.chunks_mut(step).for_each(|piece| pieces.apply(piece));
                assert_eq!(whole, parts, "{len} bytes in steps of {step}");
            }
        }
    }
}

#[test]
fn the_counter_block_is_big_endian_and_wraps() {
    use aes::cipher::BlockCipherEncrypt;
    let aes = aes::Aes128Enc::new(&[7; 16].into());
    let mut data = [0; 32];
    Ctr::new(aes::Aes128Enc::new(&[7; 16].into()), [0xff; 16]).apply(&mut data);
    for (n, start) in [[0xff; 16], [0; 16]].into_iter().enumerate() {
        let mut block = start.into();
        aes.encrypt_block(&mut block);
        assert_eq!(data[16 * n..16 * (n + 1)], *block);
    }
}
