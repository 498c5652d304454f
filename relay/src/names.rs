//! What streams and runs are called, on the wire and as subjects of the hub (relay §2).

use core::fmt::{self, Write};

use schwann_session::{Entropy, LabId, NoEntropy, PublicKey};
use sha2::{Digest, Sha256};

/// Names a relayed stream: 16 random bytes, drawn once and kept with its journal.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StreamId(pub [u8; 16]);

/// Names one run of the edge: 8 random bytes, drawn at each start, and 8 that belong to the stream and the device. So no other
/// device can take the name for a run of its own.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RunId(pub [u8; 16]);

impl StreamId {
    /// Draws a name.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn draw(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes)?;
        Ok(Self(bytes))
    }
}

impl RunId {
    /// No run: an announcement says it where there was none before.
    pub const NONE: Self = Self([0; 16]);

    /// Draws a name for a run of the stream by the device.
    ///
    /// - Errors: [`NoEntropy`].
    pub fn draw(stream: StreamId, device: &PublicKey, entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        let mut drawn = [0; DRAWN];
        entropy.fill(&mut drawn)?;
        Ok(Self::bound(drawn, stream, device))
    }

    /// Whether the device may give this name to a run of the stream.
    #[must_use]
    pub fn is_of(&self, stream: StreamId, device: &PublicKey) -> bool {
        self.0.first_chunk().is_some_and(|drawn| Self::bound(*drawn, stream, device) == *self)
    }

    fn bound(drawn: [u8; DRAWN], stream: StreamId, device: &PublicKey) -> Self {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(b"schwann/1 relay run name")
            .chain_update(stream.0)
            .chain_update(device.0)
            .chain_update(drawn)
            .finalize()
            .into();
        let mut name = [0; 16];
        name.iter_mut().zip(drawn.iter().chain(&digest)).for_each(|(to, from)| *to = *from);
        Self(name)
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

/// Random bytes in the name of a run.
const DRAWN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_name_of_its_device_and_stream() {
        let (stream, device) = (StreamId([1; 16]), PublicKey([2; 32]));
        let name = RunId::bound([3; DRAWN], stream, &device);
        assert_eq!(name.0[..DRAWN], [3; DRAWN]);
        assert!(name.is_of(stream, &device));
        assert!(!name.is_of(stream, &PublicKey([4; 32])), "another device");
        assert!(!name.is_of(StreamId([5; 16]), &device), "another stream");
    }

    #[test]
    fn a_subject_names_lab_and_stream_by_numbers() {
        let (lab, stream) = (LabId([0xA0; 16]), StreamId([0x0B; 16]));
        let blocks = Subject::Blocks(lab, stream).to_string();
        assert_eq!(blocks, format!("schwann.{}.{}.b", "a0".repeat(16), "0b".repeat(16)));
        assert_eq!(Subject::Members(lab).to_string(), format!("schwann.{}.members", "a0".repeat(16)));
    }
}
