//! What streams and runs are called, on the wire and as subjects of the hub (relay §2).

use core::fmt::{self, Write};

use schwann_session::{Entropy, LabId, NoEntropy};

/// Names a relayed stream: 16 random bytes, drawn once and kept with its journal.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StreamId(pub [u8; 16]);

/// Names one run of the edge: 16 random bytes, drawn at each start.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RunId(pub [u8; 16]);

impl StreamId {
    /// Draws a name.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn draw(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        draw(entropy).map(Self)
    }
}

impl RunId {
    /// No run: an announcement says it where there was none before.
    pub const NONE: Self = Self([0; 16]);

    /// Draws a name.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn draw(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        draw(entropy).map(Self)
    }
}

/// 32 hexadecimal digits, as subjects have it.
impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal(f, &self.0)
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal(f, &self.0)
    }
}

fn draw(entropy: &mut dyn Entropy) -> Result<[u8; 16], NoEntropy> {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}

/// Where a message lies on the hub. Its text holds no name of a stream, a person or a place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Subject {
    /// Announcements of one stream.
    Announcements(LabId, StreamId),
    /// Blocks of one stream.
    Blocks(LabId, StreamId),
    /// Clock probes of one stream, and their answers.
    Clock(LabId, StreamId),
    /// Wrapped keys of one stream.
    Keys(LabId, StreamId),
    /// Wrapping keys of the lab's members.
    Members(LabId),
    /// Receipts, hole requests and losses of one stream.
    Notes(LabId, StreamId),
    /// The lab's revocation lists, as its authority signed them.
    Revoked(LabId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lab, stream, last) = match self {
            Self::Announcements(lab, stream) => (lab, Some(stream), "m"),
            Self::Blocks(lab, stream) => (lab, Some(stream), "b"),
            Self::Clock(lab, stream) => (lab, Some(stream), "c"),
            Self::Keys(lab, stream) => (lab, Some(stream), "k"),
            Self::Members(lab) => (lab, None, "members"),
            Self::Notes(lab, stream) => (lab, Some(stream), "r"),
            Self::Revoked(lab) => (lab, None, "revoked"),
        };
        f.write_str("schwann.")?;
        hexadecimal(f, &lab.0)?;
        f.write_char('.')?;
        if let Some(stream) = stream {
            write!(f, "{stream}.")?;
        }
        f.write_str(last)
    }
}

fn hexadecimal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_lab_and_stream_by_numbers() {
        let (lab, stream) = (LabId([0xA0; 16]), StreamId([0x0B; 16]));
        let blocks = Subject::Blocks(lab, stream).to_string();
        assert_eq!(blocks, format!("schwann.{}.{}.b", "a0".repeat(16), "0b".repeat(16)));
        assert_eq!(Subject::Members(lab).to_string(), format!("schwann.{}.members", "a0".repeat(16)));
    }
}
