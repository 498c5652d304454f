//! How an inlet measures the offset between the outlet's clock and its own.
//!
//! A wave of probes goes out every two seconds. Of its replies, the one with the smallest round trip
//! counts. Waves are not averaged. lsl-wire §9 (messages), §19 (method).
//!
//! ```
//! use schwann_proto::clock::{ClockEstimator, ClockOutput, ClockSettings};
//!
//! let mut estimator = ClockEstimator::new(ClockSettings::default(), 7);
//! let now = 100.0;
//! match estimator.poll(now) {
//!     ClockOutput::Send(request) => { /* encode it, send it to the outlet's service port, poll again */ }
//!     ClockOutput::WaitUntil(then) => { /* sleep until then, or until a reply for `handle_reply` arrives */ }
//! }
//! ```
//!
//! Not here: smoothing of offsets and of stamps ([`crate::postproc`]).

use crate::wire::timedata::{Reply, Request};

/// When to probe. All times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockSettings {
    /// From one wave's start to the next (`tuning.TimeUpdateInterval`).
    pub update_interval: f64,
    /// Replies that a wave needs to count (`tuning.TimeUpdateMinProbes`).
    pub min_probes: u32,
    /// Probes per wave (`tuning.TimeProbeCount`).
    pub probe_count: u32,
    /// From one probe to the next (`tuning.TimeProbeInterval`).
    pub probe_interval: f64,
    /// How long the last probe's reply is waited for (`tuning.TimeProbeMaxRTT`); slower replies still count.
    pub probe_max_rtt: f64,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self {
            update_interval: 2.0,
            min_probes: 6,
            probe_count: 8,
            probe_interval: 0.064,
            probe_max_rtt: 0.128,
        }
    }
}

/// What one wave of probes found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockEstimate {
    /// Seconds to add to the outlet's stamps to place them on the local clock.
    pub correction: f64,
    /// Round trip of the probe that counted, in seconds; the error is at most half of it.
    pub uncertainty: f64,
    /// When the estimate was made, in seconds on the outlet's clock.
    pub remote_time: f64,
}

/// What the driver must do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockOutput {
    /// Send this now, and poll again.
    Send(Request),
    /// Poll again at this local time, in seconds. Replies may come meanwhile.
    WaitUntil(f64),
}

/// Measures the offset to one outlet's clock.
#[derive(Clone, Debug)]
pub struct ClockEstimator {
    settings: ClockSettings,
    random: u32,
    wave: Option<Wave>,
    estimate: Option<ClockEstimate>,
    was_reset: bool,
}

#[derive(Clone, Copy, Debug)]
struct Wave {
    id: i32,
    started: f64,
    next_probe: f64,
    sent: u32,
    replies: u32,
    best: Option<ClockEstimate>,
    evaluated: bool,
}

impl ClockEstimator {
    /// Starts without an estimate; the first one is there 0.64 s after the first poll.
    ///
    /// `seed` makes the identifiers of waves differ between inlets.
    pub fn new(settings: ClockSettings, seed: u32) -> Self {
        Self { settings, random: seed, wave: None, estimate: None, was_reset: false }
    }

    /// Says what to do next; call again until it says to wait.
    ///
    /// - Units: `now` in seconds on the local clock.
    pub fn poll(&mut self, now: f64) -> ClockOutput {
        let ClockSettings { update_interval, probe_count, probe_interval, probe_max_rtt, .. } = self.settings;
        let mut wave = match self.wave {
            Some(wave) if !wave.evaluated || now < wave.started + update_interval => wave,
            _ => Wave::new(self.next_wave_id(), now),
        };
        let output = if wave.sent < probe_count && now >= wave.next_probe {
            wave.sent += 1;
            wave.next_probe = now + probe_interval;
            ClockOutput::Send(Request { wave: wave.id, sent: now })
        } else if wave.sent < probe_count {
            ClockOutput::WaitUntil(wave.next_probe)
        } else {
            let end = wave.started + probe_max_rtt + f64::from(probe_count) * probe_interval;
            if now >= end && !wave.evaluated {
                wave.evaluated = true;
                self.evaluate(&wave);
            }
            ClockOutput::WaitUntil(if wave.evaluated { wave.started + update_interval } else { end })
        };
        self.wave = Some(wave);
        output
    }

