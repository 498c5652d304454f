//! Places a stream's stamps on the recorder's clock, from the offsets measured during the recording.
//!
//! The method is pyxdf's, so a file means the same in both. It finds where a clock was reset and fits a
//! line through each segment's offsets with the Huber loss. It adds this line to the stamps of the
//! segment.
//!
//! Source: pyxdf 1.17 `_clock_sync`, `_detect_clock_resets`, `_robust_fit`; xdf §4.

use core::ops::Range;

use crate::survey::is_time;

/// One measurement of a stream's clock against the recorder's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockOffset {
    /// When it was measured, in seconds on the recorder's clock.
    pub collected: f64,
    /// What to add to the stream's stamps, in seconds.
    pub offset: f64,
}

/// A correction of stamps: what to add at `origin`, and how it grows from there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Correction {
    origin: f64,
    at_origin: f64,
    pub(crate) slope: f64,
}

impl Correction {
    /// Fits a correction to one or more offsets.
    ///
    /// No correction at all if the offsets were all measured at one time.
    pub(crate) fn fit(offsets: &[ClockOffset]) -> Self {
        match offsets {
            [] => Self::default(),
            [only] => Self { origin: only.collected, at_origin: only.offset, slope: 0.0 },
            many => robust_line(many).unwrap_or_default(),
        }
    }

    pub(crate) fn at(self, time: f64) -> f64 {
        self.at_origin + self.slope * (time - self.origin)
    }
}

/// Places stamps on the recorder's clock one after the other, as [`Recording::load`](crate::Recording::load) does with all of them.
#[derive(Clone, Debug, Default)]
pub struct ClockMap {
    /// Per clock segment its correction, its last offset, and the first one of the next segment.
    segments: Vec<(Correction, ClockOffset, Option<ClockOffset>)>,
    at: usize,
}

impl ClockMap {
    /// Fits the corrections to all offsets of a stream, in the order of the file.
    #[must_use]
    pub fn fit(offsets: &[ClockOffset]) -> Self {
        let segments = if offsets.is_empty() { Vec::new() } else { segments(offsets) };
        let segments = segments.into_iter().filter_map(|segment| {
            let own = offsets.get(segment.clone())?;
            Some((Correction::fit(own), *own.last()?, offsets.get(segment.end).copied()))
        });
        Self { segments: segments.collect(), at: 0 }
    }

    /// How often the stream's clock began, as far as it was measured.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// The segment that the last stamp was in, for [`going_on_in`](Self::going_on_in).
    pub(crate) const fn segment(&self) -> usize {
        self.at
    }

    /// The same map for stamps that come from this segment on.
    pub(crate) fn going_on_in(&self, segment: usize) -> Self {
        Self { at: segment, ..self.clone() }
    }

    /// Returns when a sample was on the recorder's clock; stamps must come in the order of the file. One that is no time
    /// stays as it is.
    ///
    /// - Units: `stamp` in seconds on the stream's clock.
    pub fn place(&mut self, stamp: f64) -> f64 {
        if !is_time(stamp) {
            return stamp;
        }
        while let Some((_, last, Some(next))) = self.segments.get(self.at)
            && (stamp - last.collected).abs() >= (stamp - next.collected).abs()
            && self.at + 1 < self.segments.len()
        {
            self.at += 1;
        }
        self.segments.get(self.at).map_or(stamp, |(correction, ..)| stamp + correction.at(stamp))
    }
}

/// Finds the segments of offsets between which the stream's clock was reset.
///
/// Source: pyxdf `_detect_clock_resets` with its default thresholds.
pub(crate) fn segments(offsets: &[ClockOffset]) -> Vec<Range<usize>> {
    let time_steps: Vec<_> = offsets.windows(2).map(|pair| pair[1].collected - pair[0].collected).collect();
    let value_steps: Vec<_> = offsets.windows(2).map(|pair| pair[1].offset - pair[0].offset).collect();
    let time_glitch = glitches(&time_steps, 5.0, 5.0);
    let value_glitch = glitches(&value_steps, 10.0, 1.0);
    let resets =
        (0..time_steps.len()).filter(|&at| time_steps[at] < 0.0 || (time_glitch[at] && value_glitch[at]));
    split(offsets.len(), resets.map(|at| at + 1))
}

/// Adds the correction of each segment of offsets to the stamps that belong to it; returns those stamps' ranges.
pub(crate) fn synchronize(stamps: &mut [f64], offsets: &[ClockOffset]) -> Vec<Range<usize>> {
    if stamps.is_empty() || offsets.is_empty() {
        return Vec::new();
    }
    let mut done = Vec::new();
    let mut start = 0;
    for segment in segments(offsets) {
        let correction = Correction::fit(&offsets[segment.clone()]);
        let stop = match offsets.get(segment.end) {
            None => stamps.len(),
            Some(next) => {
                let last = offsets[segment.end - 1];
                let nearer = |stamp: &f64| {
                    !is_time(*stamp) || (stamp - last.collected).abs() < (stamp - next.collected).abs()
                };
                start + stamps[start..].iter().take_while(|stamp| nearer(stamp)).count()
            }
        };
        if start < stop {
            for stamp in &mut stamps[start..stop] {
                *stamp += correction.at(*stamp);
            }
            done.push(start..stop);
        }
        start = stop;
    }
    done
}

