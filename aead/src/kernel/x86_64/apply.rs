//! Text and key stream, exclusive-ored in registers of 256 bits.

use core::arch::x86_64::*;

use crate::kernel::wide::Block;

/// Exclusive-ors 64 bytes with a block of key stream.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn whole(data: &mut [u8; 64], block: &Block) {
    for (data, key) in data.as_chunks_mut::<32>().0.iter_mut().zip(block.0.as_chunks::<32>().0) {
        // SAFETY: the reference is to 32 bytes.
        let text = unsafe { _mm256_loadu_si256(data.as_ptr().cast()) };
        // SAFETY: the reference is to 32 bytes.
        let stream = unsafe { _mm256_loadu_si256(key.as_ptr().cast()) };
        let sum = _mm256_xor_si256(text, stream);
        // SAFETY: the reference is to 32 bytes.
        unsafe { _mm256_storeu_si256(data.as_mut_ptr().cast(), sum) };
    }
}

/// Less than a block: two pieces that overlap, as large as possible. No loop, and few branches.
#[inline(always)]
pub(super) fn tail(tail: &mut [u8], Block(key): &Block) {
    match tail.len() {
        32.. => ends(tail, key, |a: [u8; 32], b| core::array::from_fn(|i| a[i] ^ b[i])),
        16.. => ends(tail, key, |a, b| (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()),
        8.. => ends(tail, key, |a, b| (u64::from_ne_bytes(a) ^ u64::from_ne_bytes(b)).to_ne_bytes()),
        4.. => ends(tail, key, |a, b| (u32::from_ne_bytes(a) ^ u32::from_ne_bytes(b)).to_ne_bytes()),
        _ => tail.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key),
    }
}

/// The first and the last `PIECE` bytes; both are read before either is written.
#[inline(always)]
fn ends<const PIECE: usize>(
    tail: &mut [u8],
    key: &[u8; 64],
    exclusive_or: impl Fn([u8; PIECE], [u8; PIECE]) -> [u8; PIECE],
) {
    let key = &key[..tail.len()];
    let pieces = (tail.first_chunk(), tail.last_chunk(), key.first_chunk(), key.last_chunk());
    let (Some(first), Some(last), Some(first_key), Some(last_key)) = pieces else { return };
    let (first, last) = (exclusive_or(*first, *first_key), exclusive_or(*last, *last_key));
    if let Some(place) = tail.first_chunk_mut() {
        *place = first;
    }
    if let Some(place) = tail.last_chunk_mut() {
        *place = last;
    }
}
