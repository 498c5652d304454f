//! What a stream is made of, and the constants of the protocol.
//!
//! Source: lsl-wire §1, §15.1, §15.2. The description of a stream as a document is in `wire::info`.

use core::fmt;

use crate::wire::convert;

/// Type of a stream's values.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum ChannelFormat {
    /// No format; no stream has it.
    #[default]
    Undefined = 0,
    /// IEEE 754 single precision.
    Float32 = 1,
    /// IEEE 754 double precision.
    Double64 = 2,
    /// Byte strings of any length.
    String = 3,
    /// Signed 32-bit integers.
    Int32 = 4,
    /// Signed 16-bit integers.
    Int16 = 5,
    /// Signed 8-bit integers.
    Int8 = 6,
    /// Signed 64-bit integers.
    Int64 = 7,
}

impl ChannelFormat {
    /// Every format that a stream can have.
    pub const ALL: [Self; 7] =
        [Self::Float32, Self::Double64, Self::String, Self::Int32, Self::Int16, Self::Int8, Self::Int64];

    /// Finds the format by the name that stream descriptions use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Undefined]).find(|format| format.name() == name)
    }

    /// Finds the format by its number in the C interface.
    pub const fn from_code(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Undefined,
            1 => Self::Float32,
            2 => Self::Double64,
            3 => Self::String,
            4 => Self::Int32,
            5 => Self::Int16,
            6 => Self::Int8,
            7 => Self::Int64,
            _ => return None,
        })
    }

    /// Returns the name that stream descriptions use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Float32 => "float32",
            Self::Double64 => "double64",
            Self::String => "string",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::Int64 => "int64",
        }
    }

    /// Returns the format's number in the C interface.
    pub const fn code(self) -> i32 {
        match self {
            Self::Undefined => 0,
            Self::Float32 => 1,
            Self::Double64 => 2,
            Self::String => 3,
            Self::Int32 => 4,
            Self::Int16 => 5,
            Self::Int8 => 6,
            Self::Int64 => 7,
        }
    }

    /// Returns the size of one value in bytes, or nothing if the size varies ([`Self::String`]) or the format is
    /// undefined.
    pub const fn value_size(self) -> Option<usize> {
        match self {
            Self::Undefined | Self::String => None,
            Self::Int8 => Some(1),
            Self::Int16 => Some(2),
            Self::Float32 | Self::Int32 => Some(4),
            Self::Double64 | Self::Int64 => Some(8),
        }
    }

    /// Whether the values are IEEE 754 numbers, which may be subnormal.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Double64)
    }
}

impl fmt::Display for ChannelFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What the `max_buffered` and `max_buflen` arguments of outlets and inlets count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BufferUnit {
    /// Samples (`transp_bufsize_samples`).
    Samples,
    /// Seconds, or hundreds of samples if the stream has no rate.
    #[default]
    Seconds,
    /// Thousandths of [`Self::Seconds`] (`transp_bufsize_thousandths`).
    Thousandths,
}

impl BufferUnit {
    /// Reads the unit from transport flags; nothing if two units are asked for at once.
    pub const fn from_transport_flags(flags: i32) -> Option<Self> {
        match flags & (TRANSPORT_BUFFER_SAMPLES | TRANSPORT_BUFFER_THOUSANDTHS) {
            0 => Some(Self::Seconds),
            TRANSPORT_BUFFER_SAMPLES => Some(Self::Samples),
            TRANSPORT_BUFFER_THOUSANDTHS => Some(Self::Thousandths),
            _ => None,
        }
    }

    /// Returns how many samples a buffer of `length` units holds: at least one.
    ///
    /// - Units: `nominal_rate` in Hz, 0 for a stream without a rate.
    /// - Source: lsl-wire §15.2; also the `Max-Buffer-Length` an inlet asks for (lsl-wire §17.1).
    pub fn samples(self, length: i32, nominal_rate: f64) -> i32 {
        let length_exact = f64::from(length);
        let samples = match self {
            Self::Samples => length_exact,
            Self::Seconds | Self::Thousandths if nominal_rate == IRREGULAR_RATE => length_exact * 100.0,
            Self::Seconds | Self::Thousandths => length_exact * nominal_rate,
        };
        let samples = convert::saturating_i64(samples);
        let samples = if self == Self::Thousandths { samples / 1000 } else { samples };
        i32::try_from(samples.max(1)).unwrap_or(i32::MAX)
    }
}

/// Returns the stamp of a chunk's first sample, given the stamp of its last one.
///
/// - Units: stamps in seconds on the sender's clock; `nominal_rate` in Hz. A stream without a rate has
///   0, and its first sample then carries `last` itself.
/// - Source: lsl-wire §15.1, `push_chunk`.
pub fn first_stamp_of_chunk(last: f64, sample_count: usize, nominal_rate: f64) -> f64 {
    if nominal_rate == IRREGULAR_RATE {
        return last;
    }
    last - convert::count(sample_count.saturating_sub(1)) / nominal_rate
}

