//! A whole recording in memory, with its streams on one clock.

use core::ops::Range;
use std::io::{Read, Seek};

use crate::clock::{ClockOffset, last_is_corrupt, synchronize};
use crate::header::{StreamFooter, StreamHeader};
use crate::jitter;
use crate::reader::{Damage, Event, ReadError, Reader};
use crate::source::Location;
use crate::survey::is_time;
use crate::values::Values;

/// A recording in memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recording {
    /// The file header's XML; empty if there is none.
    pub header_xml: String,
    /// The streams, in the order of their headers.
    pub streams: Vec<RecordedStream>,
    /// Where the file is damaged.
    pub damage: Vec<Damage>,
}

/// One stream of a recording.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedStream {
    /// What the stream is.
    pub header: StreamHeader,
    /// What its footer says, if it has one.
    pub footer: Option<StreamFooter>,
    /// In seconds, one per sample; on the recorder's clock unless [`Clocks::AsRecorded`].
    pub stamps: Vec<f64>,
    /// Samples × channels, one row per sample.
    pub values: Values,
    /// The measurements of the stream's clock.
    pub clock_offsets: Vec<ClockOffset>,
    /// The samples between breaks.
    pub segments: Vec<Range<usize>>,
    /// The samples between resets of the stream's clock; empty if it was never measured.
    pub clock_segments: Vec<Range<usize>>,
    /// The rate within the segments, in hertz; 0 if unknown or irregular.
    pub effective_rate: f64,
    /// Samples that were recorded with a stamp that is no time (see [`is_time`]). Unless stamps are left as they are, those of a
    /// stream with a rate are placed on the line of the others.
    pub invalid_stamps: usize,
    /// Samples of the file that are not here, since an outlet that was destroyed left them beyond the footer's count.
    pub corrupt_samples: usize,
}

/// The clock of the stamps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Clocks {
    /// Each stream's own.
    AsRecorded,
    /// The recorder's.
    #[default]
    Synchronised,
}

/// Whether the stamps of regular streams are evened out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Jitter {
    /// They are left as they are.
    AsRecorded,
    /// They are.
    #[default]
    Removed,
}

impl Recording {
    /// Loads a recording. The defaults of [`Clocks`] and [`Jitter`] are pyxdf's.
    ///
    /// - Errors: [`ReadError`]. Damage is not an error: see [`Recording::damage`].
    pub fn load(recording: impl Into<Location>, clocks: Clocks, jitter: Jitter) -> Result<Self, ReadError> {
        Self::read(Reader::open(recording)?, clocks, jitter)
    }

    /// Loads what `reader` reads.
    ///
    /// - Errors: as [`Recording::load`].
    pub fn read<R: Read + Seek>(
        mut reader: Reader<R>,
        clocks: Clocks,
        jitter: Jitter,
    ) -> Result<Self, ReadError> {
        let mut recording = Self { header_xml: String::new(), streams: Vec::new(), damage: Vec::new() };
        while let Some(event) = reader.next_event()? {
            recording.take_in(event);
        }
        for stream in &mut recording.streams {
            stream.settle(clocks, jitter);
        }
        Ok(recording)
    }

    /// Returns the stream of this id.
    #[must_use]
    pub fn stream(&self, id: u32) -> Option<&RecordedStream> {
        self.streams.iter().find(|stream| stream.header.id == id)
    }

    fn take_in(&mut self, event: Event<'_>) {
        match event {
            Event::Boundary => {}
            Event::ClockOffset { stream, collected, offset } => {
                if let Some(stream) = self.stream_mut(stream) {
                    stream.clock_offsets.push(ClockOffset { collected, offset });
                }
            }
            Event::Damage(damage) => self.damage.push(damage),
            Event::FileHeader { xml } => xml.clone_into(&mut self.header_xml),
            Event::Samples { stream, stamps, values } => {
                if let Some(stream) = self.stream_mut(stream) {
                    stream.stamps.extend_from_slice(stamps);
                    stream.values.append(values);
                }
            }
            Event::StreamFooter { stream, footer } => {
                if let Some(stream) = self.stream_mut(stream) {
                    stream.footer = Some(footer.clone());
                }
            }
            Event::StreamHeader(header) => self.streams.push(RecordedStream::new(header.clone())),
        }
    }

    fn stream_mut(&mut self, id: u32) -> Option<&mut RecordedStream> {
        self.streams.iter_mut().find(|stream| stream.header.id == id)
    }
}

impl RecordedStream {
    fn new(header: StreamHeader) -> Self {
        Self {
            values: Values::new(header.format),
            header,
            footer: None,
            stamps: Vec::new(),
            clock_offsets: Vec::new(),
            segments: Vec::new(),
            clock_segments: Vec::new(),
            effective_rate: 0.0,
            invalid_stamps: 0,
            corrupt_samples: 0,
        }
    }

    fn settle(&mut self, clocks: Clocks, jitter: Jitter) {
        if clocks == Clocks::Synchronised {
            self.drop_corrupt_end();
            self.clock_segments = synchronize(&mut self.stamps, &self.clock_offsets);
        }
        self.invalid_stamps = self.stamps.iter().filter(|stamp| !is_time(**stamp)).count();
        let even = match jitter {
            Jitter::AsRecorded => jitter::keep(&self.stamps, &self.header),
            Jitter::Removed => jitter::remove(&mut self.stamps, &self.header),
        };
        self.segments = even.segments;
        self.effective_rate = even.rate;
    }

    /// Removes what an outlet destroyed during the recording may have left: samples beyond the footer's
    /// count, with a foreign clock offset. Source: pyxdf `_truncate_corrupted_offsets`.
    fn drop_corrupt_end(&mut self) {
        let Some(count) = self.footer.as_ref().and_then(|footer| footer.sample_count) else { return };
        let Some(count) = usize::try_from(count).ok().filter(|&count| count < self.stamps.len()) else {
            return;
        };
        if last_is_corrupt(&self.clock_offsets) {
            self.clock_offsets.pop();
            self.corrupt_samples = self.stamps.len() - count;
            self.stamps.truncate(count);
            self.values.truncate(count * self.header.channel_count);
        }
    }
}
