//! Says when what a program gets from a stream is not of the present.
//!
//! The thread of the inlet's connection judges. So the alarm also reaches a program that does not pull at all.
//! [`Judge`] has no clock and no lock; what it is told comes from the queue.

use core::fmt;
use std::sync::{Mutex, PoisonError};

use schwann_proto::wire::feed::{Pace, Report};

use super::events::StreamEvent;

/// What is the matter with a stream, or that it is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alarm {
    /// What happened.
    pub kind: AlarmKind,
    /// How old the oldest sample is that waits to be pulled. When the stream is silent, how long ago something
    /// arrived. In seconds; 0 if nothing waits, or while the sender's clock offset is not known.
    pub lag: f64,
    /// Samples that the program will not get, since the inlet was made:
    /// [`dropped_samples`](super::Inlet::dropped_samples).
    pub skipped: u64,
}

/// The three things that an [`Alarm`] may say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AlarmKind {
    /// Waiting samples are older than permitted, or some were skipped: the program is too slow, or the network is.
    Behind,
    /// The program gets samples of the present again.
    CaughtUp,
    /// Nothing arrives although the stream has a rate, or the connection broke.
    Silent,
}

impl From<AlarmKind> for StreamEvent {
    fn from(kind: AlarmKind) -> Self {
        match kind {
            AlarmKind::Behind => Self::Behind,
            AlarmKind::CaughtUp => Self::CaughtUp,
            AlarmKind::Silent => Self::Silent,
        }
    }
}

/// What a program wants to be called with.
type Tell = Box<dyn Fn(Alarm) + Send + Sync>;

/// What a judgement rests on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Findings {
    /// Age of the oldest sample that waits, in seconds.
    pub(crate) age: Option<f64>,
    /// Seconds without a byte; nothing for a stream that may be silent.
    pub(crate) silence: Option<f64>,
    /// The connection broke.
    pub(crate) is_away: bool,
    pub(crate) skipped: u64,
}

/// Remembers what was told last.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The greatest lag that is no alarm, in seconds; infinite if only skipped samples are one.
    limit: f64,
    state: Option<AlarmKind>,
    skipped: u64,
}

impl Judge {
    fn new(limit: f64) -> Self {
        Self { limit, state: None, skipped: 0 }
    }

    /// The alarm to tell; nothing if that was told already.
    fn judge(&mut self, findings: Findings) -> Option<Alarm> {
        let has_skipped = core::mem::replace(&mut self.skipped, findings.skipped) < findings.skipped;
        let is_over = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds > self.limit);
        let state = if has_skipped || is_over(findings.age) {
            Some(AlarmKind::Behind)
        } else {
            let is_away = findings.is_away && self.limit.is_finite();
            Some(AlarmKind::Silent).filter(|_| is_away || is_over(findings.silence))
        };
        let before = core::mem::replace(&mut self.state, state);
        let kind = match (before, state) {
            (before, state) if before == state => return None,
            (_, Some(kind)) => kind,
            (_, None) => AlarmKind::CaughtUp,
        };
        let lag = if kind == AlarmKind::Silent { findings.silence } else { findings.age };
        Some(Alarm { kind, lag: lag.unwrap_or(0.0), skipped: findings.skipped })
    }
}

/// The judges of one inlet, and who wants to hear of it.
pub(crate) struct Alarms {
    judge: Mutex<Judge>,
    /// For the outlet, which hears of what is worse.
    outlets: Mutex<Judge>,
    tell: Mutex<Option<std::sync::Arc<Tell>>>,
}

impl Alarms {
    pub(crate) fn new() -> Self {
        Self {
            judge: Mutex::new(Judge::new(f64::INFINITY)),
            outlets: Mutex::new(Judge::new(REPORTED_LAG)),
            tell: Mutex::new(None),
        }
    }

    /// Sets what is too late, and who is told.
    pub(crate) fn set(&self, limit: f64, tell: Option<Tell>) {
        *self.tell.lock().unwrap_or_else(PoisonError::into_inner) = tell.map(std::sync::Arc::new);
        self.judge.lock().unwrap_or_else(PoisonError::into_inner).limit =
            if limit > 0.0 { limit } else { f64::INFINITY };
    }

