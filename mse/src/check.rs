//! What a peer accepts: methods, paddings, and how long each step takes.
//!
//! Every probe is a connection of its own, one after another, with the peer's own time-outs respected. A
//! check does not prove who the peer is, or that its bytes are right.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;

use alloc::vec::Vec;

use crate::bittorrent::BtHandshake;
use crate::dh::Group;
use crate::error::HandshakeError;
use crate::handshake::{Draw, Established, Handshake, Initiator, Offer, PAD_MAX, Progress, Stage, Status};
use crate::method::{Method, Methods};
use crate::net::{DialError, Dialler, QuickAck, drive};
use crate::policy::{Attempt, Cause, Failure, Policy};
use crate::skey::InfoHash;
use crate::stream::Stream;

/// How to check.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Checker {
    /// For connecting, and again for everything after it. Ten seconds by default.
    pub timeout: Duration,
    /// The group to compute in.
    pub group: Group,
    /// The name we give ourselves.
    pub peer_id: [u8; 20],
}

impl Default for Checker {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), group: Group::Mse768, peer_id: *b"-SW0001-schwanncheck" }
    }
}

/// Checks one peer about one torrent with the usual settings.
#[must_use]
pub fn check(peer: SocketAddr, info_hash: InfoHash) -> Report {
    Checker::default().check(peer, info_hash)
}

impl Checker {
    /// Runs every probe of [`Probe::ALL`].
    #[must_use]
    pub fn check(&self, peer: SocketAddr, info_hash: InfoHash) -> Report {
        let findings = Probe::ALL
            .into_iter()
            .map(|probe| Finding { probe, outcome: self.run(peer, info_hash, probe) })
            .collect();
        Report { peer, info_hash, findings }
    }

    /// Runs one probe over a connection of its own.
    ///
    /// - Errors: how the peer refused, which is as much an answer as the rest.
    pub fn run(&self, peer: SocketAddr, info_hash: InfoHash, probe: Probe) -> Result<Accepted, DialError> {
        let handshake = BtHandshake { reserved: [0; 8], info_hash, peer_id: self.peer_id };
        let mut dialler = Dialler::new(Policy::Required);
        dialler.timeout = self.timeout;
        let began = Instant::now();
        let socket = dialler.connect(peer)?;
        let connected = began.elapsed();
        if probe == Probe::Plain {
            let stream = dialler.begin(socket, &handshake, Attempt::Plain)?;
            return finish(stream, &handshake, Timing { began, connected, key: None }, None);
        }
        self.shake_hands(socket, &handshake, probe, Timing { began, connected, key: None })
    }

    fn shake_hands(
        &self,
        socket: TcpStream,
        handshake: &BtHandshake,
        probe: Probe,
        mut timing: Timing,
    ) -> Result<Accepted, DialError> {
        let mut draw = Draw::system(self.group).map_err(|_| DialError::NoRandomness)?;
        if let Some(pad) = probe.pads() {
            draw.key_pad.resize(pad, 0x5a);
            draw.crypto_pad = pad;
        }
        let payload = if probe.sends_payload() { handshake.encode().to_vec() } else { Vec::new() };
        let sends_later = payload.is_empty();
        let offer = Offer::new(probe.methods(), payload);
        let machine = Initiator::new(handshake.info_hash, offer, draw).map_err(invalid)?;
        let mut machine = Timed { machine, key: None };
        let deadline = Instant::now() + self.timeout;
        let (status, rest) = drive(&socket, &mut machine, deadline, QuickAck::On)?;
        timing.key = machine.key.map(|at| at - timing.began);
        let Status::Established(established) = status else {
            let failure = Failure::mse(Cause::PlainPeer, machine.progress());
            return Err(DialError::Failed(failure));
        };
        let shaken = Shaken::of(&established, timing.began.elapsed());
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        socket.set_read_timeout(Some(left)).map_err(DialError::Io)?;
        let mut stream = Stream::new(socket, *established, &rest);
        if sends_later {
            std::io::Write::write_all(&mut stream, &handshake.encode()).map_err(DialError::Io)?;
        }
        finish(stream, handshake, timing, Some(shaken))
    }
}

/// Reads the peer's BitTorrent handshake, which shows that the keystreams agree.
fn finish(
    mut stream: Stream<TcpStream>,
    handshake: &BtHandshake,
    timing: Timing,
    shaken: Option<Shaken>,
) -> Result<Accepted, DialError> {
    let mut bytes = [0; BtHandshake::LEN];
    let gone = |cause| DialError::Failed(Failure::plain(cause));
    stream.read_exact(&mut bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => gone(Cause::Closed),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => gone(Cause::TimedOut),
        _ => DialError::Io(error),
    })?;
    let answer = BtHandshake::parse(&bytes).filter(|theirs| theirs.info_hash == handshake.info_hash);
    let answer = answer.ok_or_else(|| gone(Cause::Handshake(HandshakeError::VerificationFailed)))?;
    Ok(Accepted {
        method: stream.method(),
        peer_id: answer.peer_id,
        connected: timing.connected,
        key: timing.key,
        shaken,
        answered: timing.began.elapsed(),
    })
}

fn invalid(error: HandshakeError) -> DialError {
    DialError::Failed(Failure::plain(Cause::Handshake(error)))
}

/// When things happened.
struct Timing {
    began: Instant,
    connected: Duration,
    key: Option<Duration>,
}

/// Notes when the peer's key was complete.
struct Timed {
    machine: Initiator,
    key: Option<Instant>,
}

