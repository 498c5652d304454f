//! BitTorrent Message Stream Encryption: obfuscation, NOT confidentiality.
//!
//! MSE hides *that* a connection carries BitTorrent from an observer without the info hash. It
//! authenticates no peer, notices no change, and rests on RC4 and a short group. What must stay between
//! two machines belongs in a VPN, in TLS, or in files encrypted before they are shared.
//!
//! ```text
//!   initiator                                    responder
//!   Initiator::new                               Responder::new
//!       │ ── 1: key, padding ──────────────────────▶ │
//!       │ ◀────────────────────── 2: key, padding ── │
//!       │ ── 3: torrent, methods, first payload ───▶ │
//!       │ ◀─────────────────────────── 4: method ─── │
//!   Established                                  Established
//!   (two ciphers, one a direction)               (two ciphers, first payload)
//! ```
//!
//! Both roles are state machines without socket, clock or randomness of their own. The drive loop is the
//! same for both. Write what [`Handshake::poll_output`] returns, each as *one* write. Read, and give the
//! bytes to [`Handshake::handle_input`]. Stop when it says [`Status::Established`] or [`Status::Plain`].
//! One deadline covers the whole loop.
//!
//! ```
//! use schwann_mse::{Accept, Draw, Group, Handshake, HandshakeError, InfoHash, Initiator, Offer, Responder, Status};
//!
//! # let mut seed = 0u8;
//! # let mut random = |out: &mut [u8]| out.iter_mut().for_each(|b| { seed = seed.wrapping_mul(5).wrapping_add(1); *b = seed });
//! let torrent = InfoHash([7; 20]);
//! let mut a = Initiator::new(torrent, Offer::default(), Draw::random(Group::Mse768, &mut random))?;
//! let mut b = Responder::new(torrent, Accept::default(), Draw::random(Group::Mse768, &mut random));
//!
//! /// Carries everything that `from` has to send to `to`.
//! fn carry(from: &mut impl Handshake, to: &mut impl Handshake) -> Result<Status, HandshakeError> {
//!     let step = from.poll_output().unwrap_or_default();
//!     let mut input = step.as_slice();
//!     let mut status = to.handle_input(&mut input)?;
//!     while matches!(status, Status::Wait) && !input.is_empty() {
//!         status = to.handle_input(&mut input)?;
//!     }
//!     Ok(status)
//! }
//! carry(&mut a, &mut b)?;
//! carry(&mut b, &mut a)?;
//! let Status::Established(mut at_b) = carry(&mut a, &mut b)? else { panic!("step 3 is b's last") };
//! let Status::Established(mut at_a) = carry(&mut b, &mut a)? else { panic!("step 4 is a's last") };
//!
//! let mut bytes = *b"piece";
//! at_a.outgoing.apply(&mut bytes);
//! at_b.incoming.apply(&mut bytes);
//! assert_eq!(bytes, *b"piece");
//! # Ok::<(), HandshakeError>(())
//! ```
//!
//! `std` adds sockets and their uses. These are a blocking stream, dialling and accepting with one deadline,
//! and a check of what a peer accepts. Another is a proxy for clients without MSE. The feature `tokio` adds
//! the same stream for the traits of tokio.
//!
//! What this crate does not do: speak BitTorrent beyond its 68-byte handshake, and protect anything.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "tokio")]
pub mod aio;
mod bittorrent;
#[cfg(feature = "std")]
pub mod check;
mod cipher;
mod dh;
mod error;
// Parsers of a stranger's bytes.
#[cfg_attr(
    not(test),
    deny(
        clippy::as_conversions,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used
    )
)]
mod handshake;
mod keys;
mod method;
#[cfg(feature = "std")]
pub mod net;
pub mod policy;
#[cfg(feature = "std")]
pub mod proxy;
mod skey;
#[cfg(feature = "std")]
pub mod stream;
#[cfg(feature = "std")]
mod sys;
#[cfg(test)]
mod testing;

pub use bittorrent::{BtHandshake, PREFIX};
pub use cipher::{Cipher, Ctr, Rc4};
pub use dh::{Group, KeyPair, PublicKey, SharedSecret};
pub use error::HandshakeError;
pub use handshake::{
    Accept, Draw, Established, Handshake, Initiator, Offer, PAD_MAX, Progress, Responder, Stage, Status,
};
pub use method::{Method, Methods};
pub use skey::{InfoHash, Lookup, SkeyIndex};
