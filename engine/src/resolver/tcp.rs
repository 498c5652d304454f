//! Discovery over TCP, for networks that let no datagram through.
//!
//! Source: LSL protocol reference §8. Off unless `lab.ResolveOverTCP` is set.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::Arc,
};

use mio::{Interest, Registry, Token, Waker, net::TcpStream};
use schwann_proto::{stream_info::StreamInfo, wire::discover::Query};

use super::{
    burst::FIRST_TCP_TOKEN,
    questions::{Questions, Way},
    tcp_sealed::SealedRequest,
};
use crate::{config::Config, log, net::names, trust::Member};

/// Asks every port of the service range of some hosts, a few at a time.
#[derive(Debug)]
pub(super) struct TcpProbes {
    open: Option<Vec<u8>>,
    sealed: Option<Sealed>,
    waiting: VecDeque<(SocketAddr, Way)>,
    running: Vec<Option<Probe>>,
    deadline: Option<f64>,
}

/// What is asked inside a secure session, and as whom.
struct Sealed {
    member: Arc<Member>,
    request: Vec<u8>,
}

/// A stream that was found.
pub(super) struct FoundOverTcp {
    pub(super) info: StreamInfo,
    pub(super) way: Way,
    pub(super) peer: SocketAddr,
}

/// One connection.
#[derive(Debug)]
struct Probe {
    stream: TcpStream,
    peer: SocketAddr,
    talk: Talk,
    received: Vec<u8>,
}

/// What is said on a connection.
#[derive(Debug)]
enum Talk {
    Open { request: Vec<u8>, sent: usize },
    Sealed(Box<SealedRequest>),
}

/// What became of a connection when something happened on it.
pub(super) enum Progress {
    Closed,
    Complete,
    Waiting,
}

impl TcpProbes {
    /// Prepares probes that ask `questions`.
    pub(super) fn new(questions: &Questions) -> Self {
        let encode = |condition| {
            let mut request = Vec::new();
            Query::encode_tcp(condition, &mut request).expect("a vector takes everything");
            request
        };
        let sealed = questions
            .member()
            .map(|member| Sealed { member: Arc::clone(member), request: encode(questions.condition()) });
        Self {
            open: questions.open_condition().map(encode),
            sealed,
            waiting: VecDeque::new(),
            running: Vec::new(),
            deadline: None,
        }
    }

    /// Starts a burst, unless the one before is still running.
    pub(super) fn start(&mut self, config: &Config, waker: &Arc<Waker>, registry: &Registry, now: f64) {
        if self.deadline.is_some() {
            return;
        }
        let local = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
        let local = local.into_iter().map(|ip| SocketAddr::new(ip, 0));
        let peers = config.lab.known_peers.iter().flat_map(|peer| names::addresses(peer, waker));
        for mut host in local.chain(peers).filter(|host| config.ports.ip.allows(host.ip())) {
            for port in config.ports.service_range() {
                host.set_port(port);
                self.waiting.extend(self.sealed.as_ref().map(|_| (host, Way::Sealed)));
                self.waiting.extend(self.open.as_ref().map(|_| (host, Way::Open)));
            }
        }
        self.deadline = Some(now + config.tuning.unicast_max_rtt.as_secs_f64());
        self.fill(registry);
    }

    /// When the burst ends, in seconds on the local clock, if one is running.
    pub(super) fn deadline(&self) -> Option<f64> {
        self.deadline
    }

