//! What speaks against the content of a recording, beyond damage: gaps, stamps, clocks, rates.

use core::fmt;

use schwann_xdf::{ClockSegment, ClockStep, Drift, SteppedClock, StreamHeader, StreamSurvey, Survey};

use super::base::TimeBase;
use super::limits::Limits;
use super::trouble::{Mark, long_time, often};
use super::{RATE_SECONDS, SILENCE_PERIODS};
use crate::words::{plural, thousands};

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

/// What speaks against each stream of a recording, in the survey's order; nothing for a sound one.
pub fn findings(survey: &Survey) -> Vec<Vec<Finding>> {
    findings_by(survey, &Limits::USUAL)
}

/// As [`findings`], by other limits.
pub fn findings_by(survey: &Survey, limits: &Limits) -> Vec<Vec<Finding>> {
    let is_twin = |one: &StreamSurvey| {
        survey
            .streams
            .iter()
            .any(|other| other.header.id != one.header.id && is_same(&one.header, &other.header))
    };
    survey.streams.iter().map(|stream| of_stream(stream, is_twin(stream), limits)).collect()
}

fn of_stream(stream: &StreamSurvey, has_twin: bool, limits: &Limits) -> Vec<Finding> {
    let nominal = stream.header.nominal_rate;
    let twin = has_twin.then_some(Finding::Twin);
    if stream.sample_count == 0 {
        // Markers may just not have been sent.
        let no_samples = (nominal > 0.0).then_some(Finding::NoSamples);
        return no_samples.into_iter().chain(twin).collect();
    }
    let seconds = stream.duration.as_secs_f64();
    let is_set_back = |step: &&ClockStep| step.seconds < 0.0;
    let set_back = stream.timing.steps.iter().filter(is_set_back).count().max(stream.clock.reset_count);
    let found = [
        time_base(stream, limits),
        steps(stream, SteppedClock::Sender).map(|(count, at, seconds)| Finding::ClockResets {
            count,
            at,
            seconds,
        }),
        steps(stream, SteppedClock::Stamps).map(|(count, at, seconds)| Finding::ClockStep {
            count,
            at,
            seconds,
        }),
        silence(stream, limits),
        gaps(stream, limits),
        // A clock that was set back has gone backwards once each time.
        (stream.backward_count > set_back as u64)
            .then_some(Finding::Backward { count: stream.backward_count }),
        duplicates(stream),
        drift(stream, limits),
        (stream.clock.offset_count == 0 && seconds > limits.offsets_seconds)
            .then_some(Finding::NoOffsets { seconds }),
        (stream.timing.offset_pause > limits.offsets_seconds).then_some(Finding::OffsetsMissing {
            seconds: stream.timing.offset_pause,
            from: stream.timing.offset_pause_from,
        }),
        rate(stream, limits),
        jitter(stream, limits),
        (stream.timing.block_seconds > limits.burst_seconds)
            .then_some(Finding::Bursts { seconds: stream.timing.block_seconds }),
        twin,
    ];
    found.into_iter().flatten().collect()
}

fn time_base(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let (first, nominal) = (stream.first_stamp?, stream.header.nominal_rate);
    let period = stream.header.interval();
    // Of a regular stream, the newest sample when the clock was measured; of events, what is known.
    let (stamp, clock) = match (stream.timing.age.filter(|_| nominal > 0.0), stream.offsets.first()) {
        (Some(age), _) => (stream.timing.age_at - age, Some(stream.timing.age_at)),
        (None, Some(offset)) => (first, Some(offset.collected)),
        (None, None) => (first, None),
    };
    let are_most_gaps = stream.gap_count * 2 > stream.sample_count;
    let interval = match stream.timing.jitter.quantile(0.5).filter(|_| !are_most_gaps) {
        Some(median) => Some(median + period),
        None => (stream.gap_count > 0).then(|| stream.gap_seconds / stream.gap_count as f64),
    };
    // In a recording samples wait for the disk, and the clock is measured every five seconds.
    let late = limits.late_seconds + WAIT_SECONDS + SILENCE_PERIODS * period + stream.timing.block_seconds;
    let allowed = if nominal > 0.0 { late } else { limits.event_late_seconds };
    let base = match clock {
        Some(clock) => TimeBase::of(stamp, clock, interval, period, allowed)?,
        None if stamp > UNIX_SECONDS => TimeBase::of(stamp, 0.0, interval, period, allowed)?,
        None => return None,
    };
    Some(Finding::TimeBase { base, seconds: clock.map(|clock| stamp - clock) })
}

