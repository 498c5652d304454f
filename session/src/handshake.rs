//! How an inlet and an outlet come to share a session.
//!
//! ```text
//!   inlet → outlet   "LSL:secure/1 hybrid\r\n" or "LSL:secure/1 classic\r\n"
//!   inlet → outlet   length (BE 16) | e                | encapsulation key (hybrid)
//!   outlet → inlet   length (BE 16) | e, ee, s, es     | ciphertext (hybrid) | certificate | signature | limits
//!   inlet → outlet   length (BE 16) | s, se, psk       | certificate | signature | limits
//! ```
//!
//! Both ends are state machines. Give what the socket received to `handle`, and send what `poll_output`
//! holds, until `handle` says [`Progress::Done`]; then `finish`. When `handle` refuses, send what
//! `poll_output` still holds, and close.
//!
//! - Source: secure-session §3; The Noise Protocol Framework rev. 34, pattern XXpsk3.

mod initiator;
mod message;
mod responder;
mod room;

use core::time::Duration;

pub use initiator::Initiator;
pub use responder::{BareResponder, Desk, Responder};
pub use room::Room;

use crate::{Calendar, Credentials, Entropy, Lab, RevocationList, Secure, Statement};

/// What an end knows and brings into a handshake.
pub struct Context<'a> {
    /// The date.
    pub calendar: Calendar,
    /// Whether a device may do without the post-quantum exchange.
    pub classic: ClassicSuite,
    /// This device.
    pub credentials: &'a Credentials,
    /// Where keys come from.
    pub entropy: &'a mut dyn Entropy,
    /// The lab whose members are spoken to.
    pub lab: &'a Lab,
    /// Which of its members are out.
    pub revoked: RevocationList<&'a [u8]>,
}

/// Whether the classic suite is accepted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ClassicSuite {
    /// From a device whose certificate permits it, or to one.
    Certified,
    /// Accepted from no device.
    #[default]
    Refused,
}

/// What a session's secrecy rests on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Suite {
    /// X25519 alone.
    Classic,
    /// X25519 and ML-KEM-768: both must be broken to read a recording.
    Hybrid,
}

/// How far a handshake has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Progress {
    /// The session is there; bytes from `consumed` on belong to it.
    Done {
        /// How many of the bytes were the handshake's.
        consumed: usize,
    },
    /// All bytes are used, and more are needed.
    NeedsMore,
}

/// The outcome of a handshake.
pub struct Established {
    /// With whom this side talks.
    pub peer: PeerIdentity,
    /// What seals the connection from here on.
    pub session: Secure,
    /// The bytes that alignment would leave unused. A move would fill them with old bytes of the stack, perhaps
    /// with a secret.
    _unused: [u8; UNUSED],
}

impl Established {
    pub(crate) fn new(peer: PeerIdentity, session: Secure) -> Self {
        Self { peer, session, _unused: [0; UNUSED] }
    }
}

/// A peer that proved who it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PeerIdentity {
    /// Number of the revocation list that the peer has; give it a newer one.
    pub revocation_number: u64,
    /// What the lab's authority says about it.
    pub statement: Statement,
    /// What the session's secrecy rests on.
    pub suite: Suite,
}

/// The one byte that a stranger gets; no length and no record begins with it.
pub const ALERT: u8 = 0xFF;

/// Longest time for a whole handshake; its driver closes the connection then.
pub const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// How the first bytes of a connection ask for a secure session (secure-session §3.2).
pub const HANDSHAKE_PREFIX: &[u8] = b"LSL:secure/";

const UNUSED: usize = {
    let used = size_of::<Secure>() + size_of::<PeerIdentity>();
    used.next_multiple_of(align_of::<Secure>()) - used
};
