//! One direction of a session: a key, a counter, and the records they make.
//!
//! ```text
//!   0        1                4
//!   | type   | length (LE 24) | ciphertext (length bytes) | tag (16) |
//!     ------- AAD -----------
//! ```
//!
//! The counter is the nonce. It lives in here, starts at zero with the handshake's key and only ever
//! rises, also across rekeying, so no key ever meets a nonce twice.
//!
//! - Source: spec: secure-session §4; The Noise Protocol Framework rev. 34 §5.1, §11.3 and §12.3.

use core::ops::Range;

use arrayvec::ArrayVec;
use schwann_aead::{Ahead, Kernel, Key, Message, Nonce, Tag, seal_in_place};
use zeroize::{Zeroize, Zeroizing};

use crate::LayerError;

/// What a record is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RecordType {
    Data = 0,
    Control = 1,
    Rekey = 2,
    Close = 3,
}

impl RecordType {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Data,
            1 => Self::Control,
            2 => Self::Rekey,
            3 => Self::Close,
            _ => return None,
        })
    }

    fn byte(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Control => 1,
            Self::Rekey => 2,
            Self::Close => 3,
        }
    }
}

/// The sending direction.
pub(crate) struct Sender {
    /// Gone once the direction has ended.
    key: Option<Key>,
    counter: u64,
    /// The counter's value at the last change of key.
    rekeyed_at: u64,
    kernel: Kernel,
    last: LastData,
}

impl Sender {
    pub(crate) fn new(key: Key) -> Self {
        Self { key: Some(key), counter: 0, rekeyed_at: 0, kernel: Kernel::best(), last: LastData::Several }
    }

    /// Makes the key stream of the next data record, if it will be like the last.
    pub(crate) fn prepare(&self, ahead: &mut Ahead) {
        if let (Some(key), LastData::Alone(length)) = (&self.key, self.last) {
            ahead.prepare(self.kernel, key, nonce(self.counter), length);
        }
    }

    /// Seals `plain` as one record into the front of `wire`.
    pub(crate) fn seal(
        &mut self,
        kind: RecordType,
        plain: &[u8],
        wire: &mut [u8],
    ) -> Result<usize, LayerError> {
        self.seal_with(None, kind, plain, wire)
    }

    /// As [`seal`](Self::seal), with the record's key stream if it was made ahead.
    #[inline]
    fn seal_with(
        &mut self,
        ahead: Option<&mut Ahead>,
        kind: RecordType,
        plain: &[u8],
        wire: &mut [u8],
    ) -> Result<usize, LayerError> {
        self.seal_body(ahead, kind, plain.len(), wire, |body| body.copy_from_slice(plain))
    }

    /// Seals a record of `length` bytes of text, which `fill` puts where they belong.
    #[inline]
    fn seal_body(
        &mut self,
        ahead: Option<&mut Ahead>,
        kind: RecordType,
        length: usize,
        wire: &mut [u8],
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<usize, LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let after = advance(self.counter, 1)?;
        let (head, body, tag) = split(wire, length).ok_or(LayerError::NoSpace)?;
        *head = header(kind, length)?;
        fill(body);
        let nonce = nonce(self.counter);
        let mut message = Message::plain(key, nonce, head, body);
        *tag = if ahead.is_some_and(|ahead| ahead.seal(&mut message)) {
            message.tag.0
        } else {
            self.kernel.seal_in_place(key, &nonce, head, body).map_err(|_| LayerError::Oversized)?.0
        };
        self.counter = after;
        Ok(length.saturating_add(RECORD_OVERHEAD))
    }

    /// Seals the `length` bytes behind the first [`RECORD_HEAD`] of `wire`, where they lie, as data records of at most
    /// `max` bytes.
    pub(crate) fn seal_placed(
        &mut self,
        length: usize,
        max: usize,
        wire: &mut [u8],
    ) -> Result<usize, LayerError> {
        if length > max {
            spread(length, max, wire)?;
        }
        let (mut written, mut left) = (0, length);
        while left > 0 {
            let rest = wire.get_mut(written..).ok_or(LayerError::NoSpace)?;
            let piece = left.min(max);
            written += self.seal_body(None, RecordType::Data, piece, rest, |_| ())?;
            left -= piece;
        }
        Ok(written)
    }

