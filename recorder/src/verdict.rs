//! Whether a live stream is well: the one place that decides, for every command that shows streams.
//!
//! [`judge`] sees measurements alone. It accuses a stream only of what it has seen. It calls a stream well only
//! after it has looked long enough. [`findings`] does the same for what a recording holds.

mod base;
mod finding;
mod limits;
mod recorded;
mod trouble;

use core::fmt;

pub use base::TimeBase;
pub use finding::Finding;
pub use limits::{Limits, ProfileError};
pub use recorded::{findings, findings_by, unjudged};
use schwann::StreamInfo;
use schwann_xdf::{Drift, is_time};
pub use trouble::{Mark, Trouble};

use super::arrivals::Arrivals;
use super::course::MeasuredRate;
use super::timing::Steps;

/// What is known of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// What the sender says, in Hz; 0 if irregular.
    pub nominal_rate: f64,
    /// Whether its sender can be reached.
    pub reach: Reach,
    /// Since when that is so, in seconds on the local clock.
    pub since: f64,
    /// How fast samples come, by their stamps.
    pub rate: Option<MeasuredRate>,
    /// When samples came.
    pub arrivals: Arrivals,
    /// Age of the newest sample when it arrived, in seconds; none while the sender's clock is not known.
    pub lag: Option<f64>,
    /// Places where samples are missing.
    pub gap_count: u64,
    /// Samples that are missing there.
    pub missing: u64,
    /// Whether another stream that is there claims to be the same one; see [`twins`].
    pub has_twin: bool,
    /// The newest stamp, in seconds on the sender's clock.
    pub newest: Option<f64>,
    /// How far intervals are from the nominal one: the median, and what 99 of 100 stay below, in seconds.
    pub jitter: Option<[f64; 2]>,
    /// Samples with the stamp of the one before.
    pub duplicates: u64,
    /// Stamps that go back by more than blocks overlap, and how far the worst does, in seconds.
    pub backward: Option<(u64, f64)>,
    /// Samples whose stamp is no time, such as NaN.
    pub invalid_stamps: u64,
    /// How often the clock jumped that stamps the stream.
    pub steps: Option<Steps>,
    /// How much faster the stamps run than the local clock.
    pub drift: Option<Drift>,
    /// When the sender's clock was last measured.
    pub clock: ClockSeen,
    /// What is allowed.
    pub limits: Limits,
}

/// When a sender's clock was last measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockSeen {
    /// That is not asked here.
    NotAsked,
    /// It has not answered, and was asked so many seconds ago.
    Never(f64),
    /// So many seconds ago.
    Ago(f64),
}

impl ClockSeen {
    /// What is known at `now` of a clock that has been asked since `since`, and was last measured at `measured`.
    ///
    /// - Units: seconds on the local clock.
    pub fn at(now: f64, since: f64, measured: Option<f64>) -> Self {
        // An old answer tells nothing of a connection that came back just now.
        measured.map_or(Self::Never(now - since), |measured| Self::Ago(now - measured.max(since)))
    }
}

/// Whether a stream's sender can be reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// Not yet.
    Connecting,
    /// There is a connection.
    Connected,
    /// There was one.
    Away,
    /// The stream is gone for good.
    Gone,
    /// It is there and refuses us.
    Refused,
}

/// How a stream is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// All that can be seen is as it should be.
    Well,
    /// It is so slow that no sample is due yet.
    Waiting,
    /// Too little has been seen to call it well.
    Early,
    /// Something is wrong.
    Trouble(Trouble),
}

/// Judges a stream at `now`, in seconds on the local clock: the worst of its [`troubles`].
pub fn judge(evidence: &Evidence, now: f64) -> Verdict {
    match troubles(evidence, now).first() {
        Some(trouble) => Verdict::Trouble(*trouble),
        None => unaccused(evidence),
    }
}

/// All that is wrong with a stream at `now`, in seconds on the local clock, the worst first.
pub fn troubles(evidence: &Evidence, now: f64) -> Vec<Trouble> {
    let by_reach = match evidence.reach {
        Reach::Refused => Some(Trouble::Refused),
        Reach::Connecting => Some(Trouble::NotConnected),
        Reach::Away => Some(Trouble::Away),
        Reach::Gone => Some(Trouble::Gone),
        Reach::Connected => None,
    };
    if let Some(trouble) = by_reach {
        return vec![trouble];
    }
    let Evidence { gap_count, missing, limits, invalid_stamps, .. } = *evidence;
    let found = [
        silence(evidence, now),
        (invalid_stamps > 0).then_some(Trouble::InvalidStamps { count: invalid_stamps }),
        stamps(evidence),
        evidence.steps.map(|Steps { count, seconds, after }| Trouble::ClockStep { count, seconds, after }),
        rate(evidence),
        drift(evidence),
        evidence.has_twin.then_some(Trouble::Twin),
        clock(evidence),
        jitter(evidence),
        evidence.backward.map(|(count, seconds)| Trouble::Backward { count, seconds }),
        (evidence.nominal_rate > 0.0 && evidence.duplicates > 0)
            .then_some(Trouble::Duplicates { count: evidence.duplicates }),
        bursts(evidence),
        (gap_count > limits.gaps).then_some(Trouble::Gaps { count: gap_count, missing }),
    ];
    found.into_iter().flatten().collect()
}

