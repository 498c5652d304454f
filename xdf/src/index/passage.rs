//! A stream of a recording, read in its order from a time on, at the pace of who reads.

use std::borrow::Cow;
use std::io::{Read, Seek};

use super::course::{Course, Found};
use super::seek::IndexedRecording;
use crate::reader::{Damage, ReadError, Reader};
use crate::source::{Location, Source};
use crate::survey::is_time;
use crate::values::Values;

/// One stream of a recording from a time on, with a place of its own in the file.
#[derive(Debug)]
pub struct Passage<R> {
    reader: Reader<R>,
    course: Course,
    channel_count: usize,
    from: f64,
    /// The latest time so far.
    latest: f64,
    dues: Vec<f64>,
}

/// What comes next in a passage.
#[derive(Debug)]
#[non_exhaustive]
pub enum Block<'a> {
    /// Something is wrong here; what could be read of it comes before or after.
    Damage(Damage),
    /// Samples, one after the other.
    Samples {
        /// In seconds on the recorder's clock.
        stamps: &'a [f64],
        /// The latest stamp up to each: where a stamp goes back, or is no time, its sample still comes after the one
        /// before. Minus infinity before the first that is a time.
        dues: &'a [f64],
        /// Samples × channels, one row per sample.
        values: Cow<'a, Values>,
    },
}

impl<R: Read + Seek> IndexedRecording<R> {
    /// Begins to read a stream at its first sample that is due at `from`; none if there is no such stream.
    ///
    /// The recording at `location` must be this one. Samples keep their order and stamps as
    /// [`Recording::load`](crate::Recording::load) has them without evening them out.
    ///
    /// - Units: `from` in seconds on the recorder's clock.
    /// - Errors: [`ReadError`].
    pub fn follow(
        &self,
        location: &Location,
        stream: u32,
        from: f64,
    ) -> Result<Option<Passage<Source>>, ReadError> {
        let Some((known, placed)) = self.known(stream) else { return Ok(None) };
        let mut reader = location.reader()?;
        for (stream, header) in self.index().streams.iter().zip(self.headers()) {
            reader.add_stream(header.clone(), stream.header_at);
        }
        let course = Course::begin(&mut reader, known, placed, placed.entry_due(from), self.was_scanned())?;
        let latest = placed.latest_before(course.entry());
        let channel_count = reader.header(stream).map_or(1, |header| header.channel_count);
        Ok(Some(Passage { reader, course, channel_count, from, latest, dues: Vec::new() }))
    }
}

impl<R: Read + Seek> Passage<R> {
    /// Samples of the stream that are still to come, by the index; at the end those that were not found.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.course.missing()
    }

    /// Returns what comes next; none after the last sample of the stream.
    ///
    /// - Errors: [`ReadError`].
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>, ReadError> {
        let (stamps, values) = match self.course.step(&mut self.reader)? {
            None => return Ok(None),
            Some(Found::Damage(damage)) => return Ok(Some(Block::Damage(damage))),
            Some(Found::Samples { times, values, .. }) => (times, values),
        };
        self.dues.clear();
        for &stamp in stamps {
            self.latest = if is_time(stamp) { self.latest.max(stamp) } else { self.latest };
            self.dues.push(self.latest);
        }
        let early = self.dues.partition_point(|due| *due < self.from);
        if early == 0 {
            return Ok(Some(Block::Samples { stamps, dues: &self.dues, values }));
        }
        let mut values = values.into_owned();
        values.remove_front(early * self.channel_count);
        let (stamps, dues) = (stamps.get(early..), self.dues.get(early..));
        Ok(Some(Block::Samples {
            stamps: stamps.unwrap_or_default(),
            dues: dues.unwrap_or_default(),
            values: Cow::Owned(values),
        }))
    }
}
