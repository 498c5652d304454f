//! Counter mode for code whose registers hold two blocks or four: VAES with AVX-512.

use core::hint::black_box;

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::inout::InOut;
use aes::cipher::typenum::Unsigned;
use aes::cipher::{BlockCipherEncBackend, ParBlocks};
use zeroize::optimization_barrier;

use super::{BLOCK, Block, Run, xor};

#[inline(always)]
pub(super) fn run<B: BlockCipherEncBackend<BlockSize = U16>>(run: Run<'_>, backend: &B) {
    let Run { place, data } = run;
    let batch = B::ParBlocksSize::USIZE;
    // Two batches of counters. The wide loads of the cipher wait for narrow stores in flight. So each batch is
    // written while the one before is encrypted. It doubles the speed (`bench mse`, "cipher").
    let mut counters: [ParBlocks<B>; 2] = Default::default();
    let mut keystream: ParBlocks<B> = Array::default();
    let mut highs = [None; 2];
    let mut turn = 0;
    count_up(place.counter, &mut highs[0], &mut counters[0]);
    let tail = data.len() % (batch * BLOCK);
    // One loop for whole batches and the rest. With a second call of the cipher, the compiler would no
    // longer keep the round keys in registers.
    for chunk in data.chunks_mut(batch * BLOCK) {
        place.counter = place.counter.wrapping_add(batch as u128);
        let next = turn ^ 1;
        count_up(place.counter, &mut highs[next], &mut counters[next]);
        let backend = if batch < BATCH_OF_AVX512 { black_box(backend) } else { backend };
        backend.encrypt_par_blocks(InOut::from((&counters[turn], &mut keystream)));
        xor(chunk, Block::slice_as_flattened(&keystream));
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

/// Writes consecutive counters. Their upper halves, `high`, are left alone while they stay the same. Beside the
/// cipher, stores take most of this mode's time.
#[inline(always)]
fn count_up(counter: u128, high: &mut Option<u64>, blocks: &mut [Block]) {
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
fn count_up_whole(counter: u128, blocks: &mut [Block]) {
    for (n, block) in (0u128..).zip(blocks) {
        *block = counter.wrapping_add(n).to_be_bytes().into();
    }
}

/// Blocks a batch of the cipher's code for AVX-512, which has registers for the blocks and the round keys. With fewer
/// the keys must come from memory (see [`super::narrow`]).
const BATCH_OF_AVX512: usize = 64;
