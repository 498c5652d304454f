//! What a page asks to be computed of its stream, from all samples and not from those drawn.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    chain::{Minus, Processing, Row},
    filter::Filters,
    monitor::Monitor,
    quality,
    spectrum::{Spectrometer, band_power},
    stretch::{Stretch, are_numbers},
};

/// What a page wants to have computed, again and again, of one of its views.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Analyse {
    pub(super) view: u32,
    /// Rows of the view whose whole spectra are wanted; without any there are no spectra and no band powers.
    #[serde(default)]
    rows: Vec<usize>,
    /// The row whose spectrogram is wanted.
    #[serde(default)]
    spectrogram: Option<usize>,
}

impl Analyse {
    /// Computes it for what the view shows until a moment on the local clock; nothing if nothing is wanted. A part for
    /// which too few samples came is empty, so that no page takes an older one for that of now.
    pub(super) fn run(
        &self,
        monitor: &Monitor,
        shown: &Processing,
        window: f64,
        until: f64,
    ) -> Option<Value> {
        if self.rows.is_empty() && self.spectrogram.is_none() {
            return None;
        }
        let spectra = (!self.rows.is_empty()).then(|| self.spectra(monitor, shown, until)).flatten();
        let spectrogram = self.spectrogram.and_then(|row| spectrogram(monitor, shown, row, window, until));
        let (view, unit) = (self.view, &monitor.labels().unit);
        Some(json!({
            "type": "analysis", "view": view, "stream": monitor.id, "unit": unit, "filters": shown.filters,
            "spectra": spectra, "spectrogram": spectrogram,
        }))
    }

    fn spectra(&self, monitor: &Monitor, shown: &Processing, until: f64) -> Option<Value> {
        let stretch = Stretch::take(monitor, shown.clone(), SPECTRUM_SECONDS, until).since_numbers();
        let longest = (stretch.rate * SEGMENT_SECONDS) as usize;
        let length = longest.min(stretch.rows.first()?.len());
        if length < FEWEST_VALUES {
            return None;
        }
        let mut spectrometer = Spectrometer::new(length, stretch.rate);
        // A row has no spectrum if one of its values is no number.
        let density = |row: &Vec<f64>| are_numbers(row).then(|| spectrometer.welch(row));
        let densities: Vec<Option<Vec<f64>>> = stretch.rows.iter().map(density).collect();
        let step = stretch.rate / spectrometer.length() as f64;
        let wanted = self.rows.iter().take(MAX_SPECTRA);
        let rows: Vec<_> = wanted.filter_map(|&row| Some((row, densities.get(row)?))).collect();
        let merged = (spectrometer.length() / 2 + 1).div_ceil(MAX_POINTS);
        let thin = |density: &[f64]| -> Vec<f32> {
            density.chunks(merged).map(|part| (part.iter().sum::<f64>() / part.len() as f64) as f32).collect()
        };
        // A band is told apart from its neighbours by fine steps alone, and nothing is seen beyond half the rate.
        let is_seen = |[_, high]: [f64; 2]| step <= WIDEST_STEP && high <= stretch.rate / 2.0;
        let powers = |density: &Option<Vec<f64>>| {
            let power = |band| Some(band_power(density.as_ref()?, step, band) as f32);
            BANDS.map(|(_, band)| is_seen(band).then(|| power(band)).flatten())
        };
        Some(json!({
            "seconds": stretch.seconds(),
            "step": step * merged as f64,
            "rows": rows.iter().map(|(row, _)| row).collect::<Vec<_>>(),
            "densities": rows.iter().map(|(_, density)| density.as_deref().map(thin)).collect::<Vec<_>>(),
            "bands": BANDS.map(|(name, [low, high])| json!({ "name": name, "low": low, "high": high })),
            "powers": densities.iter().map(powers).collect::<Vec<_>>(),
        }))
    }
}

/// Power over time and frequency of one row, in steps of a byte between the lowest and the highest.
fn spectrogram(monitor: &Monitor, shown: &Processing, row: usize, window: f64, until: f64) -> Option<Value> {
    let processing = Processing { rows: vec![*shown.rows.get(row)?], ..shown.clone() };
    let stretch = Stretch::take(monitor, processing, window, until).since_numbers();
    let signal = stretch.rows.first()?;
    let length = ((stretch.rate * SPECTROGRAM_SECONDS) as usize).clamp(FEWEST_VALUES, MAX_SEGMENT);
    let step = (signal.len() / MAX_SLICES).max(length / 8).max(1);
    let mut spectrometer = Spectrometer::new(length, stretch.rate);
    let mut slices = Vec::new();
    for segment in signal.windows(length).step_by(step) {
        let decibels =
            spectrometer.density(segment).map(|density| 10.0 * density.max(f64::MIN_POSITIVE).log10());
        slices.push(decibels.take(MAX_FREQUENCIES).collect::<Vec<_>>());
    }
    let mut sorted: Vec<f64> = slices.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get(sorted.len() / 20)?, sorted.get(sorted.len() - 1 - sorted.len() / 500)?);
    let byte = |value: &f64| ((value - low) / (high - low).max(1e-9) * 255.0) as u8;
    let end = stretch.end?;
    Some(json!({
        "row": row, "low": low, "high": high, "step": stretch.rate / length as f64,
        "begin": end - signal.len() as f64 / stretch.rate + length as f64 / stretch.rate / 2.0,
        "slice_seconds": step as f64 / stretch.rate,
        "slices": slices.iter().map(|slice| slice.iter().map(byte).collect::<Vec<_>>()).collect::<Vec<_>>(),
    }))
}

/// What the channels of a view are like, before montage and filters; of none while too few samples come.
pub(super) fn channel_quality(monitor: &Monitor, shown: &Processing, view: u32, until: f64) -> Value {
    let row = |row: &Row| Row { channel: row.channel, minus: Minus::Nothing };
    let rows: Vec<Row> = shown.rows.iter().map(row).collect();
    let mut channels: Vec<u32> = rows.iter().map(|row| row.channel).collect();
    let raw = Processing { rows, averaged: Vec::new(), filters: Filters::default() };
    let stretch = Stretch::take(monitor, raw, QUALITY_SECONDS, until);
    let found = quality::judge(&stretch, monitor.info().channel_format());
    channels.truncate(found.len());
    json!({ "type": "quality", "view": view, "stream": monitor.id, "seconds": stretch.seconds(),
        "channels": channels, "found": found })
}

/// Power of the usual bands of the electroencephalogram, in Hz.
pub(super) const BANDS: [(&str, [f64; 2]); 5] = [
    ("delta", [1.0, 4.0]),
    ("theta", [4.0, 8.0]),
    ("alpha", [8.0, 13.0]),
    ("beta", [13.0, 30.0]),
    ("gamma", [30.0, 80.0]),
];

const FEWEST_VALUES: usize = 32;
/// Hz between two frequencies from which on bands run into each other.
const WIDEST_STEP: f64 = 1.0;
const MAX_FREQUENCIES: usize = 256;
const MAX_POINTS: usize = 512;
const MAX_SEGMENT: usize = 4096;
const MAX_SLICES: usize = 160;
const MAX_SPECTRA: usize = 16;
const QUALITY_SECONDS: f64 = 2.0;
/// Half a hertz between two frequencies.
const SEGMENT_SECONDS: f64 = 2.0;
const SPECTROGRAM_SECONDS: f64 = 0.5;
const SPECTRUM_SECONDS: f64 = 8.0;
