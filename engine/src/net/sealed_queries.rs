//! Sealed discovery, as an outlet answers it: members get an answer, strangers none.
//!
//! A query is answered once to each address that it came from, and to [`ANSWERS`] addresses at most. So a
//! recorded query reveals no more than who is there. A query under a key of an earlier revocation list comes
//! from a member that does not know the newest one. It gets no description, but learns where it can get a
//! list.
//!
//! Source: secure-session §5.4, §5.5.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt;
use core::net::IpAddr;
use core::time::Duration;
use std::time::Instant;

use schwann_session::SystemEntropy;
use schwann_session::discovery::{Asker, DiscoveryError, DiscoveryKey, QueryId, REPLY_OVERHEAD};

use crate::security::keys::{DiscoverySecret, Member};
use crate::time::wall_clock;

/// The sealed queries of one outlet.
pub(crate) struct SealedQueries {
    member: Arc<Member>,
    answered: VecDeque<Answered>,
    copy: Vec<u8>,
}

struct Answered {
    query: QueryId,
    until: Instant,
    sources: Vec<IpAddr>,
}

/// A query that a member sealed.
pub(crate) struct Unsealed<'a> {
    pub(crate) text: &'a [u8],
    /// Whether the member knows the newest revocation list.
    pub(crate) is_current: bool,
    asker: Asker,
    key: DiscoverySecret,
}

/// How to answer a query, once its text has been read.
pub(crate) struct Envelope {
    asker: Asker,
    key: DiscoverySecret,
}

/// Why a sealed query is not answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Silence {
    /// It is from another lab, or made up, or damaged.
    Foreign,
    /// It was answered before; networks repeat datagrams, and so do attackers.
    Repeated,
    /// It is from another time.
    WrongTime,
}

impl SealedQueries {
    pub(crate) fn new(member: Arc<Member>) -> Self {
        Self { member, answered: VecDeque::new(), copy: Vec::new() }
    }

    /// The number of the revocation list in force.
    pub(crate) fn list_number(&self) -> u64 {
        self.member.revocation_number()
    }

    /// Opens a query from `source` in place.
    ///
    /// - Errors: why it is not to be answered.
    pub(crate) fn open<'a>(
        &mut self,
        datagram: &'a mut [u8],
        source: IpAddr,
    ) -> Result<Unsealed<'a>, Silence> {
        let standing = self.member.standing();
        let keys = core::iter::once(standing.discovery()).chain(standing.former());
        // What does not verify is wiped, so every key but the first tries a copy.
        self.copy.clear();
        if standing.former().next().is_some() {
            self.copy.extend_from_slice(datagram);
        }
        let mut opened = Err(Silence::Foreign);
        for (age, key) in keys.enumerate() {
            if age > 0 {
                datagram.copy_from_slice(&self.copy);
            }
            match DiscoveryKey::new(key).open_query(datagram, wall_clock()) {
                Ok((asker, text)) => opened = Ok((asker, text, age == 0, key.clone())),
                Err(DiscoveryError::WrongTime) => opened = Err(Silence::WrongTime),
                Err(_) => continue,
            }
            break;
        }
        let (asker, text, is_current, key) = opened?;
        if !self.note(asker.id(), source, Instant::now()) {
            return Err(Silence::Repeated);
        }
        let text = datagram.get(text).ok_or(Silence::Foreign)?;
        Ok(Unsealed { text, is_current, asker, key })
    }

    /// Notes that a query is answered; says no if it was before, or too often.
    fn note(&mut self, query: QueryId, source: IpAddr, now: Instant) -> bool {
        while self.answered.front().is_some_and(|oldest| oldest.until <= now)
            || self.answered.len() > REMEMBERED
        {
            self.answered.pop_front();
        }
        match self.answered.iter_mut().find(|answered| answered.query == query) {
            Some(known) if known.sources.contains(&source) || known.sources.len() >= ANSWERS => false,
            Some(known) => {
                known.sources.push(source);
                true
            }
            None => {
                self.answered.push_back(Answered { query, until: now + REPEATABLE, sources: vec![source] });
                true
            }
        }
    }
}

impl Unsealed<'_> {
    /// What is needed to answer, without the text.
    pub(crate) fn envelope(&self) -> Envelope {
        Envelope { asker: self.asker, key: self.key.clone() }
    }
}

impl Envelope {
    /// Seals a reply into `out`; says whether that was possible.
    pub(crate) fn seal(&self, reply: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        out.resize(reply.len() + REPLY_OVERHEAD, 0);
        DiscoveryKey::new(&self.key).seal_reply(&self.asker, reply, &mut SystemEntropy, out).is_ok()
    }
}

