//! The layer under a link's bytes: nothing, or a session that seals outgoing bytes and opens incoming ones.
//!
//! The session's state is under a lock that is held for the arithmetic alone, never while the kernel works.

use alloc::collections::VecDeque;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use schwann_session::{Datagrams, LayerError, Opened, PeerIdentity, Refusal, Secure, Truncated};

use crate::process::Maker;
use crate::time::since_start;

mod handshake;
mod layer;
mod opener;
mod peer;
mod update;

pub use self::handshake::{Handshake, Step};
pub(crate) use self::layer::Layer;
pub(crate) use self::opener::{Opener, RECEIVE_LEN};
pub use self::peer::Peer;
pub use self::update::Assembly;

/// Makes `wire` at least so long.
#[inline]
fn make_room(wire: &mut Vec<u8>, len: usize) {
    if wire.len() < len {
        wire.resize(len, 0);
    }
}

/// A session, and the sealed bytes that the socket has not taken yet.
#[repr(C)]
pub(crate) struct Sealing {
    /// Messages of the session's own wait to be sealed.
    has_control: AtomicBool,
    state: Mutex<Sealer>,
    peer: Option<Peer>,
}

// What a send reads lies together.
#[repr(C)]
struct Sealer {
    session: Box<Secure>,
    /// The owner of the keys. A child that a fork made has a copy, and would use the parent's next
    /// nonces.
    maker: Maker,
    out: Outgoing,
    control: VecDeque<Vec<u8>>,
    assembly: Assembly,
}

impl Sealer {
    /// Tells the session the time and seals `plain` into the front of `wire`, which grows if it must. Returns the
    /// number of sealed bytes.
    #[inline]
    fn seal_into(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<usize, LayerError> {
        self.session.tick(since_start());
        make_room(wire, self.session.sealed_len(plain.len()));
        self.session.seal(plain, wire)
    }
}

/// Sealed bytes on their way to the socket; the buffer is used again and again.
#[derive(Default)]
pub(crate) struct Outgoing {
    wire: Vec<u8>,
    filled: usize,
    sent: usize,
}

impl Outgoing {
    /// What the socket has yet to take.
    pub(crate) fn unsent(&self) -> &[u8] {
        self.wire.get(self.sent..self.filled).unwrap_or_default()
    }

    pub(crate) fn note_sent(&mut self, count: usize) {
        self.sent += count;
    }

    /// Forgets what was sent.
    fn clear(&mut self) {
        (self.filled, self.sent) = (0, 0);
    }
}

impl Sealing {
    fn new(session: Box<Secure>, peer: Option<Peer>) -> Self {
        let state = Sealer {
            session,
            maker: Maker::this(),
            out: Outgoing::default(),
            control: VecDeque::new(),
            assembly: Assembly::default(),
        };
        let sealing = Self { state: Mutex::new(state), peer, has_control: AtomicBool::new(false) };
        sealing.offer_update();
        sealing
    }

    fn lock(&self) -> MutexGuard<'_, Sealer> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The peer at the other end.
    fn peer(&self) -> Option<&PeerIdentity> {
        self.peer.as_ref().map(Peer::identity)
    }

    /// Why the peer would not be let in any more.
    fn dismissal(&self) -> Option<Refusal> {
        self.peer.as_ref().and_then(Peer::dismissal)
    }

    /// Queues the newest revocation list for the peer, if the peer's is older; says whether it did.
    fn offer_update(&self) -> bool {
        let Some(peer) = &self.peer else { return false };
        let mut state = self.lock();
        let Some(news) = peer.news(state.session.control_len()) else { return false };
        state.control.extend(news);
        self.has_control.store(true, Ordering::Relaxed);
        true
    }

    /// Whether messages of the session's own wait to be sealed.
    pub(crate) fn has_control(&self) -> bool {
        self.has_control.load(Ordering::Relaxed)
    }

    /// Why the peer refused this side, if it did.
    fn refusal(&self) -> Option<Refusal> {
        self.lock().session.refusal()
    }

    /// Takes the outgoing bytes away; the thread with the right to send returns them. If all of them were
    /// sent, seals the front of `plain`, as [`seal_part`](Self::seal_part) does.
    ///
    /// Nothing in a process that inherited the session through a fork: there nothing may be sealed.
    pub(crate) fn take_outgoing(&self, plain: &[u8]) -> Option<(Outgoing, Result<usize, LayerError>)> {
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.maker.is_another() {
            return None;
        }
        let mut out = core::mem::take(&mut state.out);
        let sealed = if out.unsent().is_empty() { self.seal_next(state, plain, &mut out) } else { Ok(0) };
        Some((out, sealed))
    }

    pub(crate) fn put_back(&self, out: Outgoing) {
        self.lock().out = out;
    }

    /// Seals all of `plain` into the front of `wire` and returns the number of sealed bytes. Does nothing if it
    /// cannot be that simple: other bytes go first, `plain` is too long, or sealing is not permitted.
    fn seal(&self, plain: &[u8], wire: &mut Vec<u8>) -> Option<usize> {
        let state = &mut *self.lock();
        if plain.len() > SEAL_LEN
            || self.has_control()
            || !state.out.unsent().is_empty()
            || state.maker.is_another()
        {
            return None;
        }
        // Without a look at the clock: the session hears the time after each send, and now and then besides.
        make_room(wire, state.session.sealed_len(plain.len()));
        state.session.seal(plain, wire).ok()
    }

