//! Discovery over TCP, for networks that let no datagram through.
//!
//! Source: lsl-wire §8. Off unless `lab.ResolveOverTCP` is set.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{collections::VecDeque, io, sync::Arc};

use mio::{Interest, Registry, Token, Waker, net::TcpStream};
use schwann_proto::{stream_info::StreamInfo, wire::discover::Query};
use schwann_session::{Refusal, Suite};

use super::{
    questions::{Questions, Way},
    tcp_request::Request,
};
use crate::{config::Config, log, net::names, security::Member};

/// Asks every port of the service range of some hosts, a few at a time.
#[derive(Debug)]
pub(super) struct TcpProbes {
    open: Option<Vec<u8>>,
    sealed: Option<Sealed>,
    waiting: VecDeque<Target>,
    running: Vec<Option<Probe>>,
    first_token: usize,
}

/// A peer to ask, and how.
#[derive(Debug)]
struct Target {
    peer: SocketAddr,
    /// The suite of the session in which it is asked; none: it is asked in the clear.
    suite: Option<Suite>,
    /// The UID of the stream whose outlet is asked, if it is known already.
    uid: Option<String>,
    /// When it is given up, in seconds on the local clock.
    until: f64,
}

/// What is asked inside a secure session, and as whom.
struct Sealed {
    member: Arc<Member>,
    request: Vec<u8>,
}

/// What an outlet said.
pub(super) struct AnswerOverTcp {
    /// The stream, if it is wanted.
    pub(super) info: Option<StreamInfo>,
    pub(super) way: Way,
    pub(super) peer: SocketAddr,
    /// The UID of the stream whose outlet was asked, if it was known.
    pub(super) uid: Option<String>,
}

/// One connection.
#[derive(Debug)]
struct Probe {
    stream: TcpStream,
    target: Target,
    request: Request,
    received: Vec<u8>,
}

/// What became of a connection when something happened on it.
pub(super) enum Progress {
    Closed,
    Complete,
    Waiting,
}

impl TcpProbes {
    /// Connections at the same time, and so tokens from the first one on.
    pub(super) const MOST: usize = 16;

