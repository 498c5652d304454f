//! Counter mode for code whose registers hold one block: AES-NI, ARM's AES, and plain words.
//!
//! Eight blocks keep both AES units of a core busy only if the next eight begin before these end. A core looks
//! ahead some two hundred instructions. So little may lie around the cipher: counters and data stay in registers.
//! `bench mse`, "cipher", holds it against OpenSSL's.

use core::hint::black_box;

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::inout::InOut;
use aes::cipher::typenum::Unsigned;
use aes::cipher::{BlockCipherEncBackend, ParBlocks};
use wide::u8x16;
use zeroize::optimization_barrier;

use super::{BLOCK, Block, Position, Run};

#[inline(always)]
pub(super) fn run<B: BlockCipherEncBackend<BlockSize = U16>>(run: Run<'_>, backend: &B) {
    let Run { place, data } = run;
    let whole = data.len() - data.len() % (B::ParBlocksSize::USIZE * BLOCK);
    let (whole, tail) = data.split_at_mut(whole);
    let (blocks, _) = Block::slice_as_chunks_mut(whole);
    let (batches, _) = ParBlocks::<B>::slice_as_chunks_mut(blocks);
    let mut counter = place.counter;
    for batch in batches {
        // The round keys must come from memory: there are too few registers. Where the compiler sees through the
        // pointer to them, it holds them in registers. It then encrypts two or three blocks at a time.
        let backend = black_box(backend);
        if usize::from(counter as u8) + batch.len() <= 256 {
            encrypt(backend, &count_up_last_byte::<B>(counter), batch);
        } else {
            encrypt_from(backend, counter, batch);
        }
        counter = counter.wrapping_add(batch.len() as u128);
    }
    place.counter = counter;
    if !tail.is_empty() {
        encrypt_tail(backend, place, tail);
    }
}

/// Encrypts what is shorter than a batch, and keeps the rest of its last block's keystream.
fn encrypt_tail<B: BlockCipherEncBackend<BlockSize = U16>>(
    backend: &B,
    place: &mut Position,
    tail: &mut [u8],
) {
    let mut batch: ParBlocks<B> = Array::default();
    let bytes = Block::slice_as_flattened_mut(&mut batch);
    bytes[..tail.len()].copy_from_slice(tail);
    encrypt_from(backend, place.counter, &mut batch);
    let bytes = Block::slice_as_flattened(&batch);
    tail.copy_from_slice(&bytes[..tail.len()]);
    let blocks = tail.len().div_ceil(BLOCK);
    // Behind the data lay zeros, so what lies there now is keystream.
    place.block.copy_from_slice(&bytes[(blocks - 1) * BLOCK..blocks * BLOCK]);
    place.used = tail.len() - (blocks - 1) * BLOCK;
    place.counter = place.counter.wrapping_add(blocks as u128);
    // `zeroize` would write byte by byte. The barrier keeps the store alive.
    batch = Array::default();
    optimization_barrier(&batch);
}

/// [`encrypt`] from any counter: where the last byte carries, once in some thirty batches, and for tails.
// Out of line, so that its counters in memory take nothing from the loop.
#[cold]
#[inline(never)]
fn encrypt_from<B: BlockCipherEncBackend<BlockSize = U16>>(
    backend: &B,
    counter: u128,
    batch: &mut ParBlocks<B>,
) {
    let counters = Array::from_fn(|n| Array(counter.wrapping_add(n as u128).to_be_bytes()));
    encrypt(backend, &counters, batch);
}

#[inline(always)]
fn encrypt<B: BlockCipherEncBackend<BlockSize = U16>>(
    backend: &B,
    counters: &ParBlocks<B>,
    batch: &mut ParBlocks<B>,
) {
    let mut keystream: ParBlocks<B> = Array::default();
    backend.encrypt_par_blocks(InOut::from((counters, &mut keystream)));
    for (block, key) in batch.iter_mut().zip(&keystream) {
        *block = Array((u8x16::new(block.0) ^ u8x16::new(key.0)).to_array());
    }
}

/// Consecutive counters that differ in the last byte alone: one vector addition each.
#[inline(always)]
fn count_up_last_byte<B: BlockCipherEncBackend<BlockSize = U16>>(counter: u128) -> ParBlocks<B> {
    let first = u8x16::new(counter.to_be_bytes());
    Array::from_fn(|n| Array((first + u8x16::new((n as u128).to_be_bytes())).to_array()))
}
