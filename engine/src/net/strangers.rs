//! Notes searches at an outlet that get no answer, and tells the person in front of the outlet.
//!
//! A peer with an answered query is no stranger, even if it sent other datagrams. Under `prefer`, a member
//! asks in both ways. So a query counts when another follows and none from the same socket was answered
//! between. liblsl takes a new socket for each. Memory is bounded, and each address is told once for each
//! reason. A flood of strangers does not hide a member whose clock differs.

use alloc::collections::VecDeque;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::time::Instant;

use schwann_session::Refusal;

use crate::lately::Lately;

/// What is known of the searchers.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    answered: VecDeque<SocketAddr>,
    /// A peer that knows nothing of the lab can send any number of these.
    refused: Searches,
    /// These take a member's query, and have room of their own.
    at_wrong_time: Searches,
}

/// Searches without an answer.
#[derive(Debug)]
struct Searches {
    first: VecDeque<(SocketAddr, Instant)>,
    told: Lately<(IpAddr, Reason)>,
}

/// Why a search gets no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reason {
    /// A session would be refused, for this reason.
    Refused(Refusal),
    /// It is a member whose clock differs, or an old query.
    WrongTime,
}

impl Default for Searches {
    fn default() -> Self {
        Self { first: VecDeque::new(), told: Lately::new(TELL_AGAIN) }
    }
}

impl Strangers {
    /// Notes that a query of `source` was a member's.
    pub(crate) fn note_answered(&mut self, source: SocketAddr) {
        for searches in [&mut self.refused, &mut self.at_wrong_time] {
            searches.first.retain(|(known, _)| *known != source);
        }
        if !self.answered.contains(&source) {
            push(&mut self.answered, source);
        }
    }

    /// Notes that a query of `source` gets no answer; returns whether to tell that.
    pub(crate) fn note(&mut self, source: SocketAddr, reason: Reason, now: Instant) -> bool {
        if self.answered.contains(&source) {
            return false;
        }
        match reason {
            Reason::Refused(_) => self.refused.note(source, reason, now),
            Reason::WrongTime => self.at_wrong_time.note(source, reason, now),
        }
    }
}

impl Searches {
    fn note(&mut self, source: SocketAddr, reason: Reason, now: Instant) -> bool {
        self.first.retain(|(_, at)| now.duration_since(*at) < REMEMBERED);
        let before = |(known, at): &(SocketAddr, Instant)| {
            known.ip() == source.ip() && now.duration_since(*at) >= NEXT_BURST
        };
        if !self.first.iter().any(before) {
            if self.first.iter().all(|(known, _)| *known != source) {
                push(&mut self.first, (source, now));
            }
            return false;
        }
        self.told.is_new((source.ip(), reason), now)
    }
}

/// Adds one, and forgets the oldest if there are too many.
fn push<T>(queue: &mut VecDeque<T>, one: T) {
    if queue.len() >= MOST {
        queue.pop_front();
    }
    queue.push_back(one);
}

/// Shortest time until the next query of a peer counts: one burst brings several.
const NEXT_BURST: Duration = Duration::from_millis(300);
/// Entries of each kind.
const MOST: usize = 64;
/// Time that a query is remembered for; searches repeat theirs every few seconds.
const REMEMBERED: Duration = Duration::from_secs(30);
/// Time after which the same is told again.
const TELL_AGAIN: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Reason = Reason::Refused(Refusal::PlainPeer);
    const FOREIGN: Reason = Reason::Refused(Refusal::WrongLab);

    fn at(number: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], number))
    }

    #[test]
    fn who_asks_again_without_an_answer_is_told_once_for_each_reason() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        assert!(!strangers.note(at(1), PLAIN, start));
        assert!(!strangers.note(at(1), PLAIN, start + Duration::from_millis(10)), "the same burst");
        assert!(strangers.note(at(1), PLAIN, later(1)));
        assert!(!strangers.note(at(1), PLAIN, later(2)), "it is told");
        assert!(strangers.note(at(1), FOREIGN, later(2)), "another reason");
        assert!(!strangers.note(at(1), PLAIN, later(602)), "it may be another program");
        assert!(strangers.note(at(1), PLAIN, later(603)));
    }

    #[test]
    fn who_takes_a_new_socket_for_each_query_is_told_as_well() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        assert!(!strangers.note(at(1), PLAIN, start));
        assert!(strangers.note(at(2), PLAIN, start + Duration::from_secs(1)));
    }

    #[test]
    fn a_member_that_asks_in_both_ways_is_no_stranger() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        for second in 0..5 {
            assert!(!strangers.note(at(1), PLAIN, start + Duration::from_secs(second)));
            strangers.note_answered(at(1));
        }
        // Another program of the same computer is.
        assert!(!strangers.note(at(2), PLAIN, start));
        assert!(strangers.note(at(2), PLAIN, start + Duration::from_secs(1)));
    }

    #[test]
    fn a_flood_of_strangers_takes_bounded_memory_and_few_words() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let mut told = 0;
        for (round, number) in (0..2).flat_map(|round| (0..10_000_u32).map(move |number| (round, number))) {
            let source = SocketAddr::from((number.to_be_bytes(), 1));
            let again = start + Duration::from_secs(round);
            told += usize::from(strangers.note(source, FOREIGN, again));
            told += usize::from(strangers.note(source, FOREIGN, again + Duration::from_secs(1)));
        }
        let Searches { first, told: known } = &strangers.refused;
        assert!(told <= MOST && strangers.answered.len() + first.len() + known.len() <= 3 * MOST);
    }

    #[test]
    fn a_flood_of_strangers_does_not_hide_a_member_with_a_wrong_clock() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let later = start + Duration::from_secs(1);
        assert!(!strangers.note(at(1), Reason::WrongTime, start));
        for (now, number) in
            [start, later].into_iter().flat_map(|now| (0..1000_u32).map(move |number| (now, number)))
        {
            strangers.note(SocketAddr::from((number.to_be_bytes(), 1)), FOREIGN, now);
        }
        assert!(strangers.note(at(1), Reason::WrongTime, later));
    }
}
