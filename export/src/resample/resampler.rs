//! Resamples one stream, stretch by stretch, in bounded memory.

use super::kernel::Kernel;
use crate::timing::Stretch;

/// Takes the samples of a stream in their order, and gives out those at even times of the recorder's clock.
#[derive(Debug)]
pub(super) struct Resampler {
    /// Output rate in hertz.
    rate: f64,
    channels: usize,
    stretches: Vec<Stretch>,
    at: usize,
    kernel: Kernel,
    /// The samples at hand, one row of channels after another.
    rows: Vec<f64>,
    /// The number in the stretch of the first of them, and how many have come.
    first: u64,
    come: u64,
    /// The next output, counted from time 0 of the recorder's clock.
    next: f64,
}

impl Resampler {
    pub(super) fn new(rate: f64, channels: usize, stretches: Vec<Stretch>) -> Self {
        let kernel = Kernel::new(stretches.first().map_or(1.0, |stretch| rate * stretch.step));
        let mut resampler =
            Self { rate, channels, stretches, at: 0, kernel, rows: Vec::new(), first: 0, come: 0, next: 0.0 };
        resampler.begin();
        resampler
    }

    /// Prepares for the stretch of now.
    fn begin(&mut self) {
        (self.first, self.come) = (0, 0);
        self.rows.clear();
        if let Some(stretch) = self.stretches.get(self.at) {
            let ratio = self.rate * stretch.step;
            if !self.kernel.serves(ratio) {
                self.kernel = Kernel::new(ratio);
            }
            // Within a millionth of a period, a sample is at its time.
            self.next = (stretch.begin * self.rate - 1e-6).ceil();
        }
    }

    /// Takes in samples; `give` gets the time and the values of each output.
    ///
    /// - Shape: `values` is samples × channels.
    pub(super) fn take(&mut self, values: &[f64], give: &mut impl FnMut(f64, &[f64])) {
        let mut rest = values;
        while !rest.is_empty() {
            let Some(stretch) = self.stretches.get(self.at).copied() else { return };
            let wanted = usize::try_from(stretch.count - self.come).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(wanted.saturating_mul(self.channels).min(rest.len()));
            self.rows.extend_from_slice(now);
            self.come += (now.len() / self.channels.max(1)) as u64;
            self.give_out(&stretch, give);
            rest = later;
            if self.come >= stretch.count {
                self.at += 1;
                self.begin();
            }
        }
    }

    /// Gives out what the samples at hand suffice for.
    fn give_out(&mut self, stretch: &Stretch, give: &mut impl FnMut(f64, &[f64])) {
        let is_complete = self.come >= stretch.count;
        let last = stretch.count.saturating_sub(1) as f64;
        let mut row = vec![0.0; self.channels];
        loop {
            let time = self.next / self.rate;
            let place = if stretch.step > 0.0 { (time - stretch.begin) / stretch.step } else { 0.0 };
            let is_within = time <= stretch.last() + 1e-6 / self.rate;
            let is_ready = is_complete || (place + self.kernel.reach()).min(last) < self.come as f64;
            if !is_within || !is_ready || self.come == 0 {
                break;
            }
            self.filter(place, &mut row);
            give(time, &row);
            self.next += 1.0;
        }
        self.forget(stretch);
    }

    /// The filtered values at a place between the samples. Beyond the ends of a stretch its first and last sample go on.
    fn filter(&self, place: f64, row: &mut [f64]) {
        row.fill(0.0);
        let reach = self.kernel.reach();
        let (from, to) = ((place - reach).ceil() as i64, (place + reach).floor() as i64);
        let held = (self.rows.len() / self.channels.max(1)) as i64;
        let mut sum = 0.0;
        for number in from..=to {
            let weight = self.kernel.at(number as f64 - place);
            sum += weight;
            let at = (number - self.first as i64).clamp(0, held - 1) as usize * self.channels;
            let sample = self.rows.get(at..at + self.channels).unwrap_or_default();
            row.iter_mut().zip(sample).for_each(|(all, value)| *all += weight * value);
        }
        // So that what is constant stays so exactly.
        row.iter_mut().for_each(|value| *value /= sum);
    }

