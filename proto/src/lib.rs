//! The Lab Streaming Layer wire protocol as pure functions and state machines.
//!
//! Bytes, time and randomness come in as arguments; nothing here opens a socket, reads a clock or starts a
//! thread. So a microcontroller and a desktop run the same code, and a test needs no network. Without the
//! feature `alloc` everything encodes into arrays of the caller ([`wire::ByteWriter`]).
//!
//! ```text
//!            outlet                                                    inlet
//!             push ─▶ wire::sample ─▶ bytes ─────▶ bytes ─▶ wire::sample ─▶ postproc ─▶ pull
//!            wire::feed (handshake)  ◀───────────────────▶  wire::feed
//!            wire::discover (who is there?)  ◀───────────▶  resolver
//!            wire::timedata (what time is it?)  ◀────────▶  clock
//! ```
//!
//! ```
//! use schwann_proto::{
//!     stream::ChannelFormat,
//!     wire::{
//!         ByteWriter,
//!         sample::{ByteOrder, Layout, Stamp, StampTracker},
//!     },
//! };
//!
//! let layout = Layout::new(ChannelFormat::Float32, 2, ByteOrder::NATIVE);
//! let mut room = [0; 64];
//! let mut out = ByteWriter::new(&mut room);
//! layout.encode_chunk(Stamp::Sent(10.0), &[1.0f32, 2.0, 3.0, 4.0], &mut out)?;
//!
//! let (mut values, mut stamps) = ([0.0f32; 4], [0.0; 2]);
//! let mut tracker = StampTracker::new(100.0);
//! let decoded = layout.decode_chunk(out.written(), &mut values, &mut stamps, &mut tracker)?;
//! assert_eq!((decoded.samples, values, stamps), (2, [1.0, 2.0, 3.0, 4.0], [10.0, 10.01]));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The byte layouts are specified in `docs/spec/lsl-wire.md`; each module names its sections.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::as_conversions,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used
    )
)]
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod clock;
pub mod inlet;
pub mod postproc;
pub mod resolver;
pub mod stream;
#[cfg(feature = "alloc")]
pub mod stream_info;
pub mod wire;
