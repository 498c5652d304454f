//! Clocks of other sites: probes through the hub, and the bound of their error (relay §12).

use core::time::Duration;
use std::collections::VecDeque;

use schwann::local_clock;
use schwann_relay::{Backlog, ClockMessage, ProbeId, Subject};

use super::{Far, FarRun};
use crate::refused;
use crate::wall;

/// How far a stream's clock is from ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockBound {
    /// Seconds to add to the stream's stamps to have them on our clock.
    pub offset: f64,
    /// Most seconds by which that may be wrong.
    pub bound: f64,
    /// When it was measured, in seconds on our clock.
    pub measured: f64,
    /// The same offset by the wall clocks of both ends, and most seconds by which that may be wrong; nothing if one end has no time
    /// service that says how wrong its wall clock may be.
    pub by_wall: Option<(f64, f64)>,
}

impl ClockBound {
    /// Whether the wall clocks contradict what was measured through the hub: one of them is wrong by more than is said of it.
    #[must_use]
    pub fn is_contradicted(&self) -> bool {
        self.by_wall.is_some_and(|(offset, bound)| (offset - self.offset).abs() > bound + self.bound)
    }
}

/// Probes of one run that wait for an answer, and the newest answers.
#[derive(Default)]
pub(super) struct Clock {
    asked: VecDeque<(ProbeId, f64)>,
    answers: VecDeque<ClockBound>,
    /// What the newest answer said.
    backlog: Backlog,
}

impl Clock {
    /// The answer with the smallest bound, of the last eight. The way does not matter to the wall clocks: their newest word counts.
    pub(super) fn best(&self) -> Option<ClockBound> {
        let best = self.answers.iter().min_by(|one, other| one.bound.total_cmp(&other.bound))?;
        let by_wall = self.answers.iter().rev().find_map(|answer| answer.by_wall);
        Some(ClockBound { by_wall, ..*best })
    }

    /// Whether a question was answered in the last seconds before this moment on our clock.
    pub(super) fn was_answered(&self, moment: f64) -> bool {
        self.answers.back().is_some_and(|answer| moment - answer.measured < LATELY_S)
    }

    /// What the edge still has to hand over, as it said in the last seconds.
    pub(super) fn backlog(&self) -> Option<Backlog> {
        self.was_answered(local_clock()).then_some(self.backlog)
    }

    fn ask(&mut self, probe: ProbeId, now: f64) {
        if self.asked.len() >= KEPT {
            self.asked.pop_front();
        }
        self.asked.push_back((probe, now));
    }

    /// When the probe went, if it is one of ours that was not answered yet.
    fn answered(&mut self, probe: &ProbeId) -> Option<f64> {
        let at = self.asked.iter().position(|(one, _)| one == probe)?;
        self.asked.remove(at).map(|(_, asked)| asked)
    }

    fn note(&mut self, answer: ClockBound, backlog: Backlog) {
        self.backlog = backlog;
        if self.answers.len() >= KEPT {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
    }
}

impl Far {
    /// Asks the edges of all streams that can be read for their clocks.
    pub(super) fn probe_clocks(&mut self) {
        let (lab, access, link) = (self.access.lab_id(), &self.access, &self.link);
        for run in self.runs.values_mut().filter(|run| is_asked(run)) {
            let mut probe = ProbeId::default();
            if getrandom::fill(&mut probe).is_err() {
                return;
            }
            let names = run.follower().names();
            let message =
                access.sealing(|moment| ClockMessage::encode(names, probe, None, moment.credentials));
            run.clock.ask(probe, local_clock());
            link.send(Subject::Clock(lab, names.1), message);
        }
    }

    /// Takes in an answer that came at `came`, on our clock.
    pub(super) fn clock_answer(&mut self, message: &[u8], came: f64) {
        let parsed =
            self.access.checking(|lab, now, revoked| ClockMessage::parse(message, lab, now, revoked));
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(why) => return refused::name("clock answer", "", why),
        };
        let Some((answer, run)) = parsed.answer.zip(self.runs.get_mut(&parsed.run)) else { return };
        // Only the run's own device knows its clock.
        if !run.is_of(&parsed.certificate) {
            return refused::name("clock answer", "", schwann_relay::Refused::Foreign);
        }
        let Some(asked) = run.clock.answered(&parsed.probe) else { return };
        if let Some((offset, bound)) = answer.offset(asked, came) {
            // Its wall clock when it came, though it was read a little later.
            let (now, wall_bound) = wall::read();
            let by_wall = answer.offset_by_wall(came, now - (local_clock() - came), wall_bound);
            run.clock.note(ClockBound { offset, bound, measured: came, by_wall }, answer.backlog);
        }
    }
}

fn is_asked(run: &FarRun) -> bool {
    run.is_described() && run.heard().elapsed() < HEARD
}

/// Eight in 5 s.
pub(super) const PROBE_EVERY: Duration = Duration::from_millis(625);
const HEARD: Duration = Duration::from_secs(35);
/// An answer that is older, in seconds, may be an edge's last one: eight questions went since then.
const LATELY_S: f64 = 5.0;
/// Probes that wait, and answers that count, at most.
const KEPT: usize = 8;
