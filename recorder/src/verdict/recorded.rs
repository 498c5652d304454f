//! What speaks against the content of a recording, beyond damage: gaps, stamps, clocks, rates.

use schwann_xdf::{ClockSegment, ClockStep, Drift, SteppedClock, StreamHeader, StreamSurvey, Survey};

use super::base::TimeBase;
use super::finding::{Finding, WAIT_SECONDS};
use super::limits::Limits;
use super::{RATE_SECONDS, SILENCE_PERIODS};
use crate::timing::BY_BLOCK_ONE_OF;

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

/// The rules that had nothing to judge by, as the words of their findings: the stream has too few samples, or its clock was not
/// measured. That they found nothing says nothing.
pub fn unjudged(stream: &StreamSurvey) -> Vec<&'static str> {
    let timing = &stream.timing;
    let is_regular = stream.header.nominal_rate > 0.0;
    let was_measured = stream.clock.offset_count > 0;
    let has_drift =
        timing.stamp_drift.is_some() || timing.segments.iter().any(|segment| segment.drift.is_some());
    [
        ("gaps", is_regular && stream.sample_count < 2),
        ("rate", is_regular && !timing.segments.iter().any(has_rate)),
        ("jitter", is_regular && timing.jitter.quantile(0.5).is_none()),
        ("stopped", is_regular && !was_measured),
        ("time-base", !was_measured),
        ("drift", !has_drift),
        ("no-clock-offsets", !was_measured),
    ]
    .into_iter()
    .filter_map(|(word, is_unjudged)| is_unjudged.then_some(word))
    .collect()
}

fn of_stream(stream: &StreamSurvey, has_twin: bool, limits: &Limits) -> Vec<Finding> {
    let twin = has_twin.then_some(Finding::Twin);
    if stream.sample_count == 0 {
        // Markers may just not have been sent.
        let no_samples = (stream.header.nominal_rate > 0.0).then_some(Finding::NoSamples);
        return no_samples.into_iter().chain(twin).collect();
    }
    let found = [
        time_base(stream, limits),
        clock_resets(stream),
        clock_step(stream),
        silence(stream, limits),
        gaps(stream, limits),
        invalid_stamps(stream),
        backward(stream),
        duplicates(stream),
        drift(stream, limits),
        no_offsets(stream, limits),
        offsets_missing(stream, limits),
        rate(stream, limits),
        jitter(stream, limits),
        bursts(stream, limits),
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

fn clock_resets(stream: &StreamSurvey) -> Option<Finding> {
    let (count, at, seconds) = steps(stream, SteppedClock::Sender)?;
    Some(Finding::ClockResets { count, at, seconds })
}

fn clock_step(stream: &StreamSurvey) -> Option<Finding> {
    let (count, at, seconds) = steps(stream, SteppedClock::Stamps)?;
    Some(Finding::ClockStep { count, at, seconds })
}

fn invalid_stamps(stream: &StreamSurvey) -> Option<Finding> {
    let count = stream.invalid_stamp_count;
    (count > 0).then_some(Finding::InvalidStamps { count })
}

fn backward(stream: &StreamSurvey) -> Option<Finding> {
    let is_set_back = |step: &&ClockStep| step.seconds < 0.0;
    let set_back = stream.timing.steps.iter().filter(is_set_back).count().max(stream.clock.reset_count);
    // A clock that was set back has gone backwards once each time.
    (stream.backward_count > set_back as u64).then_some(Finding::Backward { count: stream.backward_count })
}

fn no_offsets(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let seconds = stream.duration.as_secs_f64();
    let has_none = stream.clock.offset_count == 0 && seconds > limits.offsets_seconds;
    has_none.then_some(Finding::NoOffsets { seconds })
}

fn offsets_missing(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let (seconds, from) = (stream.timing.offset_pause, stream.timing.offset_pause_from);
    (seconds > limits.offsets_seconds).then_some(Finding::OffsetsMissing { seconds, from })
}

fn bursts(stream: &StreamSurvey, limits: &Limits) -> Option<Finding> {
    let seconds = stream.timing.block_seconds;
    (seconds > limits.burst_seconds).then_some(Finding::Bursts { seconds })
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
    let of_segments =
        stream.timing.segments.iter().filter(|segment| has_rate(segment)).map(|segment| segment.rate);
    let measured = of_segments.max_by(|one, other| off(*one).total_cmp(&off(*other)))?;
    // A block more or less, if samples come by the block.
    let uncertainty = stream.timing.block_seconds / stream.duration.as_secs_f64().max(1.0);
    (nominal > 0.0 && off(measured) > limits.rate_percent / 100.0 + uncertainty)
        .then_some(Finding::Rate { measured, nominal })
}

/// Whether a stretch is long enough for a rate.
fn has_rate(segment: &ClockSegment) -> bool {
    segment.seconds >= RATE_SECONDS && segment.rate > 0.0
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

/// As seconds since 1970, in 2001; as a clock that began with its computer, after 31 years.
const UNIX_SECONDS: f64 = 1e9;

#[cfg(test)]
mod tests;
