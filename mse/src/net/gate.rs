//! How many strangers may shake hands at once, and how often one may try.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;

/// Limits on incoming handshakes: each costs two modular exponentiations, so none is for nothing.
///
/// A newcomer is not turned away because others are under way: the oldest of them gives way. An IPv6 address counts by
/// its first 64 bits, because a computer chooses the others as it likes.
///
/// It has no clock: `now` is any steadily growing time.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Handshakes under way at once.
    pub half_open_max: usize,
    /// Handshakes under way at once with one address.
    pub half_open_of_one_max: usize,
    /// Attempts of one address within [`Self::window`].
    pub attempts_max: u32,
    /// How long an attempt counts.
    pub window: Duration,
    /// By age: the oldest has the smallest number.
    half_open: BTreeMap<u64, IpAddr>,
    entered: u64,
    recent: BTreeMap<IpAddr, Recent>,
}

/// An address's attempts since the beginning of its window.
#[derive(Clone, Copy, Debug)]
struct Recent {
    since: Duration,
    attempts: u32,
}

/// A handshake that may begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entered {
    /// Its number, for [`Gate::leave`].
    pub number: u64,
    /// The handshake that gives way to it, if one must: close its connection. It has left.
    pub gives_way: Option<u64>,
}

/// Why a stranger is turned away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// This address has tried too often.
    TooOften,
}

impl Default for Gate {
    /// 64 handshakes at once, 32 of them and 120 attempts a minute from one address.
    fn default() -> Self {
        Self {
            half_open_max: 64,
            half_open_of_one_max: 32,
            attempts_max: 120,
            window: Duration::from_secs(60),
            half_open: BTreeMap::new(),
            entered: 0,
            recent: BTreeMap::new(),
        }
    }
}

impl Gate {
    /// Lets a handshake begin; [`Self::leave`] ends it.
    ///
    /// - Errors: close the connection without a word.
    pub fn enter(&mut self, from: IpAddr, now: Duration) -> Result<Entered, Refusal> {
        let from = network(from);
        self.count_attempt(from, now)?;
        let gives_way = self.gives_way(from);
        gives_way.inspect(|oldest| self.leave(*oldest));
        let number = self.entered;
        self.entered = number.wrapping_add(1);
        self.half_open.insert(number, from);
        Ok(Entered { number, gives_way })
    }

    /// Notes that a handshake has ended, however it did.
    pub fn leave(&mut self, number: u64) {
        self.half_open.remove(&number);
    }

    fn count_attempt(&mut self, from: IpAddr, now: Duration) -> Result<(), Refusal> {
        if self.recent.len() >= ADDRESSES && !self.recent.contains_key(&from) {
            let window = self.window;
            self.recent.retain(|_, recent| now.saturating_sub(recent.since) < window);
            if self.recent.len() >= ADDRESSES {
                let first = self.recent.iter().min_by_key(|(_, recent)| recent.since);
                if let Some(first) = first.map(|(address, _)| *address) {
                    self.recent.remove(&first);
                }
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
        Ok(())
    }

    /// If the newcomer's address has its share, its oldest handshake. Otherwise the oldest of the address with the
    /// most; none if there is room.
    fn gives_way(&self, newcomer: IpAddr) -> Option<u64> {
        let mut addresses = BTreeMap::<IpAddr, (usize, u64)>::new();
        for (number, from) in &self.half_open {
            addresses.entry(*from).or_insert((0, *number)).0 += 1;
        }
        let own = addresses.get(&newcomer).filter(|(count, _)| *count >= self.half_open_of_one_max);
        if let Some((_, oldest)) = own {
            return Some(*oldest);
        }
        if self.half_open.len() < self.half_open_max {
            return None;
        }
        let most = addresses.values().map(|(count, _)| *count).max()?;
        addresses.values().filter(|(count, _)| *count == most).map(|(_, oldest)| *oldest).min()
    }
}

/// The address, without what a computer chooses as it likes.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

/// Addresses remembered at most; with more, the one whose window began first is forgotten.
const ADDRESSES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::V4(n.into())
    }

    /// Enters, and says who gave way.
    fn enter(gate: &mut Gate, from: IpAddr) -> Option<u64> {
        gate.enter(from, Duration::ZERO).expect("a first attempt").gives_way
    }

    #[test]
    fn the_gate_bounds_how_often_one_address_tries() {
        let mut gate = Gate { attempts_max: 3, ..Gate::default() };
        let at = Duration::from_secs;
        for second in 0..3 {
            let entered = gate.enter(address(1), at(second)).expect("it may try");
            gate.leave(entered.number);
        }
        assert_eq!(gate.enter(address(1), at(59)), Err(Refusal::TooOften));
        assert!(gate.enter(address(2), at(59)).is_ok());
        assert!(gate.enter(address(1), at(60)).is_ok());
    }

    #[test]
    fn the_oldest_of_the_address_that_has_most_gives_way_to_a_newcomer() {
        let mut gate = Gate { half_open_max: 4, half_open_of_one_max: 3, ..Gate::default() };
        assert_eq!([1, 2, 2, 2].map(|n| enter(&mut gate, address(n))), [None; 4]);
        assert_eq!(enter(&mut gate, address(3)), Some(1), "the first of the second address");
        assert_eq!(gate.half_open.len(), 4);
        gate.leave(1);
        assert_eq!(gate.half_open.len(), 4, "it has left already");
        assert_eq!(enter(&mut gate, address(2)), Some(2));
        gate.leave(0);
        assert_eq!(enter(&mut gate, address(2)), None);
        assert_eq!(
            enter(&mut gate, address(2)),
            Some(3),
            "an address that has its share gives way to itself"
        );
    }

    #[test]
    fn an_ipv6_computer_is_one_address_however_it_is_called() {
        let mut gate = Gate { half_open_of_one_max: 2, ..Gate::default() };
        let of = |host: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 0, 0, 0, host));
        assert_eq!([1, 2, 3].map(|host| enter(&mut gate, of(host))), [None, None, Some(0)]);
        assert_eq!(network("::ffff:10.0.0.1".parse().expect("an address")), address(0x0a00_0001));
    }

    #[test]
    fn ten_thousand_addresses_neither_make_it_grow_nor_shut_it() {
        let mut gate = Gate::default();
        for n in 0..10_000 {
            let entered = gate.enter(address(n), Duration::ZERO).expect("a first attempt");
            gate.leave(entered.number);
        }
        assert_eq!(gate.recent.len(), ADDRESSES);
        assert!(gate.enter(address(20_000), Duration::from_secs(61)).is_ok());
        assert_eq!(gate.recent.len(), 1);
    }
}
