//! What can be wrong with a live stream: its word, its number and limit, and its sentence.

use core::fmt;

use super::UNANSWERED_SECONDS;
use super::base::TimeBase;
use super::limits::Limits;
use crate::words::{Readable, plural, thousands};

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// It refuses this computer, or is refused here.
    Refused,
    /// No connection was made yet.
    NotConnected,
    /// The connection broke and is not back.
    Away,
    /// Its sender has ended.
    Gone,
    /// There is a connection, and no sample has come.
    NoSamples {
        /// How long there has been a connection, in seconds.
        seconds: f64,
    },
    /// No sample comes any more.
    Stopped {
        /// How long ago the last one came, in seconds.
        seconds: f64,
    },
    /// Stamps are of another clock than the sender's `lsl_local_clock()`.
    TimeBase {
        /// What they count.
        base: TimeBase,
        /// How far they are ahead, in seconds.
        seconds: f64,
    },
    /// Stamps are of a time that is still to come.
    Ahead {
        /// By so many seconds.
        seconds: f64,
    },
    /// Samples are much older than they can be.
    Behind {
        /// By so many seconds.
        seconds: f64,
    },
    /// The clock that stamps the samples jumped.
    ClockStep {
        /// How often.
        count: u64,
        /// How far it jumped ahead at last, in seconds.
        seconds: f64,
        /// When that was, in seconds since the stream was first seen.
        after: f64,
    },
    /// Fewer or more samples come than the sender says.
    Rate {
        /// Samples per second by their stamps.
        measured: f64,
        /// What the sender says.
        nominal: f64,
    },
    /// The clock that stamps the samples runs faster or slower than this computer's.
    Drift {
        /// How much faster, in parts per million.
        ppm: f64,
        /// How far that may be wrong.
        plus_minus: f64,
    },
    /// Another stream claims to be the same one.
    Twin,
    /// The sender's clock has not answered since there is a connection.
    ClockSilent {
        /// How long, in seconds.
        seconds: f64,
    },
    /// The sender's clock was not measured for long.
    NoOffsets {
        /// How long, in seconds.
        seconds: f64,
    },
    /// Stamps are spread about where they should be.
    Jitter {
        /// The median distance of intervals from the nominal one, in seconds.
        p50: f64,
        /// What 99 of 100 of these distances stay below, in seconds.
        p99: f64,
    },
    /// Stamps go back.
    Backward {
        /// How often.
        count: u64,
        /// How far the worst goes back, in seconds.
        seconds: f64,
    },
    /// Stamps are no times, such as NaN.
    InvalidStamps {
        /// Of how many samples.
        count: u64,
    },
    /// Samples have the stamp of the one before.
    Duplicates {
        /// How many.
        count: u64,
    },
    /// Samples come in blocks with long pauses.
    Bursts {
        /// How long a pause usually is, in seconds.
        seconds: f64,
    },
    /// Samples are missing.
    Gaps {
        /// Places.
        count: u64,
        /// Samples, about.
        missing: u64,
    },
}

/// What was measured, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// What was measured.
    pub number: f64,
    /// What is allowed.
    pub limit: f64,
    /// The unit of both.
    pub unit: &'static str,
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Refused => out.write_str("REFUSED"),
            Self::NotConnected => out.write_str("no connection yet"),
            Self::Away => out.write_str("CONNECTION LOST"),
            Self::Gone => out.write_str("GONE"),
            Self::NoSamples { .. } => out.write_str("NO SAMPLES"),
            Self::Stopped { .. } => out.write_str("STOPPED"),
            Self::TimeBase { base: TimeBase::Unix, .. } => out.write_str("UNIX TIME"),
            Self::TimeBase { base: TimeBase::UnixMilliseconds | TimeBase::Milliseconds, .. } => {
                out.write_str("MILLISECONDS")
            }
            Self::TimeBase { base: TimeBase::Microseconds, .. } => out.write_str("MICROSECONDS"),
            Self::TimeBase { base: TimeBase::Nanoseconds, .. } => out.write_str("NANOSECONDS"),
            Self::TimeBase { base: TimeBase::Device, .. } => out.write_str("DEVICE TIME"),
            Self::Ahead { .. } => out.write_str("STAMPS AHEAD"),
            Self::Behind { .. } => out.write_str("STAMPS BEHIND"),
            Self::ClockStep { seconds, .. } => write!(out, "CLOCK STEP {:+.1} s", Readable(seconds)),
            Self::Rate { measured, nominal } => {
                write!(out, "RATE {:+.1} %", Readable((measured / nominal - 1.0) * 100.0))
            }
            Self::Drift { ppm, .. } => write!(out, "DRIFT {ppm:+.0} ppm"),
            Self::Twin => out.write_str("TWINS"),
            Self::ClockSilent { .. } | Self::NoOffsets { .. } => out.write_str("CLOCK UNKNOWN"),
            Self::Jitter { .. } => out.write_str("JITTER"),
            Self::Backward { .. } => out.write_str("STAMPS GO BACK"),
            Self::InvalidStamps { .. } => out.write_str("INVALID STAMPS"),
            Self::Duplicates { .. } => out.write_str("EQUAL STAMPS"),
            Self::Bursts { .. } => out.write_str("BURSTS"),
            Self::Gaps { .. } => out.write_str("GAPS"),
        }
    }
}

