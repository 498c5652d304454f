//! When samples of one stream arrived, and how long the pauses in between usually are.

/// The arrivals of one stream; in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    last: Option<f64>,
    /// The latest pauses, in seconds.
    pauses: [f64; PAUSES],
    count: usize,
}

impl Arrivals {
    /// Notes that samples arrived at `now`, in seconds on the local clock.
    pub fn add(&mut self, now: f64) {
        let Some(last) = self.last.replace(now) else { return };
        if let Some(place) = self.pauses.get_mut(self.count % PAUSES) {
            *place = now - last;
        }
        self.count += 1;
    }

    /// When samples last arrived, in seconds on the local clock.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    /// How long a pause usually is at most, in seconds.
    ///
    /// The third longest of the latest pauses. A stream that comes in blocks has many long pauses; one that once
    /// fell silent has one. While few are known, the longest, in favour of the stream.
    pub fn usual_pause(&self) -> f64 {
        let mut pauses = self.pauses;
        pauses.sort_unstable_by(f64::total_cmp);
        let rank = if self.count < PAUSES { 1 } else { 3 };
        pauses.get(PAUSES - rank).copied().unwrap_or_default()
    }
}

/// Pauses that are remembered.
const PAUSES: usize = 8;

#[cfg(test)]
mod tests {
    use super::Arrivals;

    fn arrivals(times: impl IntoIterator<Item = f64>) -> Arrivals {
        let mut arrivals = Arrivals::default();
        times.into_iter().for_each(|time| arrivals.add(time));
        arrivals
    }

    #[test]
    fn blocks_have_long_pauses_even_if_they_come_in_two_parts() {
        let blocks = arrivals((0..10).flat_map(|n| [f64::from(n) * 2.0, f64::from(n) * 2.0 + 0.1]));
        assert!((blocks.usual_pause() - 1.9).abs() < 1e-9, "{blocks:?}");
    }

    #[test]
    fn one_long_silence_is_not_usual() {
        let smooth = arrivals((0..20).map(|n| f64::from(n) * 0.01).chain([60.0]));
        assert!(smooth.usual_pause() < 0.02, "{smooth:?}");
        assert_eq!(arrivals([0.0, 3.0]).usual_pause(), 3.0, "too few to tell");
    }
}
