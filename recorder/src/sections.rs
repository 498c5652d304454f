//! Causal filters as cascades of second-order sections: the arithmetic, without the choice of a filter.
//!
//! Shared by all that filters: the dashboard's traces, and `schwann.Filter` in Python.

/// A cascade of second-order sections; the delays of each channel belong to the caller.
///
/// - Source: transposed direct form II, as in `scipy.signal.sosfilt`, with the same order of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections(Vec<[f64; 5]>);

impl Sections {
    /// Makes a cascade; each section is b0, b1, b2, a0, a1, a2.
    ///
    /// None if a number is not finite, or a0 is 0.
    #[must_use]
    pub fn new(sections: &[[f64; 6]]) -> Option<Self> {
        let scaled = |&[b0, b1, b2, a0, a1, a2]: &[f64; 6]| {
            let numbers = [b0, b1, b2, a1, a2].map(|number| number / a0);
            numbers.iter().all(|number| number.is_finite()).then_some(numbers)
        };
        sections.iter().map(scaled).collect::<Option<_>>().map(Self)
    }

    /// How many sections there are; each has two delays per channel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether values pass unchanged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Filters the next value of one channel.
    ///
    /// - Shape: two delays per section.
    pub fn next(&self, delays: &mut [[f64; 2]], value: f64) -> f64 {
        self.0.iter().zip(delays).fold(value, |value, (section, delay)| step(section, value, delay))
    }

    /// Sets the delays of one channel as if it had always had `value`: nothing swings at the start.
    ///
    /// - Source: as `scipy.signal.sosfilt_zi` times the value.
    pub fn settle(&self, delays: &mut [[f64; 2]], value: f64) {
        let mut value = value;
        for ([b0, b1, b2, a1, a2], delay) in self.0.iter().zip(delays) {
            let steady = value * (b0 + b1 + b2) / (1.0 + a1 + a2);
            let second = b2 * value - a2 * steady;
            *delay = [b1 * value - a1 * steady + second, second];
            value = steady;
        }
    }

    /// Filters samples × channels in their place, and goes on from there the next time. What is no number does not stay: the
    /// channel begins anew.
    ///
    /// - Shape: two delays per channel and section, sections first.
    pub fn run(&self, samples: &mut [f64], channels: usize, delays: &mut [[f64; 2]]) {
        let channels = channels.max(1);
        for (section, delays) in self.0.iter().zip(delays.chunks_exact_mut(channels)) {
            for row in samples.chunks_exact_mut(channels) {
                for (value, delay) in row.iter_mut().zip(&mut *delays) {
                    *value = step(section, *value, delay);
                }
            }
        }
        let stays = |delay: &&mut [f64; 2]| delay.iter().any(|number| !number.is_finite());
        delays.iter_mut().filter(stays).for_each(|delay| *delay = [0.0; 2]);
    }
}

/// One value through one section.
fn step([b0, b1, b2, a1, a2]: &[f64; 5], value: f64, delay: &mut [f64; 2]) -> f64 {
    let filtered = b0 * value + delay[0];
    *delay = [b1 * value - a1 * filtered + delay[1], b2 * value - a2 * filtered];
    filtered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_does_not_stay() {
        let section = [0.2, 0.3, 0.2, 1.0, -0.5, 0.1];
        let sections = Sections::new(&[section; 2]).expect("usable");
        let mut delays = [[0.0; 2]; 4];
        sections.run(&mut [1.0, f64::NAN], 2, &mut delays);
        assert!(delays[0] != [0.0; 2] && delays[1] == [0.0; 2] && delays[3] == [0.0; 2], "{delays:?}");
    }

    #[test]
    fn one_value_at_a_time_is_the_same_as_all_at_once() {
        let sections = Sections::new(&[[0.2, 0.3, 0.2, 1.0, -0.5, 0.1], [1.0, -2.0, 1.0, 2.0, -1.0, 0.4]]);
        let sections = sections.expect("usable");
        let input: Vec<f64> = (0..40).map(|n| f64::from(n * n % 7)).collect();
        let mut all = input.clone();
        sections.run(&mut all, 2, &mut [[0.0; 2]; 4]);
        for channel in 0..2 {
            let mut delays = [[0.0; 2]; 2];
            let each = input.iter().skip(channel).step_by(2).map(|&value| sections.next(&mut delays, value));
            assert!(each.eq(all.iter().skip(channel).step_by(2).copied()));
        }
    }

    #[test]
    fn a_settled_channel_does_not_swing() {
        let sections = Sections::new(&[[0.2, 0.3, 0.2, 1.0, -0.5, 0.1]]).expect("usable");
        let mut delays = [[0.0; 2]];
        sections.settle(&mut delays, 5.0);
        let [first, later] = [0, 9].map(|_| sections.next(&mut delays, 5.0));
        assert!((first - 5.0 * 0.7 / 0.6).abs() < 1e-12 && (later - first).abs() < 1e-12);
    }

    #[test]
    fn impossible_sections_are_refused() {
        assert_eq!(Sections::new(&[[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), None);
        assert_eq!(Sections::new(&[[f64::NAN, 0.0, 0.0, 1.0, 0.0, 0.0]]), None);
    }
}
