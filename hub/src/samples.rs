//! Samples between an inlet, a block and an outlet or a file (lsl-wire §13).

use schwann::{ChannelFormat, Error, Flush, Inlet, Outlet, StreamInfo};
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp, StampTracker, Value};
use schwann_relay::MAX_CONTENT;
use schwann_xdf::{PushError, StreamWriter, patiently};

/// How the samples of a stream lie in its blocks; nothing for a stream without channels or format.
pub(crate) fn layout(info: &StreamInfo) -> Option<Layout> {
    let channels = usize::try_from(info.channel_count()).ok().filter(|count| *count > 0)?;
    let format = info.channel_format();
    (format != ChannelFormat::Undefined).then(|| Layout::new(format, channels, ByteOrder::Little))
}

/// Gathers samples of an inlet until they become a block.
pub(crate) struct Gathering {
    layout: Layout,
    raw: Vec<u8>,
    texts: Vec<Vec<u8>>,
    content: Vec<u8>,
    count: u32,
    /// A sample that did not fit, for the next block.
    left: Vec<u8>,
}

impl Gathering {
    pub(crate) fn new(layout: Layout) -> Self {
        let raw = vec![0; layout.values_len().unwrap_or_default()];
        let (texts, content, left) = (Vec::new(), Vec::with_capacity(FIRST_ROOM), Vec::new());
        Self { layout, raw, texts, content, count: 0, left }
    }

    /// Takes in a sample, waiting up to `patience` seconds; says whether there was one.
    ///
    /// - Errors: those of [`Inlet::pull_raw_sample`]; [`Error::Argument`] for a sample of more than 1 MiB.
    pub(crate) fn pull(&mut self, inlet: &Inlet, patience: f64) -> Result<bool, Error> {
        let pulled = if self.layout.values_len().is_some() {
            inlet.pull_raw_sample(&mut self.raw, patience)?
        } else {
            self.texts.clear();
            inlet.pull_strings(patience, |text| self.texts.push(text.to_vec()))?
        };
        let Some(stamp) = pulled else { return Ok(false) };
        let before = self.content.len();
        // Each sample has its own stamp: what is missing before it changes nothing.
        let stamp = Stamp::Sent(stamp);
        let encoded = match self.layout.values_len() {
            Some(_) => self.layout.encode_raw(stamp, &self.raw, &mut self.content),
            None => {
                let texts = self.texts.iter().map(Vec::as_slice);
                self.layout.encode_raw_strings(stamp, texts, &mut self.content)
            }
        };
        encoded.map_err(|_| Error::ChunkShape)?;
        if self.content.len() - before > MAX_CONTENT {
            self.content.truncate(before);
            return Err(Error::Argument("A sample of more than 1 MiB cannot be relayed."));
        }
        if self.content.len() > MAX_CONTENT {
            self.left = self.content.split_off(before);
        } else {
            self.count += 1;
        }
        Ok(true)
    }

    /// Whether the block must be sealed now, however young it is.
    pub(crate) fn is_full(&self) -> bool {
        !self.left.is_empty() || self.content.len() >= FULL
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What was gathered, and how many samples it is.
    pub(crate) fn content(&self) -> (&[u8], u32) {
        (&self.content, self.count)
    }

    /// Begins anew, after what was gathered is sealed.
    pub(crate) fn clear(&mut self) {
        self.content.clear();
        self.content.append(&mut self.left);
        self.count = u32::from(!self.content.is_empty());
    }
}

/// Pushes the samples of a block with their stamps; returns how many, or nothing if they are not samples of this stream.
pub(crate) fn push(layout: &Layout, content: &[u8], outlet: &Outlet, raw: &mut Vec<u8>) -> Option<u64> {
    let (mut rest, mut count) = (content, 0);
    while let Some((stamp, values, behind)) = layout.split_sample(rest).ok()? {
        (rest, count) = (behind, count + 1);
        let flush = if rest.is_empty() { Flush::Now } else { Flush::Later };
        let stamp = f64::from(stamp);
        if layout.values_len().is_some() {
            raw.resize(values.len(), 0);
            layout.read_raw(values, raw).ok()?;
            outlet.push_raw_sample(raw, stamp, flush).ok()?;
        } else {
            let texts: Vec<&[u8]> = layout.strings(values).collect();
            outlet.push_strings(&texts, stamp, flush).ok()?;
        }
    }
    rest.is_empty().then_some(count)
}

/// The stamp of a block's last sample; nothing if it has none.
pub(crate) fn newest_stamp(layout: &Layout, content: &[u8]) -> Option<f64> {
    let (mut rest, mut newest) = (content, None);
    while let Some((stamp, _, behind)) = layout.split_sample(rest).ok()? {
        (rest, newest) = (behind, Some(f64::from(stamp)));
    }
    newest
}

/// Why the samples of a block are not in a file.
pub(crate) enum Unwritable {
    Malformed,
    Push(PushError),
}

/// Appends the samples of a block to a recording once the disk takes them, and returns their stamps.
pub(crate) fn record(layout: &Layout, content: &[u8], writer: &StreamWriter) -> Result<Vec<f64>, Unwritable> {
    match layout.format {
        ChannelFormat::Double64 => record_numbers::<f64>(layout, content, writer),
        ChannelFormat::Float32 => record_numbers::<f32>(layout, content, writer),
        ChannelFormat::Int16 => record_numbers::<i16>(layout, content, writer),
        ChannelFormat::Int32 => record_numbers::<i32>(layout, content, writer),
        ChannelFormat::Int64 => record_numbers::<i64>(layout, content, writer),
        ChannelFormat::Int8 => record_numbers::<i8>(layout, content, writer),
        ChannelFormat::String => record_texts(layout, content, writer),
        ChannelFormat::Undefined => Err(Unwritable::Malformed),
    }
}

fn record_numbers<T: Value + schwann_xdf::Number>(
    layout: &Layout,
    content: &[u8],
    writer: &StreamWriter,
) -> Result<Vec<f64>, Unwritable> {
    let extent = layout.count(content, usize::MAX).map_err(|_| Unwritable::Malformed)?;
    let mut values = vec![T::default(); extent.samples * layout.channel_count];
    let mut stamps = vec![0.0; extent.samples];
    let mut tracker = StampTracker::new(0.0);
    let taken = layout.decode_chunk(content, &mut values, &mut stamps, &mut tracker);
    let taken = taken.map_err(|_| Unwritable::Malformed)?;
    if taken.samples != extent.samples || taken.bytes != content.len() {
        return Err(Unwritable::Malformed);
    }
    patiently(|| writer.push(&stamps, &values)).map_err(Unwritable::Push)?;
    Ok(stamps)
}

fn record_texts(layout: &Layout, content: &[u8], writer: &StreamWriter) -> Result<Vec<f64>, Unwritable> {
    let (mut stamps, mut texts, mut rest) = (Vec::new(), Vec::new(), content);
    while let Some((stamp, values, behind)) = layout.split_sample(rest).map_err(|_| Unwritable::Malformed)? {
        stamps.push(f64::from(stamp));
        texts.extend(layout.strings(values));
        rest = behind;
    }
    if !rest.is_empty() {
        return Err(Unwritable::Malformed);
    }
    patiently(|| writer.push_text(&stamps, &texts)).map_err(Unwritable::Push)?;
    Ok(stamps)
}

/// A block is sealed once it has this many bytes, however young it is: half of what it may have.
const FULL: usize = MAX_CONTENT / 2;
const FIRST_ROOM: usize = 64 << 10;
