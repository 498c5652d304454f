//! Sealed discovery: strangers cannot read what a lab offers, and they get no answer.
//!
//! ```text
//!   query   0              4            28
//!           | magic (4)    | nonce (24) | time (LE 64), asker's key (32), query: sealed | tag (16) |
//!   reply   0              4                     28                    60
//!           | magic (4)    | query's nonce (24)  | answerer's key (32) | reply: sealed | tag (16) |
//! ```
//!
//! XChaCha20-Poly1305 seals a query under the lab's discovery key, which every member has. The query says
//! only which devices may answer it. ChaCha20-Poly1305 seals a reply under a key of its own. This key is made
//! of the discovery key and of two X25519 keys. These are drawn for this query and this reply and then
//! forgotten. So a later thief of the discovery key opens no reply. The bytes before the sealed part are its
//! associated data. So a reply belongs to one query, and only a member can have made either. The length of a
//! stream's description is not hidden.
//!
//! - Source: secure-session §5.4; draft-irtf-cfrg-xchacha-03 §2; RFC 5869 as Noise rev. 34 §4.3 uses it.

use core::{fmt, ops::Range};

use chacha20::{R20, hchacha};
use schwann_aead::{Key, Nonce, Tag, open_in_place, seal_in_place};
use zeroize::Zeroizing;

use crate::{
    Calendar, Entropy, UnixSeconds,
    bytes::{Reader, concat},
    identity::random,
    noise::{NoiseKey, mix},
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

    /// The name, as it is on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; NONCE_LEN] {
        &self.0
    }
}

/// What the asker of a query keeps. Once it is dropped, the replies cannot be opened any more.
pub struct Asked {
    id: QueryId,
    own: NoiseKey,
}

/// The receiver of a reply.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    id: QueryId,
    public: [u8; PUBLIC_LEN],
}

impl Asked {
    /// The name that replies bear.
    #[must_use]
    pub fn id(&self) -> QueryId {
        self.id
    }
}

impl Asker {
    /// The name of the query.
    #[must_use]
    pub fn id(&self) -> QueryId {
        self.id
    }
}

