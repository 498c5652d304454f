//! What a link is protected by.

use schwann_session::{BareResponder, Datagrams, Secure};

/// What stands between a link and its socket. A handshake is over when there is a session, so that they share memory.
#[allow(clippy::large_enum_variant, reason = "the session is kept where the handshake was, without a heap")]
pub(super) enum Guard {
    Open,
    Sealed(Secure, Option<Datagrams>),
    Shaking(BareResponder),
}

impl Guard {
    pub(super) fn layer(&self) -> Option<&Secure> {
        match self {
            Self::Sealed(layer, _) => Some(layer),
            Self::Open | Self::Shaking(_) => None,
        }
    }

    pub(super) fn layer_mut(&mut self) -> Option<&mut Secure> {
        match self {
            Self::Sealed(layer, _) => Some(layer),
            Self::Open | Self::Shaking(_) => None,
        }
    }

    /// The session's datagrams, if there is one.
    pub(super) fn datagrams(&mut self) -> Option<&mut Datagrams> {
        match self {
            Self::Sealed(_, datagrams) => datagrams.as_mut(),
            Self::Open | Self::Shaking(_) => None,
        }
    }
}
