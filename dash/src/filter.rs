//! A high-pass filter per channel, so that drift and offsets do not push traces out of their lanes.

use core::f64::consts::{SQRT_2, TAU};

/// What one frequency and one sampling rate make of the filter: a Butterworth high-pass of second order.
///
/// Source: bilinear transform, as in R. Bristow-Johnson, "Cookbook formulae for audio EQ biquad filter coefficients".
#[derive(Clone, Copy, Debug)]
pub(super) struct HighPass {
    b: [f64; 3],
    a: [f64; 2],
}

/// What one channel remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    delayed: Option<[f64; 2]>,
}

impl HighPass {
    /// Makes the filter; none if the frequency is not between 0 and half of the sampling rate.
    ///
    /// - Units: both in Hz.
    pub(super) fn new(frequency: f64, rate: f64) -> Option<Self> {
        if !(frequency > 0.0 && frequency < rate / 2.0) {
            return None;
        }
        let (sine, cosine) = (TAU * frequency / rate).sin_cos();
        // A quality of 1/√2 is the flattest pass band.
        let alpha = sine / SQRT_2;
        let a0 = 1.0 + alpha;
        let b0 = f64::midpoint(1.0, cosine) / a0;
        Some(Self { b: [b0, -2.0 * b0, b0], a: [-2.0 * cosine / a0, (1.0 - alpha) / a0] })
    }

    /// Filters the next value of a channel.
    ///
    /// The first value is taken as if the channel had always had it, so nothing swings at the start. What is no
    /// number comes out as it is and makes the channel start anew.
    pub(super) fn next(&self, memory: &mut Memory, value: f64) -> f64 {
        if !value.is_finite() {
            *memory = Memory::default();
            return value;
        }
        let [b0, b1, b2] = self.b;
        let [a1, a2] = self.a;
        let [first, second] = memory.delayed.unwrap_or([-b0 * value, -(b0 + b1) * value]);
        let out = b0 * value + first;
        memory.delayed = Some([b1 * value - a1 * out + second, b2 * value - a2 * out]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amplitude(frequency: f64) -> f64 {
        let filter = HighPass::new(1.0, 250.0).expect("1 Hz is below 125 Hz");
        let mut memory = Memory::default();
        let wave = (0..5_000).map(|n| (TAU * frequency * f64::from(n) / 250.0).sin());
        let filtered: Vec<f64> = wave.map(|value| filter.next(&mut memory, value)).collect();
        filtered[2_500..].iter().fold(0.0_f64, |largest, value| largest.max(value.abs()))
    }

    #[test]
    fn slow_waves_are_damped_and_fast_ones_pass() {
        // Second order: 40 dB per decade, 3 dB at the frequency itself.
        for (frequency, expected) in [(0.1, 0.01), (1.0, 1.0 / SQRT_2), (10.0, 1.0), (60.0, 1.0)] {
            let measured = amplitude(frequency);
            assert!((measured - expected).abs() < 0.01, "{frequency} Hz: {measured}");
        }
    }

    #[test]
    fn an_offset_vanishes_at_once_and_nothing_infinite_stays() {
        let filter = HighPass::new(0.5, 1_000.0).expect("below half of the rate");
        let mut memory = Memory::default();
        assert!(filter.next(&mut memory, 4_500.0).abs() < 1e-9);
        assert!(filter.next(&mut memory, f64::NAN).is_nan());
        assert!(filter.next(&mut memory, -7.0).abs() < 1e-9);
    }

    #[test]
    fn impossible_frequencies_give_no_filter() {
        for (frequency, rate) in [(0.0, 100.0), (-1.0, 100.0), (50.0, 100.0), (1.0, 0.0), (f64::NAN, 100.0)] {
            assert!(HighPass::new(frequency, rate).is_none(), "{frequency} of {rate}");
        }
    }
}
