//! Every rule by which a recorded stream was judged: what was measured, what was allowed, and whether it passed.
//!
//! [`troubles`] alone decides what passes. This adds the numbers, also of rules that passed, and says which rules had
//! nothing to judge by: a certificate must not say well of what was not looked at.

use serde_json::{Value, json};

use crate::verdict::{ClockSeen, Evidence, Mark, Reach, Trouble, UNANSWERED_SECONDS, troubles};
use crate::words::plural;

/// A rule, and how a stream stood to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its word for scripts: that of the [`Trouble`] that it finds.
    pub code: &'static str,
    /// What was measured, and how far from zero that may be; none where it is no number.
    pub mark: Option<Mark>,
    /// Whether it passed; none if there was nothing to judge by.
    pub passed: Option<bool>,
    /// What was wrong, in a sentence; none if nothing was.
    pub says: Option<String>,
}

impl Rule {
    /// All rules for what is known of a stream at `now`, in seconds on the local clock.
    ///
    /// A stream that is not connected is judged by what it brought until then.
    pub fn all(evidence: &Evidence, now: f64) -> Vec<Self> {
        let by_reach = troubles(evidence, now);
        let reached = Evidence { reach: Reach::Connected, ..*evidence };
        let of_samples = troubles(&reached, now);
        let is_there = evidence.reach == Reach::Connected;
        let connection = CONNECTION.iter().map(|code| Self::found(code, &by_reach, Some(true)));
        let present = PRESENT.iter().map(|code| match is_there {
            true => Self::judged(code, evidence, now, &of_samples),
            false => Self::found(code, &[], None),
        });
        let stamps = STAMPS.iter().map(|code| Self::judged(code, evidence, now, &of_samples));
        connection.chain(present).chain(stamps).collect()
    }

    /// The one rule for a recording of which only the stamps are known.
    pub fn gaps(count: u64, missing: u64) -> Self {
        let found = (count > 0).then_some(Trouble::Gaps { count, missing });
        let mark = Some(Mark { number: count as f64, limit: 0.0, unit: "gaps" });
        Self { mark, ..Self::found("gaps", found.as_slice(), Some(true)) }
    }

    /// The rule on what did not come from a hub.
    pub fn blocks(missing: u64) -> Self {
        let mark = Some(Mark { number: missing as f64, limit: 0.0, unit: "blocks" });
        let says =
            (missing > 0).then(|| format!("{} did not come from the hub", plural(missing as usize, "block")));
        Self { code: "missing-blocks", mark, passed: Some(missing == 0), says }
    }

    /// The rule on the end of a stream that came from a hub; `complaint` says what is not known of it.
    pub fn end(complaint: Option<&str>) -> Self {
        Self {
            code: "end",
            mark: None,
            passed: Some(complaint.is_none()),
            says: complaint.map(str::to_owned),
        }
    }

    /// A rule without a number; `otherwise` is what holds if it found nothing.
    fn found(code: &'static str, all: &[Trouble], otherwise: Option<bool>) -> Self {
        let trouble = all.iter().find(|trouble| trouble.code() == code);
        let says = trouble.map(|trouble| trouble.sentence());
        Self { code, mark: None, passed: if says.is_some() { Some(false) } else { otherwise }, says }
    }

    fn judged(code: &'static str, evidence: &Evidence, now: f64, all: &[Trouble]) -> Self {
        let is_regular = evidence.nominal_rate > 0.0;
        let has_stamps = evidence.newest.is_some();
        // What is of another clock is neither early nor late by ours.
        let is_foreign = all.iter().any(|one| matches!(one, Trouble::TimeBase { .. }));
        let mark = match code {
            "no-samples" | "stopped" => silence(code, evidence, now).filter(|_| is_regular),
            "stamps-ahead" | "stamps-behind" if is_foreign => None,
            "time-base" | "stamps-ahead" | "stamps-behind" => stamps(code, evidence),
            "rate" | "drift" | "jitter" | "no-clock-offsets" => clock(code, evidence),
            "backward-stamps" => counted(code, evidence).filter(|_| has_stamps),
            "invalid-stamps" => {
                counted(code, evidence).filter(|mark| mark.number > 0.0 || evidence.arrivals.last().is_some())
            }
            _ => counted(code, evidence).filter(|_| has_stamps && is_regular),
        };
        let is_judged = match code {
            "twin" => true,
            // Until a sample comes, it is only not yet wrong that none has come.
            "no-samples" => is_regular && evidence.arrivals.last().is_some(),
            _ => mark.is_some(),
        };
        Self { mark, ..Self::found(code, all, is_judged.then_some(true)) }
    }

