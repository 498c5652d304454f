//! Sealed streams: this process's keys, what may go in the clear, what users learn of it, and what seals a link.
//!
//! | Module | What it is for |
//! | --- | --- |
//! | `journal` | who connected and who was refused, in a file of its own, and what mends it |
//! | [`keys`] | the key folder, and the membership that it gives |
//! | `policy` | which streams may go in the clear |
//! | `link` | what seals and opens the bytes of one connection |
//!
//! A module uses those above it. Source: secure-session §6.

pub(crate) mod journal;
pub mod keys;
pub(crate) mod link;
pub(crate) mod policy;
#[cfg(test)]
mod tests;

pub use self::journal::{Explained, LastPeer, advice, log_to, refusals_are_shown, refused_from_hub};
pub use self::keys::error::TrustError;
pub use self::keys::member::{Member, UpdateError, Watcher};
pub use self::link::{Assembly, Handshake, Peer, Step};
pub use self::policy::{
    Admitted, Pin, Pins, Policy, StreamPolicies, Trust, expires_in_days, reason, summary,
};
pub use schwann_session::{
    Certificate as RawCertificate, Lab, Network, PeerIdentity, Purpose, Refusal, Roles, Suite,
};
