//! Identities, handshake, sealed records and datagrams.
//!
//! ```text
//!   inlet                                                     outlet
//!   Initiator ── first line, message 1 ─────────────────────▶ Responder
//!             ◀─────────────────────────────── message 2 ───
//!             ── message 3 ─────────────────────────────────▶
//!   Secure    ◀══════════════ sealed records ══════════════▶ Secure
//!   Datagrams ◀───────────── sealed datagrams ─────────────▶ Datagrams
//! ```
//!
//! Everything here is a state machine over bytes: no socket, no clock, no heap, no hidden randomness.
//! Time and [`Entropy`] come in as arguments, bytes go in and come out. So a microcontroller and a
//! desktop run the same code, and a test controls all of it.
//!
//! Before working here, read `docs/spec/secure-session.md`; the code cites its sections as
//! `secure-session §n`. What is promised against whom is in `docs/threat-model.md`.
//!
//! [`pairing`] tells how a new device gets its certificate over the network, and [`envelope`] how it gets one by
//! mail. `docs/spec/pairing.md` specifies both.
//!
//! A microcontroller's keys are here, too. [`provision`] is their text form, and [`key_slots`] keeps them in flash.
//! The desktop writes them, the device reads them.
//!
//! It does not keep files, open sockets, write logs or decide who may speak plainly: the engine does.
#![forbid(unsafe_code)]
#![no_std]
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

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod bytes;
mod certificate;
pub mod control;
mod datagram;
pub mod discovery;
mod entropy;
#[cfg(feature = "alloc")]
pub mod envelope;
mod fingerprint;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(feature = "alloc")]
mod half_open;
mod handshake;
#[cfg(feature = "std")]
mod handshake_turns;
mod identity;
#[cfg(feature = "hybrid")]
mod kem;
#[cfg(not(feature = "hybrid"))]
#[path = "kem_absent.rs"]
mod kem;
pub mod key_slots;
#[cfg(feature = "alloc")]
pub mod keystore;
mod layer;
mod noise;
#[cfg(feature = "pairing")]
pub mod pairing;
pub mod provision;
mod record;
mod refusal;
#[cfg(feature = "alloc")]
pub mod renewal;
mod revocation;
mod session;
mod time;
#[cfg(test)]
mod wycheproof;

pub use certificate::{Certificate, CertificateError, DeviceName, Flags, Roles, Statement};
pub use datagram::{DATAGRAM_OVERHEAD, DatagramError, Datagrams, SessionId};
#[cfg(feature = "std")]
pub use entropy::SystemEntropy;
pub use entropy::{Entropy, NoEntropy};
pub use fingerprint::Fingerprint;
#[cfg(feature = "alloc")]
pub use half_open::{HalfOpenLimits, Network};
pub use handshake::{
    ALERT, BareResponder, ClassicSuite, Context, Desk, Established, HANDSHAKE_LIMIT, HANDSHAKE_PREFIX,
    Initiator, PeerIdentity, Progress, Responder, Room, Suite,
};
#[cfg(feature = "std")]
pub use handshake_turns::HandshakeTurns;
pub use identity::{AuthorityKey, Credentials, CredentialsError, DeviceKey, Lab, LabId, PublicKey, Purpose};
pub use layer::{LayerError, Opened, Plain, Truncated};
pub use record::{MAX_RECORD, RECORD_HEAD, RECORD_OVERHEAD};
pub use refusal::Refusal;
pub use revocation::{MAX_ENTRIES, RevocationError, RevocationList};
pub use session::{RekeyLimits, Secure};
pub use time::{Calendar, UnixSeconds};