    /// It as a certificate states it.
    pub(super) fn json(&self) -> Value {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        json!({
            "code": self.code,
            "number": self.mark.and_then(|mark| finite(mark.number)),
            "limit": self.mark.and_then(|mark| finite(mark.limit)),
            "unit": self.mark.map(|mark| mark.unit),
            "passed": self.passed,
            "says": self.says,
        })
    }
}

// Limits are those that `troubles` applies, with the slack that it gives: a number beyond its limit has not passed.

fn silence(code: &str, evidence: &Evidence, now: f64) -> Option<Mark> {
    let is_asked = evidence.arrivals.last().is_some() == (code == "stopped");
    let (number, limit) = (evidence.silent_seconds(now), evidence.silence_allowed());
    is_asked.then_some(Mark { number, limit, unit: "s" })
}

/// How far stamps are ahead of their sender's clock, or behind.
fn stamps(code: &str, evidence: &Evidence) -> Option<Mark> {
    let (lag, [ahead, behind]) = (evidence.lag?, evidence.lag_allowed());
    let (number, limit) = match code {
        "stamps-ahead" => ((-lag).max(0.0), ahead),
        "stamps-behind" => (lag.max(0.0), behind),
        _ if lag < 0.0 => (-lag, ahead),
        _ => (-lag, behind),
    };
    Some(Mark { number, limit, unit: "s" })
}

fn clock(code: &str, evidence: &Evidence) -> Option<Mark> {
    let Evidence { limits, nominal_rate, .. } = *evidence;
    let (number, limit, unit) = match code {
        "rate" => {
            let rate = evidence.judged_rate()?;
            let limit = limits.rate_percent + rate.uncertainty * 100.0;
            ((rate.hz / nominal_rate - 1.0) * 100.0, limit, "%")
        }
        "drift" => {
            let drift = evidence.drift?;
            (drift.ppm, limits.drift_ppm + drift.plus_minus, "ppm")
        }
        "jitter" => {
            let [_, p99] = evidence.jitter.filter(|_| nominal_rate > 0.0)?;
            (p99, evidence.jitter_allowed(), "s")
        }
        _ => match evidence.clock {
            ClockSeen::Never(seconds) if seconds > UNANSWERED_SECONDS => (seconds, UNANSWERED_SECONDS, "s"),
            ClockSeen::Ago(seconds) => (seconds, limits.offsets_seconds, "s"),
            // It may still answer.
            ClockSeen::Never(_) | ClockSeen::NotAsked => return None,
        },
    };
    Some(Mark { number, limit, unit })
}

fn counted(code: &str, evidence: &Evidence) -> Option<Mark> {
    let Evidence { limits, arrivals, .. } = *evidence;
    let (number, limit, unit) = match code {
        "clock-step" => (evidence.steps.map_or(0.0, |steps| steps.seconds), 0.0, "s"),
        "backward-stamps" => (evidence.backward.map_or(0.0, |(count, _)| count as f64), 0.0, "samples"),
        "invalid-stamps" => (evidence.invalid_stamps as f64, 0.0, "samples"),
        "duplicate-stamps" => (evidence.duplicates as f64, 0.0, "samples"),
        "bursts" => {
            arrivals.last()?;
            (arrivals.usual_pause(), evidence.pause_allowed(), "s")
        }
        "gaps" => (evidence.gap_count as f64, limits.gaps as f64, "gaps"),
        _ => return None,
    };
    Some(Mark { number, limit, unit })
}

/// Rules on the connection.
const CONNECTION: [&str; 4] = ["refused", "not-connected", "connection-lost", "gone"];
/// Rules by which only a stream that is connected can be judged.
const PRESENT: [&str; 4] = ["no-samples", "stopped", "twin", "no-clock-offsets"];
/// Rules on the stamps.
const STAMPS: [&str; 12] = [
    "invalid-stamps",
    "time-base",
    "stamps-ahead",
    "stamps-behind",
    "clock-step",
    "rate",
    "drift",
    "jitter",
    "backward-stamps",
    "duplicate-stamps",
    "bursts",
    "gaps",
];

#[cfg(test)]
mod tests;
