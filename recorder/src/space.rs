//! How long the disk takes more of a recording.

use core::time::Duration;
use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

/// What the disk has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Bytes that this user may still write.
    pub free_bytes: u64,
    /// How fast the recording has grown lately.
    pub bytes_per_second: f64,
    /// How long the disk takes more at this rate, in seconds; nothing while the recording does not grow.
    pub seconds_left: Option<f64>,
}

impl Forecast {
    /// Whether a person should make room now: less than half an hour is left, or less than 256 MB.
    pub fn is_short(&self) -> bool {
        self.free_bytes < SHORT_BYTES || self.seconds_left.is_some_and(|left| left < SHORT_SECONDS)
    }
}

/// Watches how a recording grows.
#[derive(Debug, Default)]
pub(crate) struct Space {
    /// When the recording had how many bytes, the oldest first.
    sizes: VecDeque<(Instant, u64)>,
    free: Option<(Instant, u64)>,
}

impl Space {
    /// Takes in that the recordings in the folder of `path` have `bytes` in all now.
    pub(crate) fn note(&mut self, path: &Path, bytes: u64, now: Instant) {
        if self.free.is_none_or(|(asked, _)| now - asked >= ASK_EVERY) {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            self.free = fs4::available_space(folder).ok().map(|free| (now, free));
        }
        if self.sizes.back().is_none_or(|(last, _)| now - *last >= ASK_EVERY) {
            self.sizes.push_back((now, bytes));
        }
        while self.sizes.front().is_some_and(|(first, _)| now - *first > WINDOW) {
            self.sizes.pop_front();
        }
    }

    /// What is to be expected; nothing where the system does not say what is free.
    pub(crate) fn forecast(&self) -> Option<Forecast> {
        let (_, free_bytes) = self.free?;
        let bytes_per_second = match (self.sizes.front(), self.sizes.back()) {
            (Some((first, before)), Some((last, after))) if last > first => {
                after.saturating_sub(*before) as f64 / (*last - *first).as_secs_f64()
            }
            _ => 0.0,
        };
        let seconds_left = (bytes_per_second > 0.0).then(|| free_bytes as f64 / bytes_per_second);
        Some(Forecast { free_bytes, bytes_per_second, seconds_left })
    }
}

const ASK_EVERY: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(30);
/// A disk with fewer free bytes wants room made.
pub const SHORT_BYTES: u64 = 256 << 20;
const SHORT_SECONDS: f64 = 1800.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_what_is_free_by_what_comes() {
        let (mut space, begin) = (Space::default(), Instant::now());
        for second in 0..60 {
            space.note(Path::new("x.xdf"), 1000 * second, begin + Duration::from_secs(second));
        }
        let forecast = space.forecast().expect("the system says what is free");
        assert!((forecast.bytes_per_second - 1000.0).abs() < 1e-6, "{forecast:?}");
        let left = forecast.seconds_left.expect("it grows");
        assert!((left - forecast.free_bytes as f64 / 1000.0).abs() < 1e-6 * left);
        assert!(Forecast { seconds_left: Some(60.0), ..forecast }.is_short());
        let roomy = Forecast { free_bytes: u64::MAX, bytes_per_second: 1.0, seconds_left: Some(1e9) };
        assert!(!roomy.is_short());
        assert_eq!(Space::default().forecast(), None);
    }
}
