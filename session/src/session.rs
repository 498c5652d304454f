//! An established session: what seals and opens a byte stream.

use core::{mem::offset_of, time::Duration};

use schwann_aead::{Ahead, Key};

use crate::{
    LayerError, Opened, Plain, Refusal, Truncated,
    control::{Welcome, refused},
    datagram::{Datagrams, Handout},
    record::{MAX_RECORD, RECORD_HEAD, RECORD_OVERHEAD, Receiver, RecordType, Sender},
};

mod incoming;

use self::incoming::Incoming;

/// Both directions of a session: the layer that lies under a protocol's bytes.
///
/// Any error from [`open`](Self::open) ends the session: the keys are wiped, and every later call says
/// [`LayerError::Closed`].
///
/// - Source: secure-session §4.
// What sealing a record reads lies together, and then what opening one reads: between two samples both leave the caches.
#[cfg_attr(target_pointer_width = "64", repr(C, align(64)))]
pub struct Secure<Unused = [u8; UNUSED]> {
    sender: Sender,
    /// Most plaintext bytes that the peer takes in one record.
    peer_max: usize,
    limits: RekeyLimits,
    /// When the present sending key came into use, once the time is known.
    key_since: Option<Duration>,
    /// The time is up: the next call that seals changes the key first.
    rekey_due: bool,
    incoming: Incoming,
    data: Direction,
    receiver: Receiver,
    /// Key stream of the next record, of the direction in which the data go.
    ahead: Ahead,
    rekeys: u64,
    refusal: Option<Refusal>,
    datagrams: Handout,
    /// The bytes that alignment would leave unused. A move would fill them with old bytes of the stack, perhaps
    /// with a secret.
    unused: Unused,
}

/// When a sender changes its key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RekeyLimits {
    /// The longest time that a key is used, as told by [`Secure::tick`].
    pub lifetime: Duration,
    /// Most records sealed with a key, rounded up to a whole flush.
    pub records: u64,
}

impl Default for RekeyLimits {
    /// One hour and 2^32 records (secure-session §4.4).
    fn default() -> Self {
        Self { lifetime: Duration::from_secs(3600), records: 1 << 32 }
    }
}

/// Which way the last data went: those to come go the same way.
#[derive(Clone, Copy)]
enum Direction {
    In,
    Out,
}

impl Secure {
    /// The inlet's end: the first record to come is the outlet's greeting.
    pub(crate) fn inlet(sending: Key, receiving: Key, peer_max: usize) -> Self {
        Self::new(sending, receiving, peer_max, Incoming::AwaitsGreeting)
    }

    /// The outlet's end.
    pub(crate) fn outlet(sending: Key, receiving: Key, peer_max: usize) -> Self {
        Self::new(sending, receiving, peer_max, Incoming::Open)
    }

    fn new(sending: Key, receiving: Key, peer_max: usize, incoming: Incoming) -> Self {
        Self {
            sender: Sender::new(sending),
            peer_max,
            limits: RekeyLimits::default(),
            key_since: None,
            rekey_due: false,
            incoming,
            data: Direction::In,
            receiver: Receiver::new(receiving),
            ahead: Ahead::new(),
            rekeys: 0,
            refusal: None,
            datagrams: Handout::none(),
            unused: [0; UNUSED],
        }
    }

    /// Changes when this side changes its key.
    pub fn set_rekey_limits(&mut self, limits: RekeyLimits) {
        self.limits = limits;
    }

    /// Asks for a new key with the next call that seals.
    pub fn request_rekey(&mut self) {
        self.rekey_due = true;
    }

    /// How often this side has changed its key.
    #[must_use]
    pub fn rekeys(&self) -> u64 {
        self.rekeys
    }

    /// Most bytes that the peer takes in a message of the session's own.
    #[must_use]
    pub fn control_len(&self) -> usize {
        self.peer_max
    }

    /// Seals a message of the session's own, such as a [`Piece`](crate::control::Piece). Returns how
    /// many bytes of `wire` to send: at most [`sealed_len`](Self::sealed_len) of the message.
    ///
    /// - Errors: as [`seal`](Self::seal); [`LayerError::Oversized`] if the message exceeds one record.
    pub fn seal_control(&mut self, message: &[u8], wire: &mut [u8]) -> Result<usize, LayerError> {
        if message.len() > self.peer_max {
            return Err(LayerError::Oversized);
        }
        let (written, rest) = self.rekey_if_due(1, wire)?;
        Ok(written + self.sender.seal(RecordType::Control, message, rest)?)
    }

