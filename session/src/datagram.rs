//! Sealed datagrams: clock probes of a sealed stream go only this way.
//!
//! ```text
//!   0              4                 12                20
//!   | magic (4)    | session id (8)  | counter (LE 64) | ciphertext | tag (16) |
//!     -------------------- AAD ---------------------
//! ```
//!
//! Datagrams may be lost, repeated and reordered, so each carries its counter. A window over the last
//! 1,024 counters refuses repeats; each direction has its own key, so nothing can be reflected.
//!
//! Tests are in `session/tests/datagrams.rs`, published bytes in `docs/spec/vectors/secure-session.json`.
//!
//! - Source: secure-session §5; RFC 3711 §3.3.2 for the window.

use core::{fmt, ops::Range};

use schwann_aead::{Key, Tag, open_in_place, seal_in_place};

use crate::{
    bytes::{Reader, concat},
    control::Welcome,
    record::nonce,
};

mod window;

use self::window::Window;

/// One end's keys and counters for the datagrams of a session.
pub struct Datagrams {
    session: SessionId,
    sending: Key,
    sent: u64,
    receiving: Key,
    window: Window,
}

/// Keeps an end's keys until they are handed out.
///
/// It is no `Option`. Moving an empty one would copy old bytes of the stack with it, such as a device's seed.
/// Taking from one would leave the bytes of the keys behind.
pub(crate) struct Handout {
    is_there: bool,
    keys: Datagrams,
}

impl Handout {
    pub(crate) fn none() -> Self {
        Self { is_there: false, keys: Datagrams::new([0; 8], &[0; 32], &[0; 32]) }
    }

    pub(crate) fn of(keys: Datagrams) -> Self {
        Self { is_there: true, keys }
    }

    /// The keys, once; nothing of them stays here.
    pub(crate) fn take(&mut self) -> Option<Datagrams> {
        let Self { is_there, keys } = core::mem::replace(self, Self::none());
        is_there.then_some(keys)
    }
}

/// Names a session to the receiver of its datagrams: 64 random bits, chosen by the outlet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct SessionId(pub [u8; 8]);

impl SessionId {
    /// Reads which session a datagram belongs to, for the choice of the right [`Datagrams`].
    ///
    /// Returns nothing if the bytes are no sealed datagram.
    #[must_use]
    pub fn of(datagram: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(datagram);
        let magic: [u8; 4] = reader.array()?;
        (magic == MAGIC).then_some(())?;
        reader.array().map(Self)
    }
}

impl Datagrams {
    pub(crate) fn outlet(welcome: &Welcome) -> Self {
        Self::new(welcome.session, &welcome.outlet_to_inlet, &welcome.inlet_to_outlet)
    }

    pub(crate) fn inlet(welcome: &Welcome) -> Self {
        Self::new(welcome.session, &welcome.inlet_to_outlet, &welcome.outlet_to_inlet)
    }

    fn new(session: [u8; 8], sending: &[u8; 32], receiving: &[u8; 32]) -> Self {
        Self {
            session: SessionId(session),
            sending: Key::new(sending),
            sent: 0,
            receiving: Key::new(receiving),
            window: Window::default(),
        }
    }

    /// Which session these datagrams belong to.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Seals `plain` into the front of `datagram` and returns its length: [`DATAGRAM_OVERHEAD`] more.
    ///
    /// - Errors: [`DatagramError::NoSpace`]; [`DatagramError::Exhausted`]: make a new session.
    pub fn seal(&mut self, plain: &[u8], datagram: &mut [u8]) -> Result<usize, DatagramError> {
        let after = self.sent.checked_add(1).ok_or(DatagramError::Exhausted)?;
        let (head, rest) = datagram.split_first_chunk_mut().ok_or(DatagramError::NoSpace)?;
        let (body, rest) = rest.split_at_mut_checked(plain.len()).ok_or(DatagramError::NoSpace)?;
        let tag = rest.first_chunk_mut::<{ Tag::LEN }>().ok_or(DatagramError::NoSpace)?;
        *head = header(self.session, self.sent);
        body.copy_from_slice(plain);
        let sealed = seal_in_place(&self.sending, &nonce(self.sent), head, body);
        *tag = sealed.map_err(|_| DatagramError::NoSpace)?.0;
        self.sent = after;
        Ok(plain.len().saturating_add(DATAGRAM_OVERHEAD))
    }

    /// Opens `datagram` in place and tells where the plaintext lies. Drop it on any error.
    ///
    /// - Errors: [`DatagramError::Foreign`], [`DatagramError::Forged`], [`DatagramError::Replayed`].
    pub fn open(&mut self, datagram: &mut [u8]) -> Result<Range<usize>, DatagramError> {
        if SessionId::of(datagram) != Some(self.session) {
            return Err(DatagramError::Foreign);
        }
        let (head, rest) = datagram.split_first_chunk_mut::<HEADER_LEN>().ok_or(DatagramError::Foreign)?;
        let (body, tag) = rest.split_last_chunk_mut().ok_or(DatagramError::Foreign)?;
        let (_, counter) = head.split_last_chunk().ok_or(DatagramError::Foreign)?;
        let counter = u64::from_le_bytes(*counter);
        // The last counter is never sent (see `seal`), and the window could not count beyond it.
        if counter == u64::MAX || !self.window.permits(counter) {
            return Err(DatagramError::Replayed);
        }
        open_in_place(&self.receiving, &nonce(counter), head, body, &Tag(*tag))
            .map_err(|_| DatagramError::Forged)?;
        // Only what verified may move the window; otherwise any stranger could shut it.
        self.window.mark(counter);
        Ok(HEADER_LEN..HEADER_LEN.saturating_add(body.len()))
    }
}

/// Why a datagram was not sealed or opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DatagramError {
    /// All counters are used: make a new session.
    Exhausted,
    /// No sealed datagram, or another session's.
    Foreign,
    /// It does not verify: damage or an attack.
    Forged,
    /// The buffer is too short.
    NoSpace,
    /// It came before, or is too old to tell.
    Replayed,
}

impl fmt::Display for DatagramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "the datagram keys are used up",
            Self::Foreign => "no datagram of this session",
            Self::Forged => "the datagram does not verify",
            Self::NoSpace => "the buffer is too short",
            Self::Replayed => "the datagram came before",
        })
    }
}

impl core::error::Error for DatagramError {}

fn header(session: SessionId, counter: u64) -> [u8; HEADER_LEN] {
    concat(&[&MAGIC, &session.0, &counter.to_le_bytes()])
}

/// Bytes that sealing adds to a datagram.
pub const DATAGRAM_OVERHEAD: usize = HEADER_LEN + Tag::LEN;

const HEADER_LEN: usize = 20;
/// The first byte is no ASCII letter, so that no plain LSL datagram begins so.
const MAGIC: [u8; 4] = [0xD5, b'S', b'C', 1];
