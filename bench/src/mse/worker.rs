//! The other end of every measured connection: this program, started again.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use schwann_mse::net::{Acceptor, Gate};
use schwann_mse::policy::Policy;
use schwann_mse::{BtHandshake, Group, InfoHash, Method, Methods};

use super::{success, transfer};
use crate::Reason;
use crate::clock;
use crate::transfer::{End, Place, Process};
use crate::worker::{Event, Job, emit};

pub(super) const TORRENT: InfoHash = InfoHash([0x53; 20]);

/// Every method and no MSE at all: what a variant of a connection may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Variant {
    Mse(Group, Method),
    Plain,
}

impl Variant {
    pub(super) fn name(self) -> String {
        match self {
            Self::Mse(Group::Oakley1024, method) => format!("MSE 1,024 bit, {method}"),
            Self::Mse(_, method) => format!("MSE 768 bit, {method}"),
            Self::Plain => "plain".into(),
        }
    }

    pub(super) fn policy(self) -> Policy {
        match self {
            Self::Mse(..) => Policy::Required,
            Self::Plain => Policy::Disabled,
        }
    }

    pub(super) fn group(self) -> Group {
        match self {
            Self::Mse(group, _) => group,
            Self::Plain => Group::Mse768,
        }
    }

    pub(super) fn methods(self) -> Methods {
        match self {
            Self::Mse(_, method) => Methods::of(&[method]),
            Self::Plain => Methods::from_bits(0),
        }
    }

    fn acceptor(self) -> Acceptor<InfoHash> {
        let mut gate = Gate::default();
        gate.attempts_max = u32::MAX;
        let mut acceptor = Acceptor::new(TORRENT, self.policy()).with_gate(gate);
        acceptor.group = self.group();
        if let Self::Mse(_, method) = self {
            acceptor.accept.methods = self.methods();
            acceptor.accept.preferred = method;
        }
        acceptor
    }

    /// As a word that [`Variant::parse`] reads.
    fn word(self) -> String {
        match self {
            Self::Mse(group, method) => format!("{}:{:x}", group.key_len(), method.bit()),
            Self::Plain => "plain".into(),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let Some((group, bit)) = word.split_once(':') else { return Some(Self::Plain) };
        let group = if group == "128" { Group::Oakley1024 } else { Group::Mse768 };
        Some(Self::Mse(group, Method::from_bit(u32::from_str_radix(bit, 16).ok()?)?))
    }
}

/// What the other process does with each connection; the word says which [`Variant`] it is.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub(crate) enum Task {
    /// Answers our BitTorrent handshake with its own.
    Answer(String),
    /// Takes part in a handshake in pieces.
    Shake,
    /// Receives and verifies bytes; answers with the processor time it took.
    Sink(String),
}

impl Task {
    pub(super) fn answer(variant: Variant) -> Self {
        Self::Answer(variant.word())
    }

    pub(super) fn sink(variant: Variant) -> Self {
        Self::Sink(variant.word())
    }
}

/// A running worker; killed when dropped.
pub(super) struct Worker {
    _process: Process,
    pub(super) address: SocketAddr,
}

impl Worker {
    pub(super) fn start(task: Task) -> Result<Self, Reason> {
        let mut process = Process::start(&Job::Mse(task), &Place::default(), Duration::from_secs(20))?;
        let Event::Listening(address) = process.hear()? else { return Err("it spoke out of turn".into()) };
        Ok(Self { _process: process, address })
    }
}

/// The worker's part: serves one connection after the other until it is ended.
pub(crate) fn work(task: &Task) -> Result<(), Reason> {
    let word = match task {
        Task::Answer(word) | Task::Sink(word) => word,
        Task::Shake => "plain",
    };
    let acceptor = Variant::parse(word).ok_or("no such variant")?.acceptor();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    emit(&Event::Listening(listener.local_addr()?));
    loop {
        let (socket, _) = listener.accept()?;
        match task {
            Task::Answer(_) => answer(socket, &acceptor)?,
            Task::Shake => success::respond(&socket)?,
            Task::Sink(_) => sink(socket, &acceptor)?,
        }
    }
}

pub(super) fn bt_handshake(name: u8) -> BtHandshake {
    BtHandshake { reserved: [0; 8], info_hash: TORRENT, peer_id: [name; 20] }
}

fn answer(socket: TcpStream, acceptor: &Acceptor<InfoHash>) -> Result<(), Reason> {
    socket.set_nodelay(true)?;
    let mut stream = acceptor.accept(socket)?.stream;
    let mut theirs = [0; BtHandshake::LEN];
    stream.read_exact(&mut theirs)?;
    if BtHandshake::parse(&theirs) != Some(bt_handshake(b'a')) {
        return Err("the handshake arrived changed".into());
    }
    stream.write_all(&bt_handshake(b'b').encode())?;
    // The measuring side closes first, so that no port of ours lingers.
    _ = stream.read(&mut [0]);
    Ok(())
}

fn sink(socket: TcpStream, acceptor: &Acceptor<InfoHash>) -> Result<(), Reason> {
    socket.set_nodelay(true)?;
    let mut stream = acceptor.accept(socket)?.stream;
    stream.read_exact(&mut [0; BtHandshake::LEN])?;
    stream.write_all(&bt_handshake(b'b').encode())?;
    let mut len = [0; 8];
    stream.read_exact(&mut len)?;
    let began = clock::cpu_ns();
    transfer::receive(&mut stream, u64::from_le_bytes(len))?;
    stream.write_all(&(clock::cpu_ns() - began).to_le_bytes())?;
    _ = stream.read(&mut [0]);
    Ok(())
}
