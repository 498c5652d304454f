//! Streams that leave their network through a hub that need not be trusted.
//!
//! ```text
//!   edge                           hub (keeps a log)                 member
//!   Run      seals, numbers ──────────── blocks ──────────────────▶  Follower  opens, links, reports
//!            and signs once ──── announcements, wrapped keys ─────▶
//!   Outflow  what to publish ◀───── receipts, hole requests ───────
//! ```
//!
//! The hub may lose, repeat, reorder, roll back, hold back and invent anything. A member's recording equals what the edge
//! sent, or the member says exactly what is missing.
//!
//! * [`Run`] seals samples into [`Block`]s, once for any number of members, and wraps its keys for them.
//! * [`Outflow`] decides which block of the journal the edge publishes next, and when one may go.
//! * [`HandedOver`] knows which blocks the hub has acknowledged, and doubts those that its last block does not speak for.
//! * [`Follower`] takes what comes from the hub in any order: it opens blocks, links them to a chain, and knows the holes.
//!
//! Everything here is a state machine over bytes: no socket, no clock, no file, no thread. Time and randomness are arguments.
//! A journal and a recorder's disk are the caller's.
//!
//! Before working here, read `docs/spec/relay.md`; the code cites its sections as `relay §n`.
//!
//! It does not connect to a hub, and encodes no samples: a block's content is bytes to it.
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

// Tests here use the same lab as those of the folder `tests`.
#[cfg(test)]
extern crate self as schwann_relay;

mod announcement;
mod block;
mod chain;
mod clock;
mod follower;
mod handed;
mod key;
#[cfg(test)]
#[path = "../tests/common/lab.rs"]
mod lab;
mod member;
mod names;
mod note;
mod outflow;
mod ranges;
mod run;
mod signed;
#[cfg(test)]
mod vectors;
mod wrapped;

pub use announcement::{Announcement, Before, MAX_DESCRIPTION};
pub use block::{Block, BlockKind, Hash, MAX_CONTENT};
pub use chain::{BlockPlace, Chain, LinkError, MAX_HOLES};
pub use clock::{Backlog, ClockAnswer, ClockMessage, ProbeId};
pub use follower::{End, Follower, Mark, Report, Taken};
pub use handed::{AtHub, HandedOver};
pub use member::{MemberKeyId, WRAPPING_LIFETIME, WrappingKey, WrappingPublic};
pub use names::{RunId, StreamId, Subject};
pub use note::{MAX_RANGES, Note, NoteKind};
pub use outflow::{Outflow, ReceiptFault, Stake};
pub use ranges::{Range, Ranges};
pub use run::{Moment, Run, SealError, Sealed, Start};
pub use signed::Refused;
pub use wrapped::MAX_MEMBERS;
