/// The order of the bytes in the numbers of one message.
///
/// Every message carries its own: a reply is in the order of its request (spec: fieldtrip §3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

impl ByteOrder {
    /// The order of this machine, in which the store keeps everything.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Whether numbers in this order are kept as they are.
    pub fn is_native(self) -> bool {
        self == Self::NATIVE
    }

    /// Reads a 16-bit number.
    pub fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    /// Reads a 32-bit number.
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    /// Writes a 16-bit number.
    pub fn put_u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    /// Writes a 32-bit number.
    pub fn put_u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    /// Converts numbers of `word` bytes between this order and the machine's, in place.
    ///
    /// Bytes behind the last whole number stay as they are.
    pub fn convert(self, word: usize, bytes: &mut [u8]) {
        if self.is_native() {
            return;
        }
        match word {
            2 => reverse::<2>(bytes),
            4 => reverse::<4>(bytes),
            8 => reverse::<8>(bytes),
            _ => {}
        }
    }
}

fn reverse<const WORD: usize>(bytes: &mut [u8]) {
    let (words, _) = bytes.as_chunks_mut::<WORD>();
    for word in words {
        word.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_both_orders() {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            assert_eq!(order.u32(order.put_u32(0x0102_0304)), 0x0102_0304);
            assert_eq!(order.u16(order.put_u16(0x0102)), 0x0102);
        }
    }

    #[test]
    fn converting_twice_changes_nothing_and_leaves_the_remainder() {
        let foreign = if cfg!(target_endian = "big") { ByteOrder::Little } else { ByteOrder::Big };
        for word in [1, 2, 4, 8] {
            let bytes: Vec<u8> = (0..23).collect();
            let mut twice = bytes.clone();
            foreign.convert(word, &mut twice);
            assert_eq!(twice[23 / word * word..], bytes[23 / word * word..]);
            assert_eq!(word == 1, twice == bytes);
            foreign.convert(word, &mut twice);
            assert_eq!(twice, bytes);
        }
    }
}