fn steps(stream: &StreamSurvey, clock: SteppedClock) -> Option<(usize, f64, f64)> {
    let mut steps = stream.timing.steps.iter().filter(|step| step.clock == clock);
    let first = steps.next()?;
    Some((1 + steps.count(), first.at, first.seconds))
}

fn silence(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let (last, measured) = (stream.last_stamp?, stream.offsets.last()?.collected);
    let is_known = stream.header.nominal_rate > 0.0 && stream.timing.steps.is_empty();
    // Stamps of another clock say nothing of when they came.
    let age = (measured - last).min(stream.timing.last_age?).min(measured - stream.timing.age_at);
    if !is_known {
        return None;
    }
    let usual = stream.timing.age.unwrap_or_default().max(0.0) + stream.timing.block_seconds;
    let allowed = (limits.silence_seconds + WAIT_SECONDS).max(SILENCE_PERIODS * stream.header.interval());
    (age - usual > allowed).then_some(Finding::Stopped { seconds: age })
}

/// A jump of the stamps leaves a gap, too, where nothing is missing.
fn gaps(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let ahead: Vec<_> = stream.timing.steps.iter().filter(|step| step.seconds > 0.0).collect();
    let jumped: f64 =
        ahead.iter().filter(|step| step.clock == SteppedClock::Stamps).map(|step| step.seconds).sum();
    let steps = ahead.iter().filter(|step| step.clock == SteppedClock::Stamps).count() as u64;
    let count = stream.gap_count.saturating_sub(steps);
    (count > limits.gaps).then_some(Finding::Gaps { count, seconds: stream.gap_seconds - jumped })
}

/// Unless it is the sender's way to stamp all samples of a block alike.
fn duplicates(stream: &StreamSurvey) -> Option<Finding> {
    let count = stream.timing.duplicate_count;
    let is_by_block = count * BY_BLOCK_ONE_OF > stream.sample_count;
    (stream.header.nominal_rate > 0.0 && count > 0 && !is_by_block).then_some(Finding::Duplicates { count })
}

/// The worst drift of the sender's clock between resets, or that of the stamps against it.
fn drift(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let of_segments = stream.timing.segments.iter().filter_map(|segment: &ClockSegment| segment.drift);
    let sender = of_segments.map(|drift| (drift, SteppedClock::Sender));
    let stamps = stream.timing.stamp_drift.map(|drift| (drift, SteppedClock::Stamps));
    let surely = |drift: &Drift| drift.ppm.abs() - drift.plus_minus;
    sender
        .chain(stamps)
        .filter(|(drift, _)| surely(drift) > limits.drift_ppm)
        .max_by(|one, other| surely(&one.0).total_cmp(&surely(&other.0)))
        .map(|(Drift { ppm, plus_minus }, clock)| Finding::Drift { ppm, plus_minus, clock })
}

/// Rates are told per stretch between two resets of the clock, outside gaps.
fn rate(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let nominal = stream.header.nominal_rate;
    let off = |measured: f64| (measured / nominal - 1.0).abs();
    let long_enough = |segment: &&ClockSegment| segment.seconds >= RATE_SECONDS && segment.rate > 0.0;
    let of_segments = stream.timing.segments.iter().filter(long_enough).map(|segment| segment.rate);
    let measured = of_segments.max_by(|one, other| off(*one).total_cmp(&off(*other)))?;
    // A block more or less, if samples come by the block.
    let uncertainty = stream.timing.block_seconds / stream.duration.as_secs_f64().max(1.0);
    (nominal > 0.0 && off(measured) > limits.rate_percent / 100.0 + uncertainty)
        .then_some(Finding::Rate { measured, nominal })
}

fn jitter(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let (p50, p99) = (stream.timing.jitter.quantile(0.5)?, stream.timing.jitter.quantile(0.99)?);
    let is_by_block = stream.timing.duplicate_count * BY_BLOCK_ONE_OF > stream.sample_count;
    let allowed = limits.jitter_seconds.max(SILENCE_PERIODS * stream.header.interval());
    (stream.header.nominal_rate > 0.0 && !is_by_block && p99 > allowed)
        .then_some(Finding::Jitter { p50, p99 })
}