impl Trouble {
    /// The word for scripts.
    pub fn code(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NotConnected => "not-connected",
            Self::Away => "connection-lost",
            Self::Gone => "gone",
            Self::NoSamples { .. } => "no-samples",
            Self::Stopped { .. } => "stopped",
            Self::TimeBase { .. } => "time-base",
            Self::Ahead { .. } => "stamps-ahead",
            Self::Behind { .. } => "stamps-behind",
            Self::ClockStep { .. } => "clock-step",
            Self::Rate { .. } => "rate",
            Self::Drift { .. } => "drift",
            Self::Twin => "twin",
            Self::ClockSilent { .. } | Self::NoOffsets { .. } => "no-clock-offsets",
            Self::Jitter { .. } => "jitter",
            Self::Backward { .. } => "backward-stamps",
            Self::InvalidStamps { .. } => "invalid-stamps",
            Self::Duplicates { .. } => "duplicate-stamps",
            Self::Bursts { .. } => "bursts",
            Self::Gaps { .. } => "gaps",
        }
    }

    /// What was measured and what is allowed, where that is a number.
    pub fn mark(self, limits: &Limits) -> Option<Mark> {
        let mark = |number, limit, unit| Some(Mark { number, limit, unit });
        match self {
            Self::Refused | Self::NotConnected | Self::Away | Self::Gone | Self::Twin => None,
            Self::NoSamples { seconds } | Self::Stopped { seconds } => {
                mark(seconds, limits.silence_seconds, "s")
            }
            Self::TimeBase { seconds, .. } if seconds < 0.0 => mark(-seconds, limits.late_seconds, "s"),
            Self::TimeBase { seconds, .. } | Self::Ahead { seconds } => {
                mark(seconds, limits.ahead_seconds, "s")
            }
            Self::Behind { seconds } => mark(seconds, limits.late_seconds, "s"),
            Self::ClockStep { seconds, .. } => mark(seconds, 0.0, "s"),
            Self::Rate { measured, nominal } => {
                mark((measured / nominal - 1.0) * 100.0, limits.rate_percent, "%")
            }
            Self::Drift { ppm, .. } => mark(ppm, limits.drift_ppm, "ppm"),
            Self::ClockSilent { seconds } => mark(seconds, UNANSWERED_SECONDS, "s"),
            Self::NoOffsets { seconds } => mark(seconds, limits.offsets_seconds, "s"),
            Self::Jitter { p99, .. } => mark(p99, limits.jitter_seconds, "s"),
            Self::Backward { count, .. } | Self::Duplicates { count } | Self::InvalidStamps { count } => {
                mark(count as f64, 0.0, "samples")
            }
            Self::Bursts { seconds } => mark(seconds, limits.burst_seconds, "s"),
            Self::Gaps { count, .. } => mark(count as f64, limits.gaps as f64, "gaps"),
        }
    }

    /// One sentence: what is wrong, and what follows or is to be done. To be put behind a stream's name.
    ///
    /// None where the program says more elsewhere: refusals, and streams that are not connected.
    pub fn explained(self) -> Option<String> {
        Some(match self {
            Self::Refused | Self::NotConnected | Self::Away | Self::Gone => return None,
            Self::NoSamples { seconds } => {
                format!(
                    "is connected, but has sent no sample for {seconds:.1} s: look at its device and program"
                )
            }
            Self::Stopped { seconds } => {
                format!(
                    "is connected, but sent its last sample {seconds:.1} s ago: look at its device and program"
                )
            }
            Self::Ahead { seconds } => format!(
                "stamps its samples {} ahead of its own clock: its program must stamp with lsl_local_clock()",
                long_time(seconds)
            ),
            Self::Behind { seconds } => format!(
                "sends samples that are {} old: its program stamps with another clock than lsl_local_clock(), or \
                 the way is too slow",
                long_time(seconds)
            ),
            Self::Twin => String::from(
                "has the name, type and source id of another stream, so that a receiver may take one for the other: \
                 end one of them, or give each a source id of its own",
            ),
            Self::Rate { measured, nominal } => format!(
                "says {} Hz, and {:.1} samples a second arrive: samples are lost before they are sent, or its program \
                 says a wrong rate",
                Readable(nominal),
                Readable(measured)
            ),
            Self::Gaps { count, missing } => format!(
                "has {} with about {} missing samples: they were lost before they were sent, or its program paused",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "gap"),
                thousands(missing)
            ),
            of_the_clock => return Some(of_the_clock.clock_explained()),
        })
    }

    /// As [`Trouble::explained`], also of streams that are not connected.
    pub fn sentence(self) -> String {
        self.explained().unwrap_or_else(|| self.of_connection().to_owned())
    }

    const fn of_connection(self) -> &'static str {
        match self {
            Self::Refused => "refuses this computer, or is refused here: schwann doctor says why",
            Self::NotConnected => "was announced and has not answered: schwann doctor says why",
            Self::Away => "lost its connection and is not back",
            _ => "has ended",
        }
    }

    /// The sentences on clocks and stamps.
    fn clock_explained(self) -> String {
        match self {
            Self::TimeBase { base, seconds } => format!(
                "has stamps that are {base}, {} of its own clock: its program must stamp with lsl_local_clock()",
                away(seconds)
            ),
            Self::ClockStep { count, seconds, after } => format!(
                "has stamps that jumped {}, by {:+.1} s after {after:.0} s: {}",
                often(count),
                Readable(seconds),
                match seconds > 0.0 {
                    true =>
                        "its program paused, or stamps by a clock that was set; no change of the date moves lsl_local_clock()",
                    false =>
                        "its program must stamp with lsl_local_clock(), which no change of the date moves",
                }
            ),
            Self::Drift { ppm, plus_minus } => format!(
                "has stamps that run {ppm:+.0} ± {plus_minus:.0} ppm against this computer's clock: its program counts \
                 samples where it must stamp with lsl_local_clock(), or its rate is wrong"
            ),
            Self::ClockSilent { seconds } => format!(
                "has a clock that has not answered for {seconds:.1} s, so its stamps cannot be compared with others: let \
                 UDP through to its computer; schwann doctor says how"
            ),
            Self::NoOffsets { seconds } => format!(
                "has a clock that could not be measured for {}, so its stamps cannot be compared with others: let UDP \
                 through to its computer; schwann doctor says how",
                long_time(seconds)
            ),
            Self::Jitter { p50, p99 } => format!(
                "has stamps that are spread: half are off by more than {:.1} ms, one in a hundred by more than {:.1} ms: \
                 its program stamps when data arrive; let it stamp blocks by their first sample and the rate",
                Readable(p50 * 1e3),
                Readable(p99 * 1e3)
            ),
            Self::Backward { count, seconds } => format!(
                "has stamps that go back, {}, by up to {}: its program sends blocks twice or out of order",
                often(count),
                long_time(seconds)
            ),
            Self::InvalidStamps { count } => format!(
                "has {} whose stamp is no time, such as NaN: its program must stamp with lsl_local_clock()",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "sample")
            ),
            Self::Duplicates { count } => format!(
                "has {} with the stamp of the one before: its program sends samples twice, or stamps too coarsely",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "sample")
            ),
            Self::Bursts { seconds } => format!(
                "comes in bursts every {seconds:.1} s, as over a weak radio link: move the device closer, or have its \
                 program send more often"
            ),
            other => other.to_string(),
        }
    }
}

fn away(seconds: f64) -> String {
    match seconds < 0.0 {
        true => format!("{} behind", long_time(-seconds)),
        false => format!("{} ahead", long_time(seconds)),
    }
}

pub(super) fn often(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", thousands(count)) }
}

pub(super) fn long_time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s if s < 1e12 => format!("{} days", thousands((s / 86_400.0) as u64)),
        s => format!("{s:.1e} s"),
    }
}
