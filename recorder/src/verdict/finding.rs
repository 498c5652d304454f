//! What there is to say of a recorded stream: a word for scripts, a number beside its limit, a sentence for people.

use core::fmt;

use schwann_xdf::SteppedClock;

use super::base::TimeBase;
use super::limits::Limits;
use super::trouble::{Mark, long_time, often};
use crate::words::{Readable, plural, thousands};

/// Something in a recorded stream that a person should know before using it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// A regular stream has no sample at all.
    NoSamples,
    /// A regular stream fell silent while its sender went on.
    Stopped {
        /// How long it was silent, in seconds.
        seconds: f64,
    },
    /// Samples are missing.
    Gaps {
        /// Places.
        count: u64,
        /// Seconds of all together.
        seconds: f64,
    },
    /// Stamps are earlier than those before them, although no clock was set back.
    Backward {
        /// How often.
        count: u64,
    },
    /// Stamps are no times, such as NaN.
    InvalidStamps {
        /// Of how many samples.
        count: u64,
    },
    /// Samples of a regular stream have the stamp of the one before.
    Duplicates {
        /// How many.
        count: u64,
    },
    /// The sender's clock began anew, as after a restart of its computer.
    ClockResets {
        /// How often.
        count: usize,
        /// When it did first, in seconds on the stream's clock.
        at: f64,
        /// How far the clock jumped ahead then, in seconds.
        seconds: f64,
    },
    /// The stamps jump, and the sender's clock does not.
    ClockStep {
        /// How often.
        count: usize,
        /// When they do first, in seconds on the stream's clock.
        at: f64,
        /// How far they jump ahead then, in seconds.
        seconds: f64,
    },
    /// A clock runs faster or slower than another.
    Drift {
        /// How much faster, in parts per million.
        ppm: f64,
        /// Half of the interval in which that lies with 95 %.
        plus_minus: f64,
        /// Which clock it is.
        clock: SteppedClock,
    },
    /// Nothing says how the sender's clock relates to the others.
    NoOffsets {
        /// How long the stream lasts, in seconds.
        seconds: f64,
    },
    /// The sender's clock was not measured for long.
    OffsetsMissing {
        /// How long, in seconds.
        seconds: f64,
        /// Since when, in seconds on the stream's clock.
        from: f64,
    },
    /// Stamps are of another clock than the sender's.
    TimeBase {
        /// What they count.
        base: TimeBase,
        /// How far they are ahead of the sender's clock, in seconds; none if that was not measured.
        seconds: Option<f64>,
    },
    /// The samples' rate is not what the sender says.
    Rate {
        /// Samples per second outside gaps, in the worst stretch between two resets of the clock.
        measured: f64,
        /// What the sender says.
        nominal: f64,
    },
    /// Stamps are spread about where they should be.
    Jitter {
        /// The median distance of intervals from the nominal one, in seconds.
        p50: f64,
        /// What 99 of 100 of these distances stay below, in seconds.
        p99: f64,
    },
    /// Samples come in long blocks of one stamp.
    Bursts {
        /// How long a block usually is, in seconds.
        seconds: f64,
    },
    /// Another stream of the recording claims to be the same one.
    Twin,
}

impl Finding {
    /// The word for scripts; the same as for live streams where it is the same fault.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoSamples => "no-samples",
            Self::Stopped { .. } => "stopped",
            Self::Gaps { .. } => "gaps",
            Self::Backward { .. } => "backward-stamps",
            Self::InvalidStamps { .. } => "invalid-stamps",
            Self::Duplicates { .. } => "duplicate-stamps",
            Self::ClockResets { .. } => "clock-resets",
            Self::ClockStep { .. } => "clock-step",
            Self::Drift { .. } => "drift",
            Self::NoOffsets { .. } | Self::OffsetsMissing { .. } => "no-clock-offsets",
            Self::TimeBase { .. } => "time-base",
            Self::Rate { .. } => "rate",
            Self::Jitter { .. } => "jitter",
            Self::Bursts { .. } => "bursts",
            Self::Twin => "twin",
        }
    }

    /// What was measured and what is allowed, where that is a number.
    pub fn mark(self, limits: &Limits) -> Option<Mark> {
        let mark = |number, limit, unit| Some(Mark { number, limit, unit });
        match self {
            Self::NoSamples | Self::Twin => None,
            Self::Stopped { seconds } => mark(seconds, limits.silence_seconds + WAIT_SECONDS, "s"),
            Self::Gaps { count, .. } => mark(count as f64, limits.gaps as f64, "gaps"),
            Self::Backward { count } | Self::Duplicates { count } | Self::InvalidStamps { count } => {
                mark(count as f64, 0.0, "samples")
            }
            Self::ClockResets { seconds, .. } | Self::ClockStep { seconds, .. } => mark(seconds, 0.0, "s"),
            Self::Drift { ppm, .. } => mark(ppm, limits.drift_ppm, "ppm"),
            Self::NoOffsets { seconds } | Self::OffsetsMissing { seconds, .. } => {
                mark(seconds, limits.offsets_seconds, "s")
            }
            Self::TimeBase { seconds, .. } => mark(seconds?, limits.late_seconds, "s"),
            Self::Rate { measured, nominal } => {
                mark((measured / nominal - 1.0) * 100.0, limits.rate_percent, "%")
            }
            Self::Jitter { p99, .. } => mark(p99, limits.jitter_seconds, "s"),
            Self::Bursts { seconds } => mark(seconds, limits.burst_seconds, "s"),
        }
    }
}

