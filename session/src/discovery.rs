//! Sealed discovery: strangers neither read what a lab offers nor get an answer.
//!
//! ```text
//!   query   0              4            28
//!           | magic (4)    | nonce (24) | time (LE 64), query: sealed | tag (16) |
//!   reply   0              4                     28           52
//!           | magic (4)    | query's nonce (24)  | nonce (24) | reply: sealed | tag (16) |
//! ```
//!
//! Both are sealed by XChaCha20-Poly1305 under the lab's discovery key, which every member has; the bytes
//! before the sealed part are its associated data. So a reply belongs to one query, and only a
//! member can have made either. The length of a stream's description is not hidden.
//!
//! - Source: spec: secure-session §5.4; draft-irtf-cfrg-xchacha-03 §2.

use core::{fmt, ops::Range};

use chacha20::{R20, hchacha};
use schwann_aead::{Key, Nonce, Tag, open_in_place, seal_in_place};
use zeroize::Zeroizing;

use crate::{
    Entropy, UnixSeconds,
    bytes::{Reader, concat},
};

/// The key that a lab's members share for discovery; it changes with each revocation.
pub struct DiscoveryKey(Zeroizing<[u8; 32]>);

/// Names a query to its replies: 192 random bits.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct QueryId([u8; NONCE_LEN]);

impl QueryId {
    /// Reads which query a sealed reply answers, before it is opened.
    ///
    /// Returns nothing if the bytes are no sealed reply.
    #[must_use]
    pub fn of_reply(datagram: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(datagram);
        let magic: [u8; 4] = reader.array()?;
        (magic == REPLY).then_some(())?;
        reader.array().map(Self)
    }
}

