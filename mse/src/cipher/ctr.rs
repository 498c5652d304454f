//! AES in counter mode, for the private methods between Schwann peers.

mod narrow;
mod wide;

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::typenum::Unsigned;
use aes::cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser};
use zeroize::Zeroize;

/// AES in counter mode (NIST SP 800-38A §6.5) with a 128-bit big-endian counter.
pub struct Ctr<A> {
    aes: A,
    place: Position,
}

/// Where in the keystream we are.
struct Position {
    /// The counter of the next block to be made.
    counter: u128,
    /// The last block made, and how much of it is used up.
    block: [u8; BLOCK],
    used: usize,
}

type Block = Array<u8, U16>;

impl<A: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Ctr<A> {
    /// Starts at the block `counter`.
    pub(crate) fn new(aes: A, counter: [u8; 16]) -> Self {
        let counter = u128::from_be_bytes(counter);
        Self { aes, place: Position { counter, block: [0; BLOCK], used: BLOCK } }
    }

    /// Encrypts or decrypts `data` in place.
    pub fn apply(&mut self, data: &mut [u8]) {
        let place = &mut self.place;
        let left = place.block.get(place.used..).unwrap_or_default();
        let (head, rest) = data.split_at_mut(left.len().min(data.len()));
        xor(head, left);
        place.used += head.len();
        if !rest.is_empty() {
            self.aes.encrypt_with_backend(Run { place, data: rest });
        }
    }
}

impl<A> Drop for Ctr<A> {
    fn drop(&mut self) {
        self.place.counter.zeroize();
        self.place.block.zeroize();
    }
}

/// The work on one buffer. The `aes` crate calls it with the best code of the CPU. Inlined there, the
/// loops around the cipher may use the same instructions.
struct Run<'a> {
    place: &'a mut Position,
    data: &'a mut [u8],
}

impl BlockSizeUser for Run<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Run<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        if B::ParBlocksSize::USIZE < BATCH_OF_WIDE_REGISTERS {
            narrow::run(self, backend);
        } else {
            wide::run(self, backend);
        }
    }
}

#[inline(always)]
fn xor(data: &mut [u8], keystream: &[u8]) {
    for (byte, key) in data.iter_mut().zip(keystream) {
        *byte ^= key;
    }
}

const BLOCK: usize = 16;

/// Blocks a batch where the cipher's registers hold two blocks or four: the `aes` crate's code for VAES.
///
/// It is not what Zen 3 runs, which has VAES: `cpufeatures` 0.3 reports it only together with AVX-512.
const BATCH_OF_WIDE_REGISTERS: usize = 30;

#[cfg(test)]
mod tests;