impl Handshake for Timed {
    fn poll_output(&mut self) -> Option<Vec<u8>> {
        self.machine.poll_output()
    }

    fn handle_input(&mut self, input: &mut &[u8]) -> Result<Status, HandshakeError> {
        let status = self.machine.handle_input(input);
        if self.key.is_none() && self.machine.progress().stage > Stage::Key {
            self.key = Some(Instant::now());
        }
        status
    }

    fn progress(&self) -> Progress {
        self.machine.progress()
    }
}

/// One question to a peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Probe {
    /// No MSE at all.
    Plain,
    /// RC4, with the BitTorrent handshake as initial payload: what to offer to strangers.
    Rc4,
    /// RC4 without initial payload.
    Rc4NoPayload,
    /// RC4 with all our paddings at 512 bytes.
    Rc4LongPads,
    /// RC4 or plaintext: which does the peer select?
    Either,
    /// Plaintext alone.
    Plaintext,
    /// Every bit but plaintext's: is RC4 selected all the same?
    UnknownBits,
    /// RC4 and Schwann's private methods.
    Private,
}

impl Probe {
    /// Every probe, in the order they are run.
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::Rc4,
        Self::Rc4NoPayload,
        Self::Rc4LongPads,
        Self::Either,
        Self::Plaintext,
        Self::UnknownBits,
        Self::Private,
    ];

    /// What the probe offers, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "no MSE",
            Self::Rc4 => "rc4",
            Self::Rc4NoPayload => "rc4, no initial payload",
            Self::Rc4LongPads => "rc4, 512-byte paddings",
            Self::Either => "rc4 or plaintext",
            Self::Plaintext => "plaintext",
            Self::UnknownBits => "rc4 and unknown bits",
            Self::Private => "rc4 or aes (private)",
        }
    }

    fn methods(self) -> Methods {
        match self {
            Self::Plain | Self::Rc4 | Self::Rc4NoPayload | Self::Rc4LongPads => Methods::RC4,
            Self::Either => Methods::of(&[Method::Rc4, Method::Plaintext]),
            Self::Plaintext => Methods::of(&[Method::Plaintext]),
            // Our own private bits left out: a Schwann peer would select one.
            Self::UnknownBits => Methods::from_bits(0xfcff_fffe),
            Self::Private => Methods::PRIVATE,
        }
    }

    const fn pads(self) -> Option<usize> {
        if matches!(self, Self::Rc4LongPads) { Some(PAD_MAX) } else { None }
    }

    const fn sends_payload(self) -> bool {
        !matches!(self, Self::Rc4NoPayload | Self::Either | Self::Plaintext)
    }
}

/// What a peer answered to everything.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The peer.
    pub peer: SocketAddr,
    /// The torrent it was asked about.
    pub info_hash: InfoHash,
    /// One answer to each of [`Probe::ALL`].
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether the peer speaks MSE at all.
    #[must_use]
    pub fn speaks_mse(&self) -> bool {
        self.findings.iter().any(|f| f.probe != Probe::Plain && f.outcome.is_ok())
    }
}

/// One probe and its answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The question.
    pub probe: Probe,
    /// The answer.
    pub outcome: Result<Accepted, DialError>,
}

/// A probe that ended with the peer's BitTorrent handshake.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Accepted {
    /// What was selected.
    pub method: Method,
    /// The peer's name for itself.
    pub peer_id: [u8; 20],
    /// Until the connection stood.
    pub connected: Duration,
    /// Until the peer's public key was here, from the beginning.
    pub key: Option<Duration>,
    /// The MSE handshake, if there was one.
    pub shaken: Option<Shaken>,
    /// Until the peer's BitTorrent handshake was here, from the beginning.
    pub answered: Duration,
}

/// A finished MSE handshake.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Shaken {
    /// Until it was finished, from the beginning.
    pub after: Duration,
    /// Length of the peer's PadB, in bytes.
    pub key_pad: usize,
    /// Length of the peer's PadD, in bytes.
    pub crypto_pad: usize,
}

impl Shaken {
    fn of(established: &Established, after: Duration) -> Self {
        Self { after, key_pad: established.key_pad, crypto_pad: established.crypto_pad }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} about {}", self.peer, self.info_hash)?;
        for finding in &self.findings {
            write!(f, "  {:<24} ", finding.probe.name())?;
            match &finding.outcome {
                Ok(accepted) => writeln!(f, "{accepted}")?,
                Err(error) => writeln!(f, "refused: {error}")?,
            }
        }
        write!(f, "MSE is obfuscation: it hides the protocol, it does not protect the content.")
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "{:<11} connect {:.1} ms", self.method.name(), ms(self.connected))?;
        if let Some(key) = self.key {
            write!(f, ", key {:.1} ms", ms(key))?;
        }
        if let Some(shaken) = self.shaken {
            write!(f, ", handshake {:.1} ms", ms(shaken.after))?;
        }
        write!(f, ", answer {:.1} ms", ms(self.answered))?;
        if let Some(shaken) = self.shaken {
            write!(f, ", PadB {}, PadD {}", shaken.key_pad, shaken.crypto_pad)?;
        }
        // The first eight bytes name the client by convention (BEP 20).
        let name = self.peer_id.first_chunk::<8>().and_then(|name| core::str::from_utf8(name).ok());
        let printable = name.filter(|name| name.chars().all(|c| c.is_ascii_graphic()));
        write!(f, ", {}", printable.unwrap_or("unnamed"))
    }
}
