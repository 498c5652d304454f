//! The bytes of XDF 1.0: magic, chunk tags, variable-length numbers, value formats.
//!
//! Source: XDF specification 1.0, "Chunk"; xdf §1.

/// What a chunk holds.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u16)]
pub enum Tag {
    /// XML about the file; the first chunk.
    FileHeader = 1,
    /// XML about a stream, before its first sample.
    StreamHeader = 2,
    /// Samples of one stream.
    Samples = 3,
    /// One measurement of a stream's clock against the recorder's.
    ClockOffset = 4,
    /// The fixed mark [`BOUNDARY`].
    Boundary = 5,
    /// XML about a stream, after its last sample.
    StreamFooter = 6,
}

impl Tag {
    /// Parses a tag; none if the specification does not name it.
    #[must_use]
    pub const fn parse(tag: u16) -> Option<Self> {
        Some(match tag {
            1 => Self::FileHeader,
            2 => Self::StreamHeader,
            3 => Self::Samples,
            4 => Self::ClockOffset,
            5 => Self::Boundary,
            6 => Self::StreamFooter,
            _ => return None,
        })
    }

    /// Returns the number that stands for it in a file.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }
}

/// How a stream's values are stored. All are little-endian.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Format {
    /// `double64`
    Double64,
    /// `float32`
    Float32,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `int8`
    Int8,
    /// `string`: any bytes, meant to be UTF-8.
    String,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Double64, Self::Float32, Self::Int16, Self::Int32, Self::Int64, Self::Int8, Self::String];

    /// Parses the text of `<channel_format>`; none if the specification does not name it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns the text of `<channel_format>`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Double64 => "double64",
            Self::Float32 => "float32",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Int8 => "int8",
            Self::String => "string",
        }
    }

    /// Returns the bytes of one value; none for text, whose values differ in length.
    #[must_use]
    pub const fn value_bytes(self) -> Option<usize> {
        match self {
            Self::Double64 | Self::Int64 => Some(8),
            Self::Float32 | Self::Int32 => Some(4),
            Self::Int16 => Some(2),
            Self::Int8 => Some(1),
            Self::String => None,
        }
    }
}

/// A length byte, then a number in 1, 4 or 8 bytes; the specification permits no others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum VarLen {
    /// The number, and the bytes it takes in all.
    Number { value: u64, taken: usize },
    /// The bytes end before the number does.
    Incomplete,
    /// The first byte is none of 1, 4 and 8.
    Invalid,
}

/// Reads a variable-length number from the front of `bytes`.
pub(crate) fn read_var_len(bytes: &[u8]) -> VarLen {
    let Some((&width, rest)) = bytes.split_first() else { return VarLen::Incomplete };
    let value = match width {
        1 => rest.first().map(|&byte| u64::from(byte)),
        4 => rest.first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes))),
        8 => rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
        _ => return VarLen::Invalid,
    };
    match value {
        Some(value) => VarLen::Number { value, taken: 1 + usize::from(width) },
        None => VarLen::Incomplete,
    }
}

/// Appends a variable-length number in the fewest bytes, as LabRecorder does.
pub(crate) fn put_var_len(out: &mut Vec<u8>, value: u64) {
    if let Ok(byte) = u8::try_from(value) {
        out.extend_from_slice(&[1, byte]);
    } else if let Ok(word) = u32::try_from(value) {
        out.push(4);
        out.extend_from_slice(&word.to_le_bytes());
    } else {
        out.push(8);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends a chunk's length, tag and, where it has one, stream id; `content` bytes must follow.
pub(crate) fn put_chunk_head(out: &mut Vec<u8>, tag: Tag, stream: Option<u32>, content: usize) {
    let id_bytes = if stream.is_some() { 4 } else { 0 };
    put_var_len(out, (2 + id_bytes + content) as u64);
    out.extend_from_slice(&tag.number().to_le_bytes());
    if let Some(stream) = stream {
        out.extend_from_slice(&stream.to_le_bytes());
    }
}

/// Appends a whole chunk.
pub(crate) fn put_chunk(out: &mut Vec<u8>, tag: Tag, stream: Option<u32>, content: &[u8]) {
    put_chunk_head(out, tag, stream, content.len());
    out.extend_from_slice(content);
}

/// Appends a clock offset chunk.
pub(crate) fn put_clock_offset(out: &mut Vec<u8>, stream: u32, collected: f64, offset: f64) {
    put_chunk_head(out, Tag::ClockOffset, Some(stream), 16);
    out.extend_from_slice(&collected.to_le_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
}

/// The most bytes a variable-length number takes.
pub(crate) const VAR_LEN_MAX: usize = 9;
/// The first four bytes of every file.
pub const MAGIC: [u8; 4] = *b"XDF:";
/// Content of a boundary chunk: where a reader that lost its place finds a chunk's end.
pub const BOUNDARY: [u8; 16] =
    [0x43, 0xA5, 0x46, 0xDC, 0xCB, 0xF5, 0x41, 0x0F, 0xB3, 0x0E, 0xD5, 0x46, 0x73, 0x83, 0xCB, 0xE4];
/// A clock offset chunk's content after its tag: stream id, collection time, offset.
pub(crate) const CLOCK_OFFSET_CONTENT: usize = 4 + 8 + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_the_fewest_permitted_bytes_and_comes_back() {
        for (value, bytes) in
            [(0, 2), (255, 2), (256, 5), (0xFFFF_FFFF, 5), (0x1_0000_0000, 9), (u64::MAX, 9)]
        {
            let mut out = Vec::new();
            put_var_len(&mut out, value);
            assert_eq!(out.len(), bytes);
            assert_eq!(read_var_len(&out), VarLen::Number { value, taken: bytes });
            assert_eq!(read_var_len(&out[..bytes - 1]), VarLen::Incomplete);
        }
    }

    #[test]
    fn a_number_of_another_width_is_refused() {
        for width in [0, 2, 3, 5, 6, 7, 9, 255] {
            assert_eq!(read_var_len(&[width, 1, 1, 1, 1, 1, 1, 1, 1, 1]), VarLen::Invalid);
        }
    }

    #[test]
    fn tags_and_formats_come_back_from_their_names() {
        for number in 0..10 {
            assert_eq!(Tag::parse(number).map_or(number, Tag::number), number);
        }
        assert_eq!(Tag::parse(0), None);
        assert_eq!(Tag::parse(7), None);
        for format in Format::ALL {
            assert_eq!(Format::parse(format.name()), Some(format));
        }
        assert_eq!(Format::parse("uint8"), None);
    }

    #[test]
    fn a_clock_offset_chunk_has_the_bytes_that_labrecorder_writes() {
        let mut out = Vec::new();
        put_clock_offset(&mut out, 0, 6.1, -0.1);
        // From minimal.xdf of the XDF example files (MIT), at byte 1,238.
        let published = b"\x01\x16\x04\x00\x00\x00\x00\x00ffffff\x18@\x9a\x99\x99\x99\x99\x99\xb9\xbf";
        assert_eq!(out, published);
    }
}
