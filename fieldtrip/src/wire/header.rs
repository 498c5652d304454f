use std::sync::Arc;

use super::{ByteOrder, DataType, Fields, Malformed, Totals};

/// What the samples of a buffer are: how many channels, how often, of which type. It also holds what else
/// the writer tells readers (spec: fieldtrip §6).
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Number of channels.
    pub channel_count: u32,
    /// Sampling rate in Hz, as the writer gave it: 0, negative numbers and NaN do occur.
    pub rate: f32,
    /// Type of every sample value.
    pub data_type: DataType,
    /// The chunks, in the machine's byte order; returned to readers untouched. See [`Header::chunks`].
    pub chunk_bytes: Arc<[u8]>,
}

impl Header {
    /// A header without chunks.
    pub fn new(channel_count: u32, rate: f32, data_type: DataType) -> Self {
        Self { channel_count, rate, data_type, chunk_bytes: Arc::from([]) }
    }

    /// Adds a chunk at the end. Write each kind at most once: readers differ in which one they take.
    #[must_use]
    pub fn with_chunk(mut self, kind: ChunkKind, content: &[u8]) -> Self {
        let mut bytes = self.chunk_bytes.to_vec();
        bytes.extend_from_slice(&kind.code().to_ne_bytes());
        bytes.extend_from_slice(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_ne_bytes());
        bytes.extend_from_slice(content);
        self.chunk_bytes = bytes.into();
        self
    }

    /// Adds the names of the channels, in channel order.
    #[must_use]
    pub fn with_channel_names<Name: AsRef<str>>(self, names: impl IntoIterator<Item = Name>) -> Self {
        self.with_chunk(ChunkKind::ChannelNames, &channel_names_chunk(names))
    }

    /// Parses the payload of a request or reply, with the totals it carries.
    ///
    /// A request's totals mean nothing. Bytes behind the announced chunks are dropped.
    ///
    /// - Errors: [`Malformed`] if the payload is too short for itself or the data type does not exist.
    pub fn parse(order: ByteOrder, payload: &[u8]) -> Result<(Self, Totals), Malformed> {
        let mut fields = Fields::new(order, payload);
        let channel_count = fields.u32()?;
        let totals = Totals { samples: fields.u32()?, events: fields.u32()? };
        let rate = f32::from_bits(fields.u32()?);
        let data_type = DataType::parse(fields.u32()?).ok_or(Malformed)?;
        let length = usize::try_from(fields.u32()?).map_err(|_| Malformed)?;
        let mut chunk_bytes: Arc<[u8]> = fields.rest().get(..length).ok_or(Malformed)?.into();
        if !order.is_native() {
            let bytes = Arc::get_mut(&mut chunk_bytes).ok_or(Malformed)?;
            swap_chunks(channel_count, order, ByteOrder::NATIVE, bytes);
        }
        Ok((Self { channel_count, rate, data_type, chunk_bytes }, totals))
    }

    /// The fixed part, followed on the wire by the chunks.
    pub fn encode(&self, order: ByteOrder, totals: Totals) -> [u8; HEADER_BYTES] {
        let length = u32::try_from(self.chunk_bytes.len()).unwrap_or(u32::MAX);
        let fields = [
            self.channel_count,
            totals.samples,
            totals.events,
            self.rate.to_bits(),
            self.data_type.code(),
            length,
        ];
        let mut out = [0; HEADER_BYTES];
        for (place, field) in out.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
            *place = order.put_u32(field);
        }
        out
    }

    /// Size of one sample of all channels, in bytes.
    pub fn stride(&self) -> u64 {
        u64::from(self.channel_count) * self.data_type.size() as u64
    }

    /// The chunks, up to the first that does not fit.
    pub fn chunks(&self) -> Chunks<'_> {
        Chunks { rest: &self.chunk_bytes }
    }

    /// The names of the channels; empty if the writer gave none, shorter if it gave too few.
    pub fn channel_names(&self) -> Vec<String> {
        let Some(chunk) = self.chunks().find(|chunk| chunk.kind == ChunkKind::ChannelNames) else {
            return Vec::new();
        };
        let count = usize::try_from(self.channel_count).unwrap_or(usize::MAX);
        let text = chunk.content.strip_suffix(&[0]).unwrap_or(chunk.content);
        text.split(|byte| *byte == 0)
            .take(count)
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// The factors from stored value to physical unit, one per channel, if the writer gave them.
    pub fn resolutions(&self) -> Option<Vec<f64>> {
        let chunk = self.chunks().find(|chunk| chunk.kind == ChunkKind::Resolutions)?;
        let count = usize::try_from(self.channel_count).ok()?;
        let (values, _) = chunk.content.as_chunks::<8>();
        Some(values.get(..count)?.iter().map(|value| f64::from_ne_bytes(*value)).collect())
    }
}

