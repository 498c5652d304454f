/// The type of a number, or of a character, in samples and events (spec: fieldtrip §5).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u32)]
pub enum DataType {
    /// Text, one byte each.
    Char = 0,
    /// Unsigned, 8 bits.
    Uint8 = 1,
    /// Unsigned, 16 bits.
    Uint16 = 2,
    /// Unsigned, 32 bits.
    Uint32 = 3,
    /// Unsigned, 64 bits.
    Uint64 = 4,
    /// Signed, 8 bits.
    Int8 = 5,
    /// Signed, 16 bits.
    Int16 = 6,
    /// Signed, 32 bits.
    Int32 = 7,
    /// Signed, 64 bits.
    Int64 = 8,
    /// IEEE 754, 32 bits.
    Float32 = 9,
    /// IEEE 754, 64 bits.
    Float64 = 10,
}

impl DataType {
    /// Every type, in the order of the codes.
    pub const ALL: [Self; 11] = [
        Self::Char,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Float32,
        Self::Float64,
    ];

    /// Reads a code; `None` for codes that do not exist.
    pub fn parse(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// The code on the wire.
    #[inline]
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The size of one value, in bytes.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            Self::Char | Self::Uint8 | Self::Int8 => 1,
            Self::Uint16 | Self::Int16 => 2,
            Self::Uint32 | Self::Int32 | Self::Float32 => 4,
            Self::Uint64 | Self::Int64 | Self::Float64 => 8,
        }
    }

    /// The name in the recording format's `header.txt` (spec: fieldtrip §18).
    pub fn name(self) -> &'static str {
        match self {
            Self::Char => "char",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// Finds a type by its [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_identify_a_type() {
        for (code, data_type) in (0..).zip(DataType::ALL) {
            assert_eq!(DataType::parse(code), Some(data_type));
            assert_eq!(data_type.code(), code);
            assert_eq!(DataType::from_name(data_type.name()), Some(data_type));
        }
        assert_eq!(DataType::parse(11), None);
        assert_eq!(DataType::parse(u32::MAX), None);
    }
}