/// What can be said of a stream that nothing speaks against.
fn unaccused(evidence: &Evidence) -> Verdict {
    let nominal = evidence.nominal_rate;
    let is_measured = evidence.rate.is_some_and(|rate| rate.seconds >= RATE_SECONDS);
    match nominal > 0.0 && !is_measured {
        _ if matches!(evidence.clock, ClockSeen::Never(_)) => Verdict::Early,
        false => Verdict::Well,
        // Such a stream would have to be looked at for longer than a person waits.
        true if nominal * PATIENCE_SECONDS < 1.0 => Verdict::Waiting,
        true => Verdict::Early,
    }
}

fn silence(evidence: &Evidence, now: f64) -> Option<Trouble> {
    if evidence.nominal_rate <= 0.0 {
        return None;
    }
    let (last, seconds) = (evidence.arrivals.last(), evidence.silent_seconds(now));
    let trouble = match last {
        None => Trouble::NoSamples { seconds },
        Some(_) => Trouble::Stopped { seconds },
    };
    (seconds > evidence.silence_allowed()).then_some(trouble)
}

fn stamps(evidence: &Evidence) -> Option<Trouble> {
    let interval = evidence.jitter.map(|[median, _]| median + period(evidence.nominal_rate));
    misstamped(evidence.newest, evidence.lag?, evidence.nominal_rate, interval, evidence.lag_allowed())
}

/// Judges the stamps of a stream of which only the newest sample is known, received from another network.
///
/// - Units: `newest`, in seconds on the sender's clock; `lag`, its age on arrival, in seconds, wrong by at most `bound`;
///   `nominal_rate` in Hz, 0 if irregular.
pub fn judge_stamps(
    newest: f64,
    lag: f64,
    bound: f64,
    nominal_rate: f64,
    limits: &Limits,
) -> Option<Trouble> {
    let allowed = limits.lag(nominal_rate).map(|allowed| allowed + bound);
    misstamped(Some(newest), lag, nominal_rate, None, allowed)
}

/// What is wrong with stamps that are `lag` old; `[ahead, behind]` is allowed.
fn misstamped(
    newest: Option<f64>,
    lag: f64,
    nominal_rate: f64,
    interval: Option<f64>,
    [ahead, behind]: [f64; 2],
) -> Option<Trouble> {
    if newest.is_some_and(|newest| !is_time(newest)) {
        return Some(Trouble::InvalidStamps { count: 1 });
    }
    let allowed = if lag < 0.0 { ahead } else { behind };
    let base =
        newest.and_then(|newest| TimeBase::of(newest, newest + lag, interval, period(nominal_rate), allowed));
    match (base, lag) {
        (Some(base), _) => Some(Trouble::TimeBase { base, seconds: -lag }),
        _ if lag < -ahead => Some(Trouble::Ahead { seconds: -lag }),
        _ if lag > behind => Some(Trouble::Behind { seconds: lag }),
        _ => None,
    }
}

/// Seconds between two samples; 0 if irregular.
fn period(nominal_rate: f64) -> f64 {
    if nominal_rate > 0.0 { 1.0 / nominal_rate } else { 0.0 }
}

fn rate(evidence: &Evidence) -> Option<Trouble> {
    let (rate, nominal) = (evidence.judged_rate()?, evidence.nominal_rate);
    let off = (rate.hz / nominal - 1.0).abs();
    let allowed = evidence.limits.rate_percent / 100.0 + rate.uncertainty;
    (off > allowed).then_some(Trouble::Rate { measured: rate.hz, nominal })
}

fn drift(evidence: &Evidence) -> Option<Trouble> {
    let Drift { ppm, plus_minus } = evidence.drift?;
    (ppm.abs() - plus_minus > evidence.limits.drift_ppm).then_some(Trouble::Drift { ppm, plus_minus })
}

fn clock(evidence: &Evidence) -> Option<Trouble> {
    match evidence.clock {
        ClockSeen::Never(seconds) if seconds > UNANSWERED_SECONDS => Some(Trouble::ClockSilent { seconds }),
        ClockSeen::Ago(seconds) if seconds > evidence.limits.offsets_seconds => {
            Some(Trouble::NoOffsets { seconds })
        }
        _ => None,
    }
}

fn jitter(evidence: &Evidence) -> Option<Trouble> {
    let [p50, p99] = evidence.jitter.filter(|_| evidence.nominal_rate > 0.0)?;
    (p99 > evidence.jitter_allowed()).then_some(Trouble::Jitter { p50, p99 })
}

