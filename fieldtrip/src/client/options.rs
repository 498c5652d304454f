use core::time::Duration;

use crate::wire::ByteOrder;

/// How a client behaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// How long to keep trying to connect, for a server that is about to start.
    pub patience: Duration,
    /// Longest time for a reply, besides what a wait takes.
    pub timeout: Duration,
    /// Whether the connection is kept between requests.
    pub style: Style,
    /// Byte order of the requests, and so of the replies. All servers know little-endian.
    pub order: ByteOrder,
    /// Largest reply, in bytes; more counts as [`ClientError::Confused`](super::ClientError::Confused).
    pub reply_bytes: u32,
}

/// Whether the connection is kept between requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// One connection for all requests. If it breaks, the next request makes a new one.
    Stateful,
    /// A connection for each request.
    Stateless,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            style: Style::Stateful,
            order: ByteOrder::Little,
            reply_bytes: u32::MAX,
        }
    }
}
