//! One connection to an outlet's TCP port, from the request to the last sample.

use alloc::sync::Arc;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::time::Instant;

use mio::Interest;
use schwann_proto::wire::feed::{Agreement, Pace, REQUEST_LIMIT, Report, RequestReader};
use schwann_session::{HANDSHAKE_LIMIT, Refusal, SessionId};

use crate::codec::Encoding;
use crate::config::Config;
use crate::log;
use crate::net::link::{Carrier, Link};
use crate::outlet::fanout::Joining;
use crate::outlet::{Greeting, Shared};
use crate::security::journal::{self, Side};
use crate::security::link::{Flow, Handshake, Opener};
use crate::sys::sockets::{self, Watched};

mod reply;
mod securing;

/// What the server does with the connection after an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    Keep,
    Part,
}

/// A connection and what it is for.
pub(super) struct Conversation {
    watched: Watched,
    link: Arc<Link>,
    opener: Opener,
    /// The session whose clock probes are answered while the connection lasts.
    session: Option<SessionId>,
    /// Changes of this end's key that were logged.
    rekeys: u64,
    /// What the poller was told to wait for.
    interest: Interest,
    /// When it was last said that the program at the other end is too slow.
    named: Option<Instant>,
    role: Role,
}

enum Role {
    /// The client began a handshake and has no turn yet; this is what it has said.
    Waiting { received: Vec<u8>, deadline: Instant },
    /// The client shakes hands; what it wants comes sealed.
    Securing { handshake: Handshake, deadline: Instant },
    /// The request has not arrived completely.
    Asking { reader: RequestReader, received: Vec<u8>, deadline: Instant },
    /// A short answer is on its way; the connection ends behind it.
    Answering { answer: Vec<u8>, sent: usize, deadline: Instant },
    /// The answer is sent; the client has yet to close.
    Closing { deadline: Instant },
    /// A consumer of samples.
    Feeding {
        consumer: u64,
        /// What it said of itself, and is no whole line yet; nothing if it has nothing to say.
        said: Option<Vec<u8>>,
    },
}

impl Conversation {
    /// - Errors: what the system says if it has no handle for the poller.
    pub(super) fn new(link: Link, config: &Config) -> io::Result<Self> {
        let socket = link.socket();
        // All of these make things faster or larger at most; without them the connection works as well.
        if link.carrier() == Carrier::Tcp {
            let _ = socket.set_tcp_nodelay(true);
        }
        if config.tuning.send_socket_buffer_size > 0 {
            let _ = socket.set_send_buffer_size(config.tuning.send_socket_buffer_size);
        }
        if config.tuning.receive_socket_buffer_size > 0 {
            let _ = socket.set_recv_buffer_size(config.tuning.receive_socket_buffer_size);
        }
        let deadline = Instant::now() + CLIENT_TIMEOUT;
        let role = Role::Asking { reader: RequestReader::new(), received: Vec::new(), deadline };
        Ok(Self {
            watched: Watched::new(link.socket())?,
            link: Arc::new(link),
            opener: Opener::default(),
            session: None,
            rekeys: 0,
            interest: ANYTHING,
            named: None,
            role,
        })
    }

