//! Whether a live stream is well: the one place that decides, for every command that shows streams.
//!
//! [`judge`] sees measurements alone. It accuses a stream only of what it has seen, and calls a stream well only
//! after it has looked for long enough. [`findings`] does the same for what a recording holds.

mod recorded;

use core::fmt;

pub use recorded::{Finding, findings};
use schwann::StreamInfo;

use super::arrivals::Arrivals;
use super::course::MeasuredRate;
use super::words::{plural, thousands};

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
    /// Fewer or more samples come than the sender says.
    Rate {
        /// Samples per second by their stamps.
        measured: f64,
        /// What the sender says.
        nominal: f64,
    },
    /// Samples are missing.
    Gaps {
        /// Places.
        count: u64,
        /// Samples, about.
        missing: u64,
    },
    /// Another stream claims to be the same one.
    Twin,
}

/// Judges a stream at `now`, in seconds on the local clock.
pub fn judge(evidence: &Evidence, now: f64) -> Verdict {
    let by_reach = match evidence.reach {
        Reach::Refused => Some(Trouble::Refused),
        Reach::Connecting => Some(Trouble::NotConnected),
        Reach::Away => Some(Trouble::Away),
        Reach::Gone => Some(Trouble::Gone),
        Reach::Connected => None,
    };
    let trouble = by_reach
        .or_else(|| silence(evidence, now))
        .or_else(|| stamps(evidence))
        .or_else(|| rate(evidence))
        .or_else(|| evidence.has_twin.then_some(Trouble::Twin))
        .or_else(|| {
            let Evidence { gap_count, missing, .. } = *evidence;
            (gap_count > 0).then_some(Trouble::Gaps { count: gap_count, missing })
        });
    match trouble {
        Some(trouble) => Verdict::Trouble(trouble),
        None => unaccused(evidence),
    }
}

/// What can be said of a stream that nothing speaks against.
fn unaccused(evidence: &Evidence) -> Verdict {
    let nominal = evidence.nominal_rate;
    let is_measured = evidence.rate.is_some_and(|rate| rate.seconds >= RATE_SECONDS);
    match nominal > 0.0 && !is_measured {
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
    let usual = evidence.arrivals.usual_pause().min(LONGEST_PAUSE);
    let allowed = SILENCE_SECONDS.max(SILENCE_PERIODS / evidence.nominal_rate).max(2.0 * usual);
    // A connection that came back begins anew.
    let last = evidence.arrivals.last();
    let seconds = now - last.unwrap_or(evidence.since).max(evidence.since);
    let trouble = match last {
        None => Trouble::NoSamples { seconds },
        Some(_) => Trouble::Stopped { seconds },
    };
    (seconds > allowed).then_some(trouble)
}

fn stamps(evidence: &Evidence) -> Option<Trouble> {
    let lag = evidence.lag?;
    let nominal = evidence.nominal_rate;
    let (ahead, behind) = if nominal > 0.0 {
        let slack = SILENCE_PERIODS / nominal + evidence.arrivals.usual_pause().min(LONGEST_PAUSE);
        (AHEAD_SECONDS + slack, BEHIND_SECONDS + slack)
    } else {
        (EVENT_AHEAD_SECONDS, EVENT_BEHIND_SECONDS)
    };
    match lag {
        _ if lag < -ahead => Some(Trouble::Ahead { seconds: -lag }),
        _ if lag > behind => Some(Trouble::Behind { seconds: lag }),
        _ => None,
    }
}

fn rate(evidence: &Evidence) -> Option<Trouble> {
    let (rate, nominal) = (evidence.rate?, evidence.nominal_rate);
    if nominal <= 0.0 || rate.seconds < RATE_SECONDS {
        return None;
    }
    let off = (rate.hz / nominal - 1.0).abs();
    (off > RATE_TOLERANCE + rate.uncertainty).then_some(Trouble::Rate { measured: rate.hz, nominal })
}

/// Whether a receiver would take one of two streams for the other after a restart.
///
/// Source: liblsl `inlet_connection.cpp`, the query of a recovery. Streams of one device that share a source id and
/// have names or types of their own are told apart by it.
pub(crate) fn is_same_source(one: &StreamInfo, other: &StreamInfo) -> bool {
    !one.source_id().is_empty()
        && one.source_id() == other.source_id()
        && one.name() == other.name()
        && one.stream_type() == other.stream_type()
        && one.channel_count() == other.channel_count()
        && one.channel_format() == other.channel_format()
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

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Refused => out.write_str("REFUSED"),
            Self::NotConnected => out.write_str("no connection yet"),
            Self::Away => out.write_str("CONNECTION LOST"),
            Self::Gone => out.write_str("GONE"),
            Self::NoSamples { .. } => out.write_str("NO SAMPLES"),
            Self::Stopped { .. } => out.write_str("STOPPED"),
            Self::Ahead { .. } => out.write_str("STAMPS AHEAD"),
            Self::Behind { .. } => out.write_str("STAMPS BEHIND"),
            Self::Rate { measured, nominal } => {
                write!(out, "RATE {:+.1} %", (measured / nominal - 1.0) * 100.0)
            }
            Self::Gaps { .. } => out.write_str("GAPS"),
            Self::Twin => out.write_str("TWINS"),
        }
    }
}

impl Trouble {
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
            Self::Rate { measured, nominal } => format!(
                "says {nominal} Hz, and {measured:.1} samples a second arrive: samples are lost before they are sent, \
                 or its program says a wrong rate"
            ),
            Self::Gaps { count, missing } => format!(
                "has {} with about {} missing samples: they were lost before they were sent",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "gap"),
                thousands(missing)
            ),
            Self::Twin => String::from(
                "has the name, type and source id of another stream, so that a receiver may take one for the other: \
                 end one of them, or give each a source id of its own",
            ),
        })
    }
}

fn long_time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{} days", thousands((s / 86_400.0) as u64)),
    }
}

/// What the rate may differ from the nominal one. Programs that sleep between two samples run some percent slow, and
/// recordings cope with it; what is lost on the way is more, or is a gap.
const RATE_TOLERANCE: f64 = 0.05;
/// Over less than this, in seconds, the jitter of a busy computer weighs more than [`RATE_TOLERANCE`].
const RATE_SECONDS: f64 = 0.7;
/// A stream is silent after so many seconds and so many periods, whichever is longer. Radio amplifiers send up to
/// half a second at a time, and a busy computer may be late by as much again.
const SILENCE_SECONDS: f64 = 1.5;
const SILENCE_PERIODS: f64 = 3.0;
/// A stream that comes in larger blocks is silent after two of its usual pauses, of at most so many seconds.
const LONGEST_PAUSE: f64 = 60.0;
/// Streams with a longer period than this, in seconds, are not waited for.
const PATIENCE_SECONDS: f64 = 1.0;
/// How far ahead a regular stream may stamp, in seconds: a program that stamps a block by its first sample is ahead by
/// the length of the block.
const AHEAD_SECONDS: f64 = 1.0;
/// How old samples of a regular stream may be, in seconds: filters and radio delay them by less.
const BEHIND_SECONDS: f64 = 10.0;
/// Events may be announced ahead, in seconds.
const EVENT_AHEAD_SECONDS: f64 = 60.0;
/// Events may be found long after they happened, in seconds: sleep stages, for instance.
const EVENT_BEHIND_SECONDS: f64 = 3600.0;

#[cfg(test)]
mod tests;