    /// Ends the burst if its time is over.
    pub(super) fn expire(&mut self, now: f64) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            // Dropping a stream closes it and takes it from the poller.
            self.waiting.clear();
            self.running.clear();
            self.deadline = None;
        }
    }

    /// Goes on with the connection of this token; returns a stream that was found and where.
    pub(super) fn handle_ready(&mut self, token: Token, registry: &Registry) -> Option<FoundOverTcp> {
        let slot = token.0.checked_sub(FIRST_TCP_TOKEN)?;
        let entry = self.running.get_mut(slot)?;
        let outcome = match entry.as_mut()?.advance() {
            Ok(Progress::Waiting) => return None,
            Ok(Progress::Complete) => entry.take().filter(|probe| !probe.received.is_empty()),
            Ok(Progress::Closed) => None,
            Err(error) => {
                log::verbose!(2, "no answer over TCP: {error}");
                None
            }
        };
        *entry = None;
        self.fill(registry);
        let probe = outcome?;
        match StreamInfo::parse(&probe.received) {
            Ok(info) => Some(FoundOverTcp { info, way: probe.talk.way(), peer: probe.peer }),
            Err(error) => {
                log::warning!("ignored the answer of {} over TCP: {error}", probe.peer);
                None
            }
        }
    }

    /// Opens connections while there are targets and room.
    fn fill(&mut self, registry: &Registry) {
        self.running.resize_with(MAX_CONNECTIONS, || None);
        for (slot, entry) in self.running.iter_mut().enumerate().filter(|(_, entry)| entry.is_none()) {
            while entry.is_none() {
                let Some((peer, way)) = self.waiting.pop_front() else { break };
                let Some(talk) = talk(way, self.open.as_deref(), self.sealed.as_ref()) else { continue };
                *entry = Probe::connect(peer, talk, Token(FIRST_TCP_TOKEN + slot), registry)
                    .inspect_err(|error| log::verbose!(2, "no connection to {peer}: {error}"))
                    .ok();
            }
        }
        if self.running.iter().all(Option::is_none) {
            self.deadline = None;
        }
    }
}

/// Begins to ask in one way.
fn talk(way: Way, open: Option<&[u8]>, sealed: Option<&Sealed>) -> Option<Talk> {
    match way {
        Way::Open => Some(Talk::Open { request: open?.to_vec(), sent: 0 }),
        Way::Sealed => {
            let Sealed { member, request } = sealed?;
            let begun = SealedRequest::new(Arc::clone(member), request.clone());
            let begun = begun.inspect_err(|refusal| log::error!("no sealed search over TCP: {refusal}"));
            begun.ok().map(|request| Talk::Sealed(Box::new(request)))
        }
    }
}

impl Talk {
    fn way(&self) -> Way {
        match self {
            Self::Open { .. } => Way::Open,
            Self::Sealed(_) => Way::Sealed,
        }
    }
}

impl Probe {
    fn connect(peer: SocketAddr, talk: Talk, token: Token, registry: &Registry) -> io::Result<Self> {
        let mut stream = TcpStream::connect(peer)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { stream, peer, talk, received: Vec::new() })
    }

    fn advance(&mut self) -> io::Result<Progress> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        let outcome = match &mut self.talk {
            Talk::Open { request, sent } => exchange(&mut self.stream, request, sent, &mut self.received),
            Talk::Sealed(request) => request.advance(&mut self.stream, &mut self.received),
        };
        outcome.or_else(unless_waiting)
    }
}

/// Sends the request and receives the answer, as far as the socket permits now.
fn exchange(
    stream: &mut TcpStream,
    request: &[u8],
    sent: &mut usize,
    received: &mut Vec<u8>,
) -> io::Result<Progress> {
    while let Some(rest) = request.get(*sent..).filter(|rest| !rest.is_empty()) {
        match stream.write(rest)? {
            0 => return Ok(Progress::Closed),
            written => *sent += written,
        }
    }
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part)? {
            0 => return Ok(Progress::Complete),
            length => received.extend_from_slice(part.get(..length).unwrap_or_default()),
        }
        if received.len() > MAX_ANSWER {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

fn unless_waiting(error: io::Error) -> io::Result<Progress> {
    match error.kind() {
        // The connection is being made, or nothing has come yet.
        io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => Ok(Progress::Waiting),
        _ => Err(error),
    }
}

impl core::fmt::Debug for Sealed {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("Sealed")
    }
}

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 16;

/// Longest answer that is read, in bytes. A description that fits into a datagram is shorter.
pub(super) const MAX_ANSWER: usize = 1 << 20;
