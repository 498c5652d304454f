//! How many strangers may shake hands at once, and how often one may try.

use alloc::collections::BTreeMap;
use core::net::IpAddr;
use core::time::Duration;

/// Limits on incoming handshakes: each costs two modular exponentiations, so nobody gets them for nothing.
///
/// It has no clock: `now` is any steadily growing time.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Handshakes under way at once.
    pub half_open_max: usize,
    /// Attempts of one address within [`Self::window`].
    pub attempts_max: u32,
    /// How long an attempt counts.
    pub window: Duration,
    half_open: usize,
    recent: BTreeMap<IpAddr, Recent>,
}

/// An address's attempts since the beginning of its window.
#[derive(Clone, Copy, Debug)]
struct Recent {
    since: Duration,
    attempts: u32,
}

/// Why a stranger is turned away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// Too many handshakes are under way.
    Full,
    /// This address has tried too often.
    TooOften,
}

/// Addresses remembered at most; with more, the gate is full.
const ADDRESSES: usize = 4_096;

impl Default for Gate {
    /// 64 handshakes at once, and 120 attempts a minute from one address.
    fn default() -> Self {
        Self {
            half_open_max: 64,
            attempts_max: 120,
            window: Duration::from_secs(60),
            half_open: 0,
            recent: BTreeMap::new(),
        }
    }
}

impl Gate {
    /// Lets a handshake begin; [`Self::leave`] ends it.
    ///
    /// - Errors: close the connection without a word.
    pub fn enter(&mut self, from: IpAddr, now: Duration) -> Result<(), Refusal> {
        if self.half_open >= self.half_open_max {
            return Err(Refusal::Full);
        }
        if self.recent.len() >= ADDRESSES && !self.recent.contains_key(&from) {
            let window = self.window;
            self.recent.retain(|_, recent| now.saturating_sub(recent.since) < window);
            if self.recent.len() >= ADDRESSES {
                return Err(Refusal::Full);
            }
        }
        let recent = self.recent.entry(from).or_insert(Recent { since: now, attempts: 0 });
        if now.saturating_sub(recent.since) >= self.window {
            *recent = Recent { since: now, attempts: 0 };
        }
        if recent.attempts >= self.attempts_max {
            return Err(Refusal::TooOften);
        }
        recent.attempts += 1;
        self.half_open += 1;
        Ok(())
    }

    /// Notes that a handshake has ended, however it did.
    pub fn leave(&mut self) {
        self.half_open = self.half_open.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::V4(n.into())
    }

    #[test]
    fn the_gate_bounds_what_is_under_way_and_how_often_one_address_tries() {
        let mut gate = Gate { half_open_max: 2, attempts_max: 3, ..Gate::default() };
        let at = Duration::from_secs;
        assert_eq!(gate.enter(address(1), at(0)), Ok(()));
        assert_eq!(gate.enter(address(1), at(1)), Ok(()));
        assert_eq!(gate.enter(address(2), at(1)), Err(Refusal::Full));
        gate.leave();
        assert_eq!(gate.enter(address(1), at(2)), Ok(()));
        gate.leave();
        assert_eq!(gate.enter(address(1), at(59)), Err(Refusal::TooOften));
        assert_eq!(gate.enter(address(1), at(60)), Ok(()));
    }

    #[test]
    fn ten_thousand_addresses_do_not_make_it_grow() {
        let mut gate = Gate::default();
        for n in 0..10_000 {
            if gate.enter(address(n), Duration::ZERO).is_ok() {
                gate.leave();
            }
        }
        assert_eq!(gate.recent.len(), ADDRESSES);
        assert_eq!(gate.enter(address(20_000), Duration::from_secs(61)), Ok(()));
        assert_eq!(gate.recent.len(), 1);
    }
}
