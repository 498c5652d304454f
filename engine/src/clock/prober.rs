//! The thread that sends the probes and takes in the replies.

use core::{net::SocketAddr, time::Duration};
use std::{io, sync::Arc, thread};

use mio::{Events, Interest, Poll, Registry, Token, Waker, net::UdpSocket};
use schwann_proto::{
    clock::ClockOutput,
    wire::timedata::{DATAGRAM_LIMIT, Reply, Request},
};

use super::{End, Secrecy, SharedMeasurement, Worker};
use crate::{
    local_clock, log,
    net::{
        probes,
        sockets::{self, version_of},
    },
};

impl Worker {
    pub(super) fn start(shared: &Arc<SharedMeasurement>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let prober =
            Prober { shared: Arc::clone(shared), socket: None, datagram: Vec::new(), sealed: Vec::new() };
        let thread = thread::Builder::new().name("lsl-clock".to_owned()).spawn(move || {
            if let Err(error) = prober.run(poll) {
                log::error!("the clock offset is not measured any more: {error}");
            }
        })?;
        Ok(Self { waker, thread })
    }
}

/// The measuring thread's own things.
#[derive(Debug)]
struct Prober {
    shared: Arc<SharedMeasurement>,
    /// The socket and the outlet that it was opened for.
    socket: Option<(UdpSocket, SocketAddr)>,
    datagram: Vec<u8>,
    sealed: Vec<u8>,
}

/// What the measuring thread must do next.
enum Step {
    Send(Request, SocketAddr),
    Stop,
    WaitFor(Option<Duration>),
}

impl Prober {
    fn run(mut self, mut poll: Poll) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        loop {
            match self.step() {
                Step::Stop => return Ok(()),
                Step::Send(request, target) => self.send(request, target, poll.registry()),
                Step::WaitFor(time) => match poll.poll(&mut events, time) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    outcome => {
                        outcome?;
                        self.receive();
                    }
                },
            }
        }
    }

    fn step(&self) -> Step {
        let mut state = self.shared.lock();
        if state.end != End::None {
            return Step::Stop;
        }
        let Some(endpoint) = state.endpoint else { return Step::WaitFor(None) };
        if matches!(state.secrecy, Secrecy::Awaited) {
            return Step::WaitFor(None);
        }
        let now = local_clock();
        let was_known = state.estimator.estimate().is_some();
        let output = state.estimator.poll(now);
        let is_known = state.estimator.estimate().is_some();
        drop(state);
        if is_known && !was_known {
            self.shared.notify_all();
        }
        match output {
            ClockOutput::Send(request) => Step::Send(request, endpoint),
            ClockOutput::WaitUntil(then) => {
                Step::WaitFor(Some(Duration::try_from_secs_f64(then - now).unwrap_or_default()))
            }
        }
    }

    fn send(&mut self, request: Request, target: SocketAddr, registry: &Registry) {
        if let Err(error) = self.try_send(request, target, registry) {
            // The network may be away for a while; the next wave tries again.
            log::verbose!(1, "a clock probe to {target} was not sent: {error}");
        }
    }

    fn try_send(&mut self, request: Request, target: SocketAddr, registry: &Registry) -> io::Result<()> {
        let is_usable = |(_, opened_for): &(UdpSocket, SocketAddr)| *opened_for == target;
        let socket = match self.socket.take().filter(is_usable) {
            Some((socket, _)) => socket,
            None => {
                let mut socket = sockets::client(version_of(target.ip()))?;
                registry.register(&mut socket, SOCKET, Interest::READABLE)?;
                socket
            }
        };
        let socket = &self.socket.insert((socket, target)).0;
        self.datagram.clear();
        // Stamped again, as late as possible: what passed since the schedule was asked is not the network's.
        let request = Request { sent: local_clock(), ..request };
        request.encode(&mut self.datagram).expect("a vector takes everything");
        if let Secrecy::Sealed(datagrams, maker) = &mut self.shared.lock().secrecy {
            if maker.is_another() || !probes::seal(datagrams, &self.datagram, &mut self.sealed) {
                return Err(io::ErrorKind::Other.into());
            }
            core::mem::swap(&mut self.datagram, &mut self.sealed);
        }
        socket.send_to(&self.datagram, target).map(drop)
    }

    /// Takes in the replies that have arrived, but a limited number of datagrams.
    fn receive(&mut self) {
        let Some((socket, _)) = &self.socket else { return };
        let mut buffer = [0; DATAGRAM_LIMIT];
        for _ in 0..DATAGRAMS_PER_ROUND {
            let length = match socket.recv_from(&mut buffer) {
                Ok((length, _)) => length,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => continue,
                Err(_) => return,
            };
            let received = local_clock();
            // A datagram that is no reply is ignored: any program can send to this port.
            let mut state = self.shared.lock();
            let Some(reply) = state.open(&mut buffer[..length]).and_then(Reply::parse) else { continue };
            state.estimator.handle_reply(&reply, received);
        }
    }
}

const WAKER: Token = Token(0);
const SOCKET: Token = Token(1);

const DATAGRAMS_PER_ROUND: usize = 64;
