//! What a search asks, in the clear or sealed, and which answers it accepts.
//!
//! Sealed queries are worded anew for every burst. Each has a name of its own, a time, and a key that opens
//! its answers. They do not say which stream is wanted, because the key that seals them is stored. Every
//! stream of the lab answers, and this module chooses. An answer in the clear counts only for streams that
//! may travel in the clear. So no attacker can offer a plain stream in a sealed one's place.
//!
//! Source: lsl-wire §6; secure-session §5.4, §6.

use alloc::collections::VecDeque;
use core::fmt;
use std::sync::Arc;

use schwann_proto::{
    stream_info::StreamInfo,
    wire::{discover, query::Query},
};
use schwann_session::SystemEntropy;
use schwann_session::discovery::{Asked, DiscoveryKey, QUERY_OVERHEAD, QueryId};

use crate::{
    log,
    net::{
        lab_call::{self, Answer},
        sealed_queries::is_sealed,
    },
    security::{Member, Policy, Trust, keys::DiscoverySecret, policy::Open},
    time::wall_clock,
};

/// What one search asks.
pub(super) struct Questions {
    trust: Arc<Trust>,
    condition: String,
    /// What is asked in the clear; nothing if nothing is.
    open_condition: Option<String>,
    /// What is wanted; nothing if the query is malformed, and no stream fulfils it.
    wanted: Option<Query>,
    open_id: String,
    sealed: VecDeque<Sealed>,
}

/// A sealed query whose answers are still taken.
struct Sealed {
    asked: Asked,
    key: DiscoverySecret,
    about: About,
}

/// What a sealed query is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum About {
    /// Streams, from members who have the same revocation list; others answer with the number of theirs.
    Streams,
    /// Members with another revocation list. A device that was revoked has the key of this query, too.
    Lists,
}

/// What an answer says.
pub(super) enum Heard<'a> {
    /// A stream, by its description.
    Stream { document: &'a [u8], way: Way },
    /// A member has another revocation list.
    Call(Answer),
    /// It is no answer to these questions.
    Nothing,
}

/// How a description came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// In the clear.
    Open,
    /// In a sealed datagram.
    Sealed,
    /// Inside a session, where the outlet was told what is wanted.
    Session,
}

/// What becomes of a stream that was heard of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Judgement {
    /// Its outlet must be asked: its short description does not tell.
    Unknown,
    Unwanted,
    Wanted,
}

impl Questions {
    /// Words a search for `condition`.
    pub(super) fn new(trust: Arc<Trust>, condition: &str) -> Self {
        let open_condition = match trust.open_search() {
            Open::Everything => Some(condition.to_owned()),
            Open::Fulfilling(condition) => Some(condition),
            Open::Nothing => None,
        };
        let open_id = open_condition.as_deref().map_or(0, discover::query_id).to_string();
        Self {
            trust,
            condition: condition.to_owned(),
            wanted: Query::parse(condition).ok(),
            open_condition,
            open_id,
            sealed: VecDeque::new(),
        }
    }

    /// The membership that queries are sealed with.
    pub(super) fn member(&self) -> Option<&Arc<Member>> {
        self.trust.member()
    }

    /// What is asked in the clear, if anything is.
    pub(super) fn open_condition(&self) -> Option<&str> {
        self.open_condition.as_deref()
    }

    /// What is asked inside a session.
    pub(super) fn condition(&self) -> &str {
        &self.condition
    }

    /// Writes the queries of one burst, with answers to `port`, to `queries`.
    pub(super) fn word(&mut self, port: u16, queries: &mut Vec<Vec<u8>>) {
        queries.clear();
        if let Some(condition) = &self.open_condition {
            queries.push(encode(condition, port, &self.open_id));
        }
        let Some(member) = self.trust.member() else { return };
        let standing = member.standing();
        let query = encode(EVERY_STREAM, port, &everybody());
        let calls = standing.former().next().map(|key| (key, lab_call::request(port), About::Lists));
        let query = (standing.discovery(), query, About::Streams);
        for (key, text, about) in core::iter::once(query).chain(calls) {
            let mut datagram = vec![0; text.len() + QUERY_OVERHEAD];
            let sealed =
                DiscoveryKey::new(key).seal_query(&text, wall_clock(), &mut SystemEntropy, &mut datagram);
            match sealed {
                Ok((_, asked)) => {
                    self.sealed.push_back(Sealed { asked, key: key.clone(), about });
                    queries.push(datagram);
                }
                Err(error) => log::error!("a query cannot be sealed: {error}"),
            }
        }
        while self.sealed.len() > OPEN_QUERIES {
            self.sealed.pop_front();
        }
    }

