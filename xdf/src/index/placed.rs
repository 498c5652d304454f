//! Where the entries of an index lie on the recorder's clock.

use core::ops::{Range, RangeInclusive};
use std::collections::HashMap;
use std::io::{Read, Seek};

use super::{Index, StreamIndex};
use crate::clock::{ClockMap, ClockOffset, last_is_corrupt};
use crate::header::{StreamFooter, root_child_text};
use crate::reader::{Damage, Event, ReadError, Reader};
use crate::survey::{ClockQuality, Survey, is_time};
use crate::wire::MAGIC;

/// What a recording says of its clocks.
#[derive(Default)]
pub(super) struct Clocks {
    datetime: String,
    /// From chunks of their own.
    measured: HashMap<u32, Vec<ClockOffset>>,
    footers: HashMap<u32, StreamFooter>,
    /// The first places that are damaged.
    pub(super) damage: Vec<Damage>,
}

/// One stream on the recorder's clock.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) map: ClockMap,
    pub(super) offsets: Vec<ClockOffset>,
    /// When each entry's first sample was, in seconds on the recorder's clock, and in which segment of the map; minus
    /// infinity before the first that has a time.
    times: Vec<(f64, usize)>,
    /// The same of the first sample and the last; none if no entry has a time.
    pub(super) span: Option<Range<f64>>,
    /// Samples that count: those beyond are of another stream, as [`Recording`](crate::Recording) finds, too.
    pub(super) sample_count: u64,
}

impl Clocks {
    /// Reads the beginning of a recording, and what follows its last samples: the footers repeat all offsets.
    ///
    /// None if the footers say something else than the index, or something there is damaged.
    pub(super) fn at_ends<R: Read + Seek>(
        reader: &mut Reader<R>,
        index: &Index,
    ) -> Result<Option<Self>, ReadError> {
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
        let agree = |stream: &StreamIndex| {
            clocks.footers.get(&stream.id).is_some_and(|footer| stream.agrees_with(footer))
        };
        let is_sound = clocks.damage.is_empty() && index.streams.iter().all(agree);
        Ok(is_sound.then_some(clocks))
    }

    pub(super) fn take_in(&mut self, event: Event<'_>) {
        match event {
            Event::FileHeader { xml } => self.datetime = root_child_text(xml, "datetime").unwrap_or_default(),
            Event::ClockOffset { stream, collected, offset } => {
                self.measured.entry(stream).or_default().push(ClockOffset { collected, offset });
            }
            Event::StreamFooter { stream, footer } => drop(self.footers.insert(stream, footer.clone())),
            Event::Damage(damage) if self.damage.len() < Survey::LISTED_MAX => self.damage.push(damage),
            _ => {}
        }
    }

    /// The time of the beginning, and each stream of the index on the recorder's clock.
    pub(super) fn place(&mut self, index: &Index) -> (String, Vec<Placed>) {
        let of = |stream: &StreamIndex| {
            let footer = self.footers.remove(&stream.id).unwrap_or_default();
            let offsets = self.measured.remove(&stream.id).unwrap_or(footer.clock_offsets);
            Placed::new(stream, offsets, footer.sample_count)
        };
        (core::mem::take(&mut self.datetime), index.streams.iter().map(of).collect())
    }
}

impl StreamIndex {
    /// Whether the footer of the stream says the same.
    fn agrees_with(&self, footer: &StreamFooter) -> bool {
        let is_same = |stamp: Option<f64>, own: f64| stamp.map(f64::to_bits) == Some(own.to_bits());
        let are_same =
            is_same(footer.first_stamp, self.first_stamp) && is_same(footer.last_stamp, self.last_stamp);
        footer.sample_count == Some(self.sample_count) && (self.sample_count == 0 || are_same)
    }
}

impl Placed {
    fn new(stream: &StreamIndex, mut offsets: Vec<ClockOffset>, footer_count: Option<u64>) -> Self {
        let counted = footer_count.filter(|count| *count < stream.sample_count && last_is_corrupt(&offsets));
        if counted.is_some() {
            offsets.pop();
        }
        let map = ClockMap::fit(&offsets);
        let mut moving = map.clone();
        let mut known = f64::NEG_INFINITY;
        let entries = stream.entries.iter().map(|entry| {
            // An entry that has no time is where the one before is.
            known = if is_time(entry.stamp) { moving.place(entry.stamp) } else { known };
            (known, moving.segment())
        });
        let times: Vec<_> = entries.collect();
        let last = if is_time(stream.last_stamp) { moving.place(stream.last_stamp) } else { known };
        let first = times.iter().map(|(time, _)| *time).find(|time| time.is_finite());
        let span = first.map(|first| first..last.max(first));
        Self { map, offsets, times, span, sample_count: counted.unwrap_or(stream.sample_count) }
    }

    /// The entries at which a range on the recorder's clock begins and ends; none if nothing lies in it.
    pub(super) fn entries(&self, range: &Range<f64>) -> Option<RangeInclusive<usize>> {
        let later = self.times.iter().position(|(time, _)| *time > range.start).unwrap_or(self.times.len());
        let last = self.times.iter().rposition(|(time, _)| *time < range.end)?;
        Some(later.saturating_sub(1)..=last)
    }

    /// The entry that has the first sample due at `from`: no stamp before it is as late.
    pub(super) fn entry_due(&self, from: f64) -> usize {
        self.times.iter().position(|(time, _)| *time >= from).unwrap_or(self.times.len()).saturating_sub(1)
    }

    /// The map for stamps from this entry on.
    pub(super) fn map_from(&self, entry: usize) -> ClockMap {
        self.map.going_on_in(self.times.get(entry).map_or(0, |(_, segment)| *segment))
    }

    /// The latest time of the first samples of all entries before this one; minus infinity if there are none.
    pub(super) fn latest_before(&self, entry: usize) -> f64 {
        self.times.iter().take(entry).fold(f64::NEG_INFINITY, |latest, (time, _)| latest.max(*time))
    }

    /// How well the clock is known.
    pub(super) fn quality(&self) -> ClockQuality {
        ClockQuality::of(&self.offsets)
    }
}