impl fmt::Debug for SealedQueries {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SealedQueries")
    }
}

/// Whether a datagram looks like a sealed query or reply.
pub(crate) fn is_sealed(datagram: &[u8]) -> bool {
    datagram.starts_with(&[0xD5, b'S'])
}

/// Addresses that one query is answered to; a computer asks through each of its interfaces.
const ANSWERS: usize = 8;
/// Queries remembered; older ones are forgotten first.
const REMEMBERED: usize = 1024;
/// Longest time that a query can be repeated: its time may be as far ahead as behind (secure-session §5.4).
const REPEATABLE: Duration = Duration::from_secs(61);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::Lab;
    use schwann_session::UnixSeconds;
    use schwann_session::discovery::QUERY_OVERHEAD;

    const KEYS: [[u8; 32]; 2] = [[1; 32], [2; 32]];
    const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);

    fn queries() -> (SealedQueries, Arc<Member>) {
        let lab = Lab::new();
        let [first, second] = [1, 2].map(|number| lab.list(number, &KEYS[number as usize - 1]));
        let member = Arc::new(Member::new(lab.authority.lab(), lab.credentials, first, &KEYS[0]));
        let update = [second.as_bytes(), &KEYS[1]].concat();
        assert_eq!(member.take_in(&update), Ok(true));
        (SealedQueries::new(Arc::clone(&member)), member)
    }

    fn query(key: &[u8; 32], ahead: i64) -> Vec<u8> {
        let (text, mut datagram) = (b"text", vec![0; 4 + QUERY_OVERHEAD]);
        let now = UnixSeconds(wall_clock().0.saturating_add_signed(ahead));
        let sealed = DiscoveryKey::new(key).seal_query(text, now, &mut SystemEntropy, &mut datagram);
        sealed.expect("sealed");
        datagram
    }

    fn outcome(queries: &mut SealedQueries, datagram: &[u8], source: IpAddr) -> Result<bool, Silence> {
        let mut datagram = datagram.to_vec();
        let opened = queries.open(&mut datagram, source)?;
        assert_eq!(opened.text, b"text");
        Ok(opened.is_current)
    }

    #[test]
    fn members_are_answered_and_nobody_else() {
        let (mut queries, _) = queries();
        assert_eq!(outcome(&mut queries, &query(&KEYS[1], 0), HERE), Ok(true));
        assert_eq!(outcome(&mut queries, &query(&KEYS[0], 0), HERE), Ok(false), "an earlier key");
        assert_eq!(outcome(&mut queries, &query(&[3; 32], 0), HERE), Err(Silence::Foreign));
        for ahead in [-60, 60] {
            assert_eq!(outcome(&mut queries, &query(&KEYS[1], ahead), HERE), Err(Silence::WrongTime));
        }
        let datagram = query(&KEYS[1], 0);
        for position in 0..datagram.len() {
            let mut forged = datagram.clone();
            forged[position] ^= 1;
            assert_eq!(outcome(&mut queries, &forged, HERE), Err(Silence::Foreign), "byte {position}");
            let cut = datagram.get(..position).expect("shorter");
            assert_eq!(outcome(&mut queries, cut, HERE), Err(Silence::Foreign), "cut at {position}");
        }
        assert_eq!(outcome(&mut queries, &datagram, HERE), Ok(true));
    }

    #[test]
    fn a_query_that_comes_again_is_not_answered_again() {
        let (mut queries, _) = queries();
        let datagram = query(&KEYS[1], 0);
        assert_eq!(outcome(&mut queries, &datagram, HERE), Ok(true));
        assert_eq!(outcome(&mut queries, &datagram, HERE), Err(Silence::Repeated));
        // Through other interfaces it may come again, but not without end.
        let elsewhere = |number: u8| IpAddr::from([10, 0, 0, number]);
        let answers = (1..=50).filter(|number| outcome(&mut queries, &datagram, elsewhere(*number)).is_ok());
        assert_eq!(answers.count(), ANSWERS - 1);
    }

    #[test]
    fn a_flood_of_queries_takes_bounded_memory() {
        let (mut queries, _) = queries();
        for _ in 0..3 * REMEMBERED {
            assert_eq!(outcome(&mut queries, &query(&KEYS[1], 0), HERE), Ok(true));
        }
        assert!(queries.answered.len() <= REMEMBERED + 1);
    }
}
