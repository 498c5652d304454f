//! Time as a chip has it.

/// Microseconds since any fixed moment, on a clock that never goes back.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Micros(pub u64);

impl Micros {
    /// The moment `micros` later.
    #[must_use]
    pub fn after(self, micros: u64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// How long ago `earlier` was, in microseconds; 0 if it is yet to come.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment as LSL has it.
    ///
    /// - Units: seconds on the local clock; exact for 285 years.
    #[must_use]
    pub fn seconds(self) -> f64 {
        let [high, low] =
            [self.0 >> 32, self.0 & 0xffff_ffff].map(|half| u32::try_from(half).unwrap_or(u32::MAX));
        (f64::from(high) * 4_294_967_296.0 + f64::from(low)) / 1e6
    }
}

/// Makes a clock that never goes back of a counter of 32 bits that wraps.
///
/// It must be read at least once in every turn of the counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks32 {
    last: u32,
    turns: u32,
}

impl Ticks32 {
    /// Takes what the counter shows, and returns all ticks since it began.
    pub fn extend(&mut self, counter: u32) -> u64 {
        if counter < self.last {
            self.turns = self.turns.wrapping_add(1);
        }
        self.last = counter;
        (u64::from(self.turns) << 32) | u64::from(counter)
    }
}

/// How long the driver of a node may sleep. What arrives, and a push, end the sleep.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Wait {
    /// Until this moment; then call `poll` again.
    Until(Micros),
    /// Until something happens.
    ForEvent,
}

impl Wait {
    /// The wait that ends first.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        self.min(other)
    }
}

#[cfg(test)]
mod tests {
    use super::{Micros, Ticks32, Wait};

    #[test]
    fn a_counter_that_wraps_goes_on() {
        let mut clock = Ticks32::default();
        assert_eq!(clock.extend(u32::MAX), 0xffff_ffff);
        assert_eq!(clock.extend(3), 0x1_0000_0003);
        assert_eq!(clock.extend(3), 0x1_0000_0003);
        assert_eq!(clock.extend(2), 0x2_0000_0002);
    }

    #[test]
    fn seconds_are_exact_across_the_32_bit_border() {
        assert_eq!(Micros(4_294_967_296).seconds(), 4294.967296);
        assert_eq!(Micros(86_400_000_000_001).seconds(), 86_400_000.000001);
    }

    #[test]
    fn the_sooner_wait_wins() {
        assert_eq!(Wait::ForEvent.sooner(Wait::Until(Micros(5))), Wait::Until(Micros(5)));
        assert_eq!(Wait::Until(Micros(4)).sooner(Wait::Until(Micros(5))), Wait::Until(Micros(4)));
    }
}
