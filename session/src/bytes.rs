//! Reading and writing fixed layouts without indexing.

/// Takes fixed pieces off the front of bytes that someone else wrote.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Begins at the front of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Takes `N` bytes; nothing if fewer are left.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    /// Takes `length` bytes where they lie; nothing if fewer are left.
    pub fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (slice, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(slice)
    }

    /// Takes one byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Takes four bytes, little-endian.
    pub fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes eight bytes, little-endian.
    pub fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The bytes not read yet.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Lays `parts` one after another into an array; they must fill it exactly.
#[must_use]
pub fn concat<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    debug_assert_eq!(parts.iter().map(|part| part.len()).sum::<usize>(), N, "the parts fill the array");
    let mut out = [0; N];
    let mut rest = out.as_mut_slice();
    for part in parts {
        let Some((front, back)) = rest.split_at_mut_checked(part.len()) else { break };
        front.copy_from_slice(part);
        rest = back;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_down_is_read_back() {
        let laid: [u8; 15] = concat(&[&[7], &3_u32.to_le_bytes(), &9_u64.to_le_bytes(), b"ab"]);
        let mut reader = Reader::new(&laid);
        assert_eq!((reader.byte(), reader.word(), reader.long()), (Some(7), Some(3), Some(9)));
        assert_eq!(reader.long(), None);
        assert_eq!(reader.rest(), b"ab");
    }
}
