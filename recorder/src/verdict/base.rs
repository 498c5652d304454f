//! Which time a stream's stamps count, if it is not that of `lsl_local_clock()`.

use core::fmt;

/// A clock that is not the sender's `lsl_local_clock()`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TimeBase {
    /// Seconds of a device or program with a beginning of its own.
    Device,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
    /// Seconds since 1970.
    Unix,
    /// Thousandths of a second since 1970.
    UnixMilliseconds,
}

impl TimeBase {
    /// Tells the base of a stamp that should be about `clock`. The stream's stamps go on by `interval` per sample,
    /// and should by `period`. None if the base may be the right one.
    ///
    /// - Units: seconds; `period` is 0 for an irregular stream. `allowed`: how far a stamp may be away.
    pub(crate) fn of(
        stamp: f64,
        clock: f64,
        interval: Option<f64>,
        period: f64,
        allowed: f64,
    ) -> Option<Self> {
        let ratio = interval.filter(|_| period > 0.0).map_or(1.0, |interval| interval / period);
        let is_about = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.2;
        Some(match stamp {
            _ if !is_far(stamp, clock, allowed)
                && ![1e3, 1e6, 1e9].iter().any(|unit| is_about(ratio, *unit)) =>
            {
                return None;
            }
            s if (1e12..1e13).contains(&s) && clock < 1e9 => Self::UnixMilliseconds,
            s if (1e9..1e10).contains(&s) && clock < 1e9 => Self::Unix,
            _ if is_about(ratio, 1e3) => Self::Milliseconds,
            _ if is_about(ratio, 1e6) => Self::Microseconds,
            _ if is_about(ratio, 1e9) => Self::Nanoseconds,
            s if is_near_multiple(s, clock, 1e3, allowed) => Self::Milliseconds,
            s if is_near_multiple(s, clock, 1e6, allowed) => Self::Microseconds,
            s if is_near_multiple(s, clock, 1e9, allowed) => Self::Nanoseconds,
            s if (s - clock).abs() > allowed.max(DEVICE_SECONDS) => Self::Device,
            _ => return None,
        })
    }

    /// The word for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
            Self::Unix => "unix",
            Self::UnixMilliseconds => "unix-milliseconds",
        }
    }
}

/// In the middle of a sentence: what stamps count.
impl fmt::Display for TimeBase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Device => "seconds of a clock of its own",
            Self::Milliseconds => "milliseconds, not seconds",
            Self::Microseconds => "microseconds, not seconds",
            Self::Nanoseconds => "nanoseconds, not seconds",
            Self::Unix => "seconds since 1970",
            Self::UnixMilliseconds => "milliseconds since 1970",
        })
    }
}

fn is_far(stamp: f64, clock: f64, allowed: f64) -> bool {
    (stamp - clock).abs() > allowed
}

fn is_near_multiple(stamp: f64, clock: f64, factor: f64, allowed: f64) -> bool {
    clock > 1.0 && (stamp / factor - clock).abs() < allowed.max(0.001 * clock)
}

/// No way is as long as this, in seconds: what is further from the clock is of another one.
const DEVICE_SECONDS: f64 = 3_600.0;

#[cfg(test)]
mod tests {
    use super::TimeBase::{self, *};

    #[test]
    fn each_base_is_told_by_a_stamp_and_its_step() {
        let clock = 50_000.0;
        let cases = [
            (50_000.5, 0.01, None),
            (49_995.0, 0.01, None),
            (1_795_459_561.0, 0.01, Some(Unix)),
            (1_795_459_561_000.0, 10.0, Some(UnixMilliseconds)),
            (50_000_000.0, 10.0, Some(Milliseconds)),
            (50_000_000_000.0, 10_000.0, Some(Microseconds)),
            (50_000_000_000_000.0, 1e7, Some(Nanoseconds)),
            (1_795_459_561e9, 1e7, Some(Nanoseconds)),
            (4_000.0, 10.0, Some(Milliseconds)),
            (12.0, 0.01, Some(Device)),
            (750_000.0, 0.01, Some(Device)),
            // Late by minutes may be a slow way.
            (49_000.0, 0.01, None),
        ];
        for (stamp, interval, base) in cases {
            assert_eq!(TimeBase::of(stamp, clock, Some(interval), 0.01, 10.0), base, "{stamp}");
        }
        assert_eq!(
            TimeBase::of(1.8e9, 1.7e9, None, 0.0, 3600.0),
            Some(Device),
            "two clocks that count from 1970"
        );
    }
}
