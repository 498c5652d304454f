//! What seals a recording while it is written: whole age chunks leave it, and the rest waits in memory.
//!
//! After a while, a chunk without meaning fills it up, so that the rest does not wait for long: see xdf §8.

use core::fmt;
use core::time::Duration;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::lock;
use crate::sealing::{Recipients, Sealed};
use crate::wire::{BOUNDARY, Tag, put_chunk};

/// Seals what is appended.
pub(super) struct Sealer {
    sealed: Sealed<Outgoing>,
    outgoing: Outgoing,
    /// Plain bytes so far.
    len: u64,
    /// Since when the oldest unsealed one waits.
    waits_since: Option<Instant>,
}

impl Sealer {
    /// - Errors: [`io::ErrorKind::InvalidInput`] without a recipient.
    pub(super) fn new(recipients: &Recipients) -> io::Result<Self> {
        let outgoing = Outgoing::default();
        let sealed = recipients.seal(outgoing.clone())?;
        Ok(Self { sealed, outgoing, len: 0, waits_since: None })
    }

    /// Takes in plain bytes.
    pub(super) fn seal(&mut self, plain: &[u8]) -> io::Result<()> {
        let (before, now) = (self.sealed_chunks(), Instant::now());
        self.sealed.write_all(plain)?;
        self.len += plain.len() as u64;
        if self.sealed_chunks() > before {
            self.waits_since = Some(now);
        }
        self.waits_since.get_or_insert(now);
        Ok(())
    }

    /// The most bytes of a file that so many plain ones take, with those that wait.
    pub(super) fn bytes_max(&self, plain: u64) -> u64 {
        let all = plain.saturating_add(CHUNK_BYTES);
        let tags = (all / CHUNK_BYTES + 2) * Sealed::<Outgoing>::TAG_BYTES;
        all.saturating_add(tags).saturating_add(lock(&self.outgoing.0).len() as u64)
    }

    /// What goes into the file next; [`Sealer::sent`] says that it is there.
    pub(super) fn with_outgoing<T>(&self, then: impl FnOnce(&[u8]) -> T) -> T {
        then(&lock(&self.outgoing.0))
    }

    pub(super) fn sent(&self) {
        lock(&self.outgoing.0).clear();
    }

    /// A chunk of the recording that pushes out what waits, if that has waited for long.
    pub(super) fn filler(&self, now: Instant) -> Option<Vec<u8>> {
        let is_due = self.waits_since.is_some_and(|since| now.saturating_duration_since(since) >= WAIT_MAX);
        // One byte more: a full chunk is sealed when it is clear that it is not the last.
        is_due.then(|| filler(CHUNK_BYTES - self.open_bytes() + 1))
    }

    /// Notes that a filler was sealed: what waits now is a part of it.
    pub(super) fn filled(&mut self) {
        self.waits_since = None;
    }

    /// Seals the last chunk.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        self.sealed.finish()?;
        Ok(core::mem::take(&mut *lock(&self.outgoing.0)))
    }

    /// The chunks that are sealed; one that is full is not yet.
    const fn sealed_chunks(&self) -> u64 {
        self.len.saturating_sub(1) / CHUNK_BYTES
    }

    /// Plain bytes that are not sealed yet.
    const fn open_bytes(&self) -> u64 {
        self.len - self.sealed_chunks() * CHUNK_BYTES
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sealer").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Sealed bytes on their way to the file.
#[derive(Clone, Default)]
struct Outgoing(Arc<Mutex<Vec<u8>>>);

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A chunk of at least so many bytes that every reader skips.
fn filler(bytes: u64) -> Vec<u8> {
    // With more than 255 bytes of content, the head has always the same length.
    let bytes = usize::try_from(bytes).unwrap_or_default().max(300);
    let mut content = NAME.to_vec();
    content.resize(bytes - HEAD_BYTES - BOUNDARY.len(), 0);
    content.extend(BOUNDARY);
    let mut chunk = Vec::with_capacity(bytes);
    put_chunk(&mut chunk, Tag::Boundary, None, &content);
    chunk
}

const NAME: [u8; 8] = *b"schwann\x03";
/// Of a chunk without a stream: the length's width, the length, the tag.
const HEAD_BYTES: usize = 1 + 4 + 2;
const CHUNK_BYTES: u64 = Sealed::<Outgoing>::CHUNK_BYTES;
/// The longest that samples wait in memory because their age chunk is not full.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealing::Identities;

    #[test]
    fn what_waits_leaves_after_a_while_whatever_its_length() {
        for len in [1, 300, 65_000, 65_535, 65_536, 65_537, 200_000] {
            let mut sealer = Sealer::new(&Identities::generate().1).unwrap();
            sealer.seal(&vec![7; len]).unwrap();
            assert_eq!(sealer.filler(Instant::now()), None, "not at once");
            let later = Instant::now() + WAIT_MAX;
            let filler = sealer.filler(later).unwrap();
            assert!(filler.len() <= 65_537, "{}", filler.len());
            sealer.seal(&filler).unwrap();
            sealer.filled();
            assert!(sealer.sealed_chunks() * CHUNK_BYTES >= len as u64, "{len}");
            let sent = sealer.with_outgoing(<[u8]>::len) as u64;
            assert!(sent > sealer.sealed_chunks() * (CHUNK_BYTES + 16), "{len}: {sent}");
            assert_eq!(sealer.filler(later + WAIT_MAX), None, "a filler itself need not leave");
            assert!(sent <= sealer.bytes_max(0));
        }
    }
}
