//! Chooses the handshake to answer next (secure-session §3.9).
//!
//! An answer costs a server some tenths of a millisecond. It costs the asker nothing: its first message may be a
//! copy. So there are so many turns a second, and networks take turns. A network where a member has proved itself
//! has turns of its own.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::Network;

/// The turns of one server: an outlet, or the sharing end of a tunnel.
#[derive(Debug)]
pub struct HandshakeTurns {
    strangers: Allowance,
    members: BTreeMap<Network, Allowance>,
    /// Which of the strangers' turns was the last of each network that still waits.
    served: BTreeMap<Network, u64>,
    turns: u64,
}

impl HandshakeTurns {
    /// Has met no member.
    pub fn new(now: Instant) -> Self {
        Self { strangers: Allowance::new(now), members: BTreeMap::new(), served: BTreeMap::new(), turns: 0 }
    }

    /// Takes a turn for one of the connections that wait.
    ///
    /// - Shape: `waiting` has each by a number that is smaller for an older one.
    /// - Errors: none has a turn before this time, if any waits.
    pub fn next<T: Copy + Ord>(
        &mut self,
        waiting: &[(T, Network)],
        now: Instant,
    ) -> Result<T, Option<Instant>> {
        let is_due = |network: &Network| self.members.get(network).is_some_and(|one| one.next() <= now);
        let member = waiting.iter().filter(|(_, network)| is_due(network)).min_by_key(|(number, _)| *number);
        if let Some((number, network)) = member {
            self.members.entry(*network).and_modify(|allowance| allowance.take(now));
            return Ok(*number);
        }
        if self.strangers.next() > now {
            let own =
                waiting.iter().filter_map(|(_, network)| self.members.get(network)).map(Allowance::next);
            return Err(waiting.first().and(own.chain([self.strangers.next()]).min()));
        }
        // First the network whose turn was longest ago. A new network does not wait behind networks that asked
        // often.
        let last = |network: &Network| self.served.get(network).copied().unwrap_or(0);
        let first = waiting.iter().min_by_key(|(number, network)| (last(network), *number));
        let (number, network) = *first.ok_or(None)?;
        self.strangers.take(now);
        self.turns += 1;
        let waiting: BTreeSet<_> = waiting.iter().map(|(_, network)| *network).collect();
        self.served.retain(|network, _| waiting.contains(network));
        self.served.insert(network, self.turns);
        Ok(number)
    }

    /// Notes that a member has proved itself from `network`.
    pub fn met(&mut self, network: Network, now: Instant) {
        if self.members.len() >= MEMBERS && !self.members.contains_key(&network) {
            let idle =
                self.members.iter().min_by_key(|(_, allowance)| allowance.full_at).map(|(one, _)| *one);
            idle.and_then(|network| self.members.remove(&network));
        }
        self.members.entry(network).or_insert_with(|| Allowance::new(now));
    }
}

/// [`BURST`] turns, and one more each [`PERIOD`].
#[derive(Debug)]
struct Allowance {
    /// When all turns are there again.
    full_at: Instant,
}

impl Allowance {
    fn new(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// From when on there is a turn.
    fn next(&self) -> Instant {
        // A clock that began less than that ago has none to lack.
        self.full_at.checked_sub(PERIOD * (BURST - 1)).unwrap_or(self.full_at)
    }

    fn take(&mut self, now: Instant) {
        self.full_at = self.full_at.max(now) + PERIOD;
    }
}

/// Turns that can be taken at once: the programs of a lab connect all at the same moment.
const BURST: u32 = 64;
/// From one turn to the next, in the long run: 50 in a second are about 2 % of a processor.
const PERIOD: Duration = Duration::from_millis(20);
/// Networks with turns of their own.
const MEMBERS: usize = 256;

#[cfg(test)]
mod tests;