/// The content of a chunk of channel names: each terminated by a zero byte.
pub fn channel_names_chunk<Name: AsRef<str>>(names: impl IntoIterator<Item = Name>) -> Vec<u8> {
    let mut content = Vec::new();
    for name in names {
        // A zero byte inside a name would shift all names behind it.
        content.extend(name.as_ref().bytes().filter(|byte| *byte != 0));
        content.push(0);
    }
    content
}

/// One chunk of a header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Chunk<'a> {
    /// What it holds.
    pub kind: ChunkKind,
    /// Its content; numbers are in the machine's byte order.
    pub content: &'a [u8],
}

/// Goes through the chunks of a header; see [`Header::chunks`].
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut fields = Fields::new(ByteOrder::NATIVE, self.rest);
        let kind = ChunkKind::from_code(fields.u32().ok()?);
        let length = usize::try_from(fields.u32().ok()?).ok()?;
        let (content, rest) = fields.rest().split_at_checked(length)?;
        self.rest = rest;
        Some(Chunk { kind, content })
    }
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChunkKind {
    /// Keys and values, alternating, each terminated by a zero byte.
    AsciiKeyValues,
    /// The name of a set of flags, then one byte per channel.
    ChannelFlags,
    /// One zero-terminated name per channel.
    ChannelNames,
    /// A complete CTF .res4 file.
    CtfRes4,
    /// A Neuromag .fif with measurement information.
    NeuromagHeader,
    /// A Neuromag .fif with head positions.
    NeuromagHpiResult,
    /// A Neuromag .fif with digitised points.
    NeuromagIsotrak,
    /// A NIfTI-1 header of 348 bytes.
    Nifti1,
    /// One `f64` per channel: from stored value to physical unit.
    Resolutions,
    /// Siemens protocol text.
    SiemensAp,
    /// Any bytes.
    Unspecified,
    /// A kind this crate does not know, by its code.
    Other(u32),
}

impl ChunkKind {
    /// Reads a code.
    pub fn from_code(code: u32) -> Self {
        match code {
            0 => Self::Unspecified,
            1 => Self::ChannelNames,
            2 => Self::ChannelFlags,
            3 => Self::Resolutions,
            4 => Self::AsciiKeyValues,
            5 => Self::Nifti1,
            6 => Self::SiemensAp,
            7 => Self::CtfRes4,
            8 => Self::NeuromagHeader,
            9 => Self::NeuromagIsotrak,
            10 => Self::NeuromagHpiResult,
            other => Self::Other(other),
        }
    }

    /// The code on the wire.
    pub fn code(self) -> u32 {
        match self {
            Self::Unspecified => 0,
            Self::ChannelNames => 1,
            Self::ChannelFlags => 2,
            Self::Resolutions => RESOLUTIONS,
            Self::AsciiKeyValues => 4,
            Self::Nifti1 => 5,
            Self::SiemensAp => 6,
            Self::CtfRes4 => 7,
            Self::NeuromagHeader => 8,
            Self::NeuromagIsotrak => 9,
            Self::NeuromagHpiResult => 10,
            Self::Other(code) => code,
        }
    }
}

