//! What a row of the list shows.

use schwann::inlet::Protection;
use schwann_recorder::Verdict;

use super::{
    chain::{Minus, Processing, Row},
    decimate::{Column, Selection},
};

/// How a stream is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    /// It was found, and has not sent yet.
    Connecting,
    /// It was found, and is not received.
    Listed,
    /// Samples come.
    Live,
    /// The connection stands, but no samples come.
    Silent,
    /// The sender is gone.
    Stopped,
}

/// What a row of the list shows.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) health: Health,
    /// Whether others can read it on its way; nothing before it is connected.
    pub(super) protection: Option<Protection>,
    /// Who sends it, if that is proven.
    pub(super) sender: Option<String>,
    /// Why there is no session with the sender, and the command that mends it.
    pub(super) refusal: Option<String>,
    /// Why this program cannot receive it, whoever sends it.
    pub(super) fault: Option<String>,
    /// For how many seconds there has been no sender, if no search finds one either.
    pub(super) gone: Option<f64>,
    /// How its samples are.
    pub(super) verdict: Verdict,
    pub(super) rate: Option<f64>,
    pub(super) lag: Option<[f64; 2]>,
    pub(super) clock_offset: Option<f64>,
    pub(super) clock_uncertainty: Option<f64>,
    pub(super) total: u64,
    pub(super) gap_count: u64,
    pub(super) missing: u64,
    pub(super) dropped: u64,
    /// Stamp of the oldest sample that is kept.
    pub(super) oldest: Option<f64>,
    pub(super) spark: Vec<i16>,
}

/// What the small picture of a row shows of its stream.
pub(super) fn spark_selection() -> Selection {
    let rows = vec![Row { channel: 0, minus: Minus::Nothing }];
    Selection {
        processing: Processing { rows, ..Processing::default() },
        column_seconds: SPARK_SECONDS / SPARK_COLUMNS as f64,
        columns: SPARK_COLUMNS,
    }
}

/// The small picture at `now`, from the columns of [`spark_selection`]. It has the lowest and highest value per
/// column, oldest first, scaled to 0..=100; -1 where there is none.
pub(super) fn sparkline(columns: &[Column], now: f64) -> Vec<i16> {
    let numbers = columns.iter().flat_map(|column| &column.extremes).filter(|value| value.is_finite());
    let low = numbers.clone().copied().fold(f32::INFINITY, f32::min);
    let high = numbers.copied().fold(f32::NEG_INFINITY, f32::max);
    let newest = (now / spark_selection().column_seconds).floor() as i64;
    let mut spark = vec![-1; 2 * SPARK_COLUMNS];
    for column in columns {
        let place = column.index - newest + SPARK_COLUMNS as i64 - 1;
        let place = usize::try_from(place).ok().and_then(|place| spark.as_chunks_mut::<2>().0.get_mut(place));
        let (Some(place), [bottom, top]) = (place, &*column.extremes) else { continue };
        *place = [*bottom, *top].map(|value| match value {
            // Strings have no height: where there was one, there is a tick.
            value if value.is_nan() => 50,
            value if high > low => ((value - low) / (high - low) * 100.0) as i16,
            _ => 50,
        });
    }
    spark
}

pub(super) const SPARK_COLUMNS: usize = 60;
const SPARK_SECONDS: f64 = 12.0;
