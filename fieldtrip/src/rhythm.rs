use core::ops::Range;
use core::time::Duration;

use crate::awake::{Habit, Look};

/// When the next block is likely to come, by the intervals between those before.
///
/// Amplifiers deliver so regularly that a waiting thread can be awake when data come, for a small part of the time
/// between. Where that fails, on a busy machine or with blocks at odd times, it is tried ever more rarely.
#[derive(Debug)]
pub(crate) struct Rhythm {
    last: Duration,
    interval: Duration,
    jitter: Duration,
    /// What a thread that is to wake at a certain time is late: the timer's slack, and the waking itself.
    lateness: Duration,
    habit: Habit,
}

/// What became of being awake for a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vigil {
    /// How much later than asked for it began, if it began with waking up.
    pub(crate) lateness: Option<Duration>,
    /// Whether the block came.
    pub(crate) came: bool,
}

impl Rhythm {
    /// Takes note of a block.
    pub(crate) fn beat(&mut self, now: Duration) {
        let interval = now.saturating_sub(self.last);
        self.last = now;
        let deviation = interval.abs_diff(self.interval);
        // Smoothed as round trips are (RFC 6298 §2), and begun anew as those are after a pause or a change.
        if deviation > self.interval / 2 {
            (self.interval, self.jitter) = (interval, interval / 2);
        } else {
            self.jitter = self.jitter * 3 / 4 + deviation / 4;
            self.interval = self.interval * 7 / 8 + interval / 8;
        }
    }

    /// The stretch of time in which to be awake; none if that is not worth it.
    pub(crate) fn due(&mut self) -> Option<Range<Duration>> {
        let next = self.last + self.interval;
        let end = next + self.jitter * 3;
        let longest = (self.interval / LARGEST_PART).clamp(SHORTEST, LONGEST);
        let early = self.lateness * 3 / 2 + self.jitter * 2;
        // Where waking up takes long, it begins with less to spare, and sometimes the block wakes the thread after all.
        let start = next.saturating_sub(early).max(end.saturating_sub(longest)).max(self.last);
        let is_in_time = start + self.lateness + self.jitter <= next;
        (is_in_time && self.habit.is_due()).then_some(start..end)
    }

    /// Takes note of what became of it.
    pub(crate) fn kept(&mut self, vigil: Vigil) {
        if let Some(lateness) = vigil.lateness {
            self.lateness = (self.lateness * 7 + lateness.min(LATEST)) / 8;
        }
        self.habit.tried(if vigil.came { Look::Came } else { Look::TooLate });
    }
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            last: Duration::ZERO,
            interval: Duration::ZERO,
            jitter: Duration::ZERO,
            lateness: Duration::from_micros(80),
            habit: Habit::default(),
        }
    }
}

/// To be awake for more than this part of the time, ...
const LARGEST_PART: u32 = 4;

/// ... or for more than what falling asleep and waking up take, is not worth it.
const SHORTEST: Duration = Duration::from_micros(50);

/// Beyond this others that need the processor, the writer among them, wait for it longer than a wake-up takes.
const LONGEST: Duration = Duration::from_micros(400);

/// Beyond this the thread had no processor, which says nothing of the next time.
const LATEST: Duration = Duration::from_micros(150);

#[cfg(test)]
mod tests {
    use super::*;

    fn after(intervals: impl IntoIterator<Item = u64>) -> Rhythm {
        let mut rhythm = Rhythm::default();
        let mut now = Duration::from_secs(100);
        for interval in intervals {
            now += Duration::from_micros(interval);
            rhythm.beat(now);
        }
        rhythm
    }

    #[test]
    fn regular_blocks_are_expected_when_they_come_and_not_for_long() {
        for interval in [1000, 10_000, 100_000] {
            let mut rhythm = after((0..40).map(|round| interval + round % 3));
            let due = rhythm.due().expect("they are regular");
            let next = rhythm.last + Duration::from_micros(interval);
            assert!(due.contains(&next), "{due:?} without {next:?}");
            assert!(due.end - due.start <= Duration::from_micros(interval / 4).min(LONGEST));
        }
    }

    #[test]
    fn nothing_is_expected_of_irregular_blocks_nor_at_first() {
        assert_eq!(after((0..100).map(|round| 1000 + 700 * (round % 2))).due(), None);
        assert_eq!(after([1000, 1000]).due(), None);
    }

    #[test]
    fn a_long_interval_does_not_make_for_long_vigils() {
        // Even enough for a quarter of the interval, which here is 25 ms.
        assert_eq!(after((0..100).map(|round| 100_000 + 500 * (round % 2))).due(), None);
    }

    #[test]
    fn a_pause_is_forgotten() {
        let pause = [5_000_000];
        assert_eq!(after([1000; 100].into_iter().chain(pause)).due(), None);
        assert!(after([1000; 100].into_iter().chain(pause).chain([1000; 20])).due().is_some());
    }

    #[test]
    fn a_thread_that_wakes_late_begins_earlier_but_is_not_awake_for_longer_than_it_may() {
        let mut rhythm = after([1000; 20]);
        for _ in 0..50 {
            rhythm.kept(Vigil { lateness: Some(LATEST), came: true });
        }
        let due = rhythm.due().expect("they are regular");
        assert!(due.start + LATEST <= rhythm.last + Duration::from_micros(1000), "{due:?}");
        assert!(due.end - due.start <= Duration::from_micros(250), "{due:?}");
    }

    #[test]
    fn a_thread_that_wakes_in_time_is_awake_for_less() {
        let mut rhythm = after([1000; 20]);
        let long = rhythm.due().expect("they are regular");
        for _ in 0..50 {
            rhythm.kept(Vigil { lateness: Some(Duration::from_micros(10)), came: true });
        }
        let short = rhythm.due().expect("they are regular");
        assert!(short.end - short.start < (long.end - long.start) / 3);
    }
}