    /// Seals `plain` as data records of at most `max` bytes into the front of `wire`.
    pub(crate) fn seal_data(
        &mut self,
        plain: &[u8],
        max: usize,
        wire: &mut [u8],
        ahead: &mut Ahead,
    ) -> Result<usize, LayerError> {
        if plain.len() <= max {
            self.last = LastData::Alone(plain.len());
            return self.seal_with(Some(ahead), RecordType::Data, plain, wire);
        }
        self.last = LastData::Several;
        let mut written = 0;
        let mut rest = wire;
        for group in plain.chunks(max.saturating_mul(BATCH)) {
            let length = self.seal_group(group, max, rest)?;
            rest = rest.get_mut(length..).ok_or(LayerError::NoSpace)?;
            written += length;
        }
        Ok(written)
    }

    /// Seals up to [`BATCH`] records in one call.
    #[inline(never)]
    fn seal_group(&mut self, plain: &[u8], max: usize, wire: &mut [u8]) -> Result<usize, LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let mut messages = ArrayVec::<Message<'_>, BATCH>::new();
        let mut tags = ArrayVec::<&mut [u8; Tag::LEN], BATCH>::new();
        let (mut rest, mut counter, mut written) = (wire, self.counter, 0_usize);
        for piece in plain.chunks(max) {
            let length = piece.len().saturating_add(RECORD_OVERHEAD);
            let (record, after) = rest.split_at_mut_checked(length).ok_or(LayerError::NoSpace)?;
            let (head, body, tag) = split(record, piece.len()).ok_or(LayerError::NoSpace)?;
            *head = header(RecordType::Data, piece.len())?;
            body.copy_from_slice(piece);
            let message = Message::plain(key, nonce(counter), head, body);
            messages.try_push(message).map_err(|_| LayerError::Oversized)?;
            tags.try_push(tag).map_err(|_| LayerError::Oversized)?;
            counter = advance(counter, 1)?;
            written = written.saturating_add(length);
            rest = after;
        }
        self.kernel.seal_batch(&mut messages).map_err(|_| LayerError::Oversized)?;
        for (message, tag) in messages.iter().zip(tags) {
            *tag = message.tag.0;
        }
        self.counter = counter;
        Ok(written)
    }

    /// Seals the record that announces a new key, and moves to it.
    pub(crate) fn rekey(&mut self, wire: &mut [u8]) -> Result<usize, LayerError> {
        let length = self.seal(RecordType::Rekey, &[], wire)?;
        self.key = Some(next_key(self.key.as_ref().ok_or(LayerError::Closed)?)?);
        self.rekeyed_at = self.counter;
        Ok(length)
    }

    /// Seals the end of the direction, with the count of records before it, and wipes the key.
    pub(crate) fn close(&mut self, wire: &mut [u8]) -> Result<usize, LayerError> {
        let length = self.seal(RecordType::Close, &self.counter.to_le_bytes(), wire)?;
        self.wipe();
        Ok(length)
    }

    /// Forgets the key; nothing can be sealed any more.
    pub(crate) fn wipe(&mut self) {
        self.key = None;
    }

    /// How many records have been sealed under the present key.
    pub(crate) fn since_rekey(&self) -> u64 {
        self.counter.saturating_sub(self.rekeyed_at)
    }
}

/// The receiving direction.
pub(crate) struct Receiver {
    /// Gone once the direction has ended or failed.
    key: Option<Key>,
    counter: u64,
    kernel: Kernel,
    last: LastData,
}

impl Receiver {
    pub(crate) fn new(key: Key) -> Self {
        Self { key: Some(key), counter: 0, kernel: Kernel::best(), last: LastData::Several }
    }

    /// Makes the key stream of the next data record, if it will be like the last.
    pub(crate) fn prepare(&self, ahead: &mut Ahead) {
        if let (Some(key), LastData::Alone(length)) = (&self.key, self.last) {
            ahead.prepare(self.kernel, key, nonce(self.counter), length);
        }
    }

    /// Opens the record that `header` announced, in place, and tells where its plaintext lies.
    pub(crate) fn open(&mut self, header: Header, wire: &mut [u8]) -> Result<Range<usize>, LayerError> {
        self.open_with(None, header, wire)
    }

