//! One connection to an outlet, from the first byte to the last sample.

use core::time::Duration;

use schwann_proto::{
    stream::ChannelFormat,
    wire::{ByteWriter, Sink as _, feed::RequestReader},
};
use schwann_session::{Datagrams, HANDSHAKE_PREFIX, UnixSeconds};

use self::{
    answer::{Answer, answer_to, put_answer},
    feed::Feed,
    guard::Guard,
};
use crate::{
    description::Description,
    intake::{Flow, Intake},
    outgoing::{Outgoing, PartSink},
    ring::Consumer,
    security::{Security, Surroundings},
    time::{Micros, Wait},
};

mod answer;
mod feed;
mod guard;
mod shaking;

/// When samples are sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Pace {
    /// Each as soon as possible. A sealed link has one record per sample, unless several had to wait for the socket
    /// and go together. The least latency.
    #[default]
    EverySample,
    /// Together with others that come within this time, in microseconds: fewer records, and so less work.
    Within(u64),
}

/// What the driver does with a link's socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkState {
    /// Reset it, and call `ended`.
    Broken,
    /// Close it once everything is sent, and call `ended`.
    Closing,
    /// Keep it.
    Open,
    /// There is no connection.
    Vacant,
}

/// What a link needs of its outlet.
pub(crate) struct Host<'a, 'b> {
    pub(crate) description: &'a Description<'b>,
    pub(crate) samples: &'a Consumer<'b>,
    pub(crate) security: &'a Security<'b>,
    pub(crate) pace: Pace,
    /// Whether one more may receive samples.
    pub(crate) may_feed: bool,
}

/// One connection.
pub(crate) struct Link<const RX: usize, const TX: usize> {
    phase: Phase,
    intake: Intake<RX>,
    out: Outgoing<TX>,
    guard: Guard,
    /// When the connection came.
    came: Micros,
    /// When the link is given up if nothing has moved.
    deadline: Micros,
    /// When the layer is told the time again.
    next_tick: Micros,
}

enum Phase {
    Vacant,
    Asking(RequestReader),
    Shaking,
    Answering(Answer, usize),
    Feeding(Feed),
    Closing,
    Broken,
}

/// What happened to samples in one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) sent: u32,
    pub(crate) lost: u32,
    pub(crate) records: u32,
}

/// How a connection came to its end, for the counters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    /// A session was made with a member that is certified from this moment on.
    Established {
        certified: UnixSeconds,
    },
    None,
    Refused,
}

