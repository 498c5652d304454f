//! One connected stream socket with the layer that its bytes go through.
//!
//! Sends never block and never raise a signal.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{ErrorKind, IoSlice};
use std::net::Shutdown;
use std::time::Instant;

use schwann_session::Refusal;
use socket2::Socket;

use crate::peer_address::PeerAddress;
use crate::security::link::{Layer, Outgoing, Sealing};
use crate::sys::poll::{self, Ready};
use crate::sys::sockets;

/// What a send did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Progress {
    /// Bytes, before sealing, that need not be given again.
    pub(crate) taken: usize,
    /// The socket is full: wait until it is writable, then go on.
    pub(crate) blocked: bool,
    /// The connection is broken.
    pub(crate) failed: bool,
}

impl Progress {
    pub(crate) const NOTHING: Self = Self { taken: 0, blocked: false, failed: false };
}

/// What a connection's bytes go by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Carrier {
    /// A UNIX stream socket to a program on this computer.
    Local,
    /// TCP.
    Tcp,
}

/// A connected socket, and the layer that its bytes go through.
pub(crate) struct Link {
    socket: Socket,
    peer_address: PeerAddress,
    /// The program at the other end of a connection inside this computer, if it is known.
    peer_process: Option<u32>,
    layer: Layer,
    /// Sealed bytes wait for the socket.
    unsent: AtomicBool,
}

impl Link {
    /// A TCP connection to this address, whose bytes go as they are.
    pub(crate) fn tcp(socket: impl Into<Socket>, address: SocketAddr) -> Self {
        Self::new(socket.into(), PeerAddress::Address(address))
    }

    /// A connection inside this computer, whose bytes go as they are.
    pub(crate) fn local(socket: Socket) -> Self {
        Self::new(socket, PeerAddress::ThisComputer)
    }

    fn new(socket: Socket, peer_address: PeerAddress) -> Self {
        sockets::prepare(&socket);
        let layer = Layer::default();
        Self { socket, peer_address, peer_process: None, layer, unsent: AtomicBool::new(false) }
    }

    /// The same, of the process with this number.
    pub(crate) fn of_process(self, peer_process: Option<u32>) -> Self {
        Self { peer_process, ..self }
    }

    /// Who is at the other end, as text for people: the device's name if it has proven one, and its place.
    pub(crate) fn peer_text(&self) -> String {
        let place = match self.peer_process {
            Some(process) => format!("process {process} on this computer"),
            None => self.peer_address.to_string(),
        };
        match self.layer.peer() {
            Some(peer) => format!("{} ({place})", peer.statement.name.as_str()),
            None => place,
        }
    }

    /// What the socket is.
    pub(crate) fn carrier(&self) -> Carrier {
        match self.peer_address {
            PeerAddress::ThisComputer => Carrier::Local,
            PeerAddress::Address(_) | PeerAddress::Unknown => Carrier::Tcp,
        }
    }

    /// Where the other end is, or was.
    pub(crate) fn peer_address(&self) -> PeerAddress {
        self.peer_address
    }

