//! Staying awake for a moment instead of falling asleep, where that is likely to pay.
//!
//! To wake a sleeping thread takes ten to fifty microseconds, on virtual machines above all: longer than most requests. A
//! thread that expects something at once looks for it a while first. It does so only where that paid before, and
//! only one thread for each purpose does: more would keep those from the processors that have work.

use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(any(unix, test))]
use core::time::Duration;
use std::sync::OnceLock;
use std::thread;
#[cfg(unix)]
use std::time::Instant;

/// What to stay awake for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Data, in this process.
    Data,
    /// The reply to a request.
    Reply,
    /// A client's next request.
    Request,
}

/// The right to stay awake. For each purpose, one thread of the program has it at a time. With only one
/// processor no thread has it.
#[derive(Debug)]
pub(crate) struct Turn(&'static AtomicBool);

/// Whether staying awake has paid lately, and for how long one has to.
///
/// What does not come in time is waited for longer at first, and then ever more rarely.
#[derive(Debug, Default)]
pub(crate) struct Habit {
    doublings: u32,
    misses: u32,
    skipped: u32,
}

/// How staying awake went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Look {
    /// It was there already: a thread that sleeps would not have slept.
    AtOnce,
    Came,
    /// Another thread had this processor in between: perhaps the very one that was waited for.
    Interrupted,
    TooLate,
}

static TAKEN: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

impl Turn {
    pub(crate) fn take(purpose: Purpose) -> Option<Self> {
        let [data, reply, request] = &TAKEN;
        let taken = match purpose {
            Purpose::Data => data,
            Purpose::Reply => reply,
            Purpose::Request => request,
        };
        let is_free = has_other_processors() && !taken.swap(true, Ordering::Acquire);
        is_free.then(|| Self(taken))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Whether others can work while a thread stays awake for nothing.
pub(crate) fn has_other_processors() -> bool {
    static HAS_OTHERS: OnceLock<bool> = OnceLock::new();
    *HAS_OTHERS.get_or_init(|| thread::available_parallelism().is_ok_and(|count| count.get() > 1))
}

impl Habit {
    /// Whether to try this time.
    pub(crate) fn is_due(&mut self) -> bool {
        self.skipped += 1;
        let is_due = self.skipped >= 1 << self.misses;
        if is_due {
            self.skipped = 0;
        }
        is_due
    }

    /// How long to stay awake at most.
    #[cfg(any(unix, test))]
    pub(crate) fn longest(&self) -> Duration {
        SHORTEST * (1 << self.doublings)
    }

    /// Takes note of how it went.
    pub(crate) fn tried(&mut self, look: Look) {
        match look {
            Look::AtOnce => {}
            Look::Came => self.misses = 0,
            Look::TooLate if self.doublings < MOST_DOUBLINGS => self.doublings += 1,
            Look::Interrupted | Look::TooLate => self.misses = (self.misses + 1).min(MOST_MISSES),
        }
    }

    /// Stays awake until `look` finds something, for a moment at most, if that is likely to pay.
    ///
    /// Where more threads want to run than there are processors, who stays awake takes the processor from the one that is waited for. That
    /// shows in a look that takes far too long: then this thread sleeps the next times.
    #[cfg(unix)]
    pub(crate) fn stay_awake<T>(
        &mut self,
        purpose: Purpose,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        if !self.is_due() {
            return None;
        }
        let _turn = Turn::take(purpose)?;
        if let Some(found) = look() {
            self.tried(Look::AtOnce);
            return Some(found);
        }
        let begun = Instant::now();
        let (mut last, mut came, mut late) = (begun, Look::Came, Look::TooLate);
        loop {
            if let Some(found) = look() {
                self.tried(came);
                return Some(found);
            }
            let now = Instant::now();
            if now - last > INTERRUPTION {
                (came, late) = (Look::Interrupted, Look::Interrupted);
            }
            if now - begun >= self.longest() {
                self.tried(late);
                return None;
            }
            last = now;
            core::hint::spin_loop();
        }
    }
}

/// A look that finds nothing takes half a microsecond; another thread's turn takes several.
#[cfg(unix)]
const INTERRUPTION: Duration = Duration::from_micros(4);

/// What it takes to wake the peer, and some time for its work.
#[cfg(any(unix, test))]
const SHORTEST: Duration = Duration::from_micros(50);

/// At most four times as long: a peer that has slept for long, and a big block.
const MOST_DOUBLINGS: u32 = 2;

/// At most 2⁸ times are let pass between two tries: a try in vain costs up to 0.2 ms.
const MOST_MISSES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_is_waited_for_longer_before_it_is_tried_more_rarely() {
        let mut habit = Habit::default();
        let mut longest = habit.longest();
        for _ in 0..MOST_DOUBLINGS {
            assert!(habit.is_due());
            habit.tried(Look::TooLate);
            assert_eq!(habit.longest(), longest * 2);
            longest = habit.longest();
        }
        habit.tried(Look::TooLate);
        assert_eq!(habit.longest(), longest);
        assert!(!habit.is_due(), "one miss too many, and one time is let pass");
    }

    #[cfg(unix)]
    #[test]
    fn who_is_interrupted_while_awake_sleeps_the_next_time() {
        if !has_other_processors() {
            return;
        }
        let mut habit = Habit::default();
        let mut stays_awake = || {
            let mut looks = 0;
            habit.stay_awake(Purpose::Reply, || {
                looks += 1;
                let begun = Instant::now();
                // Another thread's turn.
                while looks == 2 && begun.elapsed() < 2 * INTERRUPTION {}
                (looks > 2).then_some(())
            })
        };
        // Another test may have the right to stay awake at the moment.
        while stays_awake().is_none() {}
        assert!(!habit.is_due(), "that it came in the end is no success");
    }

    #[test]
    fn what_fails_is_tried_ever_more_rarely_until_it_pays() {
        let mut habit = Habit::default();
        let mut tries_of_640 = |look| {
            let tries = (0..640).filter(|_| habit.is_due().then(|| habit.tried(look)).is_some());
            tries.count()
        };
        let failing = tries_of_640(Look::TooLate);
        assert!((8..20).contains(&failing), "{failing}");
        assert!(tries_of_640(Look::Came) > 380);
        assert!(tries_of_640(Look::Interrupted) < 20, "who is waited for had no other processor");
    }
}
