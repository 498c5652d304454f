//! Which blocks are timed.

/// Says which of the blocks that are put are worth a look at the clock.
///
/// A precise clock takes longer than all else that is done for a small block. A program may put many at once,
/// faster than any device. Then only the first few of each tick of the system's coarse clock are timed, and
/// some of the rest.
#[derive(Debug, Default)]
pub(super) struct Pace {
    tick: Tick,
    blocks: u32,
}

/// A reading of the coarse clock, in whatever unit.
type Tick = (i64, i64);

impl Pace {
    /// Whether to time the block that is put now.
    #[inline]
    pub(super) fn is_worth_timing(&mut self) -> bool {
        coarse_clock().is_none_or(|tick| self.is_worth_timing_in(tick))
    }

    #[inline]
    fn is_worth_timing_in(&mut self, tick: Tick) -> bool {
        if tick != self.tick {
            *self = Self { tick, blocks: 0 };
        }
        self.blocks = self.blocks.wrapping_add(1);
        self.blocks <= FIRST || self.blocks.is_multiple_of(ONE_IN)
    }
}

/// A clock that goes on once in 1 to 10 ms and is read in nanoseconds; none if the system has none.
#[inline]
fn coarse_clock() -> Option<Tick> {
    #[cfg(target_os = "linux")]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
        Some((now.tv_sec, now.tv_nsec))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// All of so many blocks of a tick are timed: at 250 ticks a second, one in a quarter of a millisecond, ...
const FIRST: u32 = 16;

/// ... and one of so many that follow, so that the end of a burst is known.
const ONE_IN: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_timed_unless_there_are_many_in_a_tick() {
        let mut pace = Pace::default();
        let mut timed = |tick, blocks| (0..blocks).filter(|_| pace.is_worth_timing_in((tick, 0))).count();
        assert!((1..100).all(|tick| timed(tick, FIRST) == FIRST as usize));
        assert_eq!(timed(100, FIRST + 10 * ONE_IN), FIRST as usize + 10);
        assert_eq!(timed(101, 1), 1);
    }
}
