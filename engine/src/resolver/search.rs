//! The loop that every search runs, in the caller's thread or in one of its own.

use core::{net::SocketAddr, time::Duration};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mio::{Events, Poll, Token, Waker};
use schwann_proto::{
    resolver::{self, Burst, ResolverSettings, SearchOutput},
    stream_info::StreamInfo,
    wire::discover,
};

use super::{
    burst::{Channels, FIRST_TCP_TOKEN},
    calls::Calls,
    found::Found,
    inquiries::Inquiries,
    questions::{Heard, Judgement, Questions, Way},
    silence::Silence,
    tcp::{AnswerOverTcp, TcpProbes},
};
use crate::{config::Config, context::Context, local_clock, log, net::interrupt::Interrupt, security::Trust};

/// Sends waves of queries and collects the replies.
#[derive(Debug)]
pub(super) struct Search {
    context: Arc<Context>,
    schedule: resolver::Search,
    channels: Channels,
    tcp: TcpProbes,
    inquiries: Inquiries,
    calls: Option<Calls>,
    silence: Silence,
    poll: Poll,
    waker: Arc<Waker>,
    buffer: Box<[u8]>,
    complaints: log::Throttle,
}

/// Why a search has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// What was wanted is found, or the time is over.
    Done,
    /// The interrupt was raised.
    Interrupted,
}

impl Search {
    /// Prepares a search; nothing is sent yet.
    ///
    /// - Errors: the system has no poller for us, usually because there are too many open files.
    pub(super) fn new(
        context: Arc<Context>,
        trust: Arc<Trust>,
        condition: &str,
        duration: resolver::Duration,
    ) -> io::Result<Self> {
        let silence = Silence::new(&context, &trust, condition, local_clock());
        let has_met = trust.member().is_some_and(|member| !member.met().is_empty());
        let questions = Questions::new(trust, condition);
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let has_unicast =
            has_met || !context.lab.known_peers.is_empty() || !context.multicast.machine_addresses.is_empty();
        Ok(Self {
            schedule: resolver::Search::new(settings(&context), duration, has_unicast, local_clock()),
            tcp: TcpProbes::new(&questions, FIRST_TCP_TOKEN),
            inquiries: Inquiries::new(&questions, FIRST_TCP_TOKEN + TcpProbes::MOST),
            calls: questions.member().cloned().map(Calls::new),
            silence,
            channels: Channels::new(Arc::clone(context.config()), questions),
            poll,
            waker,
            buffer: vec![0; discover::REPLY_LIMIT].into(),
            complaints: log::Throttle::default(),
            context,
        })
    }

    /// Searches until enough is found, the time is over, or the interrupt is raised.
    ///
    /// - Errors: the system's poller fails.
    pub(super) fn run(&mut self, found: &Mutex<Found>, interrupt: &Interrupt) -> io::Result<End> {
        let waker = Arc::clone(&self.waker);
        let _listening = interrupt.listen(waker);
        let mut events = Events::with_capacity(64);
        loop {
            if interrupt.is_raised() {
                return Ok(End::Interrupted);
            }
            self.receive(found);
            let now = local_clock();
            self.tcp.expire(now, self.poll.registry());
            self.inquiries.expire(now, self.poll.registry());
            let known = lock(found).len();
            if known == 0 {
                self.silence.break_if_due(now, &self.waker);
            }
            match self.schedule.poll(now, known) {
                SearchOutput::Done => return Ok(End::Done),
                SearchOutput::Send(burst) => self.send(burst, now),
                SearchOutput::WaitUntil(then) => {
                    self.wait(then, now, known == 0, &mut events)?;
                    self.note_readiness(&events, found);
                }
            }
        }
    }

    fn send(&mut self, burst: Burst, now: f64) {
        let registry = self.poll.registry();
        self.channels.open(registry);
        match burst {
            Burst::Multicast => {
                self.channels.ask_scope();
                // Sent at once, not only with the unicast burst. It stays on this computer, costs next to nothing,
                // and finds streams that hear no multicast half a second earlier.
                self.channels.ask_machine();
                if self.context.lab.resolve_over_tcp {
                    self.tcp.start(&self.context, &self.waker, registry, now);
                }
            }
            Burst::Unicast => {
                self.channels.ask_machine();
                self.channels.ask_peers(&self.waker);
                self.channels.ask_met();
            }
        }
    }

