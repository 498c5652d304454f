//! Whether a channel is worth looking at. It may be flat, at the end of its range, full of mains, or much noisier
//! than others.

use schwann::ChannelFormat;
use serde::Serialize;

use super::{
    spectrum::{Spectrometer, band_power},
    stretch::{Stretch, are_numbers},
};

/// What one channel is like, before montage and filters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Quality {
    /// Root of the mean square, without the mean; no number if one of the values is none.
    pub(super) rms: f64,
    /// Part of the samples that stand still at the lowest or highest value.
    pub(super) railing: f64,
    /// Part of the power up to 100 Hz that lies at the frequency of the mains. None if the channel is too
    /// slow to tell.
    pub(super) line: Option<f64>,
    /// That frequency, in Hz.
    pub(super) mains: Option<f64>,
    pub(super) mark: Option<Mark>,
}

/// What is wrong with a channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mark {
    /// Its value does not change.
    Flat,
    /// It stands at the end of its range.
    Railing,
    /// It is mostly mains.
    Line,
    /// It is far larger than the other channels.
    Noisy,
    /// Some of its values are no numbers.
    Invalid,
}

/// Judges all channels of a stretch of raw values; nothing while there is too little of it, or where no rate is regular.
pub(super) fn judge(stretch: &Stretch, format: ChannelFormat) -> Vec<Quality> {
    if stretch.rate <= 0.0 || stretch.seconds() < LEAST_SECONDS {
        return Vec::new();
    }
    let length = stretch.rows.first().map_or(0, Vec::len).min((stretch.rate * SEGMENT_SECONDS) as usize);
    let mut spectrometer = Spectrometer::new(length, stretch.rate);
    let each = stretch.rows.iter().map(|row| channel(row, stretch.rate, format, &mut spectrometer));
    let mut all: Vec<Quality> = each.collect();
    let mut sizes: Vec<f64> = all.iter().filter(|one| one.mark.is_none()).map(|one| one.rms).collect();
    sizes.sort_by(f64::total_cmp);
    let typical = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    if sizes.len() >= FEWEST_TO_COMPARE && typical > 0.0 {
        let is_noisy = |one: &&mut Quality| one.mark.is_none() && one.rms > NOISY * typical;
        all.iter_mut().filter(is_noisy).for_each(|one| one.mark = Some(Mark::Noisy));
    }
    all
}

fn channel(row: &[f64], rate: f64, format: ChannelFormat, spectrometer: &mut Spectrometer) -> Quality {
    let count = row.len() as f64;
    let mean = row.iter().sum::<f64>() / count;
    let rms = (row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let low = row.iter().copied().fold(f64::INFINITY, f64::min);
    let high = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let railing = held(row, low).max(held(row, high)) as f64 / count;
    let still = row.iter().zip(row.iter().skip(1)).filter(|(one, next)| one == next).count() as f64 / count;
    let end = range_end(format).is_some_and(|[least, most]| low <= least || high >= most);
    let (line, mains) = mains(&spectrometer.welch(row), rate, spectrometer.length());
    let mark = if !are_numbers(row) {
        Some(Mark::Invalid)
    } else if low == high || still > STILL {
        Some(Mark::Flat)
    } else if end || railing > RAILING {
        Some(Mark::Railing)
    } else if line.is_some_and(|line| line > LINE) {
        Some(Mark::Line)
    } else {
        None
    };
    Quality { rms, railing, line, mains, mark }
}

/// How many values stand at `end` for at least three samples, which a wave that merely turns there does not.
fn held(row: &[f64], end: f64) -> usize {
    row.chunk_by(|one, next| one == next)
        .filter(|run| run.len() >= 3 && run.first() == Some(&end))
        .map(<[f64]>::len)
        .sum()
}

/// The larger part of the power that one of the world's two frequencies of the mains has.
fn mains(density: &[f64], rate: f64, length: usize) -> (Option<f64>, Option<f64>) {
    let step = rate / length as f64;
    let all = band_power(density, step, [1.0, 100.0]);
    let known = [50.0, 60.0].into_iter().filter(|mains| mains + 1.0 < rate / 2.0 && step <= 1.0);
    let parts = known.map(|mains| (band_power(density, step, [mains - 1.0, mains + 1.01]) / all, mains));
    let largest =
        parts.filter(|(part, _)| part.is_finite()).max_by(|(one, _), (other, _)| one.total_cmp(other));
    largest.unzip()
}

/// Lowest and highest value of an integer; a float has no end.
fn range_end(format: ChannelFormat) -> Option<[f64; 2]> {
    Some(match format {
        ChannelFormat::Int16 => [i16::MIN.into(), i16::MAX.into()],
        ChannelFormat::Int32 => [i32::MIN.into(), i32::MAX.into()],
        _ => return None,
    })
}

const FEWEST_TO_COMPARE: usize = 4;
const LEAST_SECONDS: f64 = 0.2;
const LINE: f64 = 0.5;
const NOISY: f64 = 4.0;
/// Part of the samples at one end from which a channel counts as cut off there.
const RAILING: f64 = 0.05;
const SEGMENT_SECONDS: f64 = 1.0;
const STILL: f64 = 0.95;

#[cfg(test)]
mod tests {
    use core::f64::consts::TAU;

    use super::*;

    fn marks(rows: &[&dyn Fn(f64) -> f64]) -> Vec<Option<Mark>> {
        let rows = rows.iter().map(|row| (0..500).map(|n| row(f64::from(n) / 250.0)).collect()).collect();
        let stretch = Stretch { rate: 250.0, end: Some(2.0), rows };
        judge(&stretch, ChannelFormat::Float32).into_iter().map(|one| one.mark).collect()
    }

    #[test]
    fn each_kind_of_bad_channel_is_told_from_good_ones() {
        let wave = |hertz: f64, size: f64| move |time: f64| size * (TAU * hertz * time).sin();
        let found = marks(&[
            &wave(10.0, 20.0),
            &wave(7.0, 30.0),
            &wave(3.0, 25.0),
            &wave(25.0, 25.0),
            &|_| 4.0,
            &|time| wave(5.0, 200.0)(time).clamp(-90.0, 90.0),
            &|time| wave(5.0, 20.0)(time) + wave(50.0, 40.0)(time),
            &|time| wave(5.0, 20.0)(time) + wave(60.0, 40.0)(time),
            &wave(9.0, 400.0),
            &|time| if time == 1.0 { f64::NAN } else { wave(9.0, 25.0)(time) },
            &wave(9.0, 1e200),
        ]);
        let expected =
            [Mark::Flat, Mark::Railing, Mark::Line, Mark::Line, Mark::Noisy, Mark::Invalid, Mark::Noisy]
                .map(Some);
        assert_eq!(
            found,
            [&[None; 4][..], &expected].concat(),
            "numbers whose squares are infinite are numbers"
        );
    }

    #[test]
    fn too_little_and_what_has_no_rate_is_not_judged() {
        let stretch = |rate, count| Stretch { rate, end: None, rows: vec![vec![0.0; count]] };
        for stretch in [stretch(250.0, 20), stretch(0.0, 500), stretch(0.0, 0)] {
            assert!(judge(&stretch, ChannelFormat::Float32).is_empty());
        }
    }
}
