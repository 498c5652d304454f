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

use super::burst::FIRST_TCP_TOKEN;
use crate::{config::Config, log, net::names};

/// Asks every port of the service range of some hosts, a few at a time.
#[derive(Debug)]
pub(super) struct TcpProbes {
    request: Vec<u8>,
    waiting: VecDeque<SocketAddr>,
    running: Vec<Option<Probe>>,
    deadline: Option<f64>,
}

/// One connection.
#[derive(Debug)]
struct Probe {
    stream: TcpStream,
    peer: SocketAddr,
    sent: usize,
    received: Vec<u8>,
}

/// What became of a connection when something happened on it.
enum Progress {
    Closed,
    Complete,
    Waiting,
}

impl TcpProbes {
    /// Prepares probes for `condition`.
    pub(super) fn new(condition: &str) -> Self {
        let mut request = Vec::new();
        Query::encode_tcp(condition, &mut request).expect("a vector takes everything");
        Self { request, waiting: VecDeque::new(), running: Vec::new(), deadline: None }
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
                self.waiting.push_back(host);
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
    pub(super) fn handle_ready(
        &mut self,
        token: Token,
        registry: &Registry,
    ) -> Option<(StreamInfo, SocketAddr)> {
        let slot = token.0.checked_sub(FIRST_TCP_TOKEN)?;
        let entry = self.running.get_mut(slot)?;
        let outcome = match entry.as_mut()?.advance(&self.request) {
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
            Ok(info) => Some((info, probe.peer)),
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
                let Some(peer) = self.waiting.pop_front() else { break };
                *entry = Probe::connect(peer, Token(FIRST_TCP_TOKEN + slot), registry)
                    .inspect_err(|error| log::verbose!(2, "no connection to {peer}: {error}"))
                    .ok();
            }
        }
        if self.running.iter().all(Option::is_none) {
            self.deadline = None;
        }
    }
}

impl Probe {
    fn connect(peer: SocketAddr, token: Token, registry: &Registry) -> io::Result<Self> {
        let mut stream = TcpStream::connect(peer)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { stream, peer, sent: 0, received: Vec::new() })
    }

    fn advance(&mut self, request: &[u8]) -> io::Result<Progress> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        while let Some(rest) = request.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Ok(Progress::Closed),
                Ok(written) => self.sent += written,
                Err(error) => return Self::unless_waiting(error),
            }
        }
        let mut part = [0; 4096];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Ok(Progress::Complete),
                Ok(length) => self.received.extend_from_slice(&part[..length]),
                Err(error) => return Self::unless_waiting(error),
            }
            if self.received.len() > MAX_ANSWER {
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
}

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 16;

/// Longest answer that is read, in bytes. A description that fits into a datagram is shorter.
const MAX_ANSWER: usize = 1 << 20;