impl DiscoveryKey {
    /// Takes the key as the lab's bundle holds it.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*key))
    }

    /// Seals a query into the front of `datagram`; returns its length, [`QUERY_OVERHEAD`] more than
    /// `query`, and the name that replies will bear.
    ///
    /// - Errors: [`DiscoveryError::NoSpace`], [`DiscoveryError::NoEntropy`].
    pub fn seal_query(
        &self,
        query: &[u8],
        now: UnixSeconds,
        entropy: &mut dyn Entropy,
        datagram: &mut [u8],
    ) -> Result<(usize, QueryId), DiscoveryError> {
        let nonce = draw(entropy)?;
        let head: [u8; QUERY_HEAD] = concat(&[&QUERY, &nonce]);
        let body = datagram.get_mut(QUERY_HEAD..).ok_or(DiscoveryError::NoSpace)?;
        let (time, rest) = body.split_first_chunk_mut::<TIME_LEN>().ok_or(DiscoveryError::NoSpace)?;
        *time = now.0.to_le_bytes();
        rest.get_mut(..query.len()).ok_or(DiscoveryError::NoSpace)?.copy_from_slice(query);
        let length = self.seal(&head, &nonce, TIME_LEN.saturating_add(query.len()), datagram)?;
        Ok((length, QueryId(nonce)))
    }

    /// Opens a query in place; returns its name and where its text lies. Do not answer on any error.
    ///
    /// - Errors: [`DiscoveryError::Foreign`], [`DiscoveryError::Forged`], and
    ///   [`DiscoveryError::WrongTime`]: a replay, or one of the two clocks is wrong.
    pub fn open_query(
        &self,
        datagram: &mut [u8],
        now: UnixSeconds,
    ) -> Result<(QueryId, Range<usize>), DiscoveryError> {
        let (head, body) = split::<QUERY_HEAD>(datagram, QUERY)?;
        let (_, nonce) = head.split_last_chunk().ok_or(DiscoveryError::Foreign)?;
        let length = self.open(head, nonce, body)?;
        let sent = Reader::new(body).long().ok_or(DiscoveryError::Forged)?;
        if now.abs_diff(UnixSeconds(sent)) > TIME_TOLERANCE {
            return Err(DiscoveryError::WrongTime);
        }
        let start = QUERY_HEAD.saturating_add(TIME_LEN);
        Ok((QueryId(*nonce), start..QUERY_HEAD.saturating_add(length)))
    }

    /// Seals the reply to `query` into the front of `datagram`; returns its length, [`REPLY_OVERHEAD`] more
    /// than `reply`.
    ///
    /// - Errors: [`DiscoveryError::NoSpace`], [`DiscoveryError::NoEntropy`].
    pub fn seal_reply(
        &self,
        query: &QueryId,
        reply: &[u8],
        entropy: &mut dyn Entropy,
        datagram: &mut [u8],
    ) -> Result<usize, DiscoveryError> {
        let body = datagram.get_mut(REPLY_HEAD..).ok_or(DiscoveryError::NoSpace)?;
        body.get_mut(..reply.len()).ok_or(DiscoveryError::NoSpace)?.copy_from_slice(reply);
        self.seal_reply_in_place(query, reply.len(), entropy, datagram)
    }

    /// Does what [`seal_reply`](Self::seal_reply) does with a reply of `length` bytes that lies in `datagram` already,
    /// behind the first [`REPLY_HEAD`].
    ///
    /// - Errors: as there.
    pub fn seal_reply_in_place(
        &self,
        query: &QueryId,
        length: usize,
        entropy: &mut dyn Entropy,
        datagram: &mut [u8],
    ) -> Result<usize, DiscoveryError> {
        let nonce = draw(entropy)?;
        let head: [u8; REPLY_HEAD] = concat(&[&REPLY, &query.0, &nonce]);
        self.seal(&head, &nonce, length, datagram)
    }

    /// Opens, in place, a reply to `query` and tells where its text lies.
    ///
    /// - Errors: [`DiscoveryError::Foreign`] if it answers another query, [`DiscoveryError::Forged`].
    pub fn open_reply(&self, query: &QueryId, datagram: &mut [u8]) -> Result<Range<usize>, DiscoveryError> {
        if QueryId::of_reply(datagram) != Some(*query) {
            return Err(DiscoveryError::Foreign);
        }
        let (head, body) = split::<REPLY_HEAD>(datagram, REPLY)?;
        let (_, nonce) = head.split_last_chunk().ok_or(DiscoveryError::Foreign)?;
        let length = self.open(head, nonce, body)?;
        Ok(REPLY_HEAD..REPLY_HEAD.saturating_add(length))
    }

    /// Lays down `head` and seals the `length` bytes behind it.
    fn seal(
        &self,
        head: &[u8],
        nonce: &[u8; NONCE_LEN],
        length: usize,
        out: &mut [u8],
    ) -> Result<usize, DiscoveryError> {
        let (front, rest) = out.split_at_mut_checked(head.len()).ok_or(DiscoveryError::NoSpace)?;
        let (body, rest) = rest.split_at_mut_checked(length).ok_or(DiscoveryError::NoSpace)?;
        let tag_out = rest.first_chunk_mut::<{ Tag::LEN }>().ok_or(DiscoveryError::NoSpace)?;
        front.copy_from_slice(head);
        let (key, nonce) = extended(&self.0, nonce);
        *tag_out = seal_in_place(&key, &nonce, head, body).map_err(|_| DiscoveryError::NoSpace)?.0;
        Ok(head.len().saturating_add(length).saturating_add(Tag::LEN))
    }

    /// Opens `sealed` and returns how many bytes of text it holds.
    fn open(&self, head: &[u8], nonce: &[u8; NONCE_LEN], sealed: &mut [u8]) -> Result<usize, DiscoveryError> {
        let (body, tag) = sealed.split_last_chunk_mut().ok_or(DiscoveryError::Foreign)?;
        let (key, nonce) = extended(&self.0, nonce);
        open_in_place(&key, &nonce, head, body, &Tag(*tag)).map_err(|_| DiscoveryError::Forged)?;
        Ok(body.len())
    }
}

/// XChaCha20's subkey and nonce (draft-irtf-cfrg-xchacha-03 §2.3).
pub(crate) fn extended(key: &[u8; 32], nonce: &[u8; NONCE_LEN]) -> (Key, Nonce) {
    let (first, last) = nonce.split_at(16);
    let input: [u8; 16] = concat(&[first]);
    let subkey = Zeroizing::new(hchacha::<R20>(&(*key).into(), &input.into()).0);
    (Key::new(&subkey), Nonce(concat(&[&[0; 4], last])))
}

