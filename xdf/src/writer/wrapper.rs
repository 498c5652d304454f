//! What is around a recording while it is written: a seal, or a compression.

use std::io;
use std::time::Instant;

use super::packer::Packer;
use super::sealer::Sealer;

/// Takes in the bytes of the recording, and gives out those of the file.
#[derive(Debug)]
pub(super) enum Wrapper {
    Packer(Packer),
    Sealer(Sealer),
}

impl Wrapper {
    /// Takes in plain bytes.
    pub(super) fn take_in(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        match self {
            Self::Packer(packer) => {
                pieces.iter().try_for_each(|piece| packer.pack(piece))?;
                packer.flush()
            }
            Self::Sealer(sealer) => pieces.iter().try_for_each(|piece| sealer.seal(piece)),
        }
    }

    /// The most bytes of a file that so many plain ones take, with those that wait.
    pub(super) fn bytes_max(&self, plain: u64) -> u64 {
        match self {
            Self::Packer(packer) => packer.bytes_max(plain),
            Self::Sealer(sealer) => sealer.bytes_max(plain),
        }
    }

    /// Hands out what goes into the file next; [`Wrapper::sent`] says that it is there.
    pub(super) fn with_outgoing<T>(&self, then: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Packer(packer) => then(packer.outgoing()),
            Self::Sealer(sealer) => sealer.with_outgoing(then),
        }
    }

    pub(super) fn sent(&mut self) {
        match self {
            Self::Packer(packer) => packer.sent(),
            Self::Sealer(sealer) => sealer.sent(),
        }
    }

    /// A chunk of the recording that pushes out what waits, if that has waited for long.
    pub(super) fn filler(&self, now: Instant) -> Option<Vec<u8>> {
        match self {
            Self::Packer(_) => None,
            Self::Sealer(sealer) => sealer.filler(now),
        }
    }

    /// Notes that a filler was taken in.
    pub(super) fn filled(&mut self) {
        if let Self::Sealer(sealer) = self {
            sealer.filled();
        }
    }

    /// The end of the file.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Packer(packer) => packer.finish(),
            Self::Sealer(sealer) => sealer.finish(),
        }
    }
}
