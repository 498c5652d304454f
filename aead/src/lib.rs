//! ChaCha20-Poly1305 (RFC 8439) for one message or many at once.
//!
//! ```
//! use schwann_aead::{Key, Nonce, open_in_place, seal_in_place};
//!
//! let key = Key::new(&[7; 32]);
//! let nonce = Nonce([0; 12]);
//! let mut buffer = *b"one sample of 64 channels";
//!
//! let tag = seal_in_place(&key, &nonce, b"header", &mut buffer)?;
//! open_in_place(&key, &nonce, b"header", &mut buffer, &tag)?;
//! assert_eq!(&buffer, b"one sample of 64 channels");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Several messages at hand are sealed faster in one call. [`seal_batch`] and [`open_batch`] take messages
//! with keys, nonces, headers and lengths of their own. They put them side by side into the lanes of a
//! vector unit. [`ChunkedSealer`] cuts a large block into chunks and does that; [`parallel`] adds threads.
//!
//! For a rare message, the sealing code is in no cache. Such a message costs three times what it does in a
//! loop. A caller that knows its nonce can prepare its key stream while idle: [`Ahead`].
//!
//! No allocation (but by `parallel`, at its start), no global state, no clock: bytes and nonces come in as
//! arguments. A nonce must never be used twice with the same key.
//!
//! # Kernels
//!
//! | [`Kernel`] | needs | messages side by side |
//! | --- | --- | --- |
//! | `Portable` | nothing; safe Rust | 1 |
//! | `Neon` | aarch64 | 4 |
//! | `Avx2` | x86-64 with AVX2 and BMI2 | 8 |
//! | `Avx512` | AVX-512 F, BW, DQ, VL | 16 |
//! | `Avx512Ifma` | and IFMA | 16 |
//!
//! The widest that the CPU has is used; with `std` it is found at run time, without when compiling. A single
//! message uses the same kernels: its blocks lie side by side instead.
//!
//! # What is measured
//!
//! `cargo run --release -p schwann-bench --features peers -- aead` measures this crate beside AWS-LC, ring,
//! OpenSSL, libsodium, RustCrypto and graviola. They seal and open the same messages, in place, in turns within
//! one run. The program throws away passes during which a probe says that the core was not ours. It compares
//! every result, and prints medians. On an AMD EPYC (Zen 5, 2 virtual processors, November 2026), sealing,
//! against the best of them at that size:
//!
//! | message | ratio at batch 1 | 4 | 8 | 16 | ns per message at 16 |
//! | --- | --- | --- | --- | --- | --- |
//! | 64 B | 1.26 | 2.3 | 4.2 | 5.6 | 33 |
//! | 264 B | 1.19 | 1.9 | 2.7 | 3.2 | 73 |
//! | 512 B | 1.08 | 1.8 | 2.7 | 3.2 | 98 |
//! | 1 KiB | 1.40 | 1.8 | 2.5 | 2.9 | 171 |
//! | 4 KiB | 1.18 | 1.4 | 1.5 | 1.5 | 726 |
//! | 128 KiB | 1.25 | 1.2 | 1.3 | 1.3 | 20,034 |
//!
//! Opening is as fast or faster. 512-byte messages in batches of 16 run at 102 % of the best peer's speed on one
//! message of 128 KiB. One batch with lengths from 64 to 1,500 bytes reaches 84 % of the speed of equal ones.
//! With 13 bytes of header it is 82 %.
//!
//! The CPU has no AVX-512 (AMD EPYC, Zen 3, 2 virtual processors, November 2026), and no peer uses it there
//! either. The table has the AVX2 kernel against the best peer at that size, sealing and opening. The figures
//! come from the committed record of `schwann-bench aead`. `docs/benchmarks/aead.tsv` has every size, the
//! intervals and the peers. 95 % intervals are 0.02 to 0.07 to each side. ring, measured twice in one run,
//! differed by up to 2 %.
//!
//! | message | alone | batch of 8 | batch of 16 |
//! | --- | --- | --- | --- |
//! | 64 B | 1.19 and 1.23 | 2.37 and 2.41 | 2.68 and 2.70 |
//! | 264 B | 1.07 and 1.09 | 1.30 and 1.31 | 1.41 and 1.42 |
//! | 512 B | 0.99 and 1.05 | 1.43 and 1.49 | 1.51 and 1.52 |
//! | 1 KiB | 1.06 and 1.02 | 1.31 and 1.29 | 1.35 and 1.30 |
//! | 4 KiB | 1.12 and 1.10 | 1.13 and 1.11 | 1.13 and 1.11 |
//! | 16 KiB | 1.16 and 1.15 | 1.17 and 1.16 | 1.17 and 1.16 |
//! | 64 KiB | 1.17 and 1.18 | 1.18 and 1.16 | 1.17 and 1.18 |
//!
//! A block of 128 KiB in chunks is compared with the best peer's speed on the whole block. Chunks of 512 B, 16 at
//! a time, reach 82 %. Chunks of 4 KiB reach 106 %. Mixed lengths reach 99 to 101 % of the speed of equal ones.
//!
//! There the rounds of eight blocks take 460 cycles, 0.9 per byte. Their 1,280 additions, exclusive ors, shifts and
//! shuffles would take 320 if they filled all four vector pipes. But the registers hold four quarter rounds at a
//! time, and these keep less than three pipes busy, in any order. Poly1305 between them takes 28 instructions for
//! 16 bytes. When one message is sealed, the first pass has nothing to sum, and the last sum has no pass. Passes of
//! two to six blocks help little: each takes about 420 cycles, waiting for itself.
//!
//! On the same CPU, the portable kernel takes 0.88 to 1.00 of the cycles of RustCrypto's portable code. That holds
//! for sealing and opening, from nothing to 64 KiB, with and without 13 bytes of header. From 264 B on it is 0.95
//! to 0.97. `schwann-bench aead` holds one against the other when it is built with `RUSTFLAGS='--cfg
//! chacha20_backend="soft" --cfg poly1305_backend="soft"'`.
//!
//! # What it does not do
//!
//! No other cipher. No nonces for single messages and batches. No streaming of one message. No protection
//! against a caller that repeats a nonce. It is new code. [`safety`] lists what could go wrong and what is done
//! about it. [`Kernel::Portable`] remains for users who prefer less of it.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod batch;
mod chacha20poly1305;
mod chunked;
pub mod ct;
pub mod kernel;
mod key;
#[cfg(feature = "std")]
pub mod parallel;

pub mod safety;

pub use batch::{Message, Refused, open_batch, seal_batch};
pub use chacha20poly1305::{MAX_MESSAGE, OpenError, SealError, open_in_place, seal_in_place};
pub use chunked::{ChunkSize, ChunkedError, ChunkedOpener, ChunkedSealer};
pub use kernel::{Ahead, Kernel};
pub use key::{Key, Nonce, Tag};