impl DiscoveryKey {
    /// Takes the key as the lab's bundle holds it.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*key))
    }

    /// Seals a query into the front of `datagram`; returns its length, [`QUERY_OVERHEAD`] more than
    /// `query`, and what opens the replies.
    ///
    /// The holder of the discovery key can read `query`, today or years later. It must not say which stream
    /// is wanted.
    ///
    /// - Errors: [`DiscoveryError::NoSpace`], [`DiscoveryError::NoEntropy`].
    pub fn seal_query(
        &self,
        query: &[u8],
        now: UnixSeconds,
        entropy: &mut dyn Entropy,
        datagram: &mut [u8],
    ) -> Result<(usize, Asked), DiscoveryError> {
        let nonce = draw(entropy)?;
        let own = draw_key(entropy)?;
        let head: [u8; QUERY_HEAD] = concat(&[&QUERY, &nonce]);
        let body = datagram.get_mut(QUERY_HEAD..).ok_or(DiscoveryError::NoSpace)?;
        let (time, rest) = body.split_first_chunk_mut::<TIME_LEN>().ok_or(DiscoveryError::NoSpace)?;
        *time = now.0.to_le_bytes();
        let (public, rest) = rest.split_first_chunk_mut::<PUBLIC_LEN>().ok_or(DiscoveryError::NoSpace)?;
        *public = *own.public();
        rest.get_mut(..query.len()).ok_or(DiscoveryError::NoSpace)?.copy_from_slice(query);
        let (key, nonce_of_key) = extended(&self.0, &nonce);
        let length = (TIME_LEN + PUBLIC_LEN).saturating_add(query.len());
        let length = seal(&key, &nonce_of_key, &head, length, datagram)?;
        Ok((length, Asked { id: QueryId(nonce), own }))
    }

    /// Opens a query in place; returns whom to answer and where its text lies. Do not answer on any error.
    ///
    /// A device without a calendar takes old queries, too: it must bound how many it answers.
    ///
    /// - Errors: [`DiscoveryError::Foreign`], [`DiscoveryError::Forged`], and
    ///   [`DiscoveryError::WrongTime`]: a replay, or one of the two clocks is wrong.
    pub fn open_query(
        &self,
        datagram: &mut [u8],
        calendar: impl Into<Calendar>,
    ) -> Result<(Asker, Range<usize>), DiscoveryError> {
        let (head, body) = split::<QUERY_HEAD>(datagram, QUERY)?;
        let (_, nonce) = head.split_last_chunk().ok_or(DiscoveryError::Foreign)?;
        let (key, nonce_of_key) = extended(&self.0, nonce);
        let length = open(&key, &nonce_of_key, head, body)?;
        let mut reader = Reader::new(body.get(..length).unwrap_or_default());
        let sent = reader.long().ok_or(DiscoveryError::Forged)?;
        let public = reader.array().ok_or(DiscoveryError::Forged)?;
        if !calendar.into().may_be(UnixSeconds(sent), TIME_TOLERANCE.into()) {
            return Err(DiscoveryError::WrongTime);
        }
        let start = QUERY_HEAD + TIME_LEN + PUBLIC_LEN;
        Ok((Asker { id: QueryId(*nonce), public }, start..QUERY_HEAD.saturating_add(length)))
    }

    /// Seals the reply to `asker` into the front of `datagram`; returns its length, [`REPLY_OVERHEAD`] more
    /// than `reply`.
    ///
    /// - Errors: [`DiscoveryError::NoSpace`], [`DiscoveryError::NoEntropy`], [`DiscoveryError::Forged`] if the
    ///   asker's key is invalid.
    pub fn seal_reply(
        &self,
        asker: &Asker,
        reply: &[u8],
        entropy: &mut dyn Entropy,
        datagram: &mut [u8],
    ) -> Result<usize, DiscoveryError> {
        let body = datagram.get_mut(REPLY_HEAD..).ok_or(DiscoveryError::NoSpace)?;
        body.get_mut(..reply.len()).ok_or(DiscoveryError::NoSpace)?.copy_from_slice(reply);
        self.seal_reply_in_place(asker, reply.len(), entropy, datagram)
    }

    /// Does what [`seal_reply`](Self::seal_reply) does with a reply of `length` bytes that lies in `datagram` already,
    /// behind the first [`REPLY_HEAD`].
    ///
    /// - Errors: as there.
    pub fn seal_reply_in_place(
        &self,
        asker: &Asker,
        length: usize,
        entropy: &mut dyn Entropy,
        datagram: &mut [u8],
    ) -> Result<usize, DiscoveryError> {
        let own = draw_key(entropy)?;
        let head: [u8; REPLY_HEAD] = concat(&[&REPLY, &asker.id.0, own.public()]);
        let key = self.reply_key(&own, &asker.public, &asker.public, own.public())?;
        seal(&key, &ONLY_NONCE, &head, length, datagram)
    }

    /// Opens, in place, a reply to the query that was `asked` and tells where its text lies.
    ///
    /// - Errors: [`DiscoveryError::Foreign`] if it answers another query, [`DiscoveryError::Forged`].
    pub fn open_reply(&self, asked: &Asked, datagram: &mut [u8]) -> Result<Range<usize>, DiscoveryError> {
        if QueryId::of_reply(datagram) != Some(asked.id) {
            return Err(DiscoveryError::Foreign);
        }
        let (head, body) = split::<REPLY_HEAD>(datagram, REPLY)?;
        let (_, public) = head.split_last_chunk().ok_or(DiscoveryError::Foreign)?;
        let key = self.reply_key(&asked.own, public, asked.own.public(), public)?;
        let length = open(&key, &ONLY_NONCE, head, body)?;
        Ok(REPLY_HEAD..REPLY_HEAD.saturating_add(length))
    }

    /// The key of one reply, from the key pair of this side and the public key of the other.
    fn reply_key(
        &self,
        own: &NoiseKey,
        other: &[u8; PUBLIC_LEN],
        asker: &[u8; PUBLIC_LEN],
        answerer: &[u8; PUBLIC_LEN],
    ) -> Result<Key, DiscoveryError> {
        let shared = own.agree(other).map_err(|_| DiscoveryError::Forged)?;
        let input: Zeroizing<[u8; LABEL.len() + 3 * PUBLIC_LEN]> =
            Zeroizing::new(concat(&[LABEL, shared.as_slice(), asker, answerer]));
        Ok(Key::new(&mix(&self.0, input.as_slice())))
    }
}

