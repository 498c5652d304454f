//! What the ends of a tunnel say to each other first, sealed (fieldtrip §19.2).

/// What the sharing end answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Answer {
    /// What follows goes to the buffer.
    Joined,
    /// What follows goes to the buffer, as long as it changes nothing.
    JoinedToRead,
    /// No buffer answers at that end.
    NoBuffer,
}

impl Answer {
    const ALL: [Self; 3] = [Self::Joined, Self::JoinedToRead, Self::NoBuffer];

    pub(super) fn encode(self) -> [u8; BYTES] {
        message(match self {
            Self::Joined => 0,
            Self::JoinedToRead => 1,
            Self::NoBuffer => 2,
        })
    }

    /// Reads an answer; nothing if it is not of this version.
    pub(super) fn parse(bytes: [u8; BYTES]) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.encode() == bytes)
    }
}

const fn message(code: u8) -> [u8; BYTES] {
    [b'S', b'F', b'T', b'T', 1, code, 0, 0]
}

/// Bytes of either message.
pub(super) const BYTES: usize = 8;
/// The joining end's first message. It asks for this protocol, and no other that the same keys may
/// carry.
pub(super) const HELLO: [u8; BYTES] = message(0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_laid_down_is_an_answer() {
        for answer in Answer::ALL {
            let bytes = answer.encode();
            assert_eq!(Answer::parse(bytes), Some(answer));
            for place in 0..BYTES {
                let mut damaged = bytes;
                damaged[place] ^= 0x80;
                assert_eq!(Answer::parse(damaged), None, "byte {place}");
            }
        }
    }
}