    /// Tells an admitted peer why its session ends now, and returns how many bytes of `wire` to send.
    ///
    /// - Errors: as [`seal`](Self::seal); [`LayerError::Malformed`] for a reason that peers must not learn.
    pub fn seal_refusal(&mut self, refusal: Refusal, wire: &mut [u8]) -> Result<usize, LayerError> {
        let code = refusal.code().ok_or(LayerError::Malformed)?;
        self.seal_control(&refused(code), wire)
    }

    /// Hands out what seals datagrams, once; an inlet has it when the outlet's greeting has been opened.
    pub fn take_datagrams(&mut self) -> Option<Datagrams> {
        self.datagrams.take()
    }

    /// Why the peer refused this side, after [`LayerError::Refused`] or before it ended the session.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// The outlet's greeting, with the keys for datagrams.
    pub(crate) fn welcome(&mut self, welcome: &Welcome, wire: &mut [u8]) -> Result<usize, LayerError> {
        let length = self.sender.seal(RecordType::Control, welcome.encode().as_slice(), wire)?;
        self.datagrams = Handout::of(Datagrams::outlet(welcome));
        Ok(length)
    }

    /// Most bytes that [`seal`](Self::seal) makes fit into `wire_len`, whether it changes the key or not.
    #[must_use]
    pub fn plain_room(&self, wire_len: usize) -> usize {
        let room = wire_len.saturating_sub(RECORD_OVERHEAD);
        let record = self.peer_max.saturating_add(RECORD_OVERHEAD);
        // Almost always one: a division is spared.
        if room <= record {
            return room.saturating_sub(RECORD_OVERHEAD);
        }
        let whole = (room / record).saturating_mul(self.peer_max);
        whole.saturating_add((room % record).saturating_sub(RECORD_OVERHEAD))
    }

    /// Returns how many bytes at most `plain_len` bytes occupy once sealed. It counts one record that changes the key, too, so
    /// that one may always come.
    #[must_use]
    #[inline]
    pub fn sealed_len(&self, plain_len: usize) -> usize {
        let records = self.records(plain_len);
        plain_len.saturating_add(records.saturating_add(1).saturating_mul(RECORD_OVERHEAD))
    }