/// Converts chunks between byte orders, in place: every definition, and the numbers of resolutions.
///
/// Stops at the first chunk that does not fit; the bytes behind it stay as they are. So a header that is no
/// list of chunks comes back unharmed to a reader of the same order.
pub fn swap_chunks(channel_count: u32, from: ByteOrder, to: ByteOrder, bytes: &mut [u8]) {
    if from == to {
        return;
    }
    let resolutions = u64::from(channel_count) * 8;
    let mut rest = bytes;
    while let Some((definition, behind)) = rest.split_first_chunk_mut::<CHUNK_BYTES>() {
        let [k0, k1, k2, k3, n0, n1, n2, n3] = *definition;
        let kind = from.u32([k0, k1, k2, k3]);
        let length = from.u32([n0, n1, n2, n3]);
        definition.reverse();
        definition.rotate_left(4);
        let Some((content, next)) = usize::try_from(length).ok().and_then(|n| behind.split_at_mut_checked(n))
        else {
            return;
        };
        if kind == RESOLUTIONS && u64::from(length) >= resolutions {
            let (values, _) = content.as_chunks_mut::<8>();
            for value in values.iter_mut().take(usize::try_from(channel_count).unwrap_or(usize::MAX)) {
                value.reverse();
            }
        }
        rest = next;
    }
}

const RESOLUTIONS: u32 = 3;

/// Length of the fixed part of a header.
pub const HEADER_BYTES: usize = 24;

/// Length of the definition of a chunk.
pub const CHUNK_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Header {
        let factors: Vec<u8> = [0.5_f64, 2.0].iter().flat_map(|factor| factor.to_ne_bytes()).collect();
        Header::new(2, 250.0, DataType::Int16)
            .with_channel_names(["Fz", "Cz"])
            .with_chunk(ChunkKind::Resolutions, &factors)
            .with_chunk(ChunkKind::Other(99), b"?")
    }

    #[test]
    fn a_header_survives_both_orders() {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let header = example();
            let totals = Totals { samples: 7, events: 9 };
            let mut bytes = header.encode(order, totals).to_vec();
            let mut chunks = header.chunk_bytes.to_vec();
            swap_chunks(2, ByteOrder::NATIVE, order, &mut chunks);
            bytes.extend_from_slice(&chunks);
            assert_eq!(Header::parse(order, &bytes), Ok((header, totals)));
        }
    }

    #[test]
    fn chunks_are_found_by_kind() {
        let header = example();
        assert_eq!(header.channel_names(), ["Fz", "Cz"]);
        assert_eq!(header.resolutions(), Some(vec![0.5, 2.0]));
        assert_eq!(header.chunks().count(), 3);
        assert_eq!(header.stride(), 4);
    }

    #[test]
    fn an_unnamed_channel_keeps_its_place() {
        let header = Header::new(3, 1.0, DataType::Uint8).with_channel_names(["a", "", "c"]);
        assert_eq!(header.channel_names(), ["a", "", "c"]);
    }

    #[test]
    fn every_truncated_header_is_refused() {
        let header = example();
        let mut bytes = header.encode(ByteOrder::NATIVE, Totals::default()).to_vec();
        bytes.extend_from_slice(&header.chunk_bytes);
        for length in 0..bytes.len() {
            assert_eq!(Header::parse(ByteOrder::NATIVE, &bytes[..length]), Err(Malformed));
        }
    }

    #[test]
    fn chunks_that_run_past_the_end_are_kept_but_not_listed() {
        let mut bytes =
            Header::new(1, 1.0, DataType::Uint8).encode(ByteOrder::NATIVE, Totals::default()).to_vec();
        bytes[20..24].copy_from_slice(&12_u32.to_ne_bytes());
        bytes.extend_from_slice(&1_u32.to_ne_bytes());
        bytes.extend_from_slice(&5000_u32.to_ne_bytes());
        bytes.extend_from_slice(b"ab\0\x01");
        let (header, _) = Header::parse(ByteOrder::NATIVE, &bytes).unwrap();
        assert_eq!(header.chunk_bytes.len(), 12);
        assert_eq!(header.chunks().count(), 0);
    }
}
