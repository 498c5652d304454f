//! When a search sends what, and when it ends. lsl-wire §6.4, §7.

/// Waiting times of a search, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResolverSettings {
    /// From a multicast burst to what follows it (`tuning.MulticastMinRTT`).
    pub multicast_min_rtt: f64,
    /// How long replies to a multicast burst are listened for (`tuning.MulticastMaxRTT`).
    pub multicast_max_rtt: f64,
    /// From a unicast burst to what follows it (`tuning.UnicastMinRTT`).
    pub unicast_min_rtt: f64,
    /// How long replies to a unicast burst are listened for (`tuning.UnicastMaxRTT`).
    pub unicast_max_rtt: f64,
    /// Additional pause of a continuous search (`tuning.ContinuousResolveInterval`).
    pub continuous_interval: f64,
}

impl Default for ResolverSettings {
    fn default() -> Self {
        Self {
            multicast_min_rtt: 0.5,
            multicast_max_rtt: 3.0,
            unicast_min_rtt: 0.75,
            unicast_max_rtt: 5.0,
            continuous_interval: 0.5,
        }
    }
}

/// The receivers of a burst of queries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Burst {
    /// Every discovery address.
    Multicast,
    /// Every port of the service range at every peer known by address.
    Unicast,
}

/// How long a search goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Duration {
    /// Until it is dropped.
    Continuous,
    /// Until enough streams are known or time is up.
    OneShot(Until),
}

/// When a one-shot search ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Streams that are enough; 0 always waits until the deadline.
    pub minimum: usize,
    /// Earliest end, in seconds on the local clock, however many streams are known.
    pub earliest: f64,
    /// Latest end, in seconds on the local clock; infinite to search without limit.
    pub deadline: f64,
}

/// What the driver must do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchOutput {
    /// The search is over; take the results.
    Done,
    /// Send these queries now, and poll again.
    Send(Burst),
    /// Poll again at this local time, in seconds, or when a reply arrived.
    WaitUntil(f64),
}

/// Times one search.
#[derive(Clone, Debug)]
pub struct Search {
    settings: ResolverSettings,
    duration: Duration,
    unicast: bool,
    next: Burst,
    next_at: f64,
}

impl Search {
    /// Starts a search whose first burst is due at once.
    ///
    /// - Units: `now` in seconds on the local clock. `unicast` says whether any peer is configured for
    ///   unicast bursts.
    pub fn new(settings: ResolverSettings, duration: Duration, unicast: bool, now: f64) -> Self {
        Self { settings, duration, unicast, next: Burst::Multicast, next_at: now }
    }

    /// Says what to do next, given how many streams are known; call again until it says to wait.
    ///
    /// - Units: `now` in seconds on the local clock.
    pub fn poll(&mut self, now: f64, known: usize) -> SearchOutput {
        let mut wake = f64::INFINITY;
        if let Duration::OneShot(until) = self.duration {
            let enough = until.minimum > 0 && known >= until.minimum;
            if (enough && now >= until.earliest) || now >= until.deadline {
                return SearchOutput::Done;
            }
            wake = if enough { until.earliest.min(until.deadline) } else { until.deadline };
        }
        if now < self.next_at {
            return SearchOutput::WaitUntil(wake.min(self.next_at));
        }
        let burst = self.next;
        (self.next, self.next_at) = self.following(burst, now);
        SearchOutput::Send(burst)
    }

    /// What follows a burst, and when.
    fn following(&self, burst: Burst, now: f64) -> (Burst, f64) {
        let ResolverSettings { multicast_min_rtt, unicast_min_rtt, continuous_interval, .. } = self.settings;
        let pause = match self.duration {
            Duration::Continuous => continuous_interval,
            Duration::OneShot(_) => 0.0,
        };
        match burst {
            Burst::Multicast if self.unicast => (Burst::Unicast, now + multicast_min_rtt),
            Burst::Multicast => (Burst::Multicast, now + multicast_min_rtt + pause),
            Burst::Unicast => (Burst::Multicast, now + unicast_min_rtt + pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::{Burst, Duration, ResolverSettings, Search, SearchOutput, Until};

    /// Runs a search that finds `known(now)` streams and returns its bursts and when it ended.
    fn run(
        duration: Duration,
        unicast: bool,
        until: f64,
        known: impl Fn(f64) -> usize,
    ) -> (Vec<(Burst, f64)>, f64) {
        let mut search = Search::new(ResolverSettings::default(), duration, unicast, 0.0);
        let (mut now, mut bursts) = (0.0, Vec::new());
        while now < until {
            match search.poll(now, known(now)) {
                SearchOutput::Done => break,
                SearchOutput::Send(burst) => bursts.push((burst, now)),
                SearchOutput::WaitUntil(then) => now = then,
            }
        }
        (bursts, now)
    }

    const FOREVER: Until = Until { minimum: 1, earliest: 0.0, deadline: f64::INFINITY };

    #[test]
    fn waves_come_as_specified() {
        let (multicast, unicast) = (Burst::Multicast, Burst::Unicast);
        let bursts = |duration, peers| run(duration, peers, 2.6, |_| 0).0;
        let one_shot = Duration::OneShot(FOREVER);
        assert_eq!(bursts(one_shot, false), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5].map(|at| (multicast, at)));
        assert_eq!(
            bursts(one_shot, true),
            vec![(multicast, 0.0), (unicast, 0.5), (multicast, 1.25), (unicast, 1.75), (multicast, 2.5)]
        );
        assert_eq!(bursts(Duration::Continuous, false), [0.0, 1.0, 2.0].map(|at| (multicast, at)));
        assert_eq!(
            bursts(Duration::Continuous, true),
            vec![(multicast, 0.0), (unicast, 0.5), (multicast, 1.75), (unicast, 2.25)]
        );
    }

    #[test]
    fn a_search_ends_when_enough_is_known_or_time_is_up() {
        let end = |until, known: fn(f64) -> usize| run(Duration::OneShot(until), false, 99.0, known).1;
        let deadline = Until { minimum: 1, earliest: 0.0, deadline: 2.2 };
        assert_eq!(end(deadline, |_| 0), 2.2);
        assert_eq!(end(deadline, |now| usize::from(now >= 0.5)), 0.5);
        assert_eq!(end(Until { minimum: 0, ..deadline }, |_| 5), 2.2, "0 waits for all");
        assert_eq!(end(Until { earliest: 1.2, ..deadline }, |_| 1), 1.2, "not before the minimum time");
        assert_eq!(end(Until { deadline: 0.0, ..deadline }, |_| 0), 0.0);
    }
}
