//! The least and greatest values of a stream over time, in constant memory.

use super::take;
use crate::values::Number;

/// The least and the greatest value of each channel in columns of equal time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    channel_count: usize,
    /// Where the first column begins, in seconds on the stream's clock.
    from: f64,
    /// How long a column is, in seconds.
    seconds: f64,
    /// Columns × channels × least and greatest.
    columns: Vec<[f32; 2]>,
}

impl Overview {
    /// Begins an overview of so many channels.
    pub(crate) fn new(channel_count: usize) -> Self {
        Self { channel_count, from: 0.0, seconds: FIRST_SECONDS, columns: Vec::new() }
    }

    /// Where the first column begins, in seconds on the stream's clock.
    #[must_use]
    pub const fn from(&self) -> f64 {
        self.from
    }

    /// How long a column is, in seconds.
    #[must_use]
    pub const fn seconds(&self) -> f64 {
        self.seconds
    }

    /// How many columns there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len().checked_div(self.channel_count).unwrap_or_default()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The least and the greatest value of each channel in a column; a channel without a value has none.
    #[must_use]
    pub fn column(&self, place: usize) -> &[[f32; 2]] {
        let from = place.saturating_mul(self.channel_count);
        self.columns.get(from..from.saturating_add(self.channel_count)).unwrap_or_default()
    }

    /// Takes in samples. Shape: `values` is samples × channels, one row per sample.
    pub(crate) fn add<T: Number>(&mut self, stamps: &[f64], values: &[T]) {
        if self.channel_count == 0 {
            return;
        }
        let (mut place, mut within) = (0, f64::INFINITY..f64::INFINITY);
        for (&stamp, row) in stamps.iter().zip(values.chunks_exact(self.channel_count)) {
            if !within.contains(&stamp) {
                let Some(found) = self.place(stamp) else { continue };
                place = found;
                // Most samples follow in the same column, and a division for each takes longer than the rest.
                within = stamp..self.from + place as f64 * self.seconds + 0.999 * self.seconds;
            }
            let from = place * self.channel_count;
            if self.columns.len() < from + self.channel_count {
                self.columns.resize(from + self.channel_count, NONE);
            }
            let column = self.columns.get_mut(from..).unwrap_or_default();
            for (bounds, value) in column.iter_mut().zip(row) {
                let value = value.to_f32();
                *bounds = [bounds[0].min(value), bounds[1].max(value)];
            }
        }
    }

    /// The column of a stamp; none if it is no time.
    fn place(&mut self, stamp: f64) -> Option<usize> {
        if !stamp.is_finite() {
            return None;
        }
        if self.columns.is_empty() {
            self.from = stamp;
        }
        let columns_max = (VALUES_MAX / self.channel_count).clamp(16, COLUMNS_MAX) as f64;
        // What a clock that was set back stamps lies in the first column, or before what it comes after.
        let mut place = ((stamp - self.from) / self.seconds).max(0.0);
        while place >= columns_max && self.seconds < SECONDS_MAX {
            self.merge();
            place = (stamp - self.from) / self.seconds;
        }
        Some(place.min(columns_max - 1.0) as usize)
    }

    /// Makes one column of two.
    fn merge(&mut self) {
        let channels = self.channel_count;
        let merged = self.columns.chunks(2 * channels).flat_map(|pair| {
            let (one, other) = pair.split_at(channels);
            let at = |place: usize| other.get(place).copied().unwrap_or(NONE);
            one.iter().enumerate().map(move |(place, [least, greatest])| {
                let [other_least, other_greatest] = at(place);
                [least.min(other_least), greatest.max(other_greatest)]
            })
        });
        self.columns = merged.collect();
        self.seconds *= 2.0;
    }

    /// Appends it to an index.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend((self.channel_count as u32).to_le_bytes());
        out.extend(self.from.to_le_bytes());
        out.extend(self.seconds.to_le_bytes());
        out.extend((self.len() as u32).to_le_bytes());
        for bound in self.columns.iter().flatten() {
            out.extend(bound.to_le_bytes());
        }
    }

    /// Reads it off the front.
    pub(super) fn parse(rest: &mut &[u8]) -> Option<Self> {
        let channel_count = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
        let (from, seconds) = (f64::from_le_bytes(take(rest)?), f64::from_le_bytes(take(rest)?));
        let count = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?.checked_mul(channel_count)?;
        // Memory only for values that exist.
        let (values, left) = rest.split_at_checked(count.checked_mul(8)?)?;
        *rest = left;
        let bounds = values.as_chunks::<8>().0.iter().map(|[a, b, c, d, e, f, g, h]| {
            [f32::from_le_bytes([*a, *b, *c, *d]), f32::from_le_bytes([*e, *f, *g, *h])]
        });
        let is_time = from.is_finite() && seconds.is_finite() && seconds > 0.0;
        is_time.then(|| Self { channel_count, from, seconds, columns: bounds.collect() })
    }
}

/// A column without a value.
const NONE: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];
/// How long columns are at first, in seconds.
const FIRST_SECONDS: f64 = 0.125;
/// No recording is longer, in seconds.
const SECONDS_MAX: f64 = 1e15;
const COLUMNS_MAX: usize = 2_048;
/// Columns × channels, so that very wide streams do not fill memory.
const VALUES_MAX: usize = 1 << 20;