/// Says whether the last offset does not belong with the others.
///
/// A stream that ends while it is being recorded may leave such an offset behind.
/// Source: pyxdf `_detect_corrupted_clock_offset`.
pub(crate) fn last_is_corrupt(offsets: &[ClockOffset]) -> bool {
    let [before @ .., last] = offsets else { return false };
    if before.len() < 2 {
        return false;
    }
    let steps: Vec<_> = offsets.windows(2).map(|pair| pair[1].collected - pair[0].collected).collect();
    let [steps_before @ .., last_step] = steps.as_slice() else { return false };
    let usual_step = median(steps_before);
    let values: Vec<_> = before.iter().map(|offset| offset.offset).collect();
    let usual = median(&values);
    let deviation = median(&values.iter().map(|value| (value - usual).abs()).collect::<Vec<_>>());
    let late = if usual_step > 0.0 { last_step.abs() / usual_step > 10.0 } else { last_step.abs() > 0.0 };
    // 1.4826 × the median deviation estimates the standard deviation.
    let far = deviation > f64::EPSILON && (last.offset - usual).abs() / (1.4826 * deviation) > 10.0;
    late || far
}

/// Cuts `0..len` before each of `at`, which ascend.
pub(crate) fn split(len: usize, at: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut ranges: Vec<_> = at.map(|at| core::mem::replace(&mut start, at)..at).collect();
    ranges.push(start..len);
    ranges
}

/// Returns the median; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Says which values are far from the median: by `deviations` median deviations and by `least` seconds.
fn glitches(values: &[f64], deviations: f64, least: f64) -> Vec<bool> {
    let usual = median(values);
    let distances: Vec<_> = values.iter().map(|value| (value - usual).abs()).collect();
    let deviation = median(&distances) + f64::EPSILON;
    distances.iter().map(|&distance| distance / deviation > deviations && distance > least).collect()
}

/// Fits a line with the Huber loss by the alternating direction method of multipliers.
///
/// Source: pyxdf `_robust_fit`, after Boyd et al., "Distributed Optimization and Statistical Learning
/// via the Alternating Direction Method of Multipliers", 2011, huber_fit. None if all times are equal.
///
/// The line is fitted to the offsets' distances from a line near them. This changes only the rounding:
/// clocks differ by days, and their distances by microseconds.
fn robust_line(offsets: &[ClockOffset]) -> Option<Correction> {
    robust_line_in(offsets, SETTLED)
}

/// The same, until a round moves nothing by more than `settled`.
fn robust_line_in(offsets: &[ClockOffset], settled: f64) -> Option<Correction> {
    let near = line_near(offsets)?;
    let points = offsets.iter().map(|offset| {
        let x = offset.collected - near.origin;
        (x, (offset.offset - near.at_origin - near.slope * x) / WINSOR)
    });
    let mut fit = Fit::new(points.collect())?;
    for _ in 0..ROUNDS {
        // A night has so many offsets that the other rounds would take longer than opening its recording.
        if fit.improve() < settled {
            break;
        }
    }
    let at_origin = near.at_origin + fit.intercept * WINSOR;
    Some(Correction { origin: near.origin, at_origin, slope: near.slope + fit.slope * WINSOR })
}

/// The line through the mean of the offsets, as steep as from the first one to the last.
fn line_near(offsets: &[ClockOffset]) -> Option<Correction> {
    let (first, last) = (offsets.first()?, offsets.last()?);
    let n = offsets.len() as f64;
    let origin = first.collected + offsets.iter().map(|o| o.collected - first.collected).sum::<f64>() / n;
    let at_origin = first.offset + offsets.iter().map(|o| o.offset - first.offset).sum::<f64>() / n;
    let slope = (last.offset - first.offset) / (last.collected - first.collected);
    slope.is_finite().then_some(Correction { origin, at_origin, slope })
}

/// A line fitted to points by the alternating direction method of multipliers, with Huber's loss. Source: pyxdf.
struct Fit {
    points: Vec<(f64, f64)>,
    /// The Cholesky factor [[a, 0], [b, c]] of the normal matrix.
    factor: (f64, f64, f64),
    /// For each point what its distance is split into: the part that the loss shrinks, and the rest.
    splits: Vec<(f64, f64)>,
    intercept: f64,
    slope: f64,
}

