//! A link's layer: what seals the bytes that go out and opens those that come in.
//!
//! The layer's state is under a lock that is held for the arithmetic alone, never while the kernel works.

use alloc::collections::VecDeque;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use schwann_session::{Datagrams, Layer, LayerError, Opened, PeerIdentity, Refusal, Secure, Truncated};

use crate::process::Maker;
use crate::time::since_start;

mod peer;
mod update;

pub use self::peer::Peer;
pub use self::update::Assembly;

/// Plain bytes sealed in one go: several records, which the cipher works on side by side.
const SEAL_LEN: usize = 64 * 1024;

/// Makes `wire` at least so long.
#[inline]
fn make_room(wire: &mut Vec<u8>, len: usize) {
    if wire.len() < len {
        wire.resize(len, 0);
    }
}

/// A layer, and the sealed bytes that the socket has not taken yet.
#[repr(C)]
pub(crate) struct Sealing {
    /// Messages of the session's own wait to be sealed.
    has_control: AtomicBool,
    state: Mutex<State>,
    peer: Option<Peer>,
}

// What a send reads lies together.
#[repr(C)]
struct State {
    layer: Box<Secure>,
    /// Whose the keys are: a child that a fork made has a copy, and would use the parent's next nonces.
    maker: Maker,
    out: Outgoing,
    control: VecDeque<Vec<u8>>,
    assembly: Assembly,
}