/// As `is_same_source` has it for live streams.
fn is_same(one: &StreamHeader, other: &StreamHeader) -> bool {
    !one.source_id.is_empty()
        && one.source_id == other.source_id
        && one.name == other.name
        && one.content_type == other.content_type
        && one.channel_count == other.channel_count
        && one.format == other.format
}

impl Finding {
    /// The word for scripts; the same as for live streams where it is the same fault.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoSamples => "no-samples",
            Self::Stopped { .. } => "stopped",
            Self::Gaps { .. } => "gaps",
            Self::Backward { .. } => "backward-stamps",
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
            Self::Backward { count } | Self::Duplicates { count } => mark(count as f64, 0.0, "samples"),
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

/// One sentence, to be put behind a stream's name.
impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSamples => {
                out.write_str("has no samples: look at its device and program before the next recording")
            }
            Self::Stopped { seconds } => write!(
                out,
                "fell silent {} before its sender was last asked: look at its device",
                long_time(seconds)
            ),
            Self::Gaps { count, seconds } => write!(
                out,
                "has {} of {} in all: treat each as a break",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "gap"),
                long_time(seconds)
            ),
            Self::Backward { count } => write!(
                out,
                "has stamps that go back, {} times: sort or reject the samples around them",
                thousands(count)
            ),
            Self::Duplicates { count } => write!(
                out,
                "has {} with the stamp of the one before: look whether their values are there twice",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "sample")
            ),
            Self::ClockResets { count, at, seconds } => write!(
                out,
                "had its clock reset, {}, first at {at:.1} s, by {}: align the samples before and after it apart from \
                 each other",
                often(count as u64),
                jump(seconds)
            ),
            Self::ClockStep { count, at, seconds } => write!(
                out,
                "has stamps that jump, {}, first at {at:.1} s, by {}, while its computer's clock goes on: cut the \
                 recording there",
                often(count as u64),
                jump(seconds)
            ),
            Self::Drift { ppm, plus_minus, clock: SteppedClock::Sender } => write!(
                out,
                "has a clock that runs {ppm:+.1} ± {plus_minus:.1} ppm against the recorder's: align its samples by \
                 their clock offsets"
            ),
            Self::Drift { ppm, plus_minus, clock: SteppedClock::Stamps } => write!(
                out,
                "has stamps that run {ppm:+.0} ± {plus_minus:.0} ppm against its own computer's clock: clock offsets do \
                 not correct that; align it by events"
            ),
            Self::NoOffsets { seconds } => write!(
                out,
                "has no clock offsets in {}: it can be aligned with streams of its own computer only",
                long_time(seconds)
            ),
            Self::OffsetsMissing { seconds, from } => write!(
                out,
                "has no clock offsets for {} from {from:.1} s on: what it was aligned by there is a guess",
                long_time(seconds)
            ),
            Self::TimeBase { base, seconds } => {
                write!(out, "has stamps that are {base}")?;
                match seconds {
                    Some(seconds) if seconds < 0.0 => {
                        write!(out, ", {} behind its own clock", long_time(-seconds))?
                    }
                    Some(seconds) => write!(out, ", {} ahead of its own clock", long_time(seconds))?,
                    None => {}
                }
                out.write_str(
                    ": its program does not stamp with lsl_local_clock(), so clock offsets do not fit; align it by events",
                )
            }
            Self::Rate { measured, nominal } => write!(
                out,
                "says {nominal} Hz, and its stamps say {measured:.1} Hz: samples were lost, or its program says a wrong rate"
            ),
            Self::Jitter { p50, p99 } => write!(
                out,
                "has stamps that are spread: half are off by more than {:.1} ms, one in a hundred by more than {:.1} ms: \
                 let your reader remove the jitter",
                p50 * 1e3,
                p99 * 1e3
            ),
            Self::Bursts { seconds } => write!(
                out,
                "has blocks of {seconds:.1} s with one stamp each: within a block, times follow from the rate alone"
            ),
            Self::Twin => out.write_str(
                "has the name, type and source id of another stream: which device it was cannot be told",
            ),
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
const WAIT_SECONDS: f64 = 5.0;
/// As seconds since 1970, in 2001; as a clock that began with its computer, after 31 years.
const UNIX_SECONDS: f64 = 1e9;
/// A sender of which one sample in so many has the stamp of the one before stamps by the block.
const BY_BLOCK_ONE_OF: u64 = 5;

#[cfg(test)]
mod tests;
