//! Reads parts of a recording: from one time to another, or the peaks of a stretch for a picture.

use core::ops::Range;
use std::borrow::Cow;
use std::io::{Read, Seek};

use super::placed::{Clocks, Placed};
use super::{Index, StreamIndex};
use crate::clock::ClockMap;
use crate::header::StreamHeader;
use crate::reader::{Event, ReadError, Reader};
use crate::source::{Location, Source};
use crate::values::{Number as _, Values, on_values};

/// A recording whose parts can be read in any order.
///
/// ```no_run
/// use schwann_xdf::IndexedRecording;
///
/// # fn main() -> Result<(), schwann_xdf::ReadError> {
/// let mut recording = IndexedRecording::open("session.xdf", |done, all| println!("{done} of {all} bytes"))?;
/// let [eeg, ..] = recording.index().streams.as_slice() else { return Ok(()) };
/// let (id, first) = (eeg.id, eeg.first_stamp);
/// // One minute in a thousand columns.
/// let peaks = recording.peaks(id, first..first + 60.0, 1000)?;
/// // Every sample of the first second.
/// recording.read(&[id], first..first + 1.0, |_, stamps, values| println!("{} {}", stamps.len(), values.len()))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct IndexedRecording<R> {
    reader: Reader<R>,
    index: Index,
    headers: Vec<StreamHeader>,
    /// How each stream's clock relates to the recorder's, in the order of the index.
    placed: Vec<Placed>,
    datetime: String,
    was_scanned: bool,
}

/// The least and the greatest values of a stretch of a stream, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Channels of the stream.
    pub channel_count: usize,
    /// Columns × channels × least and greatest; infinity and its negative where there is no value.
    pub columns: Vec<[f32; 2]>,
}

impl IndexedRecording<Source> {
    /// Opens a recording. One without an index is read through, and `progress` is told bytes read and bytes in all.
    ///
    /// - Errors: [`ReadError`].
    pub fn open(recording: impl Into<Location>, progress: impl FnMut(u64, u64)) -> Result<Self, ReadError> {
        let mut source = recording.into().open()?;
        let found = Index::at_end_of(&mut source)?;
        Self::with(found, Reader::of(source)?, progress)
    }
}

impl<R: Read + Seek> IndexedRecording<R> {
    /// As [`IndexedRecording::open`], from any source.
    ///
    /// - Errors: [`ReadError`].
    pub fn new(mut source: R, progress: impl FnMut(u64, u64)) -> Result<Self, ReadError> {
        let found = Index::at_end_of(&mut source)?;
        Self::with(found, Reader::new(source)?, progress)
    }