/// Timeouts of this many seconds or more wait without limit.
pub const FOREVER: f64 = 32_000_000.0;
/// Nominal rate of a stream whose samples come at any time, in Hz.
pub const IRREGULAR_RATE: f64 = 0.0;
/// Stamp, in seconds, that asks for the previous stamp plus one sample period.
pub const DEDUCED_TIMESTAMP: f64 = -1.0;

/// UDP port of discovery queries, and of the multicast groups.
pub const MULTICAST_PORT: u16 = 16571;
/// First port of the range that outlets listen on.
pub const BASE_PORT: u16 = 16572;
/// Number of ports in the range that outlets listen on.
pub const PORT_RANGE: u16 = 32;

/// Version of the protocol we speak, times 100.
pub const PROTOCOL_VERSION: i32 = 110;
/// Version of the older protocol that we also speak, times 100.
pub const PROTOCOL_VERSION_ARCHIVE: i32 = 100;
/// Version of the C interface we provide, times 100.
pub const LIBRARY_VERSION: i32 = 118;

/// Transport flag: buffer sizes are in samples.
pub const TRANSPORT_BUFFER_SAMPLES: i32 = 1;
/// Transport flag: buffer sizes are in thousandths of a second.
pub const TRANSPORT_BUFFER_THOUSANDTHS: i32 = 2;
/// Transport flag: a push returns when every consumer's socket has taken the sample.
pub const TRANSPORT_SYNC_BLOCKING: i32 = 4;

/// The elements of a description before `desc`, in their order (lsl-wire §4.1).
pub const FIELDS: [&str; 17] = [
    "name",
    "type",
    "channel_count",
    "channel_format",
    "source_id",
    "nominal_srate",
    "version",
    "created_at",
    "uid",
    "session_id",
    "hostname",
    "v4address",
    "v4data_port",
    "v4service_port",
    "v6address",
    "v6data_port",
    "v6service_port",
];

#[cfg(test)]
mod tests {
    use super::{BufferUnit, ChannelFormat, first_stamp_of_chunk};

    #[test]
    fn formats_are_found_by_their_own_name_and_code() {
        for format in ChannelFormat::ALL {
            assert_eq!(ChannelFormat::from_name(format.name()), Some(format));
            assert_eq!(ChannelFormat::from_code(format.code()), Some(format));
        }
        assert_eq!(ChannelFormat::from_name("Float32"), None);
        assert_eq!(ChannelFormat::from_code(8), None);
    }

    #[test]
    fn buffer_lengths_become_samples_as_specified() {
        let cases = [
            (BufferUnit::Seconds, 360, 100.0, 36_000),
            (BufferUnit::Seconds, 360, 0.0, 36_000),
            (BufferUnit::Seconds, 1, 0.5, 1),
            (BufferUnit::Seconds, 0, 100.0, 1),
            (BufferUnit::Seconds, -5, 100.0, 1),
            (BufferUnit::Seconds, 3, 100.9, 302),
            (BufferUnit::Seconds, i32::MAX, 1e6, i32::MAX),
            (BufferUnit::Samples, 77, 100.0, 77),
            (BufferUnit::Thousandths, 2500, 100.0, 250),
            (BufferUnit::Thousandths, 9, 100.0, 1),
            (BufferUnit::Thousandths, 2500, 0.0, 250),
        ];
        for (unit, length, rate, samples) in cases {
            assert_eq!(unit.samples(length, rate), samples, "{unit:?} {length} at {rate} Hz");
        }
    }

    #[test]
    fn two_buffer_units_at_once_are_refused() {
        assert_eq!(BufferUnit::from_transport_flags(4), Some(BufferUnit::Seconds));
        assert_eq!(BufferUnit::from_transport_flags(5), Some(BufferUnit::Samples));
        assert_eq!(BufferUnit::from_transport_flags(2), Some(BufferUnit::Thousandths));
        assert_eq!(BufferUnit::from_transport_flags(3), None);
    }

    #[test]
    fn a_chunks_first_stamp_lies_its_length_before_the_last() {
        // As captured: `outlet_feed110_chunks.json`, three samples at 100 Hz.
        assert_eq!(first_stamp_of_chunk(100.0, 3, 100.0).to_bits(), 0x4058_feb8_51eb_851f);
        assert_eq!(first_stamp_of_chunk(100.0, 3, 0.0), 100.0);
        assert_eq!(first_stamp_of_chunk(100.0, 0, 100.0), 100.0);
    }
}