    /// Seals `plain` into the front of `wire` and returns how many bytes of `wire` to send.
    ///
    /// - Errors: [`LayerError::Exhausted`]; [`LayerError::NoSpace`] if `wire` is shorter than [`sealed_len`](Self::sealed_len)
    ///   asks for. Nothing was sealed.
    #[inline]
    pub fn seal<'a>(&mut self, plain: impl Into<Plain<'a>>, wire: &mut [u8]) -> Result<usize, LayerError> {
        match plain.into() {
            Plain::Bytes(plain) => match self.seal_ready(plain, wire) {
                Some(length) => Ok(length),
                None => self.seal_bytes(plain, wire),
            },
            Plain::Placed(length) => self.seal_placed(length, wire),
        }
    }

    /// Seals `plain` as one record, if it is as long as [`idle`](Self::idle) expected and the key may serve on.
    /// Otherwise seals nothing.
    ///
    /// Single samples take this way. It has fewer lines of code than the other, and each sample must fetch them.
    #[inline]
    fn seal_ready(&mut self, plain: &[u8], wire: &mut [u8]) -> Option<usize> {
        if self.is_rekey_due(1) { None } else { self.sender.seal_ready(plain, wire, &mut self.ahead) }
    }

    fn seal_bytes(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<usize, LayerError> {
        if plain.is_empty() {
            return Ok(0);
        }
        if wire.len() < self.sealed_len(plain.len()) {
            return Err(LayerError::NoSpace);
        }
        let records = u64::try_from(self.records(plain.len())).unwrap_or(u64::MAX);
        let (written, rest) = self.rekey_if_due(records, wire)?;
        self.data = Direction::Out;
        Ok(written + self.sender.seal_data(plain, self.peer_max, rest, &mut self.ahead)?)
    }

    fn seal_placed(&mut self, length: usize, wire: &mut [u8]) -> Result<usize, LayerError> {
        if length == 0 {
            return Ok(0);
        }
        if wire.len() < self.sealed_len(length) {
            return Err(LayerError::NoSpace);
        }
        let records = u64::try_from(self.records(length)).unwrap_or(u64::MAX);
        if self.is_rekey_due(records) {
            wire.copy_within(RECORD_HEAD..RECORD_HEAD + length, RECORD_OVERHEAD + RECORD_HEAD);
        }
        let (written, rest) = self.rekey_if_due(records, wire)?;
        Ok(written + self.sender.seal_placed(length, self.peer_max, rest)?)
    }

    /// Opens, in place, as much of `wire` as one call can.
    ///
    /// Call again with what follows [`Opened::Data`]'s `consumed` bytes until it says [`Opened::Incomplete`].
    ///
    /// - Errors: [`LayerError::Forged`] and others end the connection; no plaintext is left in `wire`.
    #[inline]
    pub fn open(&mut self, wire: &mut [u8]) -> Result<Opened, LayerError> {
        let opened = match self.open_ready(wire) {
            Some(opened) => opened,
            None => self.open_next(wire),
        };
        if opened.is_err() {
            self.fail();
        }
        opened
    }

    /// Makes what the next record of data will need, as far as it can be known. Call it when there is nothing else to do: once
    /// bytes were sent, or before the caller waits for some.
    ///
    /// - Units: `now` as for [`tick`](Self::tick), which this is, too, at the end that seals data.
    #[inline]
    pub fn idle(&mut self, now: Duration) {
        match self.data {
            Direction::In => self.receiver.prepare(&mut self.ahead),
            Direction::Out => {
                self.tick(now);
                self.sender.prepare(&mut self.ahead);
            }
        }
    }

    /// Tells the session the time since any fixed moment, on a clock that never goes back. The next
    /// [`seal`](Self::seal) changes a key whose lifetime is over.
    #[inline]
    pub fn tick(&mut self, now: Duration) {
        let since = *self.key_since.get_or_insert(now);
        if now.saturating_sub(since) >= self.limits.lifetime {
            self.rekey_due = true;
        }
    }

    /// Writes the authenticated end of the stream, and returns its length.
    pub fn close(&mut self, wire: &mut [u8]) -> Result<usize, LayerError> {
        self.ahead = Ahead::new();
        self.sender.close(wire)
    }

    /// Judges the end of the peer's bytes, once the socket has reported it.
    ///
    /// - Errors: [`Truncated`] if something is missing.
    pub fn end_of_input(&self) -> Result<(), Truncated> {
        match self.incoming {
            Incoming::Ended => Ok(()),
            _ => Err(Truncated { received: self.receiver.opened() }),
        }
    }

    /// How many records that many bytes become.
    #[inline]
    fn records(&self, plain_len: usize) -> usize {
        // Almost always one: a division is spared.
        if plain_len <= self.peer_max { plain_len.min(1) } else { plain_len.div_ceil(self.peer_max.max(1)) }
    }

    /// Whether the sending key's time has come, before `records` more.
    #[inline]
    fn is_rekey_due(&self, records: u64) -> bool {
        let used_up = self.sender.since_rekey().saturating_add(records) > self.limits.records;
        self.rekey_due || used_up && self.sender.since_rekey() > 0
    }

    /// Changes the sending key if its time has come, before `records` more.
    #[inline]
    fn rekey_if_due<'a>(
        &mut self,
        records: u64,
        wire: &'a mut [u8],
    ) -> Result<(usize, &'a mut [u8]), LayerError> {
        if self.is_rekey_due(records) { self.rekey(wire) } else { Ok((0, wire)) }
    }

    #[cold]
    fn rekey<'a>(&mut self, wire: &'a mut [u8]) -> Result<(usize, &'a mut [u8]), LayerError> {
        let written = self.sender.rekey(wire)?;
        // With the old key in it.
        self.ahead = Ahead::new();
        self.rekey_due = false;
        self.rekeys = self.rekeys.saturating_add(1);
        self.key_since = None;
        Ok((written, wire.get_mut(written..).unwrap_or_default()))
    }

    #[cold]
    fn fail(&mut self) {
        self.incoming = Incoming::Failed;
        self.receiver.wipe();
        self.sender.wipe();
        self.ahead = Ahead::new();
    }
}

const _: () = assert!(MAX_RECORD < 1 << 24, "a length fits its three bytes");
const _: () = assert!(size_of::<Secure>() <= 2048, "the state of a connection stays small");
const UNUSED: usize = size_of::<Secure<()>>() - offset_of!(Secure<()>, unused);

#[cfg(test)]
mod tests;