fn draw(entropy: &mut dyn Entropy) -> Result<[u8; NONCE_LEN], DiscoveryError> {
    let mut nonce = [0; NONCE_LEN];
    entropy.fill(&mut nonce).map_err(|_| DiscoveryError::NoEntropy)?;
    Ok(nonce)
}

fn split<const HEAD: usize>(
    datagram: &mut [u8],
    magic: [u8; 4],
) -> Result<(&[u8; HEAD], &mut [u8]), DiscoveryError> {
    let (head, body) = datagram.split_first_chunk_mut::<HEAD>().ok_or(DiscoveryError::Foreign)?;
    if head.starts_with(&magic) { Ok((head, body)) } else { Err(DiscoveryError::Foreign) }
}

/// Why a query or reply was not sealed or opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// No sealed query or reply, or a reply to another query.
    Foreign,
    /// It does not verify: another lab's, an old discovery key, damage, or an attack.
    Forged,
    /// This side's random generator failed.
    NoEntropy,
    /// The buffer is too short.
    NoSpace,
    /// The query is from more than 30 s ago or ahead: a replay, or a clock is wrong.
    WrongTime,
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "no sealed query or reply for this side",
            Self::Forged => "the query or reply does not verify",
            Self::NoEntropy => "the system gives no random bytes",
            Self::NoSpace => "the buffer is too short",
            Self::WrongTime => "the query's time is more than 30 s from this clock",
        })
    }
}

impl core::error::Error for DiscoveryError {}

/// Bytes that sealing adds to a query.
pub const QUERY_OVERHEAD: usize = QUERY_HEAD + TIME_LEN + Tag::LEN;
/// Bytes that sealing adds to a reply.
pub const REPLY_OVERHEAD: usize = REPLY_HEAD + Tag::LEN;

/// Bytes of XChaCha20's nonce.
pub(crate) const NONCE_LEN: usize = 24;
/// Bytes before the sealed part of a reply.
pub const REPLY_HEAD: usize = 4 + 2 * NONCE_LEN;
const QUERY_HEAD: usize = 4 + NONCE_LEN;
const TIME_LEN: usize = 8;
/// How far a query's time may be from the local clock, in seconds.
const TIME_TOLERANCE: u64 = 30;
const QUERY: [u8; 4] = [0xD5, b'S', b'Q', 1];
const REPLY: [u8; 4] = [0xD5, b'S', b'R', 1];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subkey_is_that_of_the_draft() {
        // draft-irtf-cfrg-xchacha-03 §2.2.1.
        let key: [u8; 32] = core::array::from_fn(|i| u8::try_from(i).unwrap());
        let nonce = [0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27];
        let subkey = [
            0x82, 0x41, 0x3b, 0x42, 0x27, 0xb2, 0x7b, 0xfe, 0xd3, 0x0e, 0x42, 0x50, 0x8a, 0x87, 0x7d, 0x73,
            0xa0, 0xf9, 0xe4, 0xd5, 0x8a, 0x74, 0xa8, 0x53, 0xc1, 0x2e, 0xc4, 0x13, 0x26, 0xd3, 0xec, 0xdc,
        ];
        assert_eq!(hchacha::<R20>(&key.into(), &nonce.into()).0, subkey);
    }

    #[test]
    fn a_sealed_message_is_that_of_the_draft() {
        // draft-irtf-cfrg-xchacha-03 §A.3.1: key 80..9f, nonce 40..57.
        let key: [u8; 32] = core::array::from_fn(|i| 0x80 + u8::try_from(i).unwrap());
        let nonce: [u8; 24] = core::array::from_fn(|i| 0x40 + u8::try_from(i).unwrap());
        let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
        let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for \
                          the future, sunscreen would be it.";
        let (key, nonce) = extended(&key, &nonce);
        let tag = seal_in_place(&key, &nonce, &aad, &mut text).unwrap();
        assert_eq!(text.first_chunk(), Some(&[0xbd, 0x6d, 0x17, 0x9d, 0x3e, 0x83, 0xd4, 0x3b]));
        let expected =
            [0xc0, 0x87, 0x59, 0x24, 0xc1, 0xc7, 0x98, 0x79, 0x47, 0xde, 0xaf, 0xd8, 0x78, 0x0a, 0xcf, 0x49];
        assert_eq!(tag.0, expected);
    }
}
