//! From a stream's address to its first sample.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::time::Instant;

use schwann_proto::stream::{ChannelFormat, PROTOCOL_VERSION};
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::archive::Archive;
use schwann_proto::wire::feed::{
    DataProtocol, Expected, FeedRequest, Response, ResponseError, ResponseReader,
};
use schwann_proto::wire::sample::Layout;
use schwann_proto::wire::test_pattern;
use schwann_session::{Refusal, Suite};

use crate::net::link::Link;
use crate::security::Member;
use crate::security::journal::{self, Side};
use crate::security::link::{Flow, Handshake, Opener, Step};
use crate::sys::{poll::Ready, sockets};

mod error;

pub(crate) use self::error::HandshakeError;

/// What an inlet asks an outlet for.
pub(crate) struct Wanted<'a> {
    pub(crate) info: &'a StreamInfo,
    /// The newest protocol that the configuration permits, times 100.
    pub(crate) version: i32,
    /// Samples to be kept for this inlet.
    pub(crate) buffer_samples: i32,
    /// Samples to be sent at a time.
    pub(crate) chunk_samples: i32,
}

/// What both ends agreed on.
pub(crate) struct Agreed {
    /// How samples are laid out once they are in the queue.
    pub(crate) layout: Layout,
    /// Set if samples arrive as an archive and have to be translated.
    pub(crate) archive: Option<Archive>,
    /// What arrived behind the test pattern already.
    pub(crate) early: Vec<u8>,
    /// What arrived and cannot be opened yet.
    pub(crate) opener: Opener,
    /// Whether the outlet wants to hear that the program is too slow.
    pub(crate) takes_reports: bool,
}

/// Begins to connect over TCP; the socket becomes writable when that is done.
pub(crate) fn connect_tcp(address: SocketAddr) -> Result<Link, HandshakeError> {
    use socket2::{Domain, Socket, Type};
    let connect = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        // The end of a handshake and the request behind it are two sends. The second must not wait until the first
        // has been acknowledged. Without it the connection works as well.
        let _ = socket.set_tcp_nodelay(true);
        match socket.connect(&address.into()) {
            Err(error) if !sockets::is_in_progress(&error) => Err(error),
            _ => Ok(Link::tcp(socket, address)),
        }
    };
    connect().map_err(HandshakeError::Connection)
}

/// Waits for the connection, sends the request and checks answer and test pattern.
///
/// Shutting the link down ends this.
pub(crate) fn shake_hands(
    link: &Link,
    wanted: &Wanted<'_>,
    sealing: Option<(&Arc<Member>, Suite)>,
) -> Result<Agreed, HandshakeError> {
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    if !has_room_for_pattern(wanted.info) {
        return Err(HandshakeError::Vast);
    }
    finish_connecting(link, deadline)?;
    let mut conversation = Conversation { link, received: Vec::new(), opener: Opener::default(), deadline };
    if let Some((member, suite)) = sealing {
        conversation.secure(member, suite, wanted.info)?;
    }
    let uid = wanted.info.uid().to_string();
    let version = wanted.version.min(wanted.info.version());
    send_request(link, wanted, &uid, version, deadline)?;
    if DataProtocol::from_version(version) == DataProtocol::Archive {
        return begin_archive(conversation, 0, wanted, &uid);
    }
    let expected = Expected { version: PROTOCOL_VERSION, uid: &uid, format: wanted.info.channel_format() };
    let response = conversation.response(ResponseReader::new(expected), sealing.is_some())?;
    if response.data_protocol == DataProtocol::Archive {
        return begin_archive(conversation, response.len, wanted, &uid);
    }
    let channel_count = wanted.info.channel_count() as usize;
    let layout = response.layout(wanted.info.channel_format(), channel_count);
    let len = conversation
        .until(response.len, |bytes| test_pattern::verify(&layout, bytes).map_err(HandshakeError::Pattern))?;
    let early = conversation.received.split_off(response.len + len);
    let takes_reports = response.takes_reports;
    Ok(Agreed { layout, archive: None, early, opener: conversation.opener, takes_reports })
}

/// Whether the two samples of the test pattern fit into what is kept of a handshake. A value has a byte at least.
fn has_room_for_pattern(info: &StreamInfo) -> bool {
    let value_len = info.channel_format().value_size().unwrap_or(1);
    let pattern_len = (info.channel_count() as usize).saturating_mul(2 * value_len);
    pattern_len <= HANDSHAKE_LIMIT
}

fn finish_connecting(link: &Link, deadline: Instant) -> Result<(), HandshakeError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if !link.wait_until(Ready::ToSend, left) {
        return Err(HandshakeError::Slow);
    }
    let socket = link.socket();
    match socket.take_error().and_then(|error| error.map_or(Ok(()), Err)) {
        Ok(()) => sockets::finish_connecting(socket).map_err(HandshakeError::Connection),
        Err(error) => Err(HandshakeError::Connection(error)),
    }
}