    /// Prepares probes that ask `questions`, with tokens from `first_token` on.
    pub(super) fn new(questions: &Questions, first_token: usize) -> Self {
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
            first_token,
        }
    }

    /// Asks one outlet inside a session what the search wants to know of the stream with this UID.
    pub(super) fn ask(
        &mut self,
        peer: SocketAddr,
        uid: String,
        patience: f64,
        registry: &Registry,
        now: f64,
    ) {
        let (uid, until) = (Some(uid), now + patience);
        self.waiting.push_back(Target { peer, suite: Some(Suite::Hybrid), uid, until });
        self.fill(registry);
    }

    /// Starts a burst, unless the one before is still running.
    pub(super) fn start(&mut self, config: &Config, waker: &Arc<Waker>, registry: &Registry, now: f64) {
        if self.deadline().is_some() {
            return;
        }
        let until = now + config.tuning.unicast_max_rtt.as_secs_f64();
        let local = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
        let local = local.into_iter().map(|ip| SocketAddr::new(ip, 0));
        let peers = config.lab.known_peers.iter().flat_map(|peer| names::addresses(peer, Some(waker)));
        for mut host in local.chain(peers).filter(|host| config.ports.ip.allows(host.ip())) {
            for port in config.ports.service_range() {
                host.set_port(port);
                let target = |suite| Target { peer: host, suite, uid: None, until };
                self.waiting.extend(self.sealed.as_ref().map(|_| target(Some(Suite::Hybrid))));
                self.waiting.extend(self.open.as_ref().map(|_| target(None)));
            }
        }
        self.fill(registry);
    }

    /// When [`Self::expire`] has something to do, in seconds on the local clock.
    pub(super) fn deadline(&self) -> Option<f64> {
        self.targets().map(|target| target.until).reduce(f64::min)
    }

    /// Gives up those whose time is over, so that others come to theirs.
    pub(super) fn expire(&mut self, now: f64, registry: &Registry) {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        self.waiting.retain(|target| target.until > now);
        for entry in &mut self.running {
            // Dropping a stream closes it and takes it from the poller.
            entry.take_if(|probe| probe.target.until <= now);
        }
        self.fill(registry);
    }

    /// Whether the outlet of the stream with this UID is being asked, or waits for its
    /// turn.
    pub(super) fn is_asking(&self, uid: &str) -> bool {
        self.targets().any(|target| target.uid.as_deref() == Some(uid))
    }

    fn targets(&self) -> impl Iterator<Item = &Target> {
        self.waiting.iter().chain(self.running.iter().flatten().map(|probe| &probe.target))
    }

    /// Goes on with the connection of this token; returns what was said once it is whole.
    pub(super) fn handle_ready(&mut self, token: Token, registry: &Registry) -> Option<AnswerOverTcp> {
        let slot = token.0.checked_sub(self.first_token)?;
        let entry = self.running.get_mut(slot)?;
        let progress = entry.as_mut()?.advance();
        if matches!(progress, Ok(Progress::Waiting)) {
            return None;
        }
        let probe = entry.take()?;
        let answer = match progress {
            Ok(Progress::Complete) => probe.answer(),
            Ok(Progress::Closed | Progress::Waiting) => None,
            Err(error) => {
                log::verbose!(2, "no answer over TCP: {error}");
                self.waiting.extend(probe.target.in_classic_suite(&error));
                None
            }
        };
        self.fill(registry);
        answer
    }

    /// Opens connections while there are targets and room.
    fn fill(&mut self, registry: &Registry) {
        self.running.resize_with(Self::MOST, || None);
        for (slot, entry) in self.running.iter_mut().enumerate().filter(|(_, entry)| entry.is_none()) {
            while entry.is_none() {
                let Some(target) = self.waiting.pop_front() else { break };
                let request = begin(&target, self.open.as_deref(), self.sealed.as_ref());
                let Some(request) = request else { continue };
                let peer = target.peer;
                *entry = Probe::connect(target, request, Token(self.first_token + slot), registry)
                    .inspect_err(|error| log::verbose!(2, "no connection to {peer}: {error}"))
                    .ok();
            }
        }
    }
}

/// Begins to ask.
fn begin(target: &Target, open: Option<&[u8]>, sealed: Option<&Sealed>) -> Option<Request> {
    let request = match target.suite {
        None => Request::new(None, open?.to_vec()),
        Some(suite) => Request::new(Some((&sealed?.member, suite)), sealed?.request.clone()),
    };
    request.inspect_err(|refusal| log::error!("no sealed search over TCP: {refusal}")).ok()
}

impl Target {
    /// The same in the classic suite, for an outlet that is there but refused the other one. It may be too small
    /// (secure-session §3.7).
    fn in_classic_suite(self, error: &io::Error) -> Option<Self> {
        let refusal = error.get_ref()?.downcast_ref::<Refusal>()?;
        let may_help =
            self.uid.is_some() && self.suite == Some(Suite::Hybrid) && *refusal == Refusal::RefusedByPeer;
        may_help.then_some(Self { suite: Some(Suite::Classic), ..self })
    }
}

impl Probe {
    fn connect(target: Target, request: Request, token: Token, registry: &Registry) -> io::Result<Self> {
        let mut stream = TcpStream::connect(target.peer)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { stream, target, request, received: Vec::new() })
    }

    /// The answer, unless it cannot be parsed.
    fn answer(self) -> Option<AnswerOverTcp> {
        let Target { peer, suite, uid, .. } = self.target;
        let way = suite.map_or(Way::Open, |_| Way::Session);
        let info = match self.received.as_slice() {
            [] => None,
            document => match StreamInfo::parse(document) {
                Ok(info) => Some(info),
                Err(error) => {
                    log::warning!("ignored the answer of {peer} over TCP: {error}");
                    return None;
                }
            },
        };
        Some(AnswerOverTcp { info, way, peer, uid })
    }

    fn advance(&mut self) -> io::Result<Progress> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        self.request.advance(&mut self.stream, &mut self.received).or_else(unless_waiting)
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

/// Longest answer that is read, in bytes. A description that fits into a datagram is shorter.
pub(super) const MAX_ANSWER: usize = 1 << 20;
