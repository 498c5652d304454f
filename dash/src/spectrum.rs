//! How a signal's power is spread over frequencies.

use core::f64::consts::TAU;
use std::sync::Arc;

use realfft::{RealFftPlanner, RealToComplex, num_complex::Complex};

/// Power spectral densities of one length.
pub(super) struct Spectrometer {
    transform: Arc<dyn RealToComplex<f64>>,
    window: Vec<f64>,
    /// What makes a squared amplitude a density.
    scale: f64,
    segment: Vec<f64>,
    spectrum: Vec<Complex<f64>>,
}

impl Spectrometer {
    /// Prepares for segments of `length` values at `rate` Hz.
    pub(super) fn new(length: usize, rate: f64) -> Self {
        let transform = RealFftPlanner::new().plan_fft_forward(length.max(2));
        let length = transform.len();
        let window: Vec<f64> =
            (0..length).map(|n| 0.5 - 0.5 * (TAU * n as f64 / length as f64).cos()).collect();
        let scale = 2.0 / (rate * window.iter().map(|weight| weight * weight).sum::<f64>());
        let (segment, spectrum) = (transform.make_input_vec(), transform.make_output_vec());
        Self { transform, window, scale, segment, spectrum }
    }

    /// How many values a segment has.
    pub(super) fn length(&self) -> usize {
        self.window.len()
    }

    /// Density at each frequency from 0 to half the rate: the mean over segments that overlap by half.
    ///
    /// Shape: length / 2 + 1; empty if there is not one whole segment. Unit: that of the signal squared, per Hz.
    ///
    /// - Source: P. Welch, 1967; as `scipy.signal.welch` with a Hann window and its defaults.
    pub(super) fn welch(&mut self, signal: &[f64]) -> Vec<f64> {
        let (length, step) = (self.length(), self.length() - self.length() / 2);
        let mut sum = vec![0.0; self.spectrum.len()];
        let mut count = 0.0;
        for segment in signal.windows(length).step_by(step) {
            self.density(segment).zip(&mut sum).for_each(|(density, sum)| *sum += density);
            count += 1.0;
        }
        if count == 0.0 {
            return Vec::new();
        }
        sum.iter_mut().for_each(|sum| *sum /= count);
        sum
    }

    /// Density of one segment.
    pub(super) fn density(&mut self, segment: &[f64]) -> impl Iterator<Item = f64> {
        let mean = segment.iter().sum::<f64>() / segment.len() as f64;
        for ((place, value), weight) in self.segment.iter_mut().zip(segment).zip(&self.window) {
            *place = (value - mean) * weight;
        }
        // It fails only for other lengths than those that it has made itself.
        let _ = self.transform.process(&mut self.segment, &mut self.spectrum);
        let (scale, last, is_even) =
            (self.scale, self.spectrum.len() - 1, self.window.len().is_multiple_of(2));
        self.spectrum.iter().enumerate().map(move |(place, number)| {
            // Both ends stand for one frequency, all others for a positive and a negative one.
            let is_end = place == 0 || (place == last && is_even);
            number.norm_sqr() * scale * if is_end { 0.5 } else { 1.0 }
        })
    }
}

/// Power between two frequencies of a density with this distance of frequencies, in Hz.
pub(super) fn band_power(density: &[f64], step: f64, [low, high]: [f64; 2]) -> f64 {
    let inside = |place: usize| (low..high).contains(&(place as f64 * step));
    density.iter().enumerate().filter(|(place, _)| inside(*place)).map(|(_, density)| density * step).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_of_a_wave_is_found_at_its_frequency() {
        let wave: Vec<f64> =
            (0..2_000).map(|n| 3.0 * (TAU * 10.0 * f64::from(n) / 250.0).sin() + 40.0).collect();
        let density = Spectrometer::new(500, 250.0).welch(&wave);
        assert_eq!(density.len(), 251);
        let [alpha, beta] = [[8.0, 13.0], [13.0, 30.0]].map(|band| band_power(&density, 0.5, band));
        assert!((alpha - 4.5).abs() < 1e-9 && beta < 1e-9, "half of the squared amplitude: {alpha}, {beta}");
    }

    #[test]
    fn too_short_a_signal_has_no_spectrum() {
        assert!(Spectrometer::new(500, 250.0).welch(&[0.0; 499]).is_empty());
    }

    #[test]
    fn spectra_equal_those_of_scipy() {
        // scipy 1.17.1: welch(x, 1000, nperseg=500 and 501).
        let signal: Vec<f64> =
            (0..2_000_u32).map(|n| f64::from((n * n * 31 + 7 * n) % 1_000) / 10.0 - 50.0).collect();
        for (length, expected) in [
            (
                500,
                [
                    0.26447661166323616,
                    1.6355227978240818,
                    2.107696665550031,
                    2.564342837322471,
                    1.4422549702647736,
                ],
            ),
            (
                501,
                [
                    0.22765701708413222,
                    1.5134942311034365,
                    2.2399358756532823,
                    2.3116716046801846,
                    2.082191639549018,
                ],
            ),
        ] {
            let density = Spectrometer::new(length, 1_000.0).welch(&signal);
            let found = [0, 1, 10, 100, 250].map(|place| density[place]);
            assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9), "{found:?}");
        }
    }
}
