//! Why a handshake failed.

use core::fmt;

/// Why a handshake cannot go on. Each ends the connection; [`Failure`](crate::policy::Failure) says
/// whether another one is worth trying.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HandshakeError {
    /// We: input arrived after the handshake had ended or failed.
    Finished,
    /// The initial payload is longer than its limit: the peer's, as announced, or our own, as given.
    InitialPayloadTooLong {
        /// Length announced, in bytes.
        announced: usize,
    },
    /// The peer selected a method that was not offered, none, or several at once.
    MethodNotOffered {
        /// `crypto_select` as received.
        selected: u32,
    },
    /// The peer offers nothing that we accept.
    NoCommonMethod {
        /// `crypto_provide` as received.
        provided: u32,
    },
    /// The mark that ends the peer's padding did not come within its limit. The peer does not speak
    /// MSE, means another torrent, or computes in another group.
    NoSynchronisation,
    /// The peer announced more padding than 512 bytes.
    PadTooLong {
        /// Length announced, in bytes.
        announced: usize,
    },
    /// The peer's public key is not in `2..=P-2`.
    PublicKeyOutOfRange,
    /// The peer asked for a torrent that we do not have.
    UnknownInfoHash,
    /// The eight zero bytes that prove the keys equal did not come out as zeros.
    VerificationFailed,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("the handshake had already ended"),
            Self::InitialPayloadTooLong { announced } => {
                write!(f, "the initial payload is too long ({announced} bytes)")
            }
            Self::MethodNotOffered { selected } => {
                write!(f, "the peer selected a method that was not offered ({selected:#x})")
            }
            Self::NoCommonMethod { provided } => {
                write!(f, "the peer offers no method that is accepted here ({provided:#x})")
            }
            Self::NoSynchronisation => f.write_str(
                "the peer's answer has no mark: it does not speak MSE, means another torrent, or is \
                 configured for another group",
            ),
            Self::PadTooLong { announced } => {
                write!(f, "the peer announced {announced} bytes of padding; 512 are allowed")
            }
            Self::PublicKeyOutOfRange => f.write_str("the peer's public key is out of range"),
            Self::UnknownInfoHash => f.write_str("the peer asks for a torrent that is not here"),
            Self::VerificationFailed => f.write_str("the peer's keys differ from ours"),
        }
    }
}

impl core::error::Error for HandshakeError {}