fn send_request(
    link: &Link,
    wanted: &Wanted<'_>,
    uid: &str,
    version: i32,
    deadline: Instant,
) -> Result<(), HandshakeError> {
    let info = wanted.info;
    let (hostname, source_id, session_id) =
        (info.hostname().to_string(), info.source_id().to_string(), info.session_id().to_string());
    let format = info.channel_format();
    let request = FeedRequest {
        hostname: &hostname,
        source_id: &source_id,
        session_id: &session_id,
        sends_reports: true,
        ..FeedRequest::new(version, uid, format, wanted.buffer_samples, wanted.chunk_samples)
    };
    let mut bytes = Vec::new();
    // A vector takes all it is given.
    let _ = request.encode(&mut bytes);
    match link.send_until(&bytes, deadline).failed {
        true => Err(HandshakeError::Slow),
        false => Ok(()),
    }
}

/// Reads an archive's header and test pattern behind the first `start` bytes.
fn begin_archive(
    mut conversation: Conversation<'_>,
    start: usize,
    wanted: &Wanted<'_>,
    uid: &str,
) -> Result<Agreed, HandshakeError> {
    let header_len = conversation.until(start, |bytes| {
        let header = Archive::decode_header(bytes).map_err(|_| HandshakeError::Malformed)?;
        let Some(header) = header else { return Ok(None) };
        let info = StreamInfo::parse(header.shortinfo).map_err(|_| HandshakeError::Archive)?;
        if *info.uid() == uid { Ok(Some(header.len)) } else { Err(HandshakeError::Archive) }
    })?;
    let start = start + header_len;
    let archive = Archive::new(wanted.info.channel_format(), wanted.info.channel_count() as usize);
    let len = conversation.until(start, |bytes| {
        test_pattern::verify_archive(&archive, bytes).map_err(HandshakeError::Pattern)
    })?;
    let early = conversation.received.split_off(start + len);
    let layout = archive.plain_layout();
    Ok(Agreed { layout, archive: Some(archive), early, opener: conversation.opener, takes_reports: false })
}

/// Connects and, if a member is given, makes a secure session, for a request of another kind.
pub(crate) fn prepare(
    link: &Link,
    info: &StreamInfo,
    sealing: Option<(&Arc<Member>, Suite)>,
    deadline: Instant,
) -> Result<Opener, HandshakeError> {
    finish_connecting(link, deadline)?;
    let mut conversation = Conversation { link, received: Vec::new(), opener: Opener::default(), deadline };
    if let Some((member, suite)) = sealing {
        conversation.secure(member, suite, info)?;
    }
    Ok(conversation.opener)
}

/// What the security log has in place of a stream, where a session is made for none.
pub(crate) fn no_stream() -> StreamInfo {
    let info = StreamInfo::new("lab", "", 0, 0.0, ChannelFormat::Undefined, "");
    info.expect("a name is all that a description needs")
}

/// Connects to the outlet at `address` only for the lab's newest revocation list; either end may have it.
pub(crate) fn exchange_lists(member: &Arc<Member>, address: SocketAddr) -> Result<(), HandshakeError> {
    let link = connect_tcp(address)?;
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    finish_connecting(&link, deadline)?;
    let mut conversation =
        Conversation { link: &link, received: Vec::new(), opener: Opener::default(), deadline };
    conversation.secure(member, Suite::Hybrid, &no_stream())?;
    let theirs = link.layer().peer().map_or(0, |peer| peer.revocation_number);
    while member.revocation_number() < theirs {
        if conversation.hear()? == 0 {
            return Err(HandshakeError::Response(ResponseError::Ended));
        }
    }
    // The list goes out with what is sent next, which is nothing else.
    while link.has_unsent() {
        let left = deadline.saturating_duration_since(Instant::now());
        if link.send(core::iter::empty()).failed || !link.wait_until(Ready::ToSend, left) {
            return Err(HandshakeError::Slow);
        }
    }
    link.send_end();
    Ok(())
}

/// Why there is no session. An outlet that has sealed before is no plain one, however it behaves now. It may have
/// no room, or something on the way closes in its name. So nothing falls back for it (secure-session §6).
fn refused(member: &Member, info: &StreamInfo, refusal: Refusal) -> HandshakeError {
    let is_known = refusal == Refusal::PlainPeer && member.knows_to_seal(&info.uid().to_string());
    HandshakeError::Refused(if is_known { Refusal::Closed } else { refusal })
}

/// What the outlet said so far.
struct Conversation<'a> {
    link: &'a Link,
    received: Vec<u8>,
    opener: Opener,
    deadline: Instant,
}

