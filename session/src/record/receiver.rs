//! The receiving direction of a session.

use core::ops::Range;

use arrayvec::ArrayVec;
use schwann_aead::{Ahead, Kernel, Key, Message, Tag};
use zeroize::Zeroize;

use super::frame::{Header, RecordType, header, split};
use super::{BATCH, RECORD_HEAD, RECORD_OVERHEAD, advance, next_key, nonce};
use crate::LayerError;

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

    /// Opens, in place, the record at the front of `wire`, or all whole data records there, up to [`BATCH`]. It
    /// moves the plaintexts of several together. Nothing if not even one is whole.
    ///
    /// - Errors: if any record fails, all are wiped. Records before a forged one are not worth a stream with a
    ///   hole.
    pub(crate) fn open(&mut self, wire: &mut [u8], ahead: &mut Ahead) -> Result<Option<Plain>, LayerError> {
        let Some(header) = Header::parse(wire)? else { return Ok(None) };
        if wire.len() < header.record_len() {
            return Ok(None);
        }
        if header.kind == RecordType::Data {
            // Almost always one is there and nothing else, and no others need be looked for. The first of all is opened alone:
            // an inlet's must be the greeting.
            if self.counter > 0 && wire.len() > header.record_len() {
                let lengths = data_run(wire);
                if lengths.len() > 1 {
                    return self.open_group(&lengths, wire).map(Some);
                }
            }
            self.last = LastData::Alone(header.length);
        }
        self.open_one(header, wire, ahead).map(Some)
    }

    /// Opens `wire` if it is one data record as long as the last, and its key stream was made ahead. Otherwise does
    /// nothing.
    #[inline]
    pub(crate) fn open_ready(
        &mut self,
        wire: &mut [u8],
        ahead: &mut Ahead,
    ) -> Option<Result<Plain, LayerError>> {
        let LastData::Alone(length) = self.last else { return None };
        let key = self.key.as_ref().filter(|_| wire.len() == length.saturating_add(RECORD_OVERHEAD))?;
        let after = advance(self.counter, 1).ok()?;
        let (head, body, tag) = split(wire, length)?;
        if *head != header(RecordType::Data, length).ok()? {
            return None;
        }
        let mut message = Message::sealed(key, nonce(self.counter), head, body, Tag(*tag));
        if !ahead.open(&mut message) {
            return None;
        }
        if message.outcome.is_err() {
            return Some(Err(LayerError::Forged));
        }
        self.counter = after;
        Some(Ok(Plain::of(Header { kind: RecordType::Data, length })))
    }

    #[inline]
    fn open_one(&mut self, header: Header, wire: &mut [u8], ahead: &mut Ahead) -> Result<Plain, LayerError> {
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let after = advance(self.counter, 1)?;
        let (head, body, tag) = split(wire, header.length).ok_or(LayerError::NoSpace)?;
        let (nonce, tag) = (nonce(self.counter), Tag(*tag));
        let mut message = Message::sealed(key, nonce, head, body, tag);
        let opened = if ahead.open(&mut message) {
            message.outcome
        } else {
            self.kernel.open_in_place(key, &nonce, head, body, &tag)
        };
        opened.map_err(|_| LayerError::Forged)?;
        self.counter = after;
        Ok(Plain::of(header))
    }

    #[inline(never)]
    fn open_group(&mut self, lengths: &[usize], wire: &mut [u8]) -> Result<Plain, LayerError> {
        self.last = LastData::Several;
        let key = self.key.as_ref().ok_or(LayerError::Closed)?;
        let mut messages = ArrayVec::<Message<'_>, BATCH>::new();
        let (mut rest, mut counter) = (&mut *wire, self.counter);
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
        drop(messages);
        let (consumed, place) = gather(lengths, wire);
        Ok(Plain { kind: RecordType::Data, consumed, place })
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

/// What was opened, and where it lies.
pub(crate) struct Plain {
    pub(crate) kind: RecordType,
    /// Bytes of the records, from the front of the wire.
    pub(crate) consumed: usize,
    /// Where their text lies.
    pub(crate) place: Range<usize>,
}

impl Plain {
    #[inline]
    fn of(header: Header) -> Self {
        let place = RECORD_HEAD..RECORD_HEAD.saturating_add(header.length);
        Self { kind: header.kind, consumed: header.record_len(), place }
    }
}

/// The last data that came, by which the next are guessed.
#[derive(Clone, Copy)]
enum LastData {
    /// One record, with so many bytes of plaintext.
    Alone(usize),
    /// Records that were worked on side by side, or none yet.
    Several,
}

/// Lengths of the whole data records at the front of `wire`; the first is known to be one.
#[inline(never)]
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