impl<const RX: usize, const TX: usize> Link<RX, TX> {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Vacant,
            intake: Intake::new(),
            out: Outgoing::new(),
            guard: Guard::Open,
            came: Micros(0),
            deadline: Micros(u64::MAX),
            next_tick: Micros(0),
        }
    }

    /// A connection has come.
    pub(crate) fn accept(&mut self, now: Micros) {
        self.end();
        self.phase = Phase::Asking(RequestReader::new());
        self.came = now;
        self.deadline = now.after(LINK_TIMEOUT_US);
    }

    /// The connection is gone; its keys are wiped.
    pub(crate) fn end(&mut self) {
        self.phase = Phase::Vacant;
        self.intake.clear();
        self.out.clear();
        self.guard = Guard::Open;
        self.deadline = Micros(u64::MAX);
    }

    pub(crate) fn state(&self) -> LinkState {
        match self.phase {
            Phase::Vacant => LinkState::Vacant,
            Phase::Broken => LinkState::Broken,
            Phase::Closing => LinkState::Closing,
            _ => LinkState::Open,
        }
    }

    pub(crate) fn feed(&self) -> Option<&Feed> {
        match &self.phase {
            Phase::Feeding(feed) => Some(feed),
            _ => None,
        }
    }

    /// Whether this one receives samples or is about to.
    pub(crate) fn is_subscriber(&self) -> bool {
        matches!(self.phase, Phase::Feeding(_) | Phase::Answering(Answer::Feed(_), _))
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.guard.layer().is_some()
    }

    /// When the link gives way to a newcomer: not before it had time to prove itself, and never after its
    /// proof.
    pub(crate) fn gives_way(&self) -> Option<Micros> {
        let has_proved = self.is_sealed() || !matches!(self.phase, Phase::Asking(_) | Phase::Shaking);
        (!has_proved).then(|| self.came.after(LEAST_TIMEOUT_US))
    }

    /// Has the driver reset the connection.
    pub(crate) fn give_way(&mut self) {
        self.phase = Phase::Broken;
    }

    /// The session's datagrams, if the link is sealed.
    pub(crate) fn datagrams(&mut self) -> Option<&mut Datagrams> {
        self.guard.datagrams()
    }

    pub(crate) fn transmit(&self) -> &[u8] {
        self.out.waiting()
    }

    pub(crate) fn note_sent(&mut self, count: usize, now: Micros) {
        self.out.note_sent(count);
        if count > 0 {
            self.deadline = self.deadline.max(now.after(LINK_TIMEOUT_US));
        }
    }

    /// Takes what the socket received; returns how many bytes, and what came of it.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        host: &Host<'_, '_>,
        surroundings: &mut Surroundings<'_>,
    ) -> (usize, Event) {
        match self.phase {
            Phase::Asking(_) => {
                let count = self.intake.take(bytes);
                (count, self.listen(host, surroundings))
            }
            Phase::Shaking => self.shake_hands(bytes, host, surroundings),
            Phase::Feeding(_) => {
                let count = self.intake.take(bytes);
                // A subscriber has nothing to say any more: an end, or any byte, ends the feed (lsl-wire §15.4).
                match self.intake.open(self.guard.layer_mut()) {
                    Ok(Flow::Goes) if self.intake.plain().is_empty() => {}
                    Ok(_) => self.close(),
                    Err(_) => self.phase = Phase::Broken,
                }
                (count, Event::None)
            }
            Phase::Answering(..) | Phase::Closing | Phase::Vacant | Phase::Broken => {
                (bytes.len(), Event::None)
            }
        }
    }

    fn listen(&mut self, host: &Host<'_, '_>, surroundings: &mut Surroundings<'_>) -> Event {
        if !self.is_sealed() && host.security.member().is_some() {
            if self.intake.open(None).is_err() {
                return self.give_up();
            }
            let said = self.intake.plain();
            let same = said.iter().zip(HANDSHAKE_PREFIX).take_while(|(a, b)| a == b).count();
            if same == HANDSHAKE_PREFIX.len() {
                return self.begin_shaking(host, surroundings);
            }
            if same == said.len() {
                return Event::None;
            }
            if !host.security.permits_plain() {
                return self.give_up();
            }
        }
        match self.intake.open(self.guard.layer_mut()) {
            Ok(Flow::Goes) => {}
            Ok(Flow::Ended) | Err(_) => return self.give_up(),
        }
        let Phase::Asking(reader) = &mut self.phase else { return Event::None };
        match reader.read(self.intake.plain()) {
            Ok(Some(command)) => {
                let answer = answer_to(&command, host);
                self.phase = Phase::Answering(answer, 0);
                self.intake.clear();
                Event::None
            }
            Ok(None) if !self.intake.is_full() => Event::None,
            Ok(None) | Err(_) => self.give_up(),
        }
    }

    fn give_up(&mut self) -> Event {
        self.phase = Phase::Broken;
        Event::Refused
    }

    /// Does what time and room permit.
    pub(crate) fn poll(&mut self, host: &Host<'_, '_>, now: Micros, moved: &mut Moved) -> Wait {
        if matches!(self.phase, Phase::Vacant | Phase::Broken) {
            return Wait::ForEvent;
        }
        // A feed that waits for samples has no deadline; one whose subscriber takes nothing has.
        let idle = matches!(self.phase, Phase::Feeding(_)) && self.out.is_empty();
        if idle {
            self.deadline = now.after(LINK_TIMEOUT_US);
        } else if now >= self.deadline {
            self.phase = Phase::Broken;
            return Wait::ForEvent;
        }
        if let Some(layer) = self.guard.layer_mut()
            && now >= self.next_tick
        {
            layer.tick(Duration::from_micros(now.0));
            self.next_tick = now.after(TICK);
        }
        if matches!(self.phase, Phase::Answering(..)) {
            self.answer(host, now);
        }
        let batch = match &self.phase {
            Phase::Feeding(_) => self.pump(host, now, moved),
            _ => Wait::ForEvent,
        };
        let idle = matches!(self.phase, Phase::Feeding(_)) && self.out.is_empty();
        if idle { batch } else { batch.sooner(Wait::Until(self.deadline)) }
    }

    /// Writes as much of an answer as there is room for.
    fn answer(&mut self, host: &Host<'_, '_>, now: Micros) {
        let Phase::Answering(answer, mut written) = self.phase else { return };
        loop {
            self.out.compact();
            if self.out.room(self.guard.layer()) < LEAST_PART.min(TX / 2) {
                self.phase = Phase::Answering(answer, written);
                return;
            }
            let mut ended = false;
            let put = self.out.encode(self.guard.layer_mut(), |room| {
                let mut sink = PartSink::new(room, written);
                put_answer(&answer, host, &mut sink).ok()?;
                let (count, is_last) = sink.finish();
                ended = is_last;
                Some(count)
            });
            let Some(count) = put else {
                self.phase = Phase::Broken;
                return;
            };
            written += count;
            if ended {
                break;
            }
        }
        match answer {
            Answer::Feed(agreement) if agreement.max_buffer_length > 0 => {
                self.phase = Phase::Feeding(Feed::begin(&agreement, host));
                self.deadline = now.after(LINK_TIMEOUT_US);
            }
            _ => self.close(),
        }
    }

    /// Lets go of the link when what waits is sent, with the authenticated end if there is one.
    pub(crate) fn close(&mut self) {
        if matches!(self.phase, Phase::Vacant | Phase::Broken | Phase::Closing) {
            return;
        }
        self.phase = Phase::Closing;
        self.out.compact();
        if let Some(layer) = self.guard.layer_mut() {
            // Without room for it the peer sees a truncated stream, which is true enough.
            let _ = self.out.put_end(layer);
        }
    }

    /// Moves samples from the ring to the socket.
    fn pump(&mut self, host: &Host<'_, '_>, now: Micros, moved: &mut Moved) -> Wait {
        let Phase::Feeding(feed) = &mut self.phase else { return Wait::ForEvent };
        loop {
            let waiting = feed.catch_up(host.samples, moved);
            if waiting == 0 {
                feed.held_since = None;
                return Wait::ForEvent;
            }
            if let Some(until) = feed.holds(waiting, host, now, TX) {
                return Wait::Until(until);
            }
            if self.out.room(self.guard.layer()) < feed.longest_sample(host) {
                self.out.compact();
            }
            let before = *moved;
            let put = self.out.encode(self.guard.layer_mut(), |room| {
                let mut writer = ByteWriter::new(room);
                feed.put_samples(waiting, host, &mut writer, moved).ok()?;
                Some(writer.len())
            });
            let has_moved = moved.sent != before.sent || moved.lost != before.lost;
            // A sample that does not even fit an empty link, because its peer takes short records alone, never will.
            if put.is_none() || !has_moved && self.out.is_empty() {
                self.phase = Phase::Broken;
                return Wait::ForEvent;
            }
            if !has_moved {
                // No room: the socket must take something first.
                return Wait::ForEvent;
            }
            moved.records += 1;
            feed.held_since = None;
        }
    }
}

/// Whether samples of this format can be in a ring of that one.
pub(crate) fn fits(description: &Description<'_>, samples: &Consumer<'_>, tx: usize) -> bool {
    let shape = samples.shape();
    let longest = match description.format {
        ChannelFormat::String => feed::longest_strings(&shape),
        format => format.value_size().unwrap_or(0) * shape.channel_count,
    };
    // Two records' overhead: the sample's and a key change's.
    shape.format == description.format
        && shape.channel_count == description.channel_count
        && longest + 9 + 2 * schwann_session::RECORD_OVERHEAD <= tx
}

/// How long a peer may take, in microseconds, to say what it wants, prove who it is, or take what
/// it requested.
const LINK_TIMEOUT_US: u64 = 10_000_000;
/// The same where another may be waiting for the link, in microseconds. A handshake takes a small chip a quarter of
/// it.
const LEAST_TIMEOUT_US: u64 = 2_000_000;
/// A key's age is counted in hours. Reading it takes a division of 64 bits, which a small chip does not have.
const TICK: u64 = 1_000_000;
/// Less is not worth a part of an answer, in bytes.
const LEAST_PART: usize = 128;
