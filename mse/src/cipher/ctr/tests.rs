use super::*;
use aes::Aes128Enc;
use aes::cipher::consts::U64;
use aes::cipher::inout::InOut;
use aes::cipher::{KeyInit, ParBlocksSizeUser};
use alloc::vec;
use alloc::vec::Vec;

const KEY: [u8; 16] = [7; 16];

/// AES with 64 blocks a batch, as the code for AVX-512 has them, on every machine.
struct Wide(Aes128Enc);

impl BlockSizeUser for Wide {
    type BlockSize = U16;
}

impl ParBlocksSizeUser for Wide {
    type ParBlocksSize = U64;
}

impl BlockCipherEncrypt for Wide {
    fn encrypt_with_backend(&self, work: impl BlockCipherEncClosure<BlockSize = U16>) {
        work.call(self);
    }
}

impl BlockCipherEncBackend for Wide {
    fn encrypt_block(&self, mut block: InOut<'_, '_, Block>) {
        let mut out = *block.get_in();
        self.0.encrypt_block(&mut out);
        *block.get_out() = out;
    }
}

/// The definition: the counter of each block, encrypted.
fn keystream(start: u128, len: usize) -> Vec<u8> {
    let aes = Aes128Enc::new(&KEY.into());
    let blocks = (0..len.div_ceil(BLOCK)).flat_map(|n| {
        let mut block = Block::from(start.wrapping_add(n as u128).to_be_bytes());
        aes.encrypt_block(&mut block);
        block
    });
    blocks.take(len).collect()
}

fn equals_the_definition<A: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(aes: impl Fn() -> A) {
    // The counter's last byte, 2^64 and 2^128 are passed within the data.
    for start in [u128::from(u64::MAX) - 40, u128::MAX - 40, 0, 3, 250] {
        for len in [0, 1, 15, 16, 17, 127, 128, 129, 1_023, 1_024, 1_025, 3_000, 20_000] {
            let expected = keystream(start, len);
            for step in [1, 7, 16, 100, 128, 1_500, usize::MAX] {
                let mut data = vec![0; len];
                let mut cipher = Ctr::new(aes(), start.to_be_bytes());
                data.chunks_mut(step).for_each(|piece| cipher.apply(piece));
                assert!(data == expected, "{len} bytes from {start:#x} in steps of {step}");
            }
        }
    }
}

#[test]
fn the_code_for_this_machine_equals_the_definition_in_any_division() {
    equals_the_definition(|| Aes128Enc::new(&KEY.into()));
}

#[test]
fn the_code_for_wide_registers_equals_the_definition_in_any_division() {
    equals_the_definition(|| Wide(Aes128Enc::new(&KEY.into())));
}

#[test]
fn data_are_changed_by_the_keystream_and_come_back() {
    let plain: Vec<u8> = (0..5_000).map(|n| n as u8).collect();
    let mut data = plain.clone();
    Ctr::new(Aes128Enc::new(&KEY.into()), [9; 16]).apply(&mut data);
    let expected: Vec<u8> =
        plain.iter().zip(keystream(u128::from_be_bytes([9; 16]), plain.len())).map(|(a, b)| a ^ b).collect();
    assert_eq!(data, expected);
    Ctr::new(Aes128Enc::new(&KEY.into()), [9; 16]).apply(&mut data);
    assert_eq!(data, plain);
}
