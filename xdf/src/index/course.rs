//! The way through one stream of a recording, from entry to entry of its index.

use std::borrow::Cow;
use std::io::{self, Read, Seek};

use super::placed::Placed;
use super::{Entry, StreamIndex};
use crate::clock::ClockMap;
use crate::reader::{Damage, Event, Reader};
use crate::values::Values;

/// Where reading is in a stream.
#[derive(Debug)]
pub(super) struct Course {
    id: u32,
    entries: Vec<Entry>,
    /// The entry after the samples that come next.
    next_entry: usize,
    /// Samples of the stream before those that come next.
    row: u64,
    sample_count: u64,
    /// Whether the index was found by reading, and is not from the file.
    was_read: bool,
    map: ClockMap,
    /// When the samples were that were found last.
    times: Vec<f64>,
    channel_count: usize,
    /// Whether samples that do not count were left out of those.
    is_cut: bool,
}

/// What a step of a course finds.
pub(super) enum Found<'a> {
    /// Something is wrong here.
    Damage(Damage),
    Samples {
        /// Where their chunk, or their piece of it, begins.
        at: u64,
        /// In seconds on the recorder's clock.
        times: &'a [f64],
        values: Cow<'a, Values>,
    },
}

impl Course {
    /// Goes to an entry. One that is not what it says is passed over for the one before, and the first for the beginning of
    /// the stream.
    pub(super) fn begin<R: Read + Seek>(
        reader: &mut Reader<R>,
        stream: &StreamIndex,
        placed: &Placed,
        entry: usize,
        was_read: bool,
    ) -> io::Result<Self> {
        let mut course = Self {
            id: stream.id,
            entries: stream.entries.clone(),
            next_entry: 0,
            row: 0,
            sample_count: placed.sample_count,
            was_read,
            map: placed.map.clone(),
            times: Vec::new(),
            channel_count: reader.header(stream.id).map_or(1, |header| header.channel_count),
            is_cut: false,
        };
        reader.want_only(Some(stream.id));
        for (place, entry) in stream.entries.iter().enumerate().take(entry + 1).rev() {
            if reader.seek_to_entry(stream.id, entry, was_read)? {
                (course.next_entry, course.row, course.map) =
                    (place + 1, entry.before, placed.map_from(place));
                return Ok(course);
            }
        }
        reader.seek_to(stream.header_at);
        Ok(course)
    }

    /// Samples that are still to come.
    pub(super) const fn missing(&self) -> u64 {
        self.sample_count.saturating_sub(self.row)
    }

    /// The entry that reading has begun with.
    pub(super) const fn entry(&self) -> usize {
        self.next_entry.saturating_sub(1)
    }

    /// Returns what comes next; none after the last sample of the stream.
    pub(super) fn step<'a, R: Read + Seek>(
        &'a mut self,
        reader: &'a mut Reader<R>,
    ) -> io::Result<Option<Found<'a>>> {
        self.leap(reader)?;
        if self.row >= self.sample_count {
            return Ok(None);
        }
        let at = loop {
            let (at, is_inside) = (reader.progress().0, reader.is_inside_chunk());
            match reader.next_event()? {
                None => return Ok(None),
                Some(Event::Damage(damage)) => return Ok(Some(Found::Damage(damage))),
                Some(Event::Samples { stream, stamps, .. }) if stream == self.id => {
                    self.take_in(at, is_inside, stamps);
                    break at;
                }
                Some(_) => {}
            }
        };
        Ok(Some(Found::Samples { at, times: &self.times, values: self.values(reader.values()) }))
    }

    /// Goes on at the next entry, past what lies between.
    fn leap<R: Read + Seek>(&mut self, reader: &mut Reader<R>) -> io::Result<()> {
        let next = self.entries.get(self.next_entry).filter(|next| self.row >= next.before);
        let Some(next) = next.filter(|next| !reader.is_inside_chunk() && reader.progress().0 < next.at)
        else {
            return Ok(());
        };
        // One that is not what it says is reached by reading on.
        if reader.seek_to_entry(self.id, next, self.was_read)? {
            self.row = next.before;
        }
        self.next_entry += 1;
        Ok(())
    }

    /// Takes in the stamps of a chunk, or of another piece of it.
    fn take_in(&mut self, at: u64, is_inside: bool, stamps: &[f64]) {
        while let Some(next) = self.entries.get(self.next_entry).filter(|next| !is_inside && next.at <= at) {
            if next.at == at {
                self.row = next.before;
            }
            self.next_entry += 1;
        }
        let left = usize::try_from(self.sample_count.saturating_sub(self.row)).unwrap_or(usize::MAX);
        self.times.clear();
        self.times.extend(stamps.iter().take(left).map(|stamp| self.map.place(*stamp)));
        self.row += stamps.len() as u64;
        self.is_cut = left < stamps.len();
    }

    /// The values of the samples that count.
    fn values<'a>(&self, all: &'a Values) -> Cow<'a, Values> {
        if !self.is_cut {
            return Cow::Borrowed(all);
        }
        let mut values = all.clone();
        values.truncate(self.times.len() * self.channel_count);
        Cow::Owned(values)
    }
}