    /// Takes in a reply that arrived at `received`, in seconds on the local clock.
    pub fn handle_reply(&mut self, reply: &Reply, received: f64) {
        let Some(wave) = self.wave.as_mut().filter(|wave| wave.id == reply.wave && !wave.evaluated) else {
            return;
        };
        let Reply { request_sent: t0, request_received: t1, reply_sent: t2, .. } = *reply;
        let round_trip = (received - t0) - (t2 - t1);
        let offset = ((t1 - t0) + (t2 - received)) / 2.0;
        let found =
            ClockEstimate { correction: -offset, uncertainty: round_trip, remote_time: (t2 + t1) / 2.0 };
        // A peer can send anything, also what no clock shows.
        if !(round_trip.is_finite() && offset.is_finite()) {
            return;
        }
        wave.replies = wave.replies.saturating_add(1);
        if wave.best.is_none_or(|best| found.uncertainty < best.uncertainty) {
            wave.best = Some(found);
        }
    }

    /// Forgets the estimate, because another outlet or another run of it took over; starts a wave at once.
    pub fn forget(&mut self) {
        self.was_reset |= self.estimate.is_some();
        self.estimate = None;
        self.wave = None;
    }

    /// Says once, after [`Self::forget`] dropped an estimate, that the clock may have changed.
    pub fn take_was_reset(&mut self) -> bool {
        core::mem::take(&mut self.was_reset)
    }

    /// Returns the latest estimate, if there is one.
    pub fn estimate(&self) -> Option<ClockEstimate> {
        self.estimate
    }

    fn evaluate(&mut self, wave: &Wave) {
        if wave.replies >= self.settings.min_probes && wave.best.is_some() {
            self.estimate = wave.best;
        }
    }

    /// A linear congruential generator is enough to tell one wave from another.
    fn next_wave_id(&mut self) -> i32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i32::from_ne_bytes((self.random >> 1).to_ne_bytes())
    }
}