    /// As [`open`](Self::open), with the record's key stream if it was made ahead.
    #[inline]
    fn open_with(
        &mut self,
        ahead: Option<&mut Ahead>,
        header: Header,
        wire: &mut [u8],
    ) -> Result<Range<usize>, LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let after = advance(self.counter, 1)?;
        let (head, body, tag) = split(wire, header.length).ok_or(LayerError::NoSpace)?;
        let (nonce, tag) = (nonce(self.counter), Tag(*tag));
        let mut message = Message::sealed(key, nonce, head, body, tag);
        let opened = if ahead.is_some_and(|ahead| ahead.open(&mut message)) {
            message.outcome
        } else {
            self.kernel.open_in_place(key, &nonce, head, body, &tag)
        };
        opened.map_err(|_| LayerError::Forged)?;
        self.counter = after;
        Ok(RECORD_HEAD..RECORD_HEAD.saturating_add(header.length))
    }

    /// Opens the whole data records at the front of `wire`, up to [`BATCH`] of them in one call, and moves
    /// their plaintexts together. Returns how many bytes they took and where the plaintext lies.
    ///
    /// If any fails, all are wiped: what stood before a forged record is not worth a stream with a hole.
    pub(crate) fn open_data(
        &mut self,
        wire: &mut [u8],
        ahead: &mut Ahead,
    ) -> Result<(usize, Range<usize>), LayerError> {
        let lengths = data_run(wire);
        if let [length] = lengths.as_slice() {
            self.last = LastData::Alone(*length);
            let header = Header { kind: RecordType::Data, length: *length };
            let plain = self.open_with(Some(ahead), header, wire)?;
            return Ok((header.record_len(), plain));
        }
        self.last = LastData::Several;
        self.open_group(&lengths, wire)?;
        Ok(gather(&lengths, wire))
    }

    #[inline(never)]
    fn open_group(&mut self, lengths: &[usize], wire: &mut [u8]) -> Result<(), LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let mut messages = ArrayVec::<Message<'_>, BATCH>::new();
        let (mut rest, mut counter) = (wire, self.counter);
        for length in lengths {
            let whole = length.saturating_add(RECORD_OVERHEAD);
            let (record, after) = rest.split_at_mut_checked(whole).ok_or(LayerError::NoSpace)?;
            let (head, body, tag) = split(record, *length).ok_or(LayerError::NoSpace)?;
            let message = Message::sealed(key, nonce(counter), head, body, Tag(*tag));
            messages.try_push(message).map_err(|_| LayerError::Oversized)?;
            counter = advance(counter, 1)?;
            rest = after;
        }
        if self.kernel.open_batch(&mut messages).is_err() {
            messages.iter_mut().for_each(|message| message.buffer.zeroize());
            return Err(LayerError::Forged);
        }
        self.counter = counter;
        Ok(())
    }

    /// Follows the sender to its new key.
    pub(crate) fn rekey(&mut self) -> Result<(), LayerError> {
        self.key = Some(next_key(self.key.as_ref().ok_or(LayerError::Closed)?)?);
        Ok(())
    }

    /// Forgets the key; nothing can be opened any more.
    pub(crate) fn wipe(&mut self) {
        self.key = None;
    }

    /// How many records have been opened.
    pub(crate) fn opened(&self) -> u64 {
        self.counter
    }
}

/// The last data of a direction, by which the next is guessed.
#[derive(Clone, Copy)]
enum LastData {
    /// One record, with so many bytes of plaintext.
    Alone(usize),
    /// Records that were worked on side by side, or none yet.
    Several,
}

/// What the four bytes before a record say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: RecordType,
    /// Bytes of plaintext.
    pub(crate) length: usize,
}

impl Header {
    /// Reads the header at the front of `wire`, if it is whole.
    pub(crate) fn parse(wire: &[u8]) -> Result<Option<Self>, LayerError> {
        let Some([kind, low, middle, high]) = wire.first_chunk() else { return Ok(None) };
        let kind = RecordType::from_byte(*kind).ok_or(LayerError::Malformed)?;
        let length = u32::from_le_bytes([*low, *middle, *high, 0]);
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_RECORD);
        Ok(Some(Self { kind, length: length.ok_or(LayerError::Oversized)? }))
    }

    /// Bytes of the whole record.
    pub(crate) fn record_len(self) -> usize {
        self.length.saturating_add(RECORD_OVERHEAD)
    }
}

/// Most bytes of plaintext in a record.
pub const MAX_RECORD: usize = 16_384;

