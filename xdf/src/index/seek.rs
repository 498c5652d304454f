//! Reads parts of a recording: from one time to another, or the peaks of a stretch for a picture.

use core::ops::Range;
use std::borrow::Cow;
use std::io::{Read, Seek};

use super::course::{Course, Found};
use super::placed::{Clocks, Placed};
use super::{Index, StreamIndex};
use crate::clock::ClockMap;
use crate::header::StreamHeader;
use crate::reader::{Damage, Event, ReadError, Reader};
use crate::source::{Location, Source};
use crate::survey::ClockQuality;
use crate::values::Values;

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
    damage: Vec<Damage>,
    was_scanned: bool,
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

    /// Opens a recording by its index alone; none if it has no sound one.
    ///
    /// - Errors: [`ReadError`].
    pub fn by_index(recording: impl Into<Location>) -> Result<Option<Self>, ReadError> {
        let mut source = recording.into().open()?;
        let found = Index::at_end_of(&mut source)?;
        let mut reader = Reader::of(source)?;
        let sound = sound(&mut reader, found)?;
        Ok(sound.map(|(index, headers, clocks)| Self::of(reader, index, headers, clocks, false)))
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
        if let Some((index, headers, clocks)) = sound(&mut reader, found)? {
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
        mut clocks: Clocks,
        was_scanned: bool,
    ) -> Self {
        let (datetime, placed) = clocks.place(&index);
        Self { reader, index, headers, placed, datetime, damage: clocks.damage, was_scanned }
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

    /// Where the recording is damaged, as far as it was read when it was opened: one with an index was not read through.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Bytes in the file; of one that is compressed or sealed, of what is in it.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.reader.progress().1
    }

    /// How well a stream's clock is known.
    #[must_use]
    pub fn clock_quality(&self, stream: u32) -> ClockQuality {
        self.known(stream).map(|(_, placed)| placed.quality()).unwrap_or_default()
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
        let Some(place) = self.place_of(stream) else { return Ok(()) };
        let (Some(known), Some(placed)) = (self.index.streams.get(place), self.placed.get(place)) else {
            return Ok(());
        };
        let Some(entries) = placed.entries(&range) else { return Ok(()) };
        let last = known.entries.get(*entries.end()).map_or(0, |entry| entry.at);
        let reader = &mut self.reader;
        let mut course = Course::begin(reader, known, placed, *entries.start(), self.was_scanned)?;
        while let Some(found) = course.step(reader)? {
            let Found::Samples { at, times, values } = found else { continue };
            if at > last && times.first().is_some_and(|time| *time >= range.end) {
                break;
            }
            let (times, values) = within(times, &values, &range);
            if !times.is_empty() {
                take(times, &values);
            }
        }
        reader.want_only(None);
        Ok(())
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
                Some((*entry, next.saturating_sub(entry.before), placed.map_from(place)))
            })
            .collect();
        let (mut count, mut between, mut are_sound) = (0, 0, true);
        for (entry, samples, mut map) in parts.into_iter().rev() {
            if count >= most || between > BETWEEN_BYTES_MAX {
                return Ok(false);
            }
            if !self.reader.seek_to_entry(stream, &entry, self.was_scanned)? {
                are_sound = false;
                continue;
            }
            let until = entry.at.saturating_add(BETWEEN_BYTES_MAX - between);
            self.samples_from_here(stream, samples, until, |stamps, values| {
                let times: Vec<_> = stamps.iter().map(|stamp| map.place(*stamp)).collect();
                let (times, values) = within(&times, values, &range);
                count += times.len();
                take(times, &values);
            })?;
            between += self.reader.progress().0 - entry.at;
        }
        Ok(are_sound && between <= BETWEEN_BYTES_MAX)
    }

    /// Hands out the next samples of a stream, so many at most, as long as the reader is not past `until`.
    fn samples_from_here(
        &mut self,
        stream: u32,
        mut left: u64,
        until: u64,
        mut take: impl FnMut(&[f64], &Values),
    ) -> Result<(), ReadError> {
        while left > 0 && self.reader.progress().0 <= until {
            let Some(event) = self.reader.next_event()? else { break };
            if let Event::Samples { stream: of, stamps, values } = event
                && of == stream
            {
                left = left.saturating_sub(stamps.len() as u64);
                take(stamps, values);
            }
        }
        Ok(())
    }

    pub(super) fn known(&self, stream: u32) -> Option<(&StreamIndex, &Placed)> {
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
        let Some(from) = first_beginning(&mut self.reader, &chosen, range.start, self.was_scanned)? else {
            return Ok(());
        };
        self.reader.seek_to(from);
        // A stream is over when it is past the range. Stamps that go back begin anew and keep their
        // place.
        let mut left: Vec<_> =
            chosen.iter().map(|stream| (stream.id, last_before(stream, range.end))).collect();
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

/// Where to begin to read for samples of a stream from `stamp` on; none if it has no sample.
fn beginning<R: Read + Seek>(
    reader: &mut Reader<R>,
    stream: &StreamIndex,
    stamp: f64,
    was_read: bool,
) -> Result<Option<u64>, ReadError> {
    let Some(wished) = stream.before(stamp) else { return Ok(None) };
    for entry in stream.entries.iter().rev().skip_while(|entry| entry.at > wished.at) {
        if reader.seek_to_entry(stream.id, entry, was_read)? {
            return Ok(Some(entry.at));
        }
    }
    Ok(Some(stream.header_at))
}

/// Where to begin to read for samples of any of these streams; none if none has one.
fn first_beginning<R: Read + Seek>(
    reader: &mut Reader<R>,
    streams: &[&StreamIndex],
    stamp: f64,
    was_read: bool,
) -> Result<Option<u64>, ReadError> {
    let mut first: Option<u64> = None;
    for stream in streams {
        if let Some(begin) = beginning(reader, stream, stamp, was_read)? {
            first = Some(first.map_or(begin, |first| first.min(begin)));
        }
    }
    Ok(first)
}

/// Where the last chunk lies that begins before `end`.
fn last_before(stream: &StreamIndex, end: f64) -> u64 {
    stream.entries.iter().rfind(|entry| entry.stamp < end).map_or(0, |entry| entry.at)
}

/// What an index of the file and the file's ends say, if they say the same.
fn sound<R: Read + Seek>(
    reader: &mut Reader<R>,
    found: Option<Index>,
) -> Result<Option<(Index, Vec<StreamHeader>, Clocks)>, ReadError> {
    let Some(index) = found else { return Ok(None) };
    let mut headers = Vec::new();
    for stream in &index.streams {
        reader.seek_to(stream.header_at);
        match reader.next_event()? {
            Some(Event::StreamHeader(header)) if header.id == stream.id => headers.push(header.clone()),
            _ => return Ok(None),
        }
    }
    let clocks = Clocks::at_ends(reader, &index)?;
    Ok(clocks.map(|clocks| (index, headers, clocks)))
}

/// Bytes that are read at most for what lies far apart.
const BETWEEN_BYTES_MAX: u64 = 64 << 20;