impl Wave {
    fn new(id: i32, now: f64) -> Self {
        Self { id, started: now, next_probe: now, sent: 0, replies: 0, best: None, evaluated: false }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{ClockEstimator, ClockOutput, ClockSettings};
    use crate::wire::timedata::{Reply, Request};

    /// Runs the estimator for `seconds`; `link` says how long each way takes for a probe, or loses it.
    fn run(
        estimator: &mut ClockEstimator,
        start: f64,
        seconds: f64,
        ahead: f64,
        mut link: impl FnMut(usize) -> Option<(f64, f64)>,
    ) -> Vec<f64> {
        let (mut now, mut sent) = (start, Vec::new());
        let mut replies: Vec<(f64, Reply)> = Vec::new();
        while now < start + seconds {
            match estimator.poll(now) {
                ClockOutput::Send(Request { wave, sent: at }) => {
                    if let Some((there, back)) = link(sent.len()) {
                        let received = at + there + ahead;
                        let reply = Reply {
                            wave,
                            request_sent: at,
                            request_received: received,
                            reply_sent: received + 1e-4,
                        };
                        replies.push((at + there + 1e-4 + back, reply));
                    }
                    sent.push(now - start);
                }
                ClockOutput::WaitUntil(then) => {
                    replies.sort_by(|a, b| a.0.total_cmp(&b.0));
                    if replies.first().is_some_and(|(at, _)| *at <= then) {
                        let (at, reply) = replies.remove(0);
                        now = at;
                        estimator.handle_reply(&reply, at);
                    } else {
                        now = then;
                    }
                }
            }
        }
        sent
    }

    #[test]
    fn probes_go_out_as_captured() {
        // `inlet_timedata.json`: 0, 64, …, 448 ms, and the next wave after 2 s.
        let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
        let sent = run(&mut estimator, 50.0, 3.0, 1000.0, |_| Some((0.001, 0.001)));
        assert_eq!(sent.len(), 16);
        for (probe, at) in sent.iter().enumerate() {
            let expected =
                f64::from(u32::try_from(probe % 8).unwrap()) * 0.064 + if probe < 8 { 0.0 } else { 2.0 };
            assert!((at - expected).abs() < 1e-6, "probe {probe} at {at}");
        }
    }

    #[test]
    fn the_fastest_probe_counts() {
        let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
        let _ = run(&mut estimator, 50.0, 0.639, 1000.0, |_| Some((0.001, 0.001)));
        assert_eq!(estimator.estimate(), None, "the wave takes 0.64 s");
        let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
        let _ = run(&mut estimator, 50.0, 0.7, 1000.0, |probe| {
            Some((if probe == 5 { 0.001 } else { 0.1 }, 0.001))
        });
        let estimate = estimator.estimate().unwrap();
        assert!((estimate.correction + 1000.0).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.uncertainty - 0.002).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.remote_time - 1050.321).abs() < 1e-3, "{estimate:?}");
    }

    #[test]
    fn five_answers_of_eight_are_too_few() {
        // `inlet_timedata_min_probes.json`.
        for (answers, known) in [(5, false), (6, true)] {
            let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
            let _ = run(&mut estimator, 50.0, 1.0, 5.0, |probe| (probe < answers).then_some((0.001, 0.001)));
            assert_eq!(estimator.estimate().is_some(), known, "{answers} answers");
        }
    }

    #[test]
    fn an_old_estimate_stays_until_a_new_one_is_made() {
        let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
        let _ = run(&mut estimator, 50.0, 1.0, 5.0, |_| Some((0.001, 0.001)));
        let estimate = estimator.estimate();
        let _ = run(&mut estimator, 51.0, 4.0, 7.0, |_| None);
        assert_eq!(estimator.estimate(), estimate);
        assert!(!estimator.take_was_reset());
        estimator.forget();
        assert_eq!(estimator.estimate(), None);
        assert!(estimator.take_was_reset() && !estimator.take_was_reset());
        estimator.forget();
        assert!(!estimator.take_was_reset(), "nothing was known");
    }

    #[test]
    fn a_step_of_the_remote_clock_is_followed_within_a_wave_despite_jitter() {
        let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
        // Up to 40 ms each way, never the same; one probe of a wave is nearly symmetric.
        let jitter = |probe: usize| {
            let delay = |seed: usize| {
                if probe % 8 == 3 { 0.002 } else { f64::from(u16::try_from(seed % 37).unwrap()) * 1e-3 }
            };
            Some((0.001 + delay(probe * 7), 0.001 + delay(probe * 11)))
        };
        let _ = run(&mut estimator, 50.0, 9.0, 100.0, jitter);
        let before = estimator.estimate().unwrap();
        assert!((before.correction + 100.0).abs() < 0.001, "{before:?}");
        let _ = run(&mut estimator, 59.0, 2.7, 250.0, jitter);
        let after = estimator.estimate().unwrap();
        assert!((after.correction + 250.0).abs() < 0.001, "{after:?}");
    }

    #[test]
    fn replies_to_other_waves_and_impossible_stamps_are_ignored() {
        let mut estimator = ClockEstimator::new(ClockSettings::default(), 1);
        let ClockOutput::Send(Request { wave, sent }) = estimator.poll(1.0) else { panic!("a probe is due") };
        let reply = |wave, request_received| Reply {
            wave,
            request_sent: sent,
            request_received,
            reply_sent: request_received,
        };
        for _ in 0..10 {
            estimator.handle_reply(&reply(wave ^ 1, 2.0), 1.1);
            estimator.handle_reply(&reply(wave, f64::NAN), 1.1);
            estimator.handle_reply(&reply(wave, f64::INFINITY), 1.1);
        }
        let _ = run(&mut estimator, 1.0, 1.0, 0.0, |_| None);
        assert_eq!(estimator.estimate(), None);
    }
}