/// Least plaintext that everybody must take in a record, in bytes.
pub(crate) const MIN_RECORD: usize = 256;

/// Bytes that a record adds to its plaintext: header and tag.
pub const RECORD_OVERHEAD: usize = RECORD_HEAD + Tag::LEN;

/// Bytes of a record before its text.
pub const RECORD_HEAD: usize = 4;

/// Most records given to the cipher in one call: the lanes of its widest kernel.
const BATCH: usize = 16;

/// Noise's nonce for ChaCha20-Poly1305: 32 zero bits, then the counter (Noise rev. 34 §12.3).
pub(crate) fn nonce(counter: u64) -> Nonce {
    let [a, b, c, d, e, f, g, h] = counter.to_le_bytes();
    Nonce([0, 0, 0, 0, a, b, c, d, e, f, g, h])
}

/// Noise's `REKEY(k)`: the key stream of a nonce that no message has (Noise rev. 34 §4.2).
fn next_key(key: &Key) -> Result<Key, LayerError> {
    let mut next = Zeroizing::new([0; Key::LEN]);
    seal_in_place(key, &nonce(u64::MAX), &[], next.as_mut_slice()).map_err(|_| LayerError::Exhausted)?;
    Ok(Key::new(&next))
}

/// The last nonce belongs to [`next_key`].
fn advance(counter: u64, by: u64) -> Result<u64, LayerError> {
    counter.checked_add(by).filter(|after| *after < u64::MAX).ok_or(LayerError::Exhausted)
}

fn header(kind: RecordType, length: usize) -> Result<[u8; RECORD_HEAD], LayerError> {
    let length = u32::try_from(length).ok().filter(|length| *length >> 24 == 0);
    let [low, middle, high, _] = length.ok_or(LayerError::Oversized)?.to_le_bytes();
    Ok([kind.byte(), low, middle, high])
}

/// Moves a text of `length` bytes behind the first header apart, so that each `max` bytes of it have room for a header
/// before them and a tag behind.
#[cold]
fn spread(length: usize, max: usize, wire: &mut [u8]) -> Result<(), LayerError> {
    let last = length.div_ceil(max.max(1)).saturating_sub(1);
    let end = RECORD_HEAD.saturating_add(length);
    if wire.len() < end.saturating_add(last.saturating_mul(RECORD_OVERHEAD)) {
        return Err(LayerError::NoSpace);
    }
    for record in (1..=last).rev() {
        let from = RECORD_HEAD.saturating_add(record.saturating_mul(max));
        let until = from.saturating_add(max).min(end);
        wire.copy_within(from..until, from.saturating_add(record.saturating_mul(RECORD_OVERHEAD)));
    }
    Ok(())
}

type Parts<'a> = (&'a mut [u8; RECORD_HEAD], &'a mut [u8], &'a mut [u8; Tag::LEN]);

/// Splits a record with `length` bytes of text off the front of `wire`.
fn split(wire: &mut [u8], length: usize) -> Option<Parts<'_>> {
    let (head, rest) = wire.split_first_chunk_mut()?;
    let (body, rest) = rest.split_at_mut_checked(length)?;
    Some((head, body, rest.first_chunk_mut()?))
}

/// Lengths of the whole data records at the front of `wire`; the first is known to be one.
fn data_run(wire: &[u8]) -> ArrayVec<usize, BATCH> {
    let mut lengths = ArrayVec::new();
    let mut rest = wire;
    while let Ok(Some(Header { kind: RecordType::Data, length })) = Header::parse(rest) {
        let Some(after) = rest.get(length.saturating_add(RECORD_OVERHEAD)..) else { break };
        if lengths.try_push(length).is_err() {
            break;
        }
        rest = after;
    }
    lengths
}

/// Moves the opened texts of records together, behind the first one's header.
fn gather(lengths: &[usize], wire: &mut [u8]) -> (usize, Range<usize>) {
    let (mut from, mut to) = (0_usize, RECORD_HEAD);
    for length in lengths {
        let body = from.saturating_add(RECORD_HEAD);
        wire.copy_within(body..body.saturating_add(*length), to);
        to = to.saturating_add(*length);
        from = from.saturating_add(length.saturating_add(RECORD_OVERHEAD));
    }
    (from, RECORD_HEAD..to)
}