    /// What a datagram says.
    pub(super) fn read<'a>(&self, datagram: &'a mut [u8]) -> Heard<'a> {
        if !is_sealed(datagram) {
            let document = discover::parse_reply(datagram, &self.open_id);
            let document = document.filter(|_| self.open_condition.is_some());
            return document.map_or(Heard::Nothing, |document| Heard::Stream { document, way: Way::Open });
        }
        let id = QueryId::of_reply(datagram);
        let Some(query) = self.sealed.iter().find(|query| Some(query.asked.id()) == id) else {
            return Heard::Nothing;
        };
        let Ok(text) = DiscoveryKey::new(&query.key).open_reply(&query.asked, datagram) else {
            return Heard::Nothing;
        };
        let text = datagram.get(text).unwrap_or_default();
        match (lab_call::parse_answer(text), query.about) {
            (Some(answer), _) => Heard::Call(answer),
            (None, About::Lists) => Heard::Nothing,
            (None, About::Streams) => discover::parse_reply(text, &everybody())
                .map_or(Heard::Nothing, |document| Heard::Stream { document, way: Way::Sealed }),
        }
    }

    /// Whether a stream whose description came this way is wanted, and may come this way.
    pub(super) fn judge(&self, info: &StreamInfo, way: Way) -> Judgement {
        let Some(wanted) = &self.wanted else { return Judgement::Unwanted };
        let is_wanted = match way {
            Way::Session => true,
            Way::Sealed if !wanted.is_about_fields() => return Judgement::Unknown,
            Way::Sealed => info.matches(wanted),
            // Under `require` the question in the clear is wider than what is wanted.
            Way::Open => {
                self.trust.policy_of_received(info) != Policy::Require
                    && (self.trust.policy() != Policy::Require || info.matches(wanted))
            }
        };
        if is_wanted { Judgement::Wanted } else { Judgement::Unwanted }
    }
}

/// What the reply to a sealed query begins with.
fn everybody() -> String {
    discover::query_id(EVERY_STREAM).to_string()
}

fn encode(condition: &str, port: u16, id: &str) -> Vec<u8> {
    let mut query = Vec::new();
    let message = discover::Query { condition, return_port: port, id };
    message.encode(&mut query).expect("a vector takes everything");
    query
}

impl fmt::Debug for Questions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Questions").field("condition", &self.condition).finish_non_exhaustive()
    }
}

/// The condition of every sealed query.
const EVERY_STREAM: &str = "";

/// Sealed queries whose answers are still taken: those of a few waves.
const OPEN_QUERIES: usize = 64;

#[cfg(test)]
mod tests {
    use schwann_session::discovery::REPLY_OVERHEAD;

    use super::*;
    use crate::net::testing::Lab;

    const FORMER: [u8; 32] = [1; 32];
    const CURRENT: [u8; 32] = [2; 32];

    /// The queries of a member with both keys, after a revocation, and its notes on them.
    fn asked() -> (Questions, Vec<Vec<u8>>) {
        let lab = Lab::new();
        let (first, second) = (lab.list(1, &FORMER), lab.list(2, &CURRENT));
        let member = Member::new(lab.authority.lab(), lab.credentials, first, &FORMER);
        assert_eq!(member.take_in(&[second.as_bytes(), &CURRENT[..]].concat()), Ok(true));
        let mut questions = Questions::new(Trust::new(Policy::Require, Some(member)).into(), "name='A'");
        let mut queries = Vec::new();
        questions.word(17_001, &mut queries);
        (questions, queries)
    }

    /// What the asker makes of `text`, sealed by a holder of `key` as the reply to `query`.
    fn heard(questions: &Questions, query: &[u8], key: &[u8; 32], text: &[u8]) -> &'static str {
        let mut query = query.to_vec();
        let (asker, _) = DiscoveryKey::new(key).open_query(&mut query, wall_clock()).expect("its key");
        let mut reply = vec![0; text.len() + REPLY_OVERHEAD];
        let sealed = DiscoveryKey::new(key).seal_reply(&asker, text, &mut SystemEntropy, &mut reply);
        sealed.expect("sealed");
        match questions.read(&mut reply) {
            Heard::Stream { way: Way::Sealed, document: b"<info/>" } => "a stream",
            Heard::Stream { .. } => "another stream",
            Heard::Call(Answer { list: 7, .. }) => "a call",
            Heard::Call(_) => "another call",
            Heard::Nothing => "nothing",
        }
    }

    #[test]
    fn who_has_the_former_key_alone_offers_no_streams() {
        let (questions, queries) = asked();
        let [query, call] = queries.as_slice() else { panic!("{} queries", queries.len()) };
        let description = format!("{}\r\n<info/>", everybody()).into_bytes();
        let list = b"LSL:lab\r\n7 16572 0\r\n";
        assert_eq!(heard(&questions, query, &CURRENT, &description), "a stream");
        assert_eq!(heard(&questions, query, &CURRENT, list), "a call");
        assert_eq!(heard(&questions, call, &FORMER, list), "a call");
        assert_eq!(heard(&questions, call, &FORMER, &description), "nothing");
    }
}