    /// Whether the age of samples matters.
    pub(crate) fn has_limit(&self) -> bool {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner).limit.is_finite()
    }

    /// Returns the alarm that is due now.
    pub(crate) fn look(&self, findings: Findings) -> Option<Alarm> {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner).judge(findings)
    }

    /// The report that the outlet should get now.
    pub(crate) fn report(&self, findings: Findings) -> Option<Report> {
        // Whether anything comes, the outlet knows.
        let findings = Findings { silence: None, is_away: false, ..findings };
        let alarm = self.outlets.lock().unwrap_or_else(PoisonError::into_inner).judge(findings)?;
        let pace = if alarm.kind == AlarmKind::CaughtUp { Pace::CaughtUp } else { Pace::Behind };
        Some(Report { pace, lag: alarm.lag, skipped: alarm.skipped })
    }

    /// Calls the program.
    pub(crate) fn tell(&self, alarm: Alarm) {
        // It may set another alarm meanwhile, or wait long: no lock is held.
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(tell) = tell {
            tell(alarm);
        }
    }
}

impl fmt::Debug for Alarms {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Alarms").field("judge", &self.judge).finish_non_exhaustive()
    }
}

/// Lag in seconds from which on the outlet hears of it.
const REPORTED_LAG: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(age: f64, silence: f64, skipped: u64) -> Findings {
        Findings { age: Some(age), silence: Some(silence), is_away: false, skipped }
    }

    #[test]
    fn each_change_is_told_once_with_its_figures() {
        let alarms = Alarms::new();
        let (sender, told) = std::sync::mpsc::channel();
        let sender = Mutex::new(sender);
        alarms.set(
            0.5,
            Some(Box::new(move |alarm| sender.lock().expect("no panic").send(alarm).expect("received"))),
        );
        let cases = [
            (findings(0.1, 0.1, 0), None),
            (findings(0.6, 0.1, 0), Some((AlarmKind::Behind, 0.6, 0))),
            (findings(0.7, 0.1, 0), None),
            (findings(0.1, 0.1, 0), Some((AlarmKind::CaughtUp, 0.1, 0))),
            (findings(0.0, 0.8, 0), Some((AlarmKind::Silent, 0.8, 0))),
            (findings(0.0, 0.1, 7), Some((AlarmKind::Behind, 0.0, 7))),
            (findings(0.0, 0.1, 9), None),
            (findings(0.0, 0.1, 9), Some((AlarmKind::CaughtUp, 0.0, 9))),
            (Findings { is_away: true, ..findings(0.0, 0.1, 9) }, Some((AlarmKind::Silent, 0.1, 9))),
        ];
        for (given, expected) in cases {
            alarms.look(given).into_iter().for_each(|alarm| alarms.tell(alarm));
            let heard = told.try_recv().ok().map(|alarm| (alarm.kind, alarm.lag, alarm.skipped));
            assert_eq!(heard, expected, "{given:?}");
        }
    }

    #[test]
    fn the_outlet_hears_of_great_lags_and_of_skipped_samples_alone() {
        let alarms = Alarms::new();
        assert_eq!(alarms.report(findings(REPORTED_LAG / 2.0, 1e9, 0)), None);
        let behind = Report { pace: Pace::Behind, lag: 6.0, skipped: 0 };
        assert_eq!(alarms.report(findings(6.0, 0.0, 0)), Some(behind));
        let report = alarms.report(Findings { is_away: true, ..findings(0.0, 1e9, 0) });
        assert_eq!(report.map(|report| report.pace), Some(Pace::CaughtUp));
        assert_eq!(alarms.report(findings(0.0, 0.0, 3)).map(|report| report.skipped), Some(3));
    }

    #[test]
    fn without_a_limit_only_skipped_samples_are_told() {
        let alarms = Alarms::new();
        assert!(!alarms.has_limit());
        assert_eq!(alarms.look(Findings { is_away: true, ..findings(1e9, 1e9, 0) }), None);
        let kind = |given| alarms.look(given).map(|alarm| alarm.kind);
        assert_eq!(kind(findings(1e9, 1e9, 1)), Some(AlarmKind::Behind));
        assert_eq!(kind(findings(1e9, 1e9, 1)), Some(AlarmKind::CaughtUp));
    }
}
