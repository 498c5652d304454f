//! A link's layer: what seals the bytes that go out and opens those that come in.
//!
//! The layer's state is under a lock that is held for the arithmetic alone, never while the kernel works.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use schwann_session::{Datagrams, Layer, LayerError, Opened, Secure, Truncated};

use super::link::Link;
use crate::process::Maker;

/// Plain bytes sealed in one go: several records, which the cipher works on side by side.
const SEAL_LEN: usize = 64 * 1024;

/// A layer whose session also seals datagrams.
pub(crate) trait Transport: Layer {
    /// Hands out what seals datagrams, once.
    fn take_datagrams(&mut self) -> Option<Datagrams>;
}

impl Transport for Secure {
    fn take_datagrams(&mut self) -> Option<Datagrams> {
        Self::take_datagrams(self)
    }
}

/// A layer, and the sealed bytes that the socket has not taken yet.
pub(crate) struct Sealing(Mutex<State>);

struct State {
    layer: Box<dyn Transport>,
    /// Whose the keys are: a child that a fork made has a copy, and would use the parent's next nonces.
    maker: Maker,
    /// When the session began, for the age of its keys.
    since: Instant,
    out: Outgoing,
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
}

impl Sealing {
    pub(crate) fn new(layer: Box<dyn Transport>) -> Self {
        let (maker, since) = (Maker::this(), Instant::now());
        Self(Mutex::new(State { layer, maker, since, out: Outgoing::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the outgoing bytes away; whoever has the right to send brings them back.
    ///
    /// Nothing in a process that inherited the session through a fork: there nothing may be sealed.
    pub(crate) fn take_outgoing(&self) -> Option<Outgoing> {
        let mut state = self.lock();
        (!state.maker.is_another()).then(|| core::mem::take(&mut state.out))
    }

    pub(crate) fn put_back(&self, out: Outgoing) {
        self.lock().out = out;
    }

    /// Seals the front of `plain` into `out`, all of which was sent; returns how many bytes that was.
    pub(crate) fn seal(&self, plain: &[u8], out: &mut Outgoing) -> Result<usize, LayerError> {
        let part = plain.get(..SEAL_LEN).unwrap_or(plain);
        let mut state = self.lock();
        let age = state.since.elapsed();
        state.layer.tick(age);
        let room = state.layer.sealed_len(part.len());
        if out.wire.len() < room {
            out.wire.resize(room, 0);
        }
        (out.filled, out.sent) = (0, 0);
        out.filled = state.layer.seal(part, &mut out.wire)?;
        Ok(part.len())
    }

    /// Hands out what seals datagrams, once.
    pub(crate) fn take_datagrams(&self) -> Option<Datagrams> {
        self.lock().layer.take_datagrams()
    }

    /// What is missing, if the peer's bytes have ended.
    pub(crate) fn truncation(&self) -> Option<Truncated> {
        self.lock().layer.end_of_input().err()
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

/// Bytes of a peer that are not whole enough to be opened.
#[derive(Default)]
pub(crate) struct Opener {
    raw: Vec<u8>,
}

impl Opener {
    /// Opens what arrived on `link` and appends the plain bytes to `plain`.
    ///
    /// - Errors: the bytes do not verify; the connection must end.
    pub(crate) fn open(
        &mut self,
        link: &Link,
        arrived: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<Flow, LayerError> {
        let Some(sealing) = link.sealing() else {
            plain.extend_from_slice(arrived);
            return Ok(Flow::Goes);
        };
        self.raw.extend_from_slice(arrived);
        let mut done = 0;
        let mut flow = Flow::Goes;
        let mut state = sealing.lock();
        while flow == Flow::Goes {
            let wire = self.raw.get_mut(done..).unwrap_or_default();
            match state.layer.open(wire)? {
                Opened::Data { consumed, plain: range } => {
                    plain.extend_from_slice(wire.get(range).unwrap_or_default());
                    done += consumed;
                }
                // A message of the session's own, of a kind that this version does not know.
                Opened::Control { consumed, .. } => done += consumed,
                Opened::End { consumed } => {
                    done += consumed;
                    flow = Flow::Ended;
                }
                Opened::Incomplete => break,
            }
        }
        self.raw.drain(..done);
        Ok(flow)
    }
}