    /// Keeps sealed bytes that the socket did not take, for the next send.
    #[cold]
    fn keep(&self, unsent: &[u8]) {
        let out = &mut self.lock().out;
        out.clear();
        out.wire.clear();
        out.wire.extend_from_slice(unsent);
        out.filled = unsent.len();
    }

    /// Seals a message of the session's own, or else the front of `plain`, into `out`, after all of `out` was sent.
    /// Returns how many bytes of `plain` it took.
    pub(crate) fn seal_part(&self, plain: &[u8], out: &mut Outgoing) -> Result<usize, LayerError> {
        self.seal_next(&mut self.lock(), plain, out)
    }

    fn seal_next(&self, state: &mut Sealer, plain: &[u8], out: &mut Outgoing) -> Result<usize, LayerError> {
        if self.has_control() {
            self.seal_control(state, out)?;
            return Ok(0);
        }
        let part = plain.get(..SEAL_LEN).unwrap_or(plain);
        out.clear();
        out.filled = state.seal_into(part, &mut out.wire)?;
        Ok(part.len())
    }

    #[cold]
    fn seal_control(&self, state: &mut Sealer, out: &mut Outgoing) -> Result<(), LayerError> {
        let message = state.control.pop_front();
        self.has_control.store(!state.control.is_empty(), Ordering::Relaxed);
        let Some(message) = message else { return Ok(()) };
        out.clear();
        make_room(&mut out.wire, state.session.sealed_len(message.len()));
        out.filled = state.session.seal_control(&message, &mut out.wire)?;
        Ok(())
    }

    /// Makes what the next bytes will need, once others were sent or before they are waited for.
    fn idle(&self) {
        self.lock().session.idle(since_start());
    }

    /// As [`Layer::tick`].
    fn tick(&self) -> u64 {
        let session = &mut self.lock().session;
        session.tick(since_start());
        session.rekeys()
    }

    /// As [`Layer::open`]: the whole records at the front of `wire`.
    #[inline]
    fn open(
        &self,
        wire: &mut [u8],
        take: &mut impl FnMut(&[u8], Range<usize>),
    ) -> Result<(usize, Flow), LayerError> {
        let mut state = self.lock();
        match state.session.open(wire)? {
            // Almost always one record is there, and nothing else.
            Opened::Data { consumed, plain } if consumed == wire.len() => {
                drop(state);
                take(wire, plain);
                Ok((consumed, Flow::Goes))
            }
            first => self.open_several(state, first, wire, take),
        }
    }

    /// Opens what lies behind `first`, which was opened already.
    #[inline(never)]
    fn open_several(
        &self,
        mut state: MutexGuard<'_, Sealer>,
        first: Opened,
        wire: &mut [u8],
        take: &mut impl FnMut(&[u8], Range<usize>),
    ) -> Result<(usize, Flow), LayerError> {
        let (mut done, mut update, mut next) = (0, None, first);
        let flow = loop {
            let rest = wire.get_mut(done..).unwrap_or_default();
            match next {
                Opened::Data { consumed, plain } => {
                    take(wire, done + plain.start..done + plain.end);
                    done += consumed;
                }
                Opened::Control { consumed, message } => {
                    // A message of another kind comes from a later version.
                    update = state.assembly.add(rest.get(message).unwrap_or_default()).or(update);
                    done += consumed;
                }
                Opened::End { consumed } => {
                    done += consumed;
                    break Flow::Ended;
                }
                Opened::Incomplete => break Flow::Goes,
            }
            match wire.get_mut(done..) {
                Some(rest @ [_, ..]) => next = state.session.open(rest)?,
                _ => break Flow::Goes,
            }
        };
        drop(state);
        if let Some((update, peer)) = update.zip(self.peer.as_ref()) {
            peer.take_in(&update);
        }
        Ok((done, flow))
    }

    /// Hands out what seals datagrams, once.
    fn take_datagrams(&self) -> Option<Datagrams> {
        self.lock().session.take_datagrams()
    }

    /// What is missing, if the peer's bytes have ended.
    fn truncation(&self) -> Option<Truncated> {
        self.lock().session.end_of_input().err()
    }

    /// Writes for the peer why its session ends now.
    pub(crate) fn refuse(&self, refusal: Refusal, wire: &mut [u8]) -> usize {
        let mut state = self.lock();
        if state.maker.is_another() { 0 } else { state.session.seal_refusal(refusal, wire).unwrap_or(0) }
    }

    /// Writes the authenticated end of the stream.
    pub(crate) fn close(&self, wire: &mut [u8]) -> usize {
        let mut state = self.lock();
        if state.maker.is_another() { 0 } else { state.session.close(wire).unwrap_or(0) }
    }
}

/// How far a peer's bytes go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Flow {
    /// More may follow.
    Goes,
    /// The peer ended the stream, and proved it.
    Ended,
}

/// Plain bytes sealed in one go: several records, which the cipher works on side by side.
const SEAL_LEN: usize = 64 * 1024;
