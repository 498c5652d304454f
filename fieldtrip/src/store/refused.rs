/// Why a request was refused; nothing has changed. On the wire all are the same error reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Refused {
    /// The client may only read.
    Forbidden,
    /// The block is of another data type, or of another number of channels, than the header says.
    Mismatch,
    /// The request contradicts itself or is too short.
    Malformed,
    /// There is no header: no acquisition is running.
    NoHeader,
    /// The selection is not, or no longer, in the ring.
    OutOfRange,
    /// More than the ring can hold.
    TooLarge,
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Forbidden => "this client may only read",
            Self::Mismatch => "the block does not match the header's channels or data type",
            Self::Malformed => "the request contradicts itself or is too short",
            Self::NoHeader => "the buffer has no header",
            Self::OutOfRange => "the selection is not in the ring",
            Self::TooLarge => "more than the ring can hold",
        })
    }
}

impl core::error::Error for Refused {}

impl From<crate::wire::Malformed> for Refused {
    fn from(_: crate::wire::Malformed) -> Self {
        Self::Malformed
    }
}