    fn with(
        found: Option<Index>,
        mut reader: Reader<R>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self, ReadError> {
        if let Some(index) = found
            && let Some(headers) = headers_of(&mut reader, &index)?
        {
            let clocks = Clocks::at_ends(&mut reader, &index)?;
            return Ok(Self::of(reader, index, headers, clocks, false));
        }
        reader.rewind();
        let mut clocks = Clocks::default();
        let index = Index::scan_all(&mut reader, progress, |event| clocks.take_in(event))?;
        let headers = index.streams.iter().filter_map(|stream| reader.header(stream.id).cloned()).collect();
        Ok(Self::of(reader, index, headers, clocks, true))
    }

    fn of(
        reader: Reader<R>,
        index: Index,
        headers: Vec<StreamHeader>,
        clocks: Clocks,
        was_scanned: bool,
    ) -> Self {
        let (datetime, placed) = clocks.place(&index);
        Self { reader, index, headers, placed, datetime, was_scanned }
    }

    /// What is where.
    #[must_use]
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// What the streams are, in the order of the index.
    #[must_use]
    pub fn headers(&self) -> &[StreamHeader] {
        &self.headers
    }

    /// Whether the recording had no index and was read through.
    #[must_use]
    pub const fn was_scanned(&self) -> bool {
        self.was_scanned
    }

    /// When the recording began, as its header says; empty if it does not.
    #[must_use]
    pub fn datetime(&self) -> &str {
        &self.datetime
    }

    /// From the first sample of a stream to its last, in seconds on the recorder's clock; none without samples.
    #[must_use]
    pub fn span(&self, stream: u32) -> Option<Range<f64>> {
        let place = self.place_of(stream)?;
        self.placed.get(place)?.span.clone()
    }

    /// What puts a stream's stamps on the recorder's clock.
    #[must_use]
    pub fn clock_map(&self, stream: u32) -> ClockMap {
        let placed = self.place_of(stream).and_then(|place| self.placed.get(place));
        placed.map(|placed| placed.map.clone()).unwrap_or_default()
    }

    /// Hands out the samples of a stream that lie in `range` on the recorder's clock, in the order of the file. Samples of a
    /// clock that began anew come, too.
    ///
    /// - Units: `range` and the stamps in seconds on the recorder's clock.
    /// - Shape: values are samples × channels, one row per sample.
    /// - Errors: [`ReadError`].
    pub fn read_placed(
        &mut self,
        stream: u32,
        range: Range<f64>,
        mut take: impl FnMut(&[f64], &Values),
    ) -> Result<(), ReadError> {
        let Some((known, placed)) = self.known(stream) else { return Ok(()) };
        let Some(entries) = placed.entries(&range) else { return Ok(()) };
        let at = |entry: &usize| known.entries.get(*entry).map_or(0, |entry| entry.at);
        let (from, last) = (at(entries.start()), at(entries.end()));
        let mut map = placed.map_from(*entries.start());
        self.reader.seek_to(from);
        let mut times = Vec::new();
        loop {
            let at = self.reader.progress().0;
            let Some(event) = self.reader.next_event()? else { return Ok(()) };
            let Event::Samples { stream: of, stamps, values } = event else { continue };
            if of != stream {
                continue;
            }
            times.clear();
            times.extend(stamps.iter().map(|stamp| map.place(*stamp)));
            if at > last && times.first().is_some_and(|time| *time >= range.end) {
                return Ok(());
            }
            let (times, values) = within(&times, values, &range);
            if !times.is_empty() {
                take(times, &values);
            }
        }
    }

    /// Hands out the newest chunks of a stream that lie in `range`, the newest first, until there are so many samples; says
    /// whether these are all. Without looking at what lies between them: for streams of few samples, as markers are.
    ///
    /// - Units, shape and errors: as [`read_placed`](Self::read_placed).
    pub fn newest_placed(
        &mut self,
        stream: u32,
        range: Range<f64>,
        most: usize,
        mut take: impl FnMut(&[f64], &Values),
    ) -> Result<bool, ReadError> {
        let Some((known, placed)) = self.known(stream) else { return Ok(true) };
        let Some(entries) = placed.entries(&range) else { return Ok(true) };
        let parts: Vec<_> = entries
            .filter_map(|place| {
                let entry = known.entries.get(place)?;
                let next = known.entries.get(place + 1).map_or(known.sample_count, |next| next.before);
                Some((entry.at, next.saturating_sub(entry.before), placed.map_from(place)))
            })
            .collect();
        let (mut count, mut between) = (0, 0);
        for (at, samples, mut map) in parts.into_iter().rev() {
            if count >= most || between > BETWEEN_BYTES_MAX {
                return Ok(false);
            }
            self.reader.seek_to(at);
            let mut left = samples;
            while left > 0 && between + self.reader.progress().0 - at <= BETWEEN_BYTES_MAX {
                let Some(event) = self.reader.next_event()? else { break };
                let Event::Samples { stream: of, stamps, values } = event else { continue };
                if of == stream {
                    left = left.saturating_sub(stamps.len() as u64);
                    let times: Vec<_> = stamps.iter().map(|stamp| map.place(*stamp)).collect();
                    let (times, values) = within(&times, values, &range);
                    count += times.len();
                    take(times, &values);
                }
            }
            between += self.reader.progress().0 - at;
        }
        Ok(between <= BETWEEN_BYTES_MAX)
    }

    fn known(&self, stream: u32) -> Option<(&StreamIndex, &Placed)> {
        let place = self.place_of(stream)?;
        Some((self.index.streams.get(place)?, self.placed.get(place)?))
    }

    fn place_of(&self, stream: u32) -> Option<usize> {
        self.index.streams.iter().position(|known| known.id == stream)
    }

    /// Hands out the samples of these streams whose stamps lie in `range`, in the order of the file.
    ///
    /// - Units: `range` is in seconds on each stream's clock.
    /// - Shape: values are samples × channels, one row per sample.
    /// - Errors: [`ReadError`].
    pub fn read(
        &mut self,
        streams: &[u32],
        range: Range<f64>,
        mut take: impl FnMut(u32, &[f64], &Values),
    ) -> Result<(), ReadError> {
        let chosen: Vec<&StreamIndex> =
            self.index.streams.iter().filter(|stream| streams.contains(&stream.id)).collect();
        let Some(from) =
            chosen.iter().filter_map(|stream| stream.before(range.start)).map(|entry| entry.at).min()
        else {
            return Ok(());
        };
        self.reader.seek_to(from);
        // A stream is over when it is past the range. Stamps that go back begin anew and keep their
        // place.
        let mut left: Vec<(u32, u64)> = chosen
            .iter()
            .map(|stream| {
                let after = stream.entries.iter().rfind(|entry| entry.stamp < range.end);
                (stream.id, after.map_or(0, |entry| entry.at))
            })
            .collect();
        while !left.is_empty() {
            let at = self.reader.progress().0;
            let Some(event) = self.reader.next_event()? else { break };
            let Event::Samples { stream, stamps, values } = event else { continue };
            let Some(place) = left.iter().position(|(id, _)| *id == stream) else { continue };
            let is_over = stamps.first().is_some_and(|stamp| *stamp >= range.end);
            if is_over && left.get(place).is_some_and(|(_, last)| at > *last) {
                left.swap_remove(place);
                continue;
            }
            let (stamps, values) = within(stamps, values, &range);
            if !stamps.is_empty() {
                take(stream, stamps, &values);
            }
        }
        Ok(())
    }

    /// The least and the greatest values of a stretch of one stream in so many columns.
    ///
    /// A long stretch is taken from the index alone, so that a recording of any size is drawn at once.
    ///
    /// - Units: `range` is in seconds on the stream's clock.
    /// - Errors: [`ReadError`].
    pub fn peaks(&mut self, stream: u32, range: Range<f64>, columns: usize) -> Result<Peaks, ReadError> {
        let Some(known) = self.index.streams.iter().find(|known| known.id == stream) else {
            return Ok(Peaks::default());
        };
        let channel_count =
            self.headers.iter().find(|header| header.id == stream).map_or(0, |it| it.channel_count);
        let mut peaks = Peaks {
            channel_count,
            columns: vec![[f32::INFINITY, f32::NEG_INFINITY]; columns * channel_count],
        };
        let width = (range.end - range.start) / columns as f64;
        let overview = &known.overview;
        if overview.seconds() <= width && !overview.is_empty() {
            for place in 0..overview.len() {
                let stamp = overview.from() + (place as f64 + 0.5) * overview.seconds();
                peaks.widen(&range, width, stamp, overview.column(place).iter().copied());
            }
            return Ok(peaks);
        }
        self.read(&[stream], range.clone(), |_, stamps, values| {
            let mut rows = |of: &dyn Fn(usize) -> f32| {
                for (row, &stamp) in stamps.iter().enumerate() {
                    let values = (0..channel_count).map(|channel| of(row * channel_count + channel));
                    peaks.widen(&range, width, stamp, values.map(|value| [value; 2]));
                }
            };
            on_values!(values, numbers values => rows(&|at| values.get(at).map_or(f32::NAN, |value| value.to_f32())));
        })?;
        Ok(peaks)
    }
}

impl Peaks {
    fn widen(&mut self, range: &Range<f64>, width: f64, stamp: f64, bounds: impl Iterator<Item = [f32; 2]>) {
        if !range.contains(&stamp) {
            return;
        }
        let from = ((stamp - range.start) / width) as usize * self.channel_count;
        for (peak, [least, greatest]) in
            self.columns.get_mut(from..).unwrap_or_default().iter_mut().zip(bounds)
        {
            *peak = [peak[0].min(least), peak[1].max(greatest)];
        }
    }
}

/// The samples of a chunk whose stamps lie in a range.
fn within<'a>(stamps: &'a [f64], values: &'a Values, range: &Range<f64>) -> (&'a [f64], Cow<'a, Values>) {
    let begin = stamps.iter().take_while(|stamp| **stamp < range.start).count();
    let count = stamps.iter().skip(begin).take_while(|stamp| **stamp < range.end).count();
    if count == stamps.len() {
        return (stamps, Cow::Borrowed(values));
    }
    let width = values.len() / stamps.len().max(1);
    let mut part = if count > 0 { values.clone() } else { Values::new(values.format()) };
    part.remove_front(begin * width);
    part.truncate(count * width);
    (stamps.get(begin..begin + count).unwrap_or_default(), Cow::Owned(part))
}

/// Reads the headers where an index says that they are; none if it does not fit the file.
fn headers_of<R: Read + Seek>(
    reader: &mut Reader<R>,
    index: &Index,
) -> Result<Option<Vec<StreamHeader>>, ReadError> {
    let mut headers = Vec::new();
    for stream in &index.streams {
        reader.seek_to(stream.header_at);
        match reader.next_event()? {
            Some(Event::StreamHeader(header)) if header.id == stream.id => headers.push(header.clone()),
            _ => return Ok(None),
        }
    }
    Ok(Some(headers))
}

/// Bytes that are read at most for what lies far apart.
const BETWEEN_BYTES_MAX: u64 = 64 << 20;
