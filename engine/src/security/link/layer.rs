//! The layer of a link: the one door through which its bytes pass, sealed or not.

use core::ops::Range;
use std::sync::OnceLock;

use schwann_session::{Datagrams, LayerError, PeerIdentity, Refusal, Secure, Truncated};

use super::{Flow, Peer, RECEIVE_LEN, Sealing};

/// What a link's bytes go through: a session that seals them, once the handshake has made one. Before that, and without
/// one, they go as they are. What sends and receives does not ask which.
#[derive(Default)]
pub(crate) struct Layer(OnceLock<Sealing>);

impl Layer {
    /// Lets all further bytes go through `session`, which `peer` is at the other end of.
    pub(crate) fn begin(&self, session: Box<Secure>, peer: Option<Peer>) {
        // A link gets its session once, right after the handshake.
        let _ = self.0.set(Sealing::new(session, peer));
    }

    /// The session, for the link that sends its bytes.
    pub(crate) fn sealing(&self) -> Option<&Sealing> {
        self.0.get()
    }

    /// Whether the bytes go through a session, for messages to people and for bytes that must not go in the
    /// clear.
    pub(crate) fn is_sealed(&self) -> bool {
        self.0.get().is_some()
    }

    /// Makes of all of `plain` the bytes for the socket, in `wire` if not in place. Nothing if it cannot be that
    /// simple: other bytes go first, or it is too much, or may not be.
    ///
    /// `wire` is the caller's: once its bytes are sent, there is nothing to bring back. The sent bytes must be
    /// [noted](Self::note_sent).
    #[inline]
    pub(crate) fn seal<'a>(&self, plain: &'a [u8], wire: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        match self.0.get() {
            None => Some(plain),
            Some(sealing) => sealing.seal(plain, wire).and_then(|len| wire.get(..len)),
        }
    }

    /// Notes that the socket took `sent` of the bytes that [`seal`](Self::seal) made of `plain_len`. Returns how
    /// many of these need not be given again. Sealed bytes that were not sent are kept for the next send.
    #[inline]
    pub(crate) fn note_sent(&self, bytes: &[u8], sent: usize, plain_len: usize) -> usize {
        let Some(sealing) = self.0.get() else { return sent };
        if let Some(unsent @ [_, ..]) = bytes.get(sent..) {
            sealing.keep(unsent);
        }
        plain_len
    }

    /// Opens in place the whole records at the front of `wire` and tells `take` where the plain bytes lie. Returns
    /// how many bytes of `wire` are done with.
    ///
    /// - Errors: the bytes do not verify; the connection must end. What was taken before is right.
    #[inline]
    pub(crate) fn open(
        &self,
        wire: &mut [u8],
        take: &mut impl FnMut(&[u8], Range<usize>),
    ) -> Result<(usize, Flow), LayerError> {
        match self.0.get() {
            None => {
                let len = wire.len();
                take(wire, 0..len);
                Ok((len, Flow::Goes))
            }
            Some(sealing) => sealing.open(wire, take),
        }
    }

    /// Whether arriving bytes may be received where `room_len` bytes are free, to be opened there. A record must
    /// lie there whole.
    #[inline]
    pub(crate) fn opens_in(&self, room_len: usize) -> bool {
        room_len >= RECEIVE_LEN || !self.is_sealed()
    }

    /// Makes what the next bytes will need. Call it when there is nothing else to do: once bytes were sent, or before some are
    /// waited for.
    #[inline]
    pub(crate) fn idle(&self) {
        if let Some(sealing) = self.0.get() {
            sealing.idle();
        }
    }

    /// Tells the session the time, so that a key also ends in a pause. Returns how often this side has changed its
    /// key.
    pub(crate) fn tick(&self) -> u64 {
        self.0.get().map_or(0, Sealing::tick)
    }

    /// Whether messages of the session's own wait to be sealed.
    pub(crate) fn has_control(&self) -> bool {
        self.0.get().is_some_and(Sealing::has_control)
    }

    /// Queues the newest revocation list for the peer, if the peer's is older; says whether it did.
    pub(crate) fn offer_update(&self) -> bool {
        self.0.get().is_some_and(Sealing::offer_update)
    }

    /// The peer at the other end, if known.
    pub(crate) fn peer(&self) -> Option<&PeerIdentity> {
        self.0.get().and_then(Sealing::peer)
    }

    /// Why the peer would not be let in any more.
    pub(crate) fn dismissal(&self) -> Option<Refusal> {
        self.0.get().and_then(Sealing::dismissal)
    }

    /// Why the peer refused this side, if it did.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.0.get().and_then(Sealing::refusal)
    }

    /// Hands out what seals datagrams, once.
    pub(crate) fn take_datagrams(&self) -> Option<Datagrams> {
        self.0.get().and_then(Sealing::take_datagrams)
    }

    /// Whether the peer's bytes ended before the authenticated end of its stream, once they have ended.
    pub(crate) fn truncation(&self) -> Option<Truncated> {
        self.0.get().and_then(Sealing::truncation)
    }
}