impl State {
    /// Tells the layer the time and seals `plain` into the front of `wire`, which grows if it must; returns how many bytes that
    /// makes.
    #[inline]
    fn seal_into(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<usize, LayerError> {
        self.layer.tick(since_start());
        make_room(wire, self.layer.sealed_len(plain.len()));
        self.layer.seal(plain, wire)
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
    pub(crate) fn new(layer: Box<Secure>, peer: Option<Peer>) -> Self {
        let state = State {
            layer,
            maker: Maker::this(),
            out: Outgoing::default(),
            control: VecDeque::new(),
            assembly: Assembly::default(),
        };
        let sealing = Self { state: Mutex::new(state), peer, has_control: AtomicBool::new(false) };
        sealing.offer_update();
        sealing
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is at the other end.
    pub(crate) fn peer(&self) -> Option<&PeerIdentity> {
        self.peer.as_ref().map(Peer::identity)
    }

    /// Why the peer would not be let in any more.
    pub(crate) fn dismissal(&self) -> Option<Refusal> {
        self.peer.as_ref().and_then(Peer::dismissal)
    }

    /// Queues the newest revocation list for the peer, if the peer's is older; says whether it did.
    pub(crate) fn offer_update(&self) -> bool {
        let Some(peer) = &self.peer else { return false };
        let mut state = self.lock();
        let Some(news) = peer.news(state.layer.control_len()) else { return false };
        state.control.extend(news);
        self.has_control.store(true, Ordering::Relaxed);
        true
    }

    /// Whether messages of the session's own wait to be sealed.
    pub(crate) fn has_control(&self) -> bool {
        self.has_control.load(Ordering::Relaxed)
    }

    /// How often this side has changed its key.
    pub(crate) fn rekeys(&self) -> u64 {
        self.lock().layer.rekeys()
    }

    /// Why the peer refused this side, if it did.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.lock().layer.refusal()
    }

    /// Takes the outgoing bytes away; the thread with the right to send returns them. If all of them were
    /// sent, seals the front of `plain`, as [`seal`](Self::seal) does.
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

    /// Seals all of `plain` into the front of `wire` and returns how many bytes that makes; nothing was done if it cannot be that
    /// simple: other bytes go first, or it is too much, or may not be.
    ///
    /// `wire` is the caller's: once its bytes are sent, there is nothing to bring back. Those that were not are to be
    /// [kept](Self::keep).
    pub(crate) fn seal_alone(&self, plain: &[u8], wire: &mut Vec<u8>) -> Option<usize> {
        let state = &mut *self.lock();
        if plain.len() > SEAL_LEN
            || self.has_control()
            || !state.out.unsent().is_empty()
            || state.maker.is_another()
        {
            return None;
        }
        // Without a look at the clock: the time was told after the last send, and is told now and then besides.
        state.layer.seal_ready(plain, wire).or_else(|| state.seal_into(plain, wire).ok())
    }

    /// Keeps sealed bytes that the socket did not take, for the next send.
    #[cold]
    pub(crate) fn keep(&self, unsent: &[u8]) {
        let out = &mut self.lock().out;
        out.clear();
        out.wire.clear();
        out.wire.extend_from_slice(unsent);
        out.filled = unsent.len();
    }

    /// Seals a message of the session's own, or else the front of `plain`, into `out`, all of which was sent; returns how many
    /// bytes of `plain` that were.
    pub(crate) fn seal(&self, plain: &[u8], out: &mut Outgoing) -> Result<usize, LayerError> {
        self.seal_next(&mut self.lock(), plain, out)
    }

    fn seal_next(&self, state: &mut State, plain: &[u8], out: &mut Outgoing) -> Result<usize, LayerError> {
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
    fn seal_control(&self, state: &mut State, out: &mut Outgoing) -> Result<(), LayerError> {
        let message = state.control.pop_front();
        self.has_control.store(!state.control.is_empty(), Ordering::Relaxed);
        let Some(message) = message else { return Ok(()) };
        out.clear();
        make_room(&mut out.wire, state.layer.sealed_len(message.len()));
        out.filled = state.layer.seal_control(&message, &mut out.wire)?;
        Ok(())
    }

    /// Makes what the next bytes to come will need, before they are waited for.
    pub(crate) fn prepare_open(&self) {
        self.lock().layer.prepare_open();
    }

    /// Makes what the next bytes to be sealed will need, once others were sent.
    pub(crate) fn prepare_seal(&self) {
        let layer = &mut self.lock().layer;
        layer.tick(since_start());
        layer.prepare_seal();
    }

    /// Tells the layer the time, so that a key also ends in a pause.
    pub(crate) fn tick(&self) {
        self.lock().layer.tick(since_start());
    }

    /// Opens `wire` in place if it is one record of data and nothing besides, and tells where the plain bytes lie; nothing was
    /// done if it is not.
    #[inline]
    pub(crate) fn open_alone(&self, wire: &mut [u8]) -> Result<Option<Range<usize>>, LayerError> {
        self.lock().layer.open_alone(wire)
    }

    /// Opens the whole records at the front of `wire` and gives their plain bytes to `take`; returns how many bytes they were.
    fn open(&self, wire: &mut [u8], take: &mut impl FnMut(&[u8])) -> Result<(usize, Flow), LayerError> {
        let (mut done, mut update) = (0, None);
        let mut guard = self.lock();
        let state = &mut *guard;
        let flow = loop {
            let wire = wire.get_mut(done..).unwrap_or_default();
            if wire.is_empty() {
                break Flow::Goes;
            }
            match state.layer.open(wire)? {
                Opened::Data { consumed, plain } => {
                    take(wire.get(plain).unwrap_or_default());
                    done += consumed;
                }
                Opened::Control { consumed, message } => {
                    // A message of another kind comes from a later version.
                    update = state.assembly.add(wire.get(message).unwrap_or_default()).or(update);
                    done += consumed;
                }
                Opened::End { consumed } => {
                    done += consumed;
                    break Flow::Ended;
                }
                Opened::Incomplete => break Flow::Goes,
            }
        };
        drop(guard);
        if let Some((update, peer)) = update.zip(self.peer.as_ref()) {
            peer.take_in(&update);
        }
        Ok((done, flow))
    }

    /// Hands out what seals datagrams, once.
    pub(crate) fn take_datagrams(&self) -> Option<Datagrams> {
        self.lock().layer.take_datagrams()
    }

    /// What is missing, if the peer's bytes have ended.
    pub(crate) fn truncation(&self) -> Option<Truncated> {
        self.lock().layer.end_of_input().err()
    }

    /// Writes for the peer why its session ends now.
    pub(crate) fn refuse(&self, refusal: Refusal, wire: &mut [u8]) -> usize {
        let mut state = self.lock();
        if state.maker.is_another() { 0 } else { state.layer.seal_refusal(refusal, wire).unwrap_or(0) }
    }

    /// Writes the authenticated end of the stream.
    pub(crate) fn close(&self, wire: &mut [u8]) -> usize {
        let mut state = self.lock();
        if state.maker.is_another() { 0 } else { state.layer.close(wire).unwrap_or(0) }
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

/// Bytes of a peer: where they are received, and opened once they are whole.
#[derive(Default)]
pub(crate) struct Opener {
    raw: Vec<u8>,
    filled: usize,
}

impl Opener {
    /// Where the next bytes of the peer go.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.room_for(RECEIVE_LEN)
    }

    fn room_for(&mut self, len: usize) -> &mut [u8] {
        if self.raw.len() < self.filled + len {
            self.raw.resize(self.filled + len, 0);
        }
        self.raw.get_mut(self.filled..).unwrap_or_default()
    }

    /// Whether nothing was received that is yet to be opened.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Takes bytes that were received elsewhere; [`opened`](Self::opened) is to be told how many.
    pub(crate) fn take(&mut self, arrived: &[u8]) {
        if let Some(room) = self.room_for(arrived.len()).get_mut(..arrived.len()) {
            room.copy_from_slice(arrived);
        }
    }

    /// Opens what arrived on a link with this layer and appends the plain bytes to `plain`; as [`opened`](Self::opened).
    pub(crate) fn open(
        &mut self,
        sealing: Option<&Sealing>,
        arrived: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<Flow, LayerError> {
        self.take(arrived);
        self.opened(sealing, arrived.len(), |bytes| plain.extend_from_slice(bytes))
    }

    /// Opens what `count` more bytes in the [`room`](Self::room) have made whole, and gives the plain bytes to `take`.
    ///
    /// - Errors: the bytes do not verify; the connection must end.
    pub(crate) fn opened(
        &mut self,
        sealing: Option<&Sealing>,
        count: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<Flow, LayerError> {
        self.filled += count;
        let wire = self.raw.get_mut(..self.filled).unwrap_or_default();
        let Some(sealing) = sealing else {
            take(wire);
            self.filled = 0;
            return Ok(Flow::Goes);
        };
        let (done, flow) = sealing.open(wire, &mut take)?;
        if done < self.filled {
            self.raw.copy_within(done..self.filled, 0);
        }
        self.filled -= done;
        Ok(flow)
    }
}

/// Bytes received at a time.
pub(crate) const RECEIVE_LEN: usize = 64 * 1024;