    /// Reads a limited number of replies, so that a flood does not delay the end of the search.
    fn receive(&mut self, found: &Mutex<Found>) {
        for _ in 0..REPLIES_PER_ROUND {
            let Some((length, source)) = self.channels.receive(&mut self.buffer) else { return };
            self.handle_reply(length, source, found);
        }
    }

    fn handle_reply(&mut self, length: usize, source: SocketAddr, found: &Mutex<Found>) {
        let Some(datagram) = self.buffer.get_mut(..length) else { return };
        let (document, way) = match self.channels.read(datagram) {
            Heard::Stream { document, way } => (document, way),
            Heard::Call(answer) => {
                if let Some(calls) = &mut self.calls {
                    calls.follow(&answer, source);
                }
                return;
            }
            Heard::Nothing => {
                log::verbose!(2, "ignored a datagram from {source}: it is no reply to this query");
                return;
            }
        };
        match StreamInfo::parse(document) {
            Ok(info) => self.add(info, way, source, found),
            Err(error) if self.complaints.allows() => {
                log::warning!("ignored a malformed reply from {source}: {error}");
            }
            Err(_) => {}
        }
    }

    fn add(&mut self, info: StreamInfo, way: Way, source: SocketAddr, found: &Mutex<Found>) {
        let is_wanted = match self.channels.judge(&info, way) {
            Judgement::Wanted => true,
            Judgement::Unwanted => false,
            Judgement::Unknown => {
                self.inquiries.is_wanted(&info, source, self.poll.registry(), local_clock())
            }
        };
        if !is_wanted {
            log::verbose!(2, "ignored the stream of {source}: it is not wanted, or came in the clear");
            return;
        }
        let outcome = lock(found).insert(info, source, local_clock());
        if outcome.is_err() && self.complaints.allows() {
            log::warning!("ignored the stream of {source}: there are too many already");
        }
    }

    fn wait(&mut self, then: f64, now: f64, is_silent: bool, events: &mut Events) -> io::Result<()> {
        let deadlines = [self.tcp.deadline(), self.inquiries.deadline()];
        let then = deadlines.into_iter().flatten().fold(then, f64::min);
        let then = if is_silent { then.min(self.silence.next()) } else { then };
        let timeout = match self.channels.may_read() {
            true => Some(Duration::ZERO),
            // Without an end: a moment that no clock shows.
            false => Duration::try_from_secs_f64((then - now).max(0.0)).ok(),
        };
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            outcome => outcome,
        }
    }

    fn note_readiness(&mut self, events: &Events, found: &Mutex<Found>) {
        for event in events {
            match event.token() {
                // An interrupt is looked at in the loop. Otherwise the address of a peer has become known.
                WAKER => self.channels.ask_peers(&self.waker),
                token => {
                    self.channels.set_readable(token);
                    let registry = self.poll.registry();
                    let answer = self.tcp.handle_ready(token, registry);
                    let answer = answer.or_else(|| self.inquiries.handle_ready(token, registry));
                    if let Some(AnswerOverTcp { info: Some(info), way, peer, .. }) = answer {
                        self.add(info, way, peer, found);
                    }
                }
            }
        }
    }
}

/// The waiting times of the configuration. A configuration of zeros must not become a flood.
fn settings(config: &Config) -> ResolverSettings {
    let tuning = &config.tuning;
    ResolverSettings {
        multicast_min_rtt: tuning.multicast_min_rtt.max(MIN_INTERVAL).as_secs_f64(),
        multicast_max_rtt: tuning.multicast_max_rtt.as_secs_f64(),
        unicast_min_rtt: tuning.unicast_min_rtt.max(MIN_INTERVAL).as_secs_f64(),
        unicast_max_rtt: tuning.unicast_max_rtt.as_secs_f64(),
        continuous_interval: tuning.continuous_resolve_interval.as_secs_f64(),
    }
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

const WAKER: Token = Token(0);

const MIN_INTERVAL: Duration = Duration::from_millis(5);

const REPLIES_PER_ROUND: usize = 64;
