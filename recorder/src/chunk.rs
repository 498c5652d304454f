//! Samples of any format on their way from an inlet to their consumers.

use core::fmt;
use core::time::Duration;

use schwann::ChannelFormat;
use schwann::{Error, Inlet, StreamInfo};
use schwann_proto::wire::sample::Value;
use schwann_xdf::{PushError, StreamWriter};

/// The samples of one pull; its memory is reused.
#[derive(Debug)]
pub struct Chunk {
    channel_count: usize,
    count: usize,
    stamps: Vec<f64>,
    values: Values,
}

/// Values of one format, samples × channels, one row per sample.
#[derive(Debug)]
pub enum Values {
    /// IEEE 754 double precision.
    Double64(Vec<f64>),
    /// IEEE 754 single precision.
    Float32(Vec<f32>),
    /// Signed 16-bit integers.
    Int16(Vec<i16>),
    /// Signed 32-bit integers.
    Int32(Vec<i32>),
    /// Signed 64-bit integers.
    Int64(Vec<i64>),
    /// Signed 8-bit integers.
    Int8(Vec<i8>),
    /// Texts, as bytes: they need not be UTF-8.
    Text(Vec<Vec<u8>>),
}

/// Does one thing with numbers of any format and another with texts.
macro_rules! on_values {
    ($values:expr, $numbers:ident => $number_arm:expr, $texts:ident => $text_arm:expr) => {
        match $values {
            Values::Double64($numbers) => $number_arm,
            Values::Float32($numbers) => $number_arm,
            Values::Int16($numbers) => $number_arm,
            Values::Int32($numbers) => $number_arm,
            Values::Int64($numbers) => $number_arm,
            Values::Int8($numbers) => $number_arm,
            Values::Text($texts) => $text_arm,
        }
    };
}

/// One value of a sample.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// A number, written with as many digits as tell it from every other one of its format.
    Number(&'a dyn fmt::Display),
    /// A text, as bytes: it need not be UTF-8.
    Text(&'a [u8]),
}

impl Values {
    fn item(&self, at: usize) -> Option<Item<'_>> {
        on_values!(self,
            numbers => numbers.get(at).map(|number| Item::Number(number)),
            texts => texts.get(at).map(|text| Item::Text(text))
        )
    }
}

impl Chunk {
    /// Connects to the stream and makes room for its samples; none if it has no channels or no format.
    ///
    /// Only then, because anybody may describe a stream of two thousand million channels. The sender of a connected
    /// one has sent two samples.
    ///
    /// - Units: `patience` in seconds.
    /// - Errors: those of [`Inlet::open_stream`].
    pub fn open(inlet: &Inlet, patience: f64) -> Result<Option<Self>, Error> {
        let info = inlet.info();
        if info.channel_count() == 0 || info.channel_format() == ChannelFormat::Undefined {
            return Ok(None);
        }
        inlet.open_stream(patience)?;
        Ok(Self::for_stream(&info))
    }

    fn for_stream(info: &StreamInfo) -> Option<Self> {
        let channel_count = usize::try_from(info.channel_count()).ok().filter(|&count| count > 0)?;
        let rows = (VALUES_MAX / channel_count).clamp(1, ROWS_MAX);
        let all = rows * channel_count;
        let values = match info.channel_format() {
            ChannelFormat::Undefined => return None,
            ChannelFormat::Double64 => Values::Double64(vec![0.0; all]),
            ChannelFormat::Float32 => Values::Float32(vec![0.0; all]),
            ChannelFormat::Int16 => Values::Int16(vec![0; all]),
            ChannelFormat::Int32 => Values::Int32(vec![0; all]),
            ChannelFormat::Int64 => Values::Int64(vec![0; all]),
            ChannelFormat::Int8 => Values::Int8(vec![0; all]),
            ChannelFormat::String => Values::Text(Vec::new()),
        };
        Some(Self { channel_count, count: 0, stamps: vec![0.0; rows], values })
    }

