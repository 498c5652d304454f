//! Reads parts of a recording: from one time to another, or the peaks of a stretch for a picture.

use core::ops::Range;
use std::io::{Read, Seek};

use super::{Index, StreamIndex};
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
            return Ok(Self { reader, index, headers, was_scanned: false });
        }
        reader.rewind();
        let index = Index::scan(&mut reader, progress)?;
        let headers = index.streams.iter().filter_map(|stream| reader.header(stream.id).cloned()).collect();
        Ok(Self { reader, index, headers, was_scanned: true })
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
            let begin = stamps.iter().take_while(|stamp| **stamp < range.start).count();
            let count = stamps.iter().skip(begin).take_while(|stamp| **stamp < range.end).count();
            if count == stamps.len() {
                take(stream, stamps, values);
            } else if count > 0 {
                let width = values.len() / stamps.len().max(1);
                let mut part = values.clone();
                part.remove_front(begin * width);
                part.truncate(count * width);
                take(stream, stamps.get(begin..begin + count).unwrap_or_default(), &part);
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