    /// What the poller knows the link as.
    pub(super) fn watched(&mut self) -> &mut Watched {
        &mut self.watched
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// What the poller is told at first to wait for.
    pub(super) fn interest(&self) -> Interest {
        self.interest
    }

    /// The new interest for the poller, given the consumers whose sockets are full.
    ///
    /// A local socket reports itself writable for each piece that its reader takes. This would wake the server with
    /// every sample, so the server asks only when it matters. On Linux, TCP says it only after it had no room.
    pub(super) fn changed_interest(&mut self, full: &[u64]) -> Option<Interest> {
        let has_room = match self.role {
            Role::Feeding { consumer, .. } => !full.contains(&consumer),
            Role::Answering { .. } => false,
            _ => !self.link.has_unsent(),
        };
        let wanted =
            if has_room && self.asks_for_room_only_when_full() { Interest::READABLE } else { ANYTHING };
        (core::mem::replace(&mut self.interest, wanted) != wanted).then_some(wanted)
    }

    fn asks_for_room_only_when_full(&self) -> bool {
        let is_local_feed =
            matches!(self.role, Role::Feeding { .. }) && self.link.carrier() == Carrier::Local;
        is_local_feed || sockets::ROOM_IS_TOLD_UNASKED
    }

    /// The consumer that this connection feeds, if any.
    pub(super) fn consumer(&self) -> Option<u64> {
        match self.role {
            Role::Feeding { consumer, .. } => Some(consumer),
            _ => None,
        }
    }

    /// The session whose clock probes are answered, if any.
    pub(super) fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// When the client's time is up, unless it is a consumer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.role {
            Role::Waiting { deadline, .. }
            | Role::Securing { deadline, .. }
            | Role::Asking { deadline, .. }
            | Role::Answering { deadline, .. }
            | Role::Closing { deadline } => Some(*deadline),
            Role::Feeding { .. } => None,
        }
    }

    /// Whether the client has not yet become a consumer and not yet proved who it is.
    pub(super) fn is_stranger(&self) -> bool {
        self.deadline().is_some() && !self.link.layer().is_sealed()
    }

    /// Whether the client waits for its turn to shake hands.
    pub(super) fn waits_for_turn(&self) -> bool {
        matches!(self.role, Role::Waiting { .. })
    }

    /// Proves the end of a sealed stream to its consumer, if everything before has gone out.
    pub(super) fn say_goodbye(&self) {
        if self.consumer().is_some() && !self.link.has_unsent() {
            self.link.send_end();
        }
    }

    /// Why the client would not be let in any more.
    pub(super) fn dismissal(&self) -> Option<Refusal> {
        self.link.layer().dismissal()
    }

    /// Tells the client and the log why the connection of a client that was let in ends.
    pub(super) fn note_dismissed(&self, shared: &Shared, refusal: Refusal) {
        self.link.send_refusal(refusal);
        self.note_refused(shared, refusal);
    }

    /// Tells that a client's time is up, if it was to prove who it is.
    pub(super) fn note_silence(&self, shared: &Shared) {
        if matches!(self.role, Role::Securing { .. }) {
            self.note_refused(shared, Refusal::TimedOut);
        }
    }

    fn note_refused(&self, shared: &Shared, refusal: Refusal) {
        journal::refused(shared.advertisement.info(), self.link.peer_address(), refusal, Side::Outlet);
    }

    /// Tells the session the time, and logs what changes of this end's key there were since the last look.
    pub(super) fn look_after_key(&mut self, shared: &Shared) {
        let rekeys = self.link.layer().tick();
        if core::mem::replace(&mut self.rekeys, rekeys) != rekeys {
            journal::rekeyed(shared.advertisement.info(), self.link.peer_address(), Side::Outlet, rekeys);
        }
    }

    /// Hands the newest revocation list on to the client with what is sent next, if the client's is older.
    pub(super) fn offer_update(&self) {
        self.link.layer().offer_update();
    }

    /// Ends the connection.
    pub(super) fn end(&self) {
        self.link.shut_down();
    }

    /// Does what the socket permits now.
    pub(super) fn advance(&mut self, shared: &Shared, writable: bool) -> Next {
        if self.consumer().is_none() && self.link.has_unsent() {
            // A revocation list goes out also to who wants nothing else. A failure shows with what follows.
            self.link.send(core::iter::empty());
        }
        match &mut self.role {
            Role::Asking { .. } => self.listen(shared),
            Role::Waiting { .. } => self.wait_for_turn(),
            Role::Securing { .. } => self.secure(shared),
            Role::Answering { .. } => self.answer(),
            Role::Closing { .. } => match self.hear(&mut Vec::new()) {
                Heard::Nothing => Next::Keep,
                Heard::Enough | Heard::End => Next::Part,
            },
            Role::Feeding { consumer, .. } => {
                if writable {
                    shared.fanout.writable(*consumer);
                }
                self.hear_consumer(shared)
            }
        }
    }

    /// Takes what a consumer says. If it has nothing to say, an end, or any byte, ends the feed (lsl-wire §15.4).
    fn hear_consumer(&mut self, shared: &Shared) -> Next {
        let Role::Feeding { consumer, said } = &mut self.role else { return Next::Keep };
        let (consumer, reports) = (*consumer, said.is_some());
        let mut said = said.take().unwrap_or_default();
        let heard = self.hear(&mut said);
        if heard != Heard::Nothing || (!reports && !said.is_empty()) {
            return Next::Part;
        }
        loop {
            match Report::take(&said) {
                Ok(Some((report, len))) => {
                    said.drain(..len);
                    self.note_report(shared, consumer, report);
                }
                Ok(None) => break,
                Err(_) => return Next::Part,
            }
        }
        self.role = Role::Feeding { consumer, said: reports.then_some(said) };
        Next::Keep
    }

    /// Names the consumer whose program is too slow. Frequent reports are named only now and then.
    fn note_report(&mut self, shared: &Shared, consumer: u64, report: Report) {
        shared.fanout.note_report(consumer, report);
        let (name, who) = (shared.advertisement.info().name(), self.link.peer_text());
        let now = Instant::now();
        if report.pace == Pace::CaughtUp {
            log::verbose!(1, "{name}: {who} has caught up; it skipped {} samples", report.skipped);
        } else if self.named.is_none_or(|before| now.duration_since(before) >= NAME_AGAIN) {
            self.named = Some(now);
            let Report { lag, skipped, .. } = report;
            // One that reads the newest samples alone skips by its own wish, and is not late.
            if lag < LATE_SECONDS {
                log::verbose!(1, "{name}: {who} skipped {skipped} samples so far");
            } else {
                log::warning!(
                    "{name}: {who} has fallen behind by {lag:.1} s; it skipped {skipped} samples so far"
                );
            }
        }
    }

    /// Opens everything that has arrived and appends it to `plain`, up to what a request may have.
    fn hear(&mut self, plain: &mut Vec<u8>) -> Heard {
        let mut buffer = [0; READ_LEN];
        while plain.len() <= REQUEST_LIMIT {
            let count = match self.link.receive_now(&mut buffer) {
                Ok(count) if count > 0 => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
                Ok(_) | Err(_) => return Heard::End,
            };
            match self.opener.open(self.link.layer(), buffer.get(..count).unwrap_or_default(), plain) {
                Ok(Flow::Goes) => {}
                Ok(Flow::Ended) => return Heard::End,
                Err(reason) => {
                    journal::broken(self.link.layer().peer(), self.link.peer_address(), reason);
                    return Heard::End;
                }
            }
        }
        Heard::Enough
    }

    fn listen(&mut self, shared: &Shared) -> Next {
        let Role::Asking { received, .. } = &mut self.role else { return Next::Keep };
        let mut received = core::mem::take(received);
        let heard = self.hear(&mut received);
        let greets = !self.link.layer().is_sealed() && !received.is_empty();
        match if greets { shared.greet(&received) } else { Greeting::Plain } {
            Greeting::Plain => self.reply(shared, received, heard),
            Greeting::Sealed if heard == Heard::Nothing => {
                self.role = Role::Waiting { received, deadline: Instant::now() + HANDSHAKE_LIMIT };
                Next::Keep
            }
            Greeting::Unclear if heard == Heard::Nothing => self.keep(received),
            // A client that is gone is not worth an answer.
            Greeting::Sealed | Greeting::Unclear => Next::Part,
            Greeting::RefusedPlain => self.refuse(shared, Refusal::PlainPeer),
            Greeting::Refused => self.refuse(shared, Refusal::NoKeys),
        }
    }

    fn refuse(&self, shared: &Shared, refusal: Refusal) -> Next {
        self.note_refused(shared, refusal);
        Next::Part
    }

    /// Waits for more of a request.
    fn keep(&mut self, so_far: Vec<u8>) -> Next {
        if let Role::Asking { received, .. } = &mut self.role {
            *received = so_far;
        }
        Next::Keep
    }

    fn answer(&mut self) -> Next {
        let Role::Answering { answer, sent, deadline } = &mut self.role else { return Next::Keep };
        let progress = self.link.send(core::iter::once(answer.get(*sent..).unwrap_or_default()));
        *sent += progress.taken;
        if progress.failed {
            return Next::Part;
        }
        if *sent == answer.len() && !self.link.has_unsent() {
            let deadline = *deadline;
            self.link.send_end();
            // The client may be gone already.
            let _ = self.link.socket().shutdown(Shutdown::Write);
            self.role = Role::Closing { deadline };
        }
        Next::Keep
    }

    /// Makes the client a consumer; the samples it is to receive begin behind the answer.
    fn feed(&mut self, shared: &Shared, answer: Vec<u8>, encoding: Encoding, agreement: &Agreement) -> Next {
        let said = agreement.has_reports.then(Vec::new);
        let capacity = u64::try_from(agreement.max_buffer_length).unwrap_or(0).min(shared.capacity);
        let chunk = u64::try_from(agreement.max_chunk_length).ok().filter(|samples| *samples > 0);
        let link = Arc::clone(&self.link);
        let consumer = shared.fanout.join(Joining { link, encoding, capacity, chunk_samples: chunk, answer });
        self.role = Role::Feeding { consumer, said };
        Next::Keep
    }
}

/// How far a client's bytes go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Heard {
    /// The client is gone, or what it said cannot be read.
    End,
    /// There may be more than a request may have.
    Enough,
    /// Nothing more for now.
    Nothing,
}

/// How long a client may take to say what it wants, or to take a short answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// What is waited for unless there is a reason not to.
const ANYTHING: Interest = Interest::READABLE.add(Interest::WRITABLE);
/// A consumer with a shorter lag is on time; it would be said as 0.0 s.
const LATE_SECONDS: f64 = 0.05;
/// Time after which it is said again that a consumer is behind.
const NAME_AGAIN: Duration = Duration::from_secs(10);
/// Bytes read at a time while a request arrives.
const READ_LEN: usize = 4096;