impl Conversation<'_> {
    /// Waits for the outlet's answer to the request.
    fn response(
        &mut self,
        mut reader: ResponseReader<'_>,
        is_sealed: bool,
    ) -> Result<Response, HandshakeError> {
        loop {
            match reader.read(&self.received).map_err(HandshakeError::Response)? {
                Some(response) => return Ok(response),
                None if self.hear()? > 0 => {}
                None if self.received.is_empty() && !is_sealed => {
                    return Err(HandshakeError::Refused(Refusal::MembersOnly));
                }
                None => return Err(HandshakeError::Response(reader.finish(&self.received))),
            }
        }
    }

    /// Makes a secure session; from then on everything is sealed.
    fn secure(
        &mut self,
        member: &Arc<Member>,
        suite: Suite,
        info: &StreamInfo,
    ) -> Result<(), HandshakeError> {
        let mut handshake = Handshake::inlet(member, suite).map_err(HandshakeError::Refused)?;
        let used = self.exchange(&mut handshake, |refusal| refused(member, info, refusal))?;
        let (session, peer) = handshake.finish().ok_or(HandshakeError::Malformed)?;
        journal::connected(info, self.link.peer_address(), peer.identity(), Side::Inlet);
        member.note_sealing(&info.uid().to_string());
        member.note_met(self.link.peer_address());
        self.link.layer().begin(session, Some(peer));
        let early = self.received.split_off(used);
        self.received.clear();
        self.open(&early).map(|_| ())
    }

    /// Takes the handshake's steps; says how many of the received bytes were of it.
    fn exchange(
        &mut self,
        handshake: &mut Handshake,
        refused: impl Fn(Refusal) -> HandshakeError,
    ) -> Result<usize, HandshakeError> {
        let (link, deadline) = (self.link, self.deadline);
        let send = |output: &[u8]| match link.send_until(output, deadline).failed {
            true => Err(HandshakeError::Slow),
            false => Ok(()),
        };
        let mut used = 0;
        loop {
            let input = self.received.get(used..).unwrap_or_default();
            match handshake.step(input, send)? {
                Step::NeedsMore => used = self.received.len(),
                Step::Done { consumed } => return Ok(used + consumed),
                Step::Refused(refusal) => return Err(refused(refusal)),
            }
            match self.hear() {
                // A peer that closes before it has read everything resets the connection.
                Ok(0) | Err(HandshakeError::Connection(_)) => return Err(refused(handshake.closed())),
                heard => heard?,
            };
        }
    }

    /// Files what arrived; says whether more may follow.
    fn open(&mut self, arrived: &[u8]) -> Result<Flow, HandshakeError> {
        self.opener.open(self.link.layer(), arrived, &mut self.received).map_err(|error| {
            // What the outlet says of us comes sealed as well.
            match self.link.layer().refusal() {
                Some(refusal) => HandshakeError::Refused(refusal),
                None => {
                    journal::broken(self.link.layer().peer(), self.link.peer_address(), error);
                    HandshakeError::Malformed
                }
            }
        })
    }

    /// Reads until `parse` finds what it looks for behind the first `start` bytes.
    fn until(
        &mut self,
        start: usize,
        mut parse: impl FnMut(&[u8]) -> Result<Option<usize>, HandshakeError>,
    ) -> Result<usize, HandshakeError> {
        loop {
            if let Some(len) = parse(self.received.get(start..).unwrap_or_default())? {
                return Ok(len);
            }
            if self.hear()? == 0 {
                return Err(HandshakeError::Response(ResponseError::Ended));
            }
        }
    }

    /// Reads once; 0 bytes mean that the outlet has ended.
    fn hear(&mut self) -> Result<usize, HandshakeError> {
        if self.received.len() > HANDSHAKE_LIMIT {
            return Err(HandshakeError::Malformed);
        }
        let mut buffer = [0; READ_LEN];
        let count = self.receive(&mut buffer)?;
        let flow = self.open(buffer.get(..count).unwrap_or_default())?;
        Ok(if flow == Flow::Ended { 0 } else { count })
    }

    /// Receives once, before the deadline.
    ///
    /// A loop, because a program's timer may interrupt the wait any number of times.
    fn receive(&self, buffer: &mut [u8]) -> Result<usize, HandshakeError> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.link.wait_until(Ready::ToReceive, left) {
                return Err(HandshakeError::Slow);
            }
            match self.link.receive_now(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(HandshakeError::Connection(error)),
            }
        }
    }
}

/// How long connecting and shaking hands may take before it is tried again.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes read at a time.
const READ_LEN: usize = 4096;
/// Most bytes of a handshake: a response, a description and a test pattern of many channels.
const HANDSHAKE_LIMIT: usize = 64 << 20;