    /// Where this end of a TCP connection is, while there is one.
    pub(crate) fn own_address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()?.as_socket()
    }

    /// What the bytes go through.
    #[inline]
    pub(crate) fn layer(&self) -> &Layer {
        &self.layer
    }

    /// Whether sealed bytes wait for the socket, or messages of the session's own to be sealed.
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) || self.layer.has_control()
    }

    /// The socket, for readiness and shutdown.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Ends the connection; threads that wait on the socket return.
    pub(crate) fn shut_down(&self) {
        // Fails only if the peer was faster.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Sends as much of `slices`, one after the other, as the socket takes at once.
    pub(crate) fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> Progress {
        match self.layer.sealing() {
            None => self.send_plain(slices),
            Some(sealing) => self.send_sealed(sealing, slices),
        }
    }

    /// Sends as much of `bytes` as the socket takes at once. Sealed bytes go through `wire`.
    /// `wire` is scratch space; its old contents are ignored. The sends of one thread share it:
    /// all of them use the same few cache lines.
    pub(crate) fn send_through(&self, bytes: &[u8], wire: &mut Vec<u8>) -> Progress {
        let Some(sealed) = self.layer.seal(bytes, wire) else { return self.send(core::iter::once(bytes)) };
        let mut progress = Progress::NOTHING;
        let sent = self.send_vector(&[IoSlice::new(sealed)], sealed.len(), &mut progress);
        progress.taken = self.layer.note_sent(sealed, sent, bytes.len());
        if progress.blocked {
            self.unsent.store(self.layer.is_sealed(), Ordering::Relaxed);
        } else if !progress.failed && self.layer.has_control() {
            let of_session = self.send(core::iter::empty());
            (progress.blocked, progress.failed) = (of_session.blocked, of_session.failed);
        }
        progress
    }

    fn send_plain<'a>(&self, mut slices: impl Iterator<Item = &'a [u8]>) -> Progress {
        let mut vector = [IoSlice::new(&[]); SLICES_PER_SEND];
        let mut progress = Progress::NOTHING;
        loop {
            let (mut count, mut len) = (0, 0);
            for (entry, slice) in vector.iter_mut().zip(slices.by_ref()) {
                *entry = IoSlice::new(slice);
                count += 1;
                len += slice.len();
            }
            if len == 0 {
                return progress;
            }
            progress.taken += self.send_vector(vector.get(..count).unwrap_or_default(), len, &mut progress);
            if progress.blocked || progress.failed || count < SLICES_PER_SEND {
                return progress;
            }
        }
    }

    fn send_sealed<'a>(&self, sealing: &Sealing, slices: impl Iterator<Item = &'a [u8]>) -> Progress {
        let mut progress = Progress::NOTHING;
        let mut slices = slices.filter(|slice| !slice.is_empty());
        let mut rest = slices.next().unwrap_or_default();
        let Some((mut out, mut sealed)) = sealing.take_outgoing(rest) else {
            progress.failed = true;
            return progress;
        };
        loop {
            match sealed {
                Ok(count) => {
                    progress.taken += count;
                    rest = rest.get(count..).unwrap_or_default();
                    self.send_outgoing(&mut out, &mut progress);
                }
                Err(_) => progress.failed = true,
            }
            if rest.is_empty() {
                rest = slices.next().unwrap_or_default();
            }
            if progress.blocked || progress.failed || rest.is_empty() && !sealing.has_control() {
                break;
            }
            sealed = sealing.seal_part(rest, &mut out);
        }
        self.unsent.store(!out.unsent().is_empty(), Ordering::Relaxed);
        sealing.put_back(out);
        progress
    }

    fn send_outgoing(&self, out: &mut Outgoing, progress: &mut Progress) {
        let len = out.unsent().len();
        if len > 0 {
            let sent = self.send_vector(&[IoSlice::new(out.unsent())], len, progress);
            out.note_sent(sent);
        }
    }

    /// Sends the authenticated end of the stream, if there is such a thing and the socket takes it at once.
    pub(crate) fn send_end(&self) {
        let Some(sealing) = self.layer.sealing() else { return };
        let mut end = [0; END_LEN];
        let len = sealing.close(&mut end);
        let bytes = end.get(..len).unwrap_or_default();
        if len > 0 {
            self.send_vector(&[IoSlice::new(bytes)], len, &mut { Progress::NOTHING });
        }
    }

    /// Tells the peer why its session ends now, if the socket takes it at once.
    pub(crate) fn send_refusal(&self, refusal: Refusal) {
        let Some(sealing) = self.layer.sealing().filter(|_| !self.has_unsent()) else { return };
        let mut words = [0; END_LEN];
        let len = sealing.refuse(refusal, &mut words);
        let bytes = words.get(..len).unwrap_or_default();
        if len > 0 {
            self.send_vector(&[IoSlice::new(bytes)], len, &mut { Progress::NOTHING });
        }
    }

    /// Sends all of `bytes`, waiting for the socket until `deadline`; what is late counts as failed.
    pub(crate) fn send_until(&self, bytes: &[u8], deadline: Instant) -> Progress {
        let mut taken = 0;
        loop {
            let progress = self.send(core::iter::once(bytes.get(taken..).unwrap_or_default()));
            taken += progress.taken;
            let left = deadline.saturating_duration_since(Instant::now());
            let late = progress.blocked && !self.wait_until(Ready::ToSend, left);
            if !progress.blocked || progress.failed || late {
                return Progress { taken, blocked: false, failed: progress.failed || late };
            }
        }
    }

    /// Waits until the socket is `ready`, or broken; says no after `left`.
    pub(crate) fn wait_until(&self, ready: Ready, left: Duration) -> bool {
        poll::wait(&self.socket, ready, left)
    }

    /// Receives the bytes at hand; 0 bytes are the end.
    ///
    /// - Errors: [`ErrorKind::WouldBlock`] if nothing is there now; what else the system says.
    pub(crate) fn receive_now(&self, room: &mut [u8]) -> std::io::Result<usize> {
        sockets::receive_now(&self.socket, room)
    }

    /// One `send`, without a signal if the peer is gone: the program around us may not ignore SIGPIPE.
    fn send_vector(&self, vector: &[IoSlice<'_>], len: usize, progress: &mut Progress) -> usize {
        let sent = match sockets::send(&self.socket, vector) {
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => {
                progress.failed = true;
                return 0;
            }
        };
        progress.blocked = sent < len;
        sent
    }
}

