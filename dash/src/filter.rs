//! Which filters a person may choose for the traces, and what they are made of.

use core::f64::consts::{FRAC_PI_8, SQRT_2, TAU};

use schwann_recorder::Sections;

/// Filters of a view. Each frequency is in Hz; 0 means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub(super) struct Filters {
    /// Butterworth of second order: 12 dB per octave.
    pub(super) high_pass: f64,
    /// Butterworth of fourth order: 24 dB per octave.
    pub(super) low_pass: f64,
    /// The frequency of the mains, and all its harmonics.
    pub(super) notch: f64,
}

impl Filters {
    /// The same without those that are impossible at this sampling rate: what is said is what is done.
    pub(super) fn possible(self, rate: f64) -> Self {
        let usable = |frequency: f64| if frequency > 0.0 && frequency < rate / 2.0 { frequency } else { 0.0 };
        Self { high_pass: usable(self.high_pass), low_pass: usable(self.low_pass), notch: usable(self.notch) }
    }

    /// The cascade for this sampling rate, in Hz.
    pub(super) fn sections(self, rate: f64) -> Sections {
        let possible = self.possible(rate);
        let mut sections = Vec::new();
        if possible.high_pass > 0.0 {
            sections.push(high_pass(possible.high_pass, rate));
        }
        if possible.notch > 0.0 {
            let harmonics = (1..=MAX_HARMONICS).map(|number| possible.notch * f64::from(number));
            let below = harmonics.take_while(|frequency| *frequency < rate / 2.0);
            sections.extend(below.map(|frequency| notch(frequency, rate)));
        }
        if possible.low_pass > 0.0 {
            // The two pairs of poles of a fourth order: at 22.5° and 67.5° from the axis.
            let qualities = [3.0 * FRAC_PI_8, FRAC_PI_8].map(|angle| 0.5 / angle.sin());
            sections.extend(qualities.map(|quality| low_pass(possible.low_pass, rate, quality)));
        }
        Sections::new(&sections).unwrap_or_default()
    }

    /// Seconds after which the filter has forgotten how it began.
    pub(super) fn settling_seconds(self) -> f64 {
        let slowest = [self.high_pass, if self.notch > 0.0 { NOTCH_WIDTH } else { 0.0 }]
            .into_iter()
            .filter(|&hertz| hertz > 0.0);
        slowest.fold(0.0, |seconds: f64, hertz| seconds.max(1.5 / hertz)).min(MAX_SETTLING)
    }
}

/// - Source: bilinear transform, as in R. Bristow-Johnson, "Cookbook formulae for audio EQ biquad filter coefficients".
fn high_pass(frequency: f64, rate: f64) -> [f64; 6] {
    let (sine, cosine) = (TAU * frequency / rate).sin_cos();
    // A quality of 1/√2 is the flattest pass band.
    let alpha = sine / SQRT_2;
    let b0 = f64::midpoint(1.0, cosine);
    [b0, -2.0 * b0, b0, 1.0 + alpha, -2.0 * cosine, 1.0 - alpha]
}

fn low_pass(frequency: f64, rate: f64, quality: f64) -> [f64; 6] {
    let (sine, cosine) = (TAU * frequency / rate).sin_cos();
    let alpha = sine / (2.0 * quality);
    let b0 = (1.0 - cosine) / 2.0;
    [b0, 2.0 * b0, b0, 1.0 + alpha, -2.0 * cosine, 1.0 - alpha]
}

/// - Source: as `scipy.signal.iirnotch` with a quality that makes each notch [`NOTCH_WIDTH`] wide.
fn notch(frequency: f64, rate: f64) -> [f64; 6] {
    let (_, cosine) = (TAU * frequency / rate).sin_cos();
    let width = TAU * NOTCH_WIDTH / rate;
    let gain = 1.0 / (1.0 + (width / 2.0).tan());
    [gain, -2.0 * gain * cosine, gain, 1.0, -2.0 * gain * cosine, 2.0 * gain - 1.0]
}

