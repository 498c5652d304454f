//! The filter of a resampler: a sinc in a Kaiser window, which keeps out what the new rate cannot hold.

use core::f64::consts::PI;

/// The filter, as a function of the distance from its middle.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Beyond this distance it is 0, in samples of the input.
    half_width: f64,
    /// Its values from the middle on.
    table: Vec<f64>,
}

impl Kernel {
    /// A filter for an output whose rate is that of the input times `ratio`.
    pub(super) fn new(ratio: f64) -> Self {
        let ratio = ratio.min(1.0);
        let half_width = HALF_WIDTH / ratio;
        let (cutoff, highest) = (CUTOFF * ratio, bessel(BETA));
        let weight = |place: usize| {
            let part = place as f64 / STEPS as f64;
            let x = PI * cutoff * part * half_width;
            let sinc = if place == 0 { 1.0 } else { x.sin() / x };
            cutoff * sinc * bessel(BETA * (1.0 - part * part).max(0.0).sqrt()) / highest
        };
        Self { half_width, table: (0..=STEPS).map(weight).collect() }
    }

    /// Whether it serves for this ratio as well: rates that are measured differ a little from stretch to stretch.
    pub(super) fn serves(&self, ratio: f64) -> bool {
        let own = HALF_WIDTH / self.half_width;
        (own - ratio.min(1.0)).abs() < SAME * own
    }

    /// How far it reaches, in samples of the input.
    pub(super) fn reach(&self) -> f64 {
        self.half_width
    }

    /// Its value at a distance from the middle, in samples of the input.
    pub(super) fn at(&self, distance: f64) -> f64 {
        let place = distance.abs() / self.half_width * STEPS as f64;
        let (whole, part) = (place as usize, place.fract());
        match self.table.get(whole..whole + 2) {
            Some([here, next]) => here + part * (next - here),
            _ => 0.0,
        }
    }
}

/// The modified Bessel function of the first kind and order 0, by its series.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term, mut n) = (1.0, 1.0, 1.0);
    while term > sum * f64::EPSILON {
        term *= (x / 2.0 / n) * (x / 2.0 / n);
        sum += term;
        n += 1.0;
    }
    sum
}

/// Parts of the lower rate's half. Up to the first everything passes; from the second on nothing does.
pub(super) const PASS: f64 = 0.8;
pub(super) const STOP: f64 = 1.0;
const CUTOFF: f64 = (PASS + STOP) / 2.0;
/// 80 dB, and the width that this takes. Source: J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh window
/// function", IEEE ISCAS 1974.
const BETA: f64 = 0.1102 * (80.0 - 8.7);
const HALF_WIDTH: f64 = (80.0 - 7.95) / (2.285 * PI * (STOP - PASS)) / 2.0;
/// Ratios that differ by no more have one filter.
const SAME: f64 = 1e-3;
const STEPS: usize = 1 << 13;