/// Waits until at least one of the links can be sent to, or `left` is over.
pub(crate) fn wait_any_writable<'a>(links: impl Iterator<Item = &'a Link>, left: Duration) {
    poll::wait_any_to_send(links.map(Link::socket), left);
}

/// Slices handed to the kernel in one call; well below any system's limit.
const SLICES_PER_SEND: usize = 32;
/// Room for the authenticated end of a stream.
const END_LEN: usize = 96;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::net::testing::sealed_pair;
    use crate::security::link::{Flow, Opener};

    /// Sends all of `plain` in pieces, and reads of `client` whenever the socket is full.
    fn send_all(link: &Link, client: &Link, plain: &[u8], send: impl Fn(&[u8]) -> Progress) -> Vec<u8> {
        let (mut taken, mut wire, mut blocked) = (0, Vec::new(), 0);
        while taken < plain.len() || link.has_unsent() {
            let progress = send(&plain[taken..]);
            taken += progress.taken;
            assert!(!progress.failed);
            if progress.blocked {
                blocked += 1;
                let mut some = vec![0; 3_000_000];
                let count = (&client.socket).read(&mut some).expect("bytes");
                wire.extend_from_slice(&some[..count]);
            }
        }
        assert!(blocked > 0, "the socket was never full");
        link.send_end();
        let _ = link.socket().shutdown(Shutdown::Write);
        (&client.socket).read_to_end(&mut wire).expect("the rest");
        wire
    }

    fn receive_all(client: &Link, wire: &[u8]) -> Vec<u8> {
        let (mut opener, mut opened) = (Opener::default(), Vec::new());
        let (front, back) = wire.split_at(1_000_001);
        assert_eq!(opener.open(client.layer(), front, &mut opened), Ok(Flow::Goes));
        assert_eq!(opener.open(client.layer(), back, &mut opened), Ok(Flow::Ended));
        opened
    }

    #[test]
    fn what_a_full_socket_does_not_take_is_sent_later_and_once() {
        let (client, link) = sealed_pair();
        let plain: Vec<u8> = (0..20_000_000_u32).map(|value| value as u8).collect();
        let wire = send_all(&link, &client, &plain, |rest| link.send(core::iter::once(rest)));
        assert!(receive_all(&client, &wire) == plain);
    }

    #[test]
    fn the_same_holds_for_what_one_thread_seals_in_its_own_memory() {
        let (client, link) = sealed_pair();
        let plain: Vec<u8> = (0..20_000_000_u32).map(|value| (value >> 3) as u8).collect();
        let through = core::cell::RefCell::new(Vec::new());
        let wire = send_all(&link, &client, &plain, |rest| {
            // Too much for one go, now and then.
            let length = if rest.len().is_multiple_of(7) { 100_000 } else { 3000 };
            link.send_through(&rest[..rest.len().min(length)], &mut through.borrow_mut())
        });
        assert!(receive_all(&client, &wire) == plain);
    }
}
