//! Where the entries of an index lie on the recorder's clock.

use core::ops::{Range, RangeInclusive};
use std::collections::HashMap;
use std::io::{Read, Seek};

use super::{Index, StreamIndex};
use crate::clock::{ClockMap, ClockOffset};
use crate::header::root_child_text;
use crate::reader::{Event, ReadError, Reader};
use crate::wire::MAGIC;

/// What a recording says of its clocks.
#[derive(Default)]
pub(super) struct Clocks {
    datetime: String,
    /// From chunks of their own.
    measured: HashMap<u32, Vec<ClockOffset>>,
    /// From the footers.
    repeated: HashMap<u32, Vec<ClockOffset>>,
}

/// One stream on the recorder's clock.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) map: ClockMap,
    /// When each entry's first sample was, in seconds on the recorder's clock, and in which segment of the map.
    times: Vec<(f64, usize)>,
    /// The same of the first sample and the last.
    pub(super) span: Option<Range<f64>>,
}

impl Clocks {
    /// Reads the beginning of a recording, and what follows its last samples: the footers repeat all offsets.
    pub(super) fn at_ends<R: Read + Seek>(reader: &mut Reader<R>, index: &Index) -> Result<Self, ReadError> {
        let mut clocks = Self::default();
        reader.seek_to(MAGIC.len() as u64);
        while let Some(event @ (Event::FileHeader { .. } | Event::Boundary)) = reader.next_event()? {
            clocks.take_in(event);
        }
        let last = index.streams.iter().filter_map(|stream| Some(stream.entries.last()?.at)).max();
        reader.seek_to(last.or(index.streams.first().map(|stream| stream.header_at)).unwrap_or_default());
        while let Some(event) = reader.next_event()? {
            clocks.take_in(event);
        }
        // Chunks near the end are a part alone of what the footers have.
        clocks.measured.clear();
        Ok(clocks)
    }

    pub(super) fn take_in(&mut self, event: Event<'_>) {
        match event {
            Event::FileHeader { xml } => self.datetime = root_child_text(xml, "datetime").unwrap_or_default(),
            Event::ClockOffset { stream, collected, offset } => {
                self.measured.entry(stream).or_default().push(ClockOffset { collected, offset });
            }
            Event::StreamFooter { stream, footer } => {
                self.repeated.insert(stream, footer.clock_offsets.clone());
            }
            _ => {}
        }
    }

    /// The time of the beginning, and each stream of the index on the recorder's clock.
    pub(super) fn place(&self, index: &Index) -> (String, Vec<Placed>) {
        let of = |stream: &StreamIndex| {
            let offsets = self.measured.get(&stream.id).or_else(|| self.repeated.get(&stream.id));
            Placed::new(stream, offsets.map_or(&[][..], Vec::as_slice))
        };
        (self.datetime.clone(), index.streams.iter().map(of).collect())
    }
}

impl Placed {
    fn new(stream: &StreamIndex, offsets: &[ClockOffset]) -> Self {
        let map = ClockMap::fit(offsets);
        let mut moving = map.clone();
        let entries = stream.entries.iter();
        let times: Vec<_> = entries.map(|entry| (moving.place(entry.stamp), moving.segment())).collect();
        let last = moving.place(stream.last_stamp);
        let span = times.first().map(|(first, _)| *first..last.max(*first));
        Self { map, times, span }
    }

    /// The entries at which a range on the recorder's clock begins and ends; none if nothing lies in it.
    pub(super) fn entries(&self, range: &Range<f64>) -> Option<RangeInclusive<usize>> {
        let later = self.times.iter().position(|(time, _)| *time > range.start).unwrap_or(self.times.len());
        let last = self.times.iter().rposition(|(time, _)| *time < range.end)?;
        Some(later.saturating_sub(1)..=last)
    }

    /// The map for stamps from this entry on.
    pub(super) fn map_from(&self, entry: usize) -> ClockMap {
        self.map.going_on_in(self.times.get(entry).map_or(0, |(_, segment)| *segment))
    }
}