    /// Replaces the samples by those that have arrived, waiting up to `patience` seconds for the first.
    ///
    /// - Errors: those of [`Inlet::pull_chunk`]. No sample in time is not one: the chunk is then empty.
    pub fn pull(&mut self, inlet: &Inlet, patience: f64) -> Result<(), Error> {
        self.count = 0;
        let (stamps, channels) = (&mut self.stamps, self.channel_count);
        self.count = on_values!(&mut self.values,
            numbers => pull_numbers(inlet, channels, numbers, stamps, patience)?,
            texts => pull_texts(inlet, texts, stamps, patience)?
        );
        Ok(())
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of values per sample.
    pub fn channel_count(&self) -> usize {
        self.channel_count
    }

    /// Stamps of the samples, in seconds on the sender's clock.
    pub fn stamps(&self) -> &[f64] {
        self.stamps.get(..self.count).unwrap_or_default()
    }

    /// The values of one sample, a channel after the other.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Item<'_>> {
        let begin = row * self.channel_count;
        (begin..begin + self.channel_count).filter_map(|at| self.values.item(at))
    }

    /// The values; only those of the first [`Self::count`] samples mean anything.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Appends the samples to a recording; never waits for the disk.
    ///
    /// - Errors: [`PushError`].
    pub fn record(&self, writer: &StreamWriter) -> Result<(), PushError> {
        let all = self.count * self.channel_count;
        on_values!(&self.values,
            numbers => writer.push(self.stamps(), numbers.get(..all).unwrap_or_default()),
            texts => writer.push_text(self.stamps(), texts.get(..all).unwrap_or_default())
        )
    }
}

fn pull_numbers<T: Value>(
    inlet: &Inlet,
    channels: usize,
    values: &mut [T],
    stamps: &mut [f64],
    patience: f64,
) -> Result<usize, Error> {
    let ((first, rest), (first_stamp, rest_stamps)) = (values.split_at_mut(channels), stamps.split_at_mut(1));
    // A wait for a full chunk would add its length to the lag of its first sample.
    if inlet.pull_chunk(first, first_stamp, patience)? == 0 {
        return Ok(0);
    }
    // The stream may be over, but the first sample is here; the next pull tells.
    Ok(1 + inlet.pull_chunk(rest, rest_stamps, 0.0).unwrap_or(0))
}

fn pull_texts(
    inlet: &Inlet,
    texts: &mut Vec<Vec<u8>>,
    stamps: &mut [f64],
    patience: f64,
) -> Result<usize, Error> {
    texts.clear();
    let mut count = 0;
    while let Some(slot) = stamps.get_mut(count) {
        let wait = if count == 0 { patience } else { 0.0 };
        match inlet.pull_strings(wait, |text| texts.push(text.to_vec())) {
            Ok(Some(stamp)) => *slot = stamp,
            Ok(None) => break,
            Err(error) if count == 0 => return Err(error),
            Err(_) => break,
        }
        count += 1;
    }
    Ok(count)
}

/// How long the samples of a stream gather between two pulls.
///
/// - Units: the nominal rate in Hz.
pub(super) fn pause(nominal_rate: f64) -> Duration {
    if nominal_rate > EAGER_UP_TO { BATCH } else { Duration::ZERO }
}

/// Longest wait of a receiving thread before it looks whether to stop, in seconds.
pub(super) const PULL_SECONDS: f64 = 0.1;
/// Streams up to this rate, in Hz, are pulled as samples come; faster ones every [`BATCH`], because a
/// system call per sample would cost more than it tells.
const EAGER_UP_TO: f64 = 1000.0;
const BATCH: Duration = Duration::from_millis(5);
/// The most values of one chunk: what fits a second-level cache.
const VALUES_MAX: usize = 1 << 16;
const ROWS_MAX: usize = 4096;
