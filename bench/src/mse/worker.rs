//! The other end of every measured connection: this program, started again.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use schwann_mse::net::{Acceptor, Dialler, Gate};
use schwann_mse::policy::Policy;
use schwann_mse::stream::Stream;
use schwann_mse::{BtHandshake, Group, InfoHash, Method, Methods};
use serde::{Deserialize, Serialize};

use super::{success, transfer};
use crate::Reason;
use crate::clock;
use crate::transfer::{Placement, Process};
use crate::worker::{Event, Job, emit};

/// The kinds of connection: no MSE at all, or a method, after an exchange in the usual or the wide group.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Variant {
    Aes128,
    Aes256,
    Plain,
    Rc4,
    WideRc4,
}

impl Variant {
    pub(super) fn method(self) -> Option<Method> {
        match self {
            Self::Aes128 => Some(Method::Aes128Ctr),
            Self::Aes256 => Some(Method::Aes256Ctr),
            Self::Plain => None,
            Self::Rc4 | Self::WideRc4 => Some(Method::Rc4),
        }
    }

    pub(super) fn name(self) -> String {
        let bits = if self == Self::WideRc4 { "1,024" } else { "768" };
        self.method().map_or_else(|| "plain".to_owned(), |method| format!("MSE {bits} bit, {method}"))
    }

    fn policy(self) -> Policy {
        if self == Self::Plain { Policy::Disabled } else { Policy::Required }
    }

    fn group(self) -> Group {
        if self == Self::WideRc4 { Group::Oakley1024 } else { Group::Mse768 }
    }

    fn methods(self) -> Methods {
        self.method().map_or(Methods::from_bits(0), |method| Methods::of(&[method]))
    }

    pub(super) fn dialler(self) -> Dialler {
        let mut dialler = Dialler::new(self.policy());
        (dialler.group, dialler.methods) = (self.group(), self.methods());
        dialler
    }

    fn acceptor(self) -> Acceptor<InfoHash> {
        let mut gate = Gate::default();
        gate.attempts_max = u32::MAX;
        let mut acceptor = Acceptor::new(TORRENT, self.policy()).with_gate(gate);
        acceptor.group = self.group();
        if let Some(method) = self.method() {
            (acceptor.accept.methods, acceptor.accept.preferred) = (self.methods(), method);
        }
        acceptor
    }
}

/// What the other process does with each connection.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) enum Task {
    /// Answers our BitTorrent handshake with its own.
    Answer(Variant),
    /// Takes part in a handshake in pieces.
    Shake,
    /// Receives and verifies bytes; answers with the processor time it took.
    Sink(Variant),
}

/// A running worker; killed when dropped.
pub(super) struct Worker {
    _process: Process,
    pub(super) address: SocketAddr,
}

impl Worker {
    pub(super) fn start(task: Task) -> Result<Self, Reason> {
        let mut process = Process::start(&Job::Mse(task), &Placement::default(), Duration::from_secs(20))?;
        let Event::Listening(address) = process.hear()? else { return Err("it spoke out of turn".into()) };
        Ok(Self { _process: process, address })
    }
}

/// The worker's part: serves one connection after the other until it is ended.
pub(crate) fn work(task: &Task) -> Result<(), Reason> {
    let acceptor = match task {
        Task::Answer(variant) | Task::Sink(variant) => variant.acceptor(),
        Task::Shake => Variant::Plain.acceptor(),
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    emit(&Event::Listening(listener.local_addr()?));
    loop {
        let (socket, _) = listener.accept()?;
        match task {
            Task::Shake => success::respond(&socket)?,
            Task::Answer(_) | Task::Sink(_) => {
                let mut stream = greet(socket, &acceptor)?;
                if matches!(task, Task::Sink(_)) {
                    sink(&mut stream)?;
                }
                // The measuring side closes first, so that no port of ours lingers.
                let _ = stream.read(&mut [0]);
            }
        }
    }
}

pub(super) fn bt_handshake(name: u8) -> BtHandshake {
    BtHandshake { reserved: [0; 8], info_hash: TORRENT, peer_id: [name; 20] }
}

/// Accepts a connection and exchanges BitTorrent's handshakes.
fn greet(socket: TcpStream, acceptor: &Acceptor<InfoHash>) -> Result<Stream<TcpStream>, Reason> {
    socket.set_nodelay(true)?;
    let mut stream = acceptor.accept(socket)?.stream;
    let mut theirs = [0; BtHandshake::LEN];
    stream.read_exact(&mut theirs)?;
    if BtHandshake::parse(&theirs) != Some(bt_handshake(b'a')) {
        return Err("the handshake arrived changed".into());
    }
    stream.write_all(&bt_handshake(b'b').encode())?;
    Ok(stream)
}

fn sink(stream: &mut Stream<TcpStream>) -> Result<(), Reason> {
    let mut len = [0; 8];
    stream.read_exact(&mut len)?;
    let began = clock::cpu_ns();
    transfer::receive(stream, u64::from_le_bytes(len))?;
    Ok(stream.write_all(&(clock::cpu_ns() - began).to_le_bytes())?)
}

pub(super) const TORRENT: InfoHash = InfoHash([0x53; 20]);