/// One sentence, to be put behind a stream's name: what was seen, and what to make of it.
impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_what_was_seen(out)?;
        write!(out, ": {}", self.advice())
    }
}

impl Finding {
    fn write_what_was_seen(self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count, word| plural(usize::try_from(count).unwrap_or(usize::MAX), word);
        match self {
            Self::NoSamples => out.write_str("has no samples"),
            Self::Stopped { seconds } => {
                write!(out, "fell silent {} before its sender was last asked", long_time(seconds))
            }
            Self::Gaps { count, seconds } => {
                write!(out, "has {} of {} in all", counted(count, "gap"), long_time(seconds))
            }
            Self::Backward { count } => write!(out, "has stamps that go back, {} times", thousands(count)),
            Self::InvalidStamps { count } => {
                write!(out, "has {} whose stamp is no time, such as NaN", counted(count, "sample"))
            }
            Self::Duplicates { count } => {
                write!(out, "has {} with the stamp of the one before", counted(count, "sample"))
            }
            Self::ClockResets { count, at, seconds } => {
                let often = often(count as u64);
                write!(
                    out,
                    "had its clock reset, {often}, first at {:.1} s, by {}",
                    Readable(at),
                    jump(seconds)
                )
            }
            Self::ClockStep { count, at, seconds } => {
                let (often, jump) = (often(count as u64), jump(seconds));
                write!(out, "has stamps that jump, {often}, first at {:.1} s, by {jump}, ", Readable(at))?;
                out.write_str("while its computer's clock goes on")
            }
            Self::Drift { ppm, plus_minus, clock: SteppedClock::Sender } => {
                write!(out, "has a clock that runs {ppm:+.1} ± {plus_minus:.1} ppm against the recorder's")
            }
            Self::Drift { ppm, plus_minus, clock: SteppedClock::Stamps } => {
                write!(
                    out,
                    "has stamps that run {ppm:+.0} ± {plus_minus:.0} ppm against its own computer's clock"
                )
            }
            Self::NoOffsets { seconds } => write!(out, "has no clock offsets in {}", long_time(seconds)),
            Self::OffsetsMissing { seconds, from } => {
                write!(out, "has no clock offsets for {} from {:.1} s on", long_time(seconds), Readable(from))
            }
            Self::TimeBase { base, seconds: None } => write!(out, "has stamps that are {base}"),
            Self::TimeBase { base, seconds: Some(seconds) } => {
                let side = if seconds < 0.0 { "behind" } else { "ahead of" };
                write!(out, "has stamps that are {base}, {} {side} its own clock", long_time(seconds.abs()))
            }
            Self::Rate { measured, nominal } => {
                let (nominal, measured) = (Readable(nominal), Readable(measured));
                write!(out, "says {nominal} Hz, and its stamps say {measured:.1} Hz")
            }
            Self::Jitter { p50, p99 } => {
                let (half, most) = (Readable(p50 * 1e3), Readable(p99 * 1e3));
                write!(out, "has stamps that are spread: half are off by more than {half:.1} ms, ")?;
                write!(out, "one in a hundred by more than {most:.1} ms")
            }
            Self::Bursts { seconds } => write!(out, "has blocks of {seconds:.1} s with one stamp each"),
            Self::Twin => out.write_str("has the name, type and source id of another stream"),
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::NoSamples => "look at its device and program before the next recording",
            Self::Stopped { .. } => "look at its device",
            Self::Gaps { .. } => "treat each as a break",
            Self::Backward { .. } => "sort or reject the samples around them",
            Self::InvalidStamps { .. } => "leave them out, or place them between their neighbours",
            Self::Duplicates { .. } => "look whether their values are there twice",
            Self::ClockResets { .. } => "align the samples before and after it apart from each other",
            Self::ClockStep { .. } => "cut the recording there",
            Self::Drift { clock: SteppedClock::Sender, .. } => "align its samples by their clock offsets",
            Self::Drift { clock: SteppedClock::Stamps, .. } => {
                "clock offsets do not correct that; align it by events"
            }
            Self::NoOffsets { .. } => "it can be aligned with streams of its own computer only",
            Self::OffsetsMissing { .. } => "what it was aligned by there is a guess",
            Self::TimeBase { .. } => {
                "its program does not stamp with lsl_local_clock(), so clock offsets do not fit; align it by events"
            }
            Self::Rate { .. } => "samples were lost, or its program says a wrong rate",
            Self::Jitter { .. } => "let your reader remove the jitter",
            Self::Bursts { .. } => "within a block, times follow from the rate alone",
            Self::Twin => "which device it was cannot be told",
        }
    }
}

fn jump(seconds: f64) -> String {
    match seconds < 0.0 {
        true => format!("{} back", long_time(-seconds)),
        false => format!("{} ahead", long_time(seconds)),
    }
}

/// How long samples and measurements of the clock may wait for each other in a file, in seconds.
pub(super) const WAIT_SECONDS: f64 = 5.0;
