//! Searches and clock probes, which come as datagrams.

use schwann_proto::wire::{
    ByteWriter, Sink as _,
    discover::{self, Query},
    timedata,
};
use schwann_session::{
    Calendar, DATAGRAM_OVERHEAD, SessionId,
    discovery::{Asker, REPLY_HEAD, REPLY_OVERHEAD},
};

use super::{Outlet, Reply, Service};
use crate::{
    condition,
    description::Description,
    link::Link,
    security::{Member, Surroundings},
    time::Micros,
};

impl<const LINKS: usize, const RX: usize, const TX: usize> Outlet<'_, LINKS, RX, TX> {
    /// Longest reply, in bytes: a sealed description behind the id of a query.
    pub const MAX_REPLY: usize = Description::MAX_SHORTINFO + REPLY_OVERHEAD + 64;

    /// Answers a datagram: returns what to send of `out`, or nothing.
    ///
    /// - Shape: `out` has room for [`Self::MAX_REPLY`] bytes; `datagram` is opened in place if it is sealed.
    // Not part of its caller, which has buffers of its own. The stack holds the frame of one of its parts at
    // a time.
    #[inline(never)]
    pub fn handle_datagram(
        &mut self,
        datagram: &mut [u8],
        service: Service,
        surroundings: &mut Surroundings<'_>,
        out: &mut [u8],
    ) -> Option<Reply> {
        if let Some(session) = SessionId::of(datagram) {
            return self.answer_sealed_probe(session, datagram, surroundings.now, out);
        }
        if let Some(member) = self.security.member().copied()
            && let Ok((asker, text)) =
                member.discovery.open_query(datagram, self.calendar(&member, surroundings))
        {
            let text = datagram.get(text)?;
            return self.answer_sealed_query(&asker, text, &member, surroundings, out);
        }
        let reply = self.answer_open(datagram, service, surroundings.now, out);
        if reply.is_none() && Query::parse(datagram).is_none() {
            self.counters.odd_datagrams = self.counters.odd_datagrams.wrapping_add(1);
        }
        reply
    }

    /// Answers who asks in the clear, if anything may go in the clear.
    #[inline(never)]
    fn answer_open(&self, datagram: &[u8], service: Service, now: Micros, out: &mut [u8]) -> Option<Reply> {
        let mut writer = ByteWriter::new(out);
        if service == Service::Time
            && self.security.permits_plain()
            && let Some(request) = timedata::Request::parse(datagram)
        {
            time_reply(&request, now).encode(&mut writer).ok()?;
            return Some(Reply { len: writer.len(), port: None });
        }
        self.security.is_visible().then_some(())?;
        let port = put_reply(&self.description, &Query::parse(datagram)?, &mut writer)?;
        Some(Reply { len: writer.len(), port: Some(port) })
    }

    /// Answers a query that a member of the lab has sealed.
    #[inline(never)]
    fn answer_sealed_query(
        &mut self,
        asker: &Asker,
        text: &[u8],
        member: &Member<'_>,
        surroundings: &mut Surroundings<'_>,
        out: &mut [u8],
    ) -> Option<Reply> {
        // A network may repeat a datagram on every way to us; an attacker may do so for ever.
        let repeats = self.answered.iter().filter(|known| **known == Some(asker.id())).count();
        if repeats >= MAX_REPEATS {
            return None;
        }
        let is_dated = matches!(surroundings.calendar, Calendar::Known(_));
        if !is_dated && !self.undated.permits(surroundings.now) {
            return None;
        }
        self.answered.rotate_right(1);
        *self.answered.first_mut()? = Some(asker.id());
        // What is looked for must not be told where a stolen key opens it: secure-session §5.4.
        let query = Query::parse(text).filter(|query| query.condition.is_empty())?;
        let mut writer = ByteWriter::new(out.get_mut(REPLY_HEAD..)?);
        let port = put_reply(&self.description, &query, &mut writer)?;
        let len = writer.len();
        let len = member.discovery.seal_reply_in_place(asker, len, surroundings.entropy, out).ok()?;
        Some(Reply { len, port: Some(port) })
    }

    /// Answers a clock probe of a sealed link.
    #[inline(never)]
    fn answer_sealed_probe(
        &mut self,
        session: SessionId,
        datagram: &mut [u8],
        now: Micros,
        out: &mut [u8],
    ) -> Option<Reply> {
        let mut sessions = self.links.iter_mut().filter_map(Link::datagrams);
        let datagrams = sessions.find(|datagrams| datagrams.session() == session)?;
        let plain = datagrams.open(datagram).ok()?;
        let request = timedata::Request::parse(datagram.get(plain)?)?;
        let mut room = [0; timedata::DATAGRAM_LIMIT - DATAGRAM_OVERHEAD];
        let mut writer = ByteWriter::new(&mut room);
        time_reply(&request, now).encode(&mut writer).ok()?;
        let len = datagrams.seal(writer.written(), out).ok()?;
        Some(Reply { len, port: None })
    }
}

/// Sealed queries that are answered without knowing their age: a few in a second. A stranger that recorded some may
/// repeat them for ever, and each costs a key agreement. The reply is worth nothing to the stranger: the asker alone reads it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undated {
    since: Micros,
    count: u8,
}

impl Undated {
    fn permits(&mut self, now: Micros) -> bool {
        if now.since(self.since) >= SECOND {
            *self = Self { since: now, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count <= UNDATED_PER_SECOND
    }
}

/// Appends the reply to a query, and returns its destination port. Returns nothing if the query is not for
/// us.
fn put_reply(stream: &Description<'_>, query: &Query<'_>, out: &mut ByteWriter<'_>) -> Option<u16> {
    (query.return_port != 0 && query.id.len() <= 32).then_some(())?;
    condition::matches(query.condition, stream).then_some(())?;
    discover::encode_reply(query.id, "", out).ok()?;
    stream.put_shortinfo(out).ok()?;
    Some(query.return_port)
}

/// Both stamps are the same moment: what lies between is not known here, and is the same for all.
fn time_reply(request: &timedata::Request, now: Micros) -> timedata::Reply {
    timedata::Reply {
        wave: request.wave,
        request_sent: request.sent,
        request_received: now.seconds(),
        reply_sent: now.seconds(),
    }
}

/// In microseconds.
const SECOND: u64 = 1_000_000;
/// Two searches that go on ask twice a second, over two groups each.
const UNDATED_PER_SECOND: u8 = 8;
/// Sealed queries that are remembered.
pub(super) const REMEMBERED: usize = 16;
/// How often the same sealed query is answered.
const MAX_REPEATS: usize = 4;