    /// Lets go of samples that no later output needs.
    fn forget(&mut self, stretch: &Stretch) {
        let place = (self.next / self.rate - stretch.begin) / stretch.step.max(f64::MIN_POSITIVE);
        let needed = (place - self.kernel.reach()).floor().max(0.0) as u64;
        let gone = needed.min(self.come.saturating_sub(1)).saturating_sub(self.first);
        // Moving what stays costs less if it is seldom done.
        if gone as usize * self.channels > self.rows.len() / 2 {
            self.rows.drain(..gone as usize * self.channels);
            self.first += gone;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::f64::consts::TAU;

    use super::*;

    /// Resamples a sine of this frequency in pieces; returns times and values.
    fn resampled(hertz: f64, from: f64, to: f64, begin: f64) -> Vec<(f64, f64)> {
        let count = (from * 20.0) as u64;
        let stretches = vec![
            Stretch { first: 0, count, begin, step: 1.0 / from },
            Stretch { first: count, count, begin: begin + 30.0, step: 1.0 / from },
        ];
        let time = |n: u64| stretches[(n / count) as usize].at(n);
        let values: Vec<f64> = (0..2 * count).map(|n| (TAU * hertz * time(n)).sin()).collect();
        let mut resampler = Resampler::new(to, 1, stretches.clone());
        let mut all = Vec::new();
        for piece in values.chunks(777) {
            resampler.take(piece, &mut |time, row| all.push((time, row[0])));
        }
        all
    }

    #[test]
    fn what_both_rates_hold_stays_and_the_rest_goes() {
        for (from, to) in [(1000.0, 250.0), (250.0, 1000.0), (500.0, 499.3), (512.0, 100.0), (100.0, 100.0)] {
            let half = f64::min(from, to) / 2.0;
            for begin in [0.0, 1_234.567_8] {
                let inner = |all: Vec<(f64, f64)>| {
                    let is_inner = |time: f64| (1.0..19.0).contains(&((time - begin) % 30.0));
                    all.into_iter().filter(|(time, _)| is_inner(*time)).collect::<Vec<_>>()
                };
                for hertz in [half * 0.01, half * 0.3, half * 0.79] {
                    let error = |(time, value): (f64, f64)| (value - (TAU * hertz * time).sin()).abs();
                    let worst =
                        inner(resampled(hertz, from, to, begin)).into_iter().map(error).fold(0.0, f64::max);
                    assert!(worst < 5e-4, "{hertz} Hz, {from} to {to}: {worst}");
                }
                // What the input itself cannot hold is no matter of the filter.
                if half * 1.02 < from / 2.0 {
                    let alias = inner(resampled(half * 1.02, from, to, begin));
                    let worst = alias.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
                    assert!(worst < 2e-4, "{from} to {to}: an alias of {worst}");
                }
            }
        }
    }

    #[test]
    fn outputs_lie_on_one_grid_and_gaps_stay() {
        let all = resampled(1.0, 1000.0, 250.0, 1_234.567_8);
        assert!(all.iter().all(|(time, _)| (time * 250.0 - (time * 250.0).round()).abs() < 1e-6));
        let gaps: Vec<_> =
            all.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|step| *step > 0.005).collect();
        assert_eq!(all.len(), 10_000);
        assert!(gaps.len() == 1 && (gaps[0] - 10.0).abs() < 0.01, "{gaps:?}");
    }

    #[test]
    fn short_stretches_and_constants_are_exact() {
        for count in [1, 2, 5, 100] {
            let stretch = Stretch { first: 0, count, begin: 5.0, step: 0.001 };
            let mut resampler = Resampler::new(1000.0, 2, vec![stretch]);
            let mut all = Vec::new();
            let values = vec![3.0; 2 * count as usize];
            resampler.take(&values, &mut |time, row| all.push((time, row.to_vec())));
            assert_eq!(all.len(), count as usize);
            assert!(all.iter().all(|(_, row)| row.iter().all(|value| (value - 3.0).abs() < 1e-12)));
        }
    }
}