fn bursts(evidence: &Evidence) -> Option<Trouble> {
    let pause = evidence.arrivals.usual_pause();
    let is_too_long = evidence.nominal_rate > 0.0 && pause > evidence.pause_allowed();
    is_too_long.then_some(Trouble::Bursts { seconds: pause })
}

/// What is allowed, with the slack that a slow stream, or one that comes in blocks, is given; in seconds.
impl Evidence {
    /// How long no sample has come at `now`. A connection that came back begins anew.
    pub(crate) fn silent_seconds(&self, now: f64) -> f64 {
        now - self.arrivals.last().unwrap_or(self.since).max(self.since)
    }

    /// How long none may come, of a stream with a rate.
    pub(crate) fn silence_allowed(&self) -> f64 {
        let usual = self.arrivals.usual_pause().min(LONGEST_PAUSE);
        self.limits.silence_seconds.max(SILENCE_PERIODS / self.nominal_rate).max(2.0 * usual)
    }

    /// How far samples may be ahead, and behind.
    pub(crate) fn lag_allowed(&self) -> [f64; 2] {
        let pause =
            if self.nominal_rate > 0.0 { self.arrivals.usual_pause().min(LONGEST_PAUSE) } else { 0.0 };
        self.limits.lag(self.nominal_rate).map(|allowed| allowed + pause)
    }

    /// How far intervals may be from the nominal one, of a stream with a rate.
    pub(crate) fn jitter_allowed(&self) -> f64 {
        self.limits.jitter_seconds.max(SILENCE_PERIODS / self.nominal_rate)
    }

    /// How long pauses may be, of a stream with a rate.
    pub(crate) fn pause_allowed(&self) -> f64 {
        self.limits.burst_seconds.max(SILENCE_PERIODS / self.nominal_rate)
    }

    /// The rate, if the stream should have one and was measured for long enough.
    pub(crate) fn judged_rate(&self) -> Option<MeasuredRate> {
        self.rate.filter(|rate| self.nominal_rate > 0.0 && rate.seconds >= RATE_SECONDS)
    }
}

/// Whether a receiver would take one of two streams for the other after a restart.
///
/// Source: liblsl `inlet_connection.cpp`, the query of a recovery. Streams of one device that share a source id and
/// have names or types of their own are told apart by it.
pub(crate) fn is_same_source(one: &StreamInfo, other: &StreamInfo) -> bool {
    have_same_names(one, other) && have_same_samples(one, other)
}

/// Whether two streams claim to be of one sender and one name, and have other samples.
pub fn has_changed(one: &StreamInfo, other: &StreamInfo) -> bool {
    have_same_names(one, other) && !have_same_samples(one, other)
}

fn have_same_names(one: &StreamInfo, other: &StreamInfo) -> bool {
    !one.source_id().is_empty()
        && one.source_id() == other.source_id()
        && one.name() == other.name()
        && one.stream_type() == other.stream_type()
}

fn have_same_samples(one: &StreamInfo, other: &StreamInfo) -> bool {
    one.channel_count() == other.channel_count() && one.channel_format() == other.channel_format()
}

/// For each of these streams, all of them there now, whether another one is its twin.
pub fn twins<'a>(streams: impl Iterator<Item = &'a StreamInfo> + Clone) -> Vec<bool> {
    // Two receivers of one stream are not two streams.
    let is_twin =
        |one: &StreamInfo, other: &StreamInfo| one.uid() != other.uid() && is_same_source(one, other);
    let others = streams.clone();
    streams.map(|one| others.clone().any(|other| is_twin(one, other))).collect()
}

impl Verdict {
    /// What is wrong, if anything is.
    pub fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Trouble(trouble) => Some(trouble),
            Self::Well | Self::Waiting | Self::Early => None,
        }
    }

    /// Whether nothing is wrong, and nothing more could have been seen.
    pub fn is_calm(self) -> bool {
        matches!(self, Self::Well | Self::Waiting)
    }

    /// The word for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Waiting => "waiting",
            Self::Early => "early",
            Self::Trouble(_) => "trouble",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => out.write_str("well"),
            Self::Waiting => out.write_str("no sample due yet"),
            Self::Early => out.write_str("too early to tell"),
            Self::Trouble(trouble) => trouble.fmt(out),
        }
    }
}

/// Over less than this, in seconds, the jitter of a busy computer weighs more than what a rate may differ.
const RATE_SECONDS: f64 = 0.7;
/// A stream is silent after so many periods, or after the seconds of its limits, whichever is longer.
const SILENCE_PERIODS: f64 = 3.0;
/// A stream that comes in larger blocks is silent after two of its usual pauses, of at most so many seconds.
const LONGEST_PAUSE: f64 = 60.0;
/// A clock that answers is known by then: two rounds of questions take 3.3 s with the usual configuration.
pub(crate) const UNANSWERED_SECONDS: f64 = 3.5;
/// Streams with a longer period than this, in seconds, are not waited for.
const PATIENCE_SECONDS: f64 = 1.0;

#[cfg(test)]
mod live;
#[cfg(test)]
mod tests;
