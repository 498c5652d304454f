//! A part of a file in memory, moved about as asked.

use std::io::{self, Read, Seek, SeekFrom};

/// Gives out slices of a file and remembers the part around the last one.
#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    len: u64,
    /// Where in the file `bytes` begins.
    base: u64,
    /// The part, and room after it that was used before: fresh room would be filled with zeros each time.
    bytes: Vec<u8>,
    /// How much of `bytes` is the part.
    filled: usize,
}

impl<R: Read + Seek> Window<R> {
    pub(super) fn new(mut source: R) -> io::Result<Self> {
        let len = source.seek(SeekFrom::End(0))?;
        Ok(Self { source, len, base: 0, bytes: Vec::new(), filled: 0 })
    }

    /// Returns the file's length in bytes.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Returns up to `want` bytes from `at`; fewer only at the file's end.
    ///
    /// Memory grows with the values found, not with the number requested.
    pub(super) fn view(&mut self, at: u64, want: usize) -> io::Result<&[u8]> {
        let left = self.len.saturating_sub(at);
        let want = usize::try_from(left).map_or(want, |left| left.min(want));
        if self.within(at, want).is_none() {
            self.load(at, want)?;
        }
        Ok(self.within(at, want).or_else(|| self.within(at, 0)).unwrap_or_default())
    }

    fn within(&self, at: u64, want: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.base)?).ok()?;
        let bytes = self.bytes.get(from..self.filled)?;
        if want == 0 { Some(bytes) } else { bytes.get(..want) }
    }

    fn load(&mut self, at: u64, want: usize) -> io::Result<()> {
        self.keep_from(at);
        let wanted = want.max(READ_AHEAD);
        if self.bytes.len() > 2 * wanted {
            self.bytes.truncate(wanted.max(self.filled));
            self.bytes.shrink_to(2 * wanted);
        }
        self.source.seek(SeekFrom::Start(at + self.filled as u64))?;
        self.fill(wanted)?;
        if self.filled < want {
            // The file became shorter while we read it.
            self.len = at + self.filled as u64;
        }
        Ok(())
    }

    /// Keeps what is already there from `at` on, where the window then begins.
    fn keep_from(&mut self, at: u64) {
        let kept = at.checked_sub(self.base).and_then(|from| usize::try_from(from).ok());
        match kept.filter(|&kept| kept <= self.filled) {
            Some(kept) => {
                self.bytes.copy_within(kept..self.filled, 0);
                self.filled -= kept;
            }
            None => self.filled = 0,
        }
        self.base = at;
    }

    /// Reads until there are so many bytes, or the source ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while self.filled < wanted {
            if self.bytes.len() < wanted {
                // No more than was found so far, and once that: the length may be a lie.
                let more = (2 * self.filled).clamp(READ_AHEAD, wanted);
                self.bytes.resize(more.max(self.bytes.len()), 0);
            }
            let room = self.bytes.len().min(wanted);
            match self.source.read(self.bytes.get_mut(self.filled..room).unwrap_or_default()) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Bytes read at once.
const READ_AHEAD: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_of_a_file_is_the_files() {
        let file: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut window = Window::new(io::Cursor::new(&file)).unwrap();
        for (at, want) in [
            (0, 4),
            (2_999_990, 100),
            (10, 2_500_000),
            (1_500_000, 9),
            (3, 1),
            (3_000_000, 5),
            (9_000_000, 5),
        ] {
            let expected = file.get(at..).unwrap_or_default();
            let expected = &expected[..want.min(expected.len())];
            assert!(window.view(at as u64, want).unwrap() == expected, "{at} {want}");
        }
    }
}
