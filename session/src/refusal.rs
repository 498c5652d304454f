//! Why a peer is refused, in one word for the log and one byte for a peer that proved itself.

use core::fmt;

/// Why a handshake ended without a session.
///
/// The full reason stays on this side. A stranger gets one fixed byte ([`ALERT`](crate::ALERT)). A device
/// that proved the lab's certificate gets the reason sealed (secure-session §3.8).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The classic suite is not permitted here, or neither certificate permits it.
    ClassicRefused,
    /// The peer closed the connection before it proved anything.
    Closed,
    /// A certificate is past its last day, or a clock is wrong.
    Expired,
    /// Signature, key or message do not verify: damage or an attack.
    Forged,
    /// The peer's bytes are not what the specification prescribes.
    Malformed,
    /// The peer closed on a request in the clear without a word: it speaks to members of its lab alone.
    MembersOnly,
    /// This side's random generator failed.
    NoEntropy,
    /// The peer wants the hybrid suite, and this device is too small for it.
    NoHybrid,
    /// The peer wants a session, and this side has no keys.
    NoKeys,
    /// A certificate is not valid yet: most often, a clock is wrong.
    NotYetValid,
    /// The peer speaks a later version than this one.
    PeerTooNew,
    /// The peer speaks an earlier version than this one.
    PeerTooOld,
    /// The peer speaks plain LSL.
    PlainPeer,
    /// The peer refused this side and gave no reason; its own log has it.
    RefusedByPeer,
    /// A certificate has been revoked.
    Revoked,
    /// The handshake took longer than [`HANDSHAKE_LIMIT`](crate::HANDSHAKE_LIMIT).
    TimedOut,
    /// The stream is pinned to another device than this member of the lab.
    WrongDevice,
    /// The peer belongs to another lab.
    WrongLab,
    /// A certificate does not permit to publish, or to subscribe, as it would have to.
    WrongRole,
}

impl Refusal {
    /// The byte that tells a proven peer; nothing for reasons that peers must not learn.
    pub(crate) fn code(self) -> Option<u8> {
        Some(match self {
            Self::Expired => 1,
            Self::NotYetValid => 2,
            Self::Revoked => 3,
            Self::WrongRole => 4,
            Self::ClassicRefused => 5,
            _ => return None,
        })
    }

    /// Reads what the peer says of this side; a later version may know more reasons.
    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Expired,
            2 => Self::NotYetValid,
            3 => Self::Revoked,
            4 => Self::WrongRole,
            5 => Self::ClassicRefused,
            _ => Self::RefusedByPeer,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClassicRefused => "the suite without post-quantum protection is not permitted",
            Self::Closed => "the peer closed the connection before the handshake was done",
            Self::Expired => "the certificate has expired",
            Self::Forged => "the peer's proof does not verify",
            Self::Malformed => "the peer's bytes make no sense",
            Self::MembersOnly => "the peer closes without a word: it speaks to members of its lab alone",
            Self::NoEntropy => "the system gives no random bytes",
            Self::NoHybrid => "this device is too small for the suite with post-quantum protection",
            Self::NoKeys => "the peer wants a sealed connection, and this program has no keys",
            Self::NotYetValid => "the certificate is not valid yet",
            Self::PeerTooNew => "the peer speaks a later version of the secure session",
            Self::PeerTooOld => "the peer speaks an earlier version of the secure session",
            Self::PlainPeer => "the peer speaks plain LSL, which is not permitted here",
            Self::RefusedByPeer => "the peer refused, and its own log says why",
            Self::Revoked => "the certificate has been revoked",
            Self::TimedOut => "the handshake took too long",
            Self::WrongDevice => "the stream is pinned to another device than the one that sends it",
            Self::WrongLab => "the peer belongs to another lab",
            Self::WrongRole => "the certificate does not permit this role",
        })
    }
}

impl core::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_means_the_same_at_both_ends() {
        for code in 1..=5 {
            assert_eq!(Refusal::from_code(code).code(), Some(code));
        }
        assert_eq!(Refusal::Forged.code(), None);
        assert_eq!(Refusal::from_code(99), Refusal::RefusedByPeer);
    }
}
