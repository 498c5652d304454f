//! The columns of a stretch of a recording.

use core::ops::Range;
use std::{collections::VecDeque, sync::Arc};

use schwann_xdf::{ClockMap, Overview, ReadError, Values};

use super::{Tape, Track};
use crate::{
    chain::{Minus, Row},
    decimate::{Column, Selection},
    filter::Filters,
    marker::Marker,
    monitor::{Kind, Monitor},
    past::Past,
};

impl Tape {
    /// What is seen of a stream until a moment on the recorder's clock.
    ///
    /// A stretch of too many samples is drawn from the overview in the index. Extremes there cannot be filtered, and the
    /// selection says so. Otherwise the monitor remembers the samples, for analyses.
    ///
    /// - Errors: [`ReadError`].
    pub(super) fn look_back(
        &self,
        place: usize,
        monitor: &Monitor,
        selection: &mut Selection,
        until: f64,
    ) -> Result<VecDeque<Column>, ReadError> {
        let Some(track) = self.tracks.get(place) else { return Ok(VecDeque::new()) };
        let range = until - selection.window()..until;
        let mut recording = self.recording();
        let known = recording.index().streams.iter().find(|known| known.id == track.id);
        let overview = known.map(|known| &known.overview).filter(|overview| !overview.is_empty());
        if let Some(overview) =
            overview.filter(|_| track.has_one_clock && track.values_in(&range) > VALUES_MOST)
        {
            unfilter(selection);
            let map = recording.clock_map(track.id);
            return Ok(from_overview(overview, map, selection, &range));
        }
        let mut past = Past::new(monitor.decimator(selection.clone()), range.start, range.end);
        let mut history = monitor.empty_history();
        let sample_len = monitor.sample_len();
        let from = range.start - past.settling_seconds();
        recording.read_placed(track.id, from..range.end, |times, values| {
            let bytes = bytes_of(values);
            let samples = || times.iter().copied().zip(bytes.chunks_exact(sample_len.max(1)));
            past.add(samples());
            samples().for_each(|(time, sample)| history.add(time, sample));
        })?;
        monitor.remember(history);
        Ok(past.into_decimator().finish_all())
    }

    /// What happened in a stretch, oldest first, and whether that is all; of too much the newest.
    ///
    /// - Errors: [`ReadError`].
    pub(super) fn markers(
        &self,
        monitors: &[Arc<Monitor>],
        range: Range<f64>,
    ) -> Result<(Vec<Marker>, bool), ReadError> {
        let mut recording = self.recording();
        let (mut found, mut is_all) = (Vec::new(), true);
        for (monitor, track) in
            monitors.iter().zip(&self.tracks).filter(|(monitor, _)| monitor.kind() == Kind::Markers)
        {
            let channels = monitor.info().channel_count() as usize;
            let newest =
                recording.newest_placed(track.id, range.clone(), MARKERS_MOST, |times, values| {
                    let texts = texts_of(values, channels);
                    found.extend(times.iter().zip(texts).map(|(&time, text)| Marker {
                        stream: monitor.id,
                        time,
                        text,
                    }));
                })?;
            is_all &= newest;
        }
        found.sort_by(|one, other| one.time.total_cmp(&other.time));
        let many = found.len().saturating_sub(MARKERS_MOST);
        is_all &= many == 0;
        Ok((found.split_off(many), is_all))
    }
}

impl Track {
    /// About how many values it has in a range.
    fn values_in(&self, range: &Range<f64>) -> f64 {
        let Some(span) = &self.span else { return 0.0 };
        let seconds = (span.end.min(range.end) - span.start.max(range.start)).max(0.0);
        let rate = self.sample_count as f64 / (span.end - span.start).max(f64::MIN_POSITIVE);
        seconds * rate * f64::from(self.info.channel_count())
    }
}

/// Extremes of a channel say nothing of what a filter or a difference would make of it.
fn unfilter(selection: &mut Selection) {
    let processing = &mut selection.processing;
    (processing.filters, processing.averaged) = (Filters::default(), Vec::new());
    processing.rows.iter_mut().for_each(|row| *row = Row { channel: row.channel, minus: Minus::Nothing });
}

fn from_overview(
    overview: &Overview,
    mut map: ClockMap,
    selection: &Selection,
    range: &Range<f64>,
) -> VecDeque<Column> {
    let width = selection.column_seconds;
    let rows = &selection.processing.rows;
    let mut columns = VecDeque::<Column>::new();
    for place in 0..overview.len() {
        let own = overview.from() + place as f64 * overview.seconds();
        let (from, until) = (map.place(own), map.place(own + overview.seconds()));
        if until <= range.start || from >= range.end {
            continue;
        }
        let bounds = overview.column(place);
        let of = |row: &Row| bounds.get(row.channel as usize).filter(|[least, greatest]| least <= greatest);
        let extremes: Box<[f32]> =
            rows.iter().flat_map(|row| of(row).copied().unwrap_or([f32::NAN; 2])).collect();
        // A column of the overview may be wider than one of the picture, or narrower.
        let first = (from.max(range.start) / width).floor() as i64;
        let last = ((until.min(range.end) / width).ceil() as i64 - 1).max(first);
        for index in first..=last {
            match columns.back_mut().filter(|column| column.index >= index) {
                Some(column) => widen(column, &extremes),
                None => columns.push_back(Column { index, extremes: extremes.clone() }),
            }
        }
    }
    columns
}

fn widen(column: &mut Column, by: &[f32]) {
    let own = column.extremes.as_chunks_mut().0.iter_mut();
    for ([low, high], [other_low, other_high]) in own.zip(by.as_chunks().0) {
        // Of a number and NaN these give the number.
        (*low, *high) = (low.min(*other_low), high.max(*other_high));
    }
}

/// Values as this machine stores them; none of texts.
fn bytes_of(values: &Values) -> Vec<u8> {
    match values {
        Values::Double64(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Values::Float32(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Values::Int8(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Values::Int16(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Values::Int32(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Values::Int64(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Values::String(_) => Vec::new(),
    }
}

/// A text for each sample, as the page of the lab has it.
fn texts_of(values: &Values, channels: usize) -> Vec<String> {
    let channels = channels.max(1);
    match values {
        Values::String(texts) => texts
            .chunks(channels)
            .map(|row| row.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(", "))
            .collect(),
        Values::Double64(values) => values.iter().map(f64::to_string).collect(),
        Values::Float32(values) => values.iter().map(f32::to_string).collect(),
        Values::Int8(values) => values.iter().map(i8::to_string).collect(),
        Values::Int16(values) => values.iter().map(i16::to_string).collect(),
        Values::Int32(values) => values.iter().map(i32::to_string).collect(),
        Values::Int64(values) => values.iter().map(i64::to_string).collect(),
    }
}

/// Markers that a page gets at a time.
const MARKERS_MOST: usize = 400;
/// Values that are read for one picture; some tens of milliseconds of work.
const VALUES_MOST: f64 = 6e6;