/// Lays down `head` and seals the `length` bytes behind it.
fn seal(
    key: &Key,
    nonce: &Nonce,
    head: &[u8],
    length: usize,
    out: &mut [u8],
) -> Result<usize, DiscoveryError> {
    let (front, rest) = out.split_at_mut_checked(head.len()).ok_or(DiscoveryError::NoSpace)?;
    let (body, rest) = rest.split_at_mut_checked(length).ok_or(DiscoveryError::NoSpace)?;
    let tag_out = rest.first_chunk_mut::<{ Tag::LEN }>().ok_or(DiscoveryError::NoSpace)?;
    front.copy_from_slice(head);
    *tag_out = seal_in_place(key, nonce, head, body).map_err(|_| DiscoveryError::NoSpace)?.0;
    Ok(head.len().saturating_add(length).saturating_add(Tag::LEN))
}

/// Opens `sealed` and returns how many bytes of text it holds.
fn open(key: &Key, nonce: &Nonce, head: &[u8], sealed: &mut [u8]) -> Result<usize, DiscoveryError> {
    let (body, tag) = sealed.split_last_chunk_mut().ok_or(DiscoveryError::Foreign)?;
    open_in_place(key, nonce, head, body, &Tag(*tag)).map_err(|_| DiscoveryError::Forged)?;
    Ok(body.len())
}

/// XChaCha20's subkey and nonce (draft-irtf-cfrg-xchacha-03 §2.3).
pub(crate) fn extended(key: &[u8; 32], nonce: &[u8; NONCE_LEN]) -> (Key, Nonce) {
    let (first, last) = nonce.split_at(16);
    let input: [u8; 16] = concat(&[first]);
    let subkey = Zeroizing::new(hchacha::<R20>(&(*key).into(), &input.into()).0);
    (Key::new(&subkey), Nonce(concat(&[&[0; 4], last])))
}

/// A key pair for one query or one reply.
fn draw_key(entropy: &mut dyn Entropy) -> Result<NoiseKey, DiscoveryError> {
    let secret = random(entropy).map_err(|_| DiscoveryError::NoEntropy)?;
    Ok(NoiseKey::new(&secret))
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
pub const QUERY_OVERHEAD: usize = QUERY_HEAD + TIME_LEN + PUBLIC_LEN + Tag::LEN;
/// Bytes that sealing adds to a reply.
pub const REPLY_OVERHEAD: usize = REPLY_HEAD + Tag::LEN;

/// Bytes of XChaCha20's nonce.
pub const NONCE_LEN: usize = 24;
/// Bytes before the sealed part of a reply.
pub const REPLY_HEAD: usize = 4 + NONCE_LEN + PUBLIC_LEN;
const QUERY_HEAD: usize = 4 + NONCE_LEN;
const TIME_LEN: usize = 8;
/// Bytes of an X25519 public key.
const PUBLIC_LEN: usize = 32;
/// A reply's key seals one reply.
const ONLY_NONCE: Nonce = Nonce([0; 12]);
const LABEL: &[u8] = b"schwann/1 reply";
/// How far a query's time may be from the local clock, in seconds.
pub const TIME_TOLERANCE: u32 = 30;
const QUERY: [u8; 4] = [0xD5, b'S', b'Q', 2];
const REPLY: [u8; 4] = [0xD5, b'S', b'R', 2];

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
