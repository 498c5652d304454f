//! Evens out the stamps of a stream with a regular rate.
//!
//! Source: pyxdf 1.17 `_jitter_removal`; xdf §4.

use core::ops::Range;

use crate::clock::split;
use crate::header::StreamHeader;
use crate::survey::is_time;

/// The stretches of a stream between breaks, and the rate within them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Even {
    pub(crate) segments: Vec<Range<usize>>,
    /// In hertz; 0 if unknown.
    pub(crate) rate: f64,
}

/// Replaces the stamps of each stretch by the line through them.
pub(crate) fn remove(stamps: &mut [f64], header: &StreamHeader) -> Even {
    if stamps.is_empty() {
        return Even::default();
    }
    // A line would shift what lies around left-out samples.
    if header.nominal_rate == 0.0 || header.can_drop_samples {
        return Even { rate: if header.nominal_rate == 0.0 { 0.0 } else { rate(stamps) }, ..whole(stamps) };
    }
    let longest = BREAK_SECONDS.max(BREAK_SAMPLES * header.interval());
    let mut before = None;
    let mut is_break = |&at: &usize| {
        let stamp = Some(stamps[at]).filter(|stamp| is_time(*stamp));
        let is_far =
            stamp.zip(before).is_some_and(|(stamp, before): (f64, f64)| (stamp - before).abs() > longest);
        before = stamp.or(before);
        is_far
    };
    let breaks = (0..stamps.len()).filter(&mut is_break).collect::<Vec<_>>();
    let segments = split(stamps.len(), breaks.into_iter());
    let (mut intervals, mut seconds) = (0, 0.0);
    for segment in &segments {
        let stretch = &mut stamps[segment.clone()];
        if straighten(stretch) {
            intervals += stretch.len() - 1;
            seconds += stretch[stretch.len() - 1] - stretch[0];
        }
    }
    let rate = if intervals > 0 { intervals as f64 / seconds } else { 0.0 };
    Even { segments, rate }
}

/// Leaves the stamps as they are.
pub(crate) fn keep(stamps: &[f64], header: &StreamHeader) -> Even {
    if stamps.is_empty() {
        return Even::default();
    }
    Even { rate: if header.nominal_rate == 0.0 { 0.0 } else { rate(stamps) }, ..whole(stamps) }
}

fn whole(stamps: &[f64]) -> Even {
    Even { segments: split(stamps.len(), core::iter::empty()), rate: 0.0 }
}

fn rate(stamps: &[f64]) -> f64 {
    match stamps {
        [first, .., last] if last > first => (stamps.len() - 1) as f64 / (last - first),
        _ => 0.0,
    }
}

/// Replaces stamps by the least-squares line through those that are times; says whether there are any.
fn straighten(stamps: &mut [f64]) -> bool {
    let times = || stamps.iter().enumerate().filter(|(_, stamp)| is_time(**stamp));
    let Some((_, &base)) = times().next() else { return false };
    let count = times().count() as f64;
    // Around the middle, so that the sums stay small and exact.
    let middle = times().map(|(at, _)| at).sum::<usize>() as f64 / count;
    let mean = times().map(|(_, stamp)| stamp - base).sum::<f64>() / count;
    let (mut products, mut squares) = (0.0, 0.0);
    for (at, stamp) in times() {
        let x = at as f64 - middle;
        products += x * (stamp - base - mean);
        squares += x * x;
    }
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    for (at, stamp) in stamps.iter_mut().enumerate() {
        *stamp = base + (mean + slope * (at as f64 - middle));
    }
    true
}

/// A stretch ends where stamps jump by more than this and by more than [`BREAK_SAMPLES`]. Source: pyxdf.
const BREAK_SECONDS: f64 = 1.0;
const BREAK_SAMPLES: f64 = 500.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn header(rate: f64) -> StreamHeader {
        let xml = format!(
            "<info><channel_count>1</channel_count><nominal_srate>{rate}</nominal_srate>\
             <channel_format>int8</channel_format></info>"
        );
        StreamHeader::parse(1, xml.as_bytes()).unwrap()
    }

    #[test]
    fn jitter_is_evened_out_and_breaks_are_kept() {
        let jitter = |n: usize| if n.is_multiple_of(2) { 0.002 } else { -0.002 };
        let even: Vec<_> =
            (0..2000).map(|n| 50.0 + n as f64 / 100.0 + if n < 1000 { 0.0 } else { 60.0 }).collect();
        let mut stamps: Vec<_> = even.iter().enumerate().map(|(n, stamp)| stamp + jitter(n)).collect();
        let result = remove(&mut stamps, &header(100.0));
        assert_eq!(result.segments, [0..1000, 1000..2000]);
        assert!((result.rate - 100.0).abs() < 1e-3, "{}", result.rate);
        for (stamp, even) in stamps.iter().zip(&even) {
            assert!((stamp - even).abs() < 2e-5, "{stamp} {even}");
        }
    }

    #[test]
    fn stamps_that_are_no_times_are_placed_on_the_line_of_the_others() {
        let even: Vec<_> =
            (0..2000).map(|n| 50.0 + n as f64 / 100.0 + if n < 1000 { 0.0 } else { 60.0 }).collect();
        for odd in [f64::NAN, f64::INFINITY, 1e300] {
            let mut stamps = even.clone();
            [0, 1, 500, 999, 1000, 1999].iter().for_each(|at| stamps[*at] = odd);
            let result = remove(&mut stamps, &header(100.0));
            // Nothing tells to which stretch one between them belongs.
            assert_eq!(result.segments, [0..1001, 1001..2000], "{odd}");
            assert!((result.rate - 100.0).abs() < 1e-6, "{}", result.rate);
            let is_near = |at: usize| at == 1000 || (stamps[at] - even[at]).abs() < 1e-6;
            assert!((0..2000).all(is_near), "{odd}");
        }
        let mut stamps = [f64::NAN; 3];
        assert_eq!(remove(&mut stamps, &header(100.0)).rate, 0.0);
        assert!(stamps.iter().all(|stamp| stamp.is_nan()), "nothing tells when that was");
    }

    #[test]
    fn stamps_without_a_rate_stay() {
        let mut stamps = vec![1.0, 5.0, 5.1];
        assert_eq!(remove(&mut stamps, &header(0.0)), whole(&[0.0; 3]));
        assert_eq!(stamps, [1.0, 5.0, 5.1]);
        assert_eq!(remove(&mut [], &header(1.0)), Even::default());
        assert_eq!(remove(&mut [4.0], &header(1.0)), whole(&[4.0]));
    }
}