/// Of a mains rate of 1 kHz that is the 20th; beyond that a low-pass does it.
const MAX_HARMONICS: u32 = 20;
const MAX_SETTLING: f64 = 20.0;
/// Width of each notch in Hz, at 3 dB.
const NOTCH_WIDTH: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn amplitude(filters: Filters, frequency: f64) -> f64 {
        let sections = filters.sections(1_000.0);
        let mut delays = vec![[0.0; 2]; sections.len()];
        let wave = (0..20_000).map(|n| (TAU * frequency * f64::from(n) / 1_000.0).sin());
        let filtered: Vec<f64> = wave.map(|value| sections.next(&mut delays, value)).collect();
        filtered[10_000..].iter().fold(0.0_f64, |largest, value| largest.max(value.abs()))
    }

    #[test]
    fn each_filter_passes_and_stops_what_its_name_says() {
        let [high_pass, low_pass, notch] = [
            Filters { high_pass: 1.0, ..Filters::default() },
            Filters { low_pass: 40.0, ..Filters::default() },
            Filters { notch: 50.0, ..Filters::default() },
        ];
        for (filters, frequency, expected) in [
            (high_pass, 0.1, 0.01),
            (high_pass, 1.0, 1.0 / SQRT_2),
            (high_pass, 10.0, 1.0),
            (low_pass, 5.0, 1.0),
            (low_pass, 40.0, 1.0 / SQRT_2),
            (low_pass, 160.0, 0.0035),
            (notch, 10.0, 1.0),
            (notch, 50.0, 0.0),
            (notch, 150.0, 0.0),
            (notch, 450.0, 0.0),
            (notch, 51.0, 1.0 / SQRT_2),
        ] {
            let measured = amplitude(filters, frequency);
            assert!((measured - expected).abs() < 0.02, "{filters:?} at {frequency} Hz: {measured}");
        }
    }

    #[test]
    fn impossible_frequencies_give_no_filter() {
        for (frequency, rate) in [(0.0, 100.0), (-1.0, 100.0), (50.0, 100.0), (1.0, 0.0), (f64::NAN, 100.0)] {
            let filters = Filters { high_pass: frequency, low_pass: frequency, notch: frequency };
            assert_eq!(filters.possible(rate), Filters::default(), "{frequency} of {rate}");
            assert!(filters.sections(rate).is_empty());
        }
    }

    #[test]
    fn filters_equal_those_of_scipy() {
        // scipy 1.17.1: butter(2, 0.5, "highpass"), iirnotch(f, f / 2) for f = 50, 100, … 450, butter(4, 40); sosfilt.
        let input = |n: u32| f64::from((n * n * 31 + 7 * n) % 1_000) / 10.0 - 50.0;
        let sections = Filters { high_pass: 0.5, low_pass: 40.0, notch: 50.0 }.sections(1_000.0);
        let expected = [
            (0, -0.008639456727992172, 8.606037426403957e-14),
            (1, -0.07139323027605313, 0.0006565987120454981),
            (10, -11.450226984726884, 9.049340067583625),
            (100, -4.684894107590734, 27.025951331631497),
            (1_000, 7.062983373277097, -0.6834595615183496),
            (1_999, 7.815933100658809, 8.218092460267899),
        ];
        let (mut rest, mut settled) = (vec![[0.0; 2]; 12], vec![[0.0; 2]; 12]);
        sections.settle(&mut settled, input(0));
        let filtered: Vec<_> = (0..2_000)
            .map(|n| (sections.next(&mut rest, input(n)), sections.next(&mut settled, input(n))))
            .collect();
        for (n, from_rest, from_settled) in expected {
            let (one, other) = filtered[n];
            assert!(
                (one - from_rest).abs() < 1e-9 && (other - from_settled).abs() < 1e-9,
                "{n}: {one}, {other}"
            );
        }
    }
}
