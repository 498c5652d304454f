//! AES in counter mode, for the private methods between Schwann peers.

use core::hint::black_box;

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::inout::InOut;
use aes::cipher::typenum::Unsigned;
use aes::cipher::{
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, ParBlocks,
};
use zeroize::{Zeroize, optimization_barrier};

/// AES in counter mode (NIST SP 800-38A §6.5) with a 128-bit big-endian counter.
pub struct Ctr<A> {
    aes: A,
    place: Place,
}

/// Where in the keystream we are.
struct Place {
    /// The counter of the next block to be made.
    counter: u128,
    /// The last block made, and how much of it is used up.
    block: [u8; BLOCK],
    used: usize,
}

const BLOCK: usize = 16;

/// Blocks a batch of the cipher's code for AVX-512, which has registers for the blocks and the round keys.
///
/// With fewer registers the round keys must come from memory. Seen through, the loop tempts the compiler to hold them
/// in registers and to encrypt two or three blocks at a time. With a hidden pointer AES-128 is 1.18 times as fast and
/// AES-256 1.25 times on Zen 3 (`bench mse`, "cipher"). There the `aes` crate works with AES-NI, eight blocks a batch:
/// `cpufeatures` 0.3 reports VAES only together with AVX-512.
const BATCH_OF_AVX512: usize = 64;

impl<A: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Ctr<A> {
    /// Starts at the block `counter`.
    pub(crate) fn new(aes: A, counter: [u8; 16]) -> Self {
        let counter = u128::from_be_bytes(counter);
        Self { aes, place: Place { counter, block: [0; BLOCK], used: BLOCK } }
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

/// The work on one buffer. The `aes` crate calls it with the best code the CPU has; being inlined there,
/// the loops around the cipher may use the same instructions.
struct Run<'a> {
    place: &'a mut Place,
    data: &'a mut [u8],
}

impl BlockSizeUser for Run<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Run<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Self { place, data } = self;
        let batch = B::ParBlocksSize::USIZE;
        // Two batches of counters: the wide loads of the cipher wait for narrow stores that are still on their way, so
        // each batch is written while the one before is encrypted. It doubles the speed (`bench mse`, "cipher").
        let mut counters: [ParBlocks<B>; 2] = Default::default();
        let mut keystream: ParBlocks<B> = Array::default();
        let mut highs = [None; 2];
        let mut turn = 0;
        count_up(place.counter, &mut highs[0], &mut counters[0]);
        let tail = data.len() % (batch * BLOCK);
        // One loop for whole batches and the rest: with a second call of the cipher the compiler would no longer
        // keep the round keys in registers.
        for chunk in data.chunks_mut(batch * BLOCK) {
            place.counter = place.counter.wrapping_add(batch as u128);
            let next = turn ^ 1;
            count_up(place.counter, &mut highs[next], &mut counters[next]);
            let backend = if batch < BATCH_OF_AVX512 { black_box(backend) } else { backend };
            backend.encrypt_par_blocks(InOut::from((&counters[turn], &mut keystream)));
            xor(chunk, Array::cast_slice_to_core(&keystream).as_flattened());
            turn = next;
        }
        if tail > 0 {
            let blocks = tail.div_ceil(BLOCK);
            place.counter = place.counter.wrapping_sub((batch - blocks) as u128);
            place.used = tail - (blocks - 1) * BLOCK;
            if let Some(last) = keystream.get(blocks - 1) {
                place.block = (*last).into();
            }
        }
        // `zeroize` would write byte by byte, a tenth of the time of a call. The barrier keeps the store alive.
        keystream = Array::default();
        optimization_barrier(&keystream);
    }
}

/// Writes consecutive counters. Their upper halves, `high`, are left alone while they stay the same: stores are
/// what this mode spends its time on beside the cipher.
#[inline(always)]
fn count_up(counter: u128, high: &mut Option<u64>, blocks: &mut [Array<u8, U16>]) {
    let (upper, lower) = ((counter >> 64) as u64, counter as u64);
    let carries = lower.checked_add(blocks.len() as u64).is_none();
    if carries || *high != Some(upper) {
        count_up_whole(counter, blocks);
        *high = (!carries).then_some(upper);
        return;
    }
    for (n, block) in blocks.iter_mut().enumerate() {
        block[8..].copy_from_slice(&lower.wrapping_add(n as u64).to_be_bytes());
    }
}

/// [`count_up`] where a carry may cross the halves, and for the first batch.
#[cold]
#[inline(never)]
fn count_up_whole(counter: u128, blocks: &mut [Array<u8, U16>]) {
    for (n, block) in (0u128..).zip(blocks) {
        *block = counter.wrapping_add(n).to_be_bytes().into();
    }
}

#[inline(always)]
fn xor(data: &mut [u8], keystream: &[u8]) {
    for (byte, key) in data.iter_mut().zip(keystream) {
        *byte ^= key;
    }
}