impl Fit {
    fn new(points: Vec<(f64, f64)>) -> Option<Self> {
        let (sum, squares) =
            points.iter().fold((0.0, 0.0), |(sum, squares), (x, _)| (sum + x, squares + x * x));
        let a = (points.len() as f64).sqrt();
        let b = sum / a;
        let c = Some((squares - b * b).sqrt()).filter(|c| *c > 0.0)?;
        let splits = vec![(0.0, 0.0); points.len()];
        Some(Self { points, factor: (a, b, c), splits, intercept: 0.0, slope: 0.0 })
    }

    /// One round; says by how much it moved a point's split at most.
    fn improve(&mut self) -> f64 {
        let (mut right_0, mut right_1) = (0.0, 0.0);
        for ((x, y), (z, u)) in self.points.iter().zip(&self.splits) {
            let target = y + (z - u);
            right_0 += target;
            right_1 += x * target;
        }
        let (a, b, c) = self.factor;
        let half_0 = right_0 / a;
        let half_1 = (right_1 - b * half_0) / c;
        self.slope = half_1 / c;
        self.intercept = (half_0 - b * self.slope) / a;
        let mut moved = 0.0_f64;
        for ((x, y), (z, u)) in self.points.iter().zip(&mut self.splits) {
            let distance = self.intercept + self.slope * x - y + *u;
            let shrunk = if distance == 0.0 { 1.0 } else { (1.0 - 2.0 / distance.abs()).max(0.0) };
            let nearer = 0.5 * distance + 0.5 * shrunk * distance;
            moved = moved.max((nearer - *z).abs()).max((distance - nearer - *u).abs());
            (*z, *u) = (nearer, distance - nearer);
        }
        moved
    }
}

/// Offsets that lie further than this from the line count as outliers, in seconds. Source: pyxdf.
const WINSOR: f64 = 0.0001;
/// Rounds of the fit at most. Source: pyxdf.
const ROUNDS: usize = 1_000;
/// A round that moves nothing by more ends the fit; in [`WINSOR`]. It is 1e-16 s, far below what a stamp can say.
const SETTLED: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(count: usize, offset: impl Fn(f64) -> f64) -> Vec<ClockOffset> {
        (0..count)
            .map(|n| 1000.0 + 5.0 * n as f64)
            .map(|at| ClockOffset { collected: at, offset: offset(at) })
            .collect()
    }

    #[test]
    fn a_drifting_clock_is_followed_and_outliers_are_not() {
        let mut offsets = offsets(100, |at| 3.0 + 50e-6 * at);
        offsets[40].offset += 0.2;
        offsets[70].offset -= 0.1;
        let correction = Correction::fit(&offsets);
        for at in [1000.0, 1250.0, 1500.0] {
            assert!((correction.at(at) - (3.0 + 50e-6 * at)).abs() < 20e-6, "{correction:?}");
        }
    }

    #[test]
    fn a_reset_clock_is_corrected_piece_by_piece() {
        let mut offsets = offsets(40, |_| 2.0);
        for offset in &mut offsets[20..] {
            // The device was off for a minute and its clock began again.
            offset.collected += 60.0;
            offset.offset = -500.0;
        }
        assert_eq!(segments(&offsets), [0..20, 20..40]);
        let mut stamps = vec![1000.0, 1090.0, 1170.0, 1200.0];
        let mut map = ClockMap::fit(&offsets);
        let placed: Vec<_> = stamps.iter().map(|stamp| map.place(*stamp)).collect();
        assert_eq!(synchronize(&mut stamps, &offsets), [0..2, 2..4]);
        assert_eq!(placed, stamps);
        for (stamp, expected) in stamps.iter().zip([1002.0, 1092.0, 670.0, 700.0]) {
            assert!((stamp - expected).abs() < 1e-6, "{stamps:?}");
        }
    }

    #[test]
    fn a_last_offset_that_does_not_belong_is_told_from_one_that_does() {
        let mut offsets = offsets(10, |at| 1e-5 * (at % 3.0));
        assert!(!last_is_corrupt(&offsets));
        offsets[9].offset = -90_000.0;
        assert!(last_is_corrupt(&offsets));
        assert!(!last_is_corrupt(&offsets[..2]));
    }

    #[test]
    fn a_fit_that_has_settled_would_not_move_in_all_its_rounds() {
        let mut noisy = offsets(400, |at| 3.0 + 50e-6 * at + 20e-6 * (at * 12.9898).sin());
        for at in (0..400).step_by(9) {
            noisy[at].offset += 0.05 * (at as f64).sin();
        }
        let fitted = robust_line(&noisy).expect("a line");
        let all = robust_line_in(&noisy, -1.0).expect("a line");
        for at in [1000.0, 2000.0, 3000.0] {
            assert!((fitted.at(at) - all.at(at)).abs() < 1e-12, "{fitted:?} {all:?}");
        }
    }

    #[test]
    fn offsets_without_a_line_through_them_change_nothing() {
        assert_eq!(Correction::fit(&[ClockOffset { collected: 1.0, offset: 2.0 }; 3]), Correction::default());
        assert_eq!(synchronize(&mut [1.0], &[]), []);
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), 2.5);
    }
}
