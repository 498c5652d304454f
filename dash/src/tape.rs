//! A recording that pages look at as they look at the lab: the same traces, filters, spectra and events.
//!
//! Nothing is loaded but what is in sight. A long stretch is drawn from the overview in the recording's index, so ten
//! gigabytes appear at once.

mod judged;
mod page;
mod picture;
mod time;

use core::ops::Range;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schwann::StreamInfo;
use schwann_recorder::recorded_info;
use schwann_xdf::{IndexedRecording, Location, ReadError, Source, StreamHeader};
use serde_json::{Value, json};

use super::{marker::Markers, monitor::Monitor};
use judged::Judged;
pub(super) use page::attend;

/// A recording that is looked at.
#[derive(Debug)]
pub(super) struct Tape {
    path: PathBuf,
    recording: Mutex<IndexedRecording<Source>>,
    tracks: Vec<Track>,
    /// From the first sample to the last, in seconds on the recorder's clock.
    span: Range<f64>,
    /// Seconds since 1970 when the recorder's clock began; none if the recording does not say.
    wall: Option<f64>,
    judged: Judged,
}

/// One stream of it.
#[derive(Debug)]
struct Track {
    /// Its number in the recording.
    id: u32,
    /// Which computer sent it.
    host: String,
    info: StreamInfo,
    sample_count: u64,
    span: Option<Range<f64>>,
    /// Whether the overview of the index tells its time: its sender's clock never began anew.
    has_one_clock: bool,
}

impl Track {
    fn of(header: &StreamHeader, recording: &IndexedRecording<Source>) -> Option<Self> {
        let known = recording.index().streams.iter().find(|known| known.id == header.id)?;
        let name = if header.name.is_empty() { &format!("stream {}", header.id) } else { &header.name };
        Some(Self {
            id: header.id,
            host: header.hostname.clone(),
            info: recorded_info(header, name, header.nominal_rate).ok()?,
            sample_count: known.sample_count,
            span: recording.span(header.id),
            has_one_clock: recording.clock_map(header.id).segment_count() < 2,
        })
    }
}

impl Tape {
    /// Opens a recording. One without an index is read through first, and `progress` is told bytes read and bytes in all.
    ///
    /// - Errors: [`ReadError`].
    pub(super) fn open(location: &Location, progress: impl FnMut(u64, u64)) -> Result<Self, ReadError> {
        let recording = IndexedRecording::open(location.clone(), progress)?;
        // A stream that no program could send is in no picture.
        let tracks: Vec<_> =
            recording.headers().iter().filter_map(|header| Track::of(header, &recording)).collect();
        let spans = || tracks.iter().filter_map(|track| track.span.clone());
        let span = spans().fold(f64::INFINITY..f64::NEG_INFINITY, |all, one| {
            all.start.min(one.start)..all.end.max(one.end)
        });
        let span = if span.start <= span.end { span } else { 0.0..0.0 };
        let wall = time::seconds_since_1970(recording.datetime()).map(|begin| begin - span.start);
        let judged = Judged::begin(location.clone(), &recording);
        let path = location.path().to_owned();
        Ok(Self { path, recording: Mutex::new(recording), tracks, span, wall, judged })
    }

    fn recording(&self) -> MutexGuard<'_, IndexedRecording<Source>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What describes a stream to a page, without samples yet.
    fn monitors(&self) -> Vec<Arc<Monitor>> {
        let of = |(place, track): (usize, &Track)| {
            let markers = Arc::<Markers>::default();
            let monitor = Monitor::new(place as u32, &track.info, markers, Arc::default());
            monitor.describe(&track.info);
            Arc::new(monitor)
        };
        self.tracks.iter().enumerate().map(of).collect()
    }

    /// The list of streams as a page gets it.
    fn rows(&self, monitors: &[Arc<Monitor>]) -> Vec<Value> {
        let rows = self.tracks.iter().zip(monitors);
        rows.enumerate().map(|(place, (track, monitor))| self.row(place, track, monitor)).collect()
    }

    fn row(&self, place: usize, track: &Track, monitor: &Monitor) -> Value {
        let (info, judged) = (&track.info, self.judged.of(track.id));
        let seconds = track.span.as_ref().map_or(0.0, |span| span.end - span.start);
        let rate = (seconds > 0.0).then(|| (track.sample_count.saturating_sub(1)) as f64 / seconds);
        json!({
            "id": place,
            "name": info.name().to_string_lossy(),
            "content": info.stream_type().to_string_lossy(),
            "kind": monitor.kind(),
            "host": track.host,
            "source": info.source_id().to_string_lossy(),
            "session": info.session_id().to_string_lossy(),
            "channels": info.channel_count(),
            "format": info.channel_format().name(),
            "nominal_rate": info.nominal_rate(),
            "lock": null, "sender": null, "refusal": null, "gone": null, "lag": null,
            "clock_offset": null, "clock_uncertainty": null, "dropped": 0, "spark": [],
            "health": "live",
            "is_judged": judged.is_some(),
            "trouble": judged.as_ref().and_then(|judged| judged.sentences.first().cloned()),
            "rate": judged.as_ref().map(|judged| judged.rate).filter(|rate| *rate > 0.0).or(rate),
            "total": track.sample_count,
            "gaps": judged.as_ref().map_or(0, |judged| judged.gap_count),
            "missing": judged.as_ref().map_or(0, |judged| judged.missing),
            "oldest": track.span.as_ref().map(|span| span.start),
        })
    }
}
