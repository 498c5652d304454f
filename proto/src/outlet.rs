//! Decisions of an outlet that need no socket. spec: lsl-wire §15.

use crate::wire::sample::Stamp;

/// Which stamps an outlet believes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum StampPolicy {
    /// The caller's; 0.0 stands for "now".
    #[default]
    Caller,
    /// Its own clock's, always (`tuning.ForceDefaultTimestamps`).
    OwnClock,
}

impl StampPolicy {
    /// Returns what a push with this timestamp sends.
    ///
    /// - Units: seconds on the local clock; −1.0 asks for a deduced stamp. `now` is asked only if needed.
    /// - Source: spec lsl-wire §15.1.
    pub fn stamp(self, timestamp: f64, now: impl FnOnce() -> f64) -> Stamp {
        Stamp::from(self.seconds(timestamp, now))
    }

    /// Returns the time that a push with this timestamp stands for: of its sample, or of a chunk's last one.
    pub fn seconds(self, timestamp: f64, now: impl FnOnce() -> f64) -> f64 {
        match self {
            Self::Caller if timestamp != 0.0 => timestamp,
            Self::Caller | Self::OwnClock => now(),
        }
    }
}

/// Whether a sample may wait for more to be sent with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pushthrough {
    /// It may.
    Hold,
    /// It may not, and takes along what waited.
    Send,
}

/// Decides when a connection sends what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Chunker {
    limit: usize,
    held: usize,
}

impl Chunker {
    /// Holds at most `client_limit` samples, or `own_limit` if the client has none; 0 or less is no limit.
    ///
    /// Unlike the original (1.16 to 1.18), which overwrites its own limit, this honours `chunk_size`.
    pub fn new(client_limit: i32, own_limit: i32) -> Self {
        let limit = if client_limit > 0 { client_limit } else { own_limit };
        Self { limit: usize::try_from(limit).unwrap_or(0), held: 0 }
    }

    /// Adds a sample and says whether everything held must be sent now.
    pub fn push(&mut self, pushthrough: Pushthrough) -> Flush {
        self.held += 1;
        let full = self.limit > 0 && self.held >= self.limit;
        if pushthrough == Pushthrough::Send || full {
            self.held = 0;
            return Flush::Now;
        }
        Flush::Later
    }
}

/// Whether held samples are due.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flush {
    /// They can wait.
    Later,
    /// They are.
    Now,
}

/// Returns how many samples to hold for a client that asked for `max_buffer_length`, or nothing if it wants only the
/// test pattern.
///
/// - Units: samples; `own_limit` is the outlet's `max_buffered` (spec: lsl-wire §15.2, §15.4).
pub fn queue_capacity(max_buffer_length: i32, own_limit: i32) -> Option<usize> {
    usize::try_from(max_buffer_length.min(own_limit)).ok().filter(|capacity| *capacity > 0)
}

#[cfg(test)]
mod tests {
    use super::{Chunker, Flush, Pushthrough, StampPolicy, queue_capacity};
    use crate::wire::sample::Stamp;

    #[test]
    fn stamps_are_taken_as_specified() {
        let stamp = |policy: StampPolicy, timestamp| policy.stamp(timestamp, || 77.0);
        assert_eq!(stamp(StampPolicy::Caller, 0.0), Stamp::Sent(77.0));
        assert_eq!(stamp(StampPolicy::Caller, -1.0), Stamp::Deduced);
        assert_eq!(stamp(StampPolicy::Caller, -5.0), Stamp::Sent(-5.0));
        assert_eq!(stamp(StampPolicy::OwnClock, -1.0), Stamp::Sent(77.0));
        assert!(matches!(stamp(StampPolicy::Caller, f64::NAN), Stamp::Sent(at) if at.is_nan()));
    }

    #[test]
    fn samples_are_held_up_to_the_limit_in_force() {
        // As captured: `outlet_feed110_chunks.json`.
        let hold = Pushthrough::Hold;
        let mut clients = Chunker::new(2, 0);
        assert_eq!([hold, hold, hold].map(|p| clients.push(p)), [Flush::Later, Flush::Now, Flush::Later]);
        assert_eq!(clients.push(hold), Flush::Now);
        let mut own = Chunker::new(0, 3);
        assert_eq!([hold, hold, hold].map(|p| own.push(p)), [Flush::Later, Flush::Later, Flush::Now]);
        let mut none = Chunker::new(-1, 0);
        assert!((0..1000).all(|_| none.push(hold) == Flush::Later));
        assert_eq!(none.push(Pushthrough::Send), Flush::Now);
    }

    #[test]
    fn queues_have_the_smaller_length() {
        assert_eq!(queue_capacity(1000, 360), Some(360));
        assert_eq!(queue_capacity(10, 360), Some(10));
        assert_eq!(queue_capacity(0, 360), None);
        assert_eq!(queue_capacity(-5, 360), None);
    }
}
