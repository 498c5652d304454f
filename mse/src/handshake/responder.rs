//! The side that is dialled.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::inbox::{Inbox, Sought};
use super::{Draw, Established, Handshake, Progress, Stage, Status, VC, pad_len};
use crate::bittorrent::{BtHandshake, PREFIX};
use crate::cipher::Rc4;
use crate::dh::{Group, KeyPair, PublicKey, SharedSecret};
use crate::error::HandshakeError;
use crate::keys::{self, Direction};
use crate::method::{Method, Methods};
use crate::skey::{InfoHash, Lookup};

/// What a responder accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Accept {
    /// The methods accepted.
    pub methods: Methods,
    /// The method selected if the initiator offers it; otherwise the first common one of [`Method::ALL`].
    pub preferred: Method,
    /// The longest initial payload accepted, in bytes. It is the one length a stranger chooses.
    pub initial_payload_max: usize,
}

impl Accept {
    /// Accepts `methods`, would rather have `preferred`, and takes an initial payload of 68 bytes.
    #[must_use]
    pub const fn new(methods: Methods, preferred: Method) -> Self {
        Self { methods, preferred, initial_payload_max: BtHandshake::LEN }
    }
}

/// RC4 or nothing.
impl Default for Accept {
    fn default() -> Self {
        Self::new(Methods::RC4, Method::Rc4)
    }
}

/// The responder's side of a handshake, with the index it looks torrents up in. See the crate's page for
/// the drive loop.
pub struct Responder<L> {
    lookup: L,
    accept: Accept,
    crypto_pad: u16,
    group: Group,
    /// Step 2 from the beginning, kept back until the peer's key is here; then step 4.
    output: Option<Vec<u8>>,
    inbox: Inbox,
    state: ResponderState,
    secret: Option<SharedSecret>,
    key_pad: usize,
}

enum ResponderState {
    AwaitKey(KeyPair, Vec<u8>),
    /// The peer's key is here. The secret is computed once our step 2 is on its way, which hides its cost.
    Agree(KeyPair, PublicKey),
    AwaitMark([u8; 20]),
    AwaitTorrent,
    AwaitOffer(Found),
    SkipPad(Found, Chosen),
    AwaitPayloadLen(Found, Chosen),
    AwaitPayload(Found, Chosen, Vec<u8>, usize),
    Ended,
}

/// The torrent, and the RC4 state of each direction.
struct Found {
    info_hash: InfoHash,
    incoming: Rc4,
    outgoing: Rc4,
}

#[derive(Clone, Copy)]
struct Chosen {
    offered: Methods,
    method: Method,
    crypto_pad: usize,
}

type Next = Result<Option<Status>, HandshakeError>;

impl<L: Lookup> Responder<L> {
    /// Begins to wait for an initiator, about any torrent of `lookup`.
    pub fn new(lookup: L, accept: Accept, draw: Draw) -> Self {
        let step = draw.key_step();
        Self {
            lookup,
            accept,
            crypto_pad: draw.crypto_pad(),
            group: draw.key.group(),
            output: None,
            inbox: Inbox::new(),
            state: ResponderState::AwaitKey(draw.key, step),
            secret: None,
            key_pad: 0,
        }
    }

    fn await_key(&mut self, key: KeyPair, step: Vec<u8>, input: &mut &[u8]) -> Next {
        if self.inbox.collected().len() < PREFIX.len() {
            match self.inbox.fill(input, PREFIX.len()) {
                Some(start) if *start == PREFIX => return Ok(Some(Status::Plain(start.to_vec()))),
                Some(_) => {}
                None => return self.wait(ResponderState::AwaitKey(key, step)),
            }
        }
        let Some(bytes) = self.inbox.fill(input, self.group.key_len()) else {
            return self.wait(ResponderState::AwaitKey(key, step));
        };
        let peer = PublicKey::parse(self.group, bytes)?;
        self.inbox.clear();
        self.output = Some(step);
        self.wait(ResponderState::Agree(key, peer))
    }

    fn agree(&mut self, key: KeyPair, peer: PublicKey, input: &[u8]) -> Next {
        if input.is_empty() {
            return self.wait(ResponderState::Agree(key, peer));
        }
        let secret = key.shared_secret(&peer)?;
        let mark = keys::req1(&secret);
        self.secret = Some(secret);
        self.go(ResponderState::AwaitMark(mark))
    }

    fn await_mark(&mut self, mark: [u8; 20], input: &mut &[u8]) -> Next {
        match self.inbox.seek(input, &mark) {
            Sought::After { pad } => {
                self.key_pad = pad;
                self.go(ResponderState::AwaitTorrent)
            }
            Sought::Never => Err(HandshakeError::NoSynchronisation),
            Sought::NotYet => self.wait(ResponderState::AwaitMark(mark)),
        }
    }

    fn await_torrent(&mut self, input: &mut &[u8]) -> Next {
        let Some(name) = self.inbox.take::<20>(input) else {
            return self.wait(ResponderState::AwaitTorrent);
        };
        let secret = self.secret.as_ref().ok_or(HandshakeError::Finished)?;
        let req2 = keys::covered(name, &keys::req3(secret));
        let info_hash = self.lookup.info_hash(&req2).ok_or(HandshakeError::UnknownInfoHash)?;
        let found = Found {
            info_hash,
            incoming: keys::rc4(Direction::FromInitiator, secret, &info_hash),
            outgoing: keys::rc4(Direction::FromResponder, secret, &info_hash),
        };
        self.go(ResponderState::AwaitOffer(found))
    }

    fn await_offer(&mut self, mut found: Found, input: &mut &[u8]) -> Next {
        let Some(mut fields) = self.inbox.take::<14>(input) else {
            return self.wait(ResponderState::AwaitOffer(found));
        };
        found.incoming.apply(&mut fields);
        let [vc @ .., o0, o1, o2, o3, p0, p1] = fields;
        if vc != VC {
            return Err(HandshakeError::VerificationFailed);
        }
        let provided = u32::from_be_bytes([o0, o1, o2, o3]);
        let offered = Methods::from_bits(provided);
        // Unknown bits fall away here: others may advertise methods of their own (mse §7.5).
        let method = offered
            .common(self.accept.methods)
            .choose(self.accept.preferred)
            .ok_or(HandshakeError::NoCommonMethod { provided })?;
        let crypto_pad = pad_len(u16::from_be_bytes([p0, p1]))?;
        self.go(ResponderState::SkipPad(found, Chosen { offered, method, crypto_pad }))
    }

    fn skip_pad(&mut self, mut found: Found, chosen: Chosen, input: &mut &[u8]) -> Next {
        if self.inbox.fill(input, chosen.crypto_pad).is_none() {
            return self.wait(ResponderState::SkipPad(found, chosen));
        }
        self.inbox.clear();
        found.incoming.skip(chosen.crypto_pad);
        self.go(ResponderState::AwaitPayloadLen(found, chosen))
    }

    fn await_payload_len(&mut self, mut found: Found, chosen: Chosen, input: &mut &[u8]) -> Next {
        let Some(mut len) = self.inbox.take::<2>(input) else {
            return self.wait(ResponderState::AwaitPayloadLen(found, chosen));
        };
        found.incoming.apply(&mut len);
        let announced = usize::from(u16::from_be_bytes(len));
        if announced > self.accept.initial_payload_max {
            return Err(HandshakeError::InitialPayloadTooLong { announced });
        }
        self.go(ResponderState::AwaitPayload(found, chosen, Vec::new(), announced))
    }

    /// Collects IA. It grows as its bytes come, not as they are announced.
    fn await_payload(
        &mut self,
        mut found: Found,
        chosen: Chosen,
        mut payload: Vec<u8>,
        len: usize,
        input: &mut &[u8],
    ) -> Next {
        let missing = len.saturating_sub(payload.len()).min(input.len());
        if let Some((head, rest)) = input.split_at_checked(missing) {
            payload.extend_from_slice(head);
            *input = rest;
            self.inbox.count(missing);
        }
        if payload.len() < len {
            return self.wait(ResponderState::AwaitPayload(found, chosen, payload, len));
        }
        found.incoming.apply(&mut payload);
        self.output = Some(self.crypto_step(&mut found.outgoing, chosen.method));
        self.establish(found, chosen, payload)
    }

    /// Step 4, in one piece.
    fn crypto_step(&self, outgoing: &mut Rc4, method: Method) -> Vec<u8> {
        let mut fields = Vec::with_capacity(14 + usize::from(self.crypto_pad));
        fields.extend_from_slice(&VC);
        fields.extend_from_slice(&method.bit().to_be_bytes());
        fields.extend_from_slice(&self.crypto_pad.to_be_bytes());
        fields.resize(fields.len() + usize::from(self.crypto_pad), 0);
        outgoing.apply(&mut fields);
        fields
    }

    fn establish(&mut self, found: Found, chosen: Chosen, initial_payload: Vec<u8>) -> Next {
        let Found { info_hash, incoming, outgoing } = found;
        let secret = self.secret.take().ok_or(HandshakeError::Finished)?;
        let cipher = |state, direction| keys::payload(chosen.method, state, direction, &secret, &info_hash);
        Ok(Some(Status::Established(Box::new(Established {
            info_hash,
            method: chosen.method,
            outgoing: cipher(outgoing, Direction::FromResponder),
            incoming: cipher(incoming, Direction::FromInitiator),
            initial_payload,
            offered: chosen.offered,
            key_pad: self.key_pad,
            crypto_pad: chosen.crypto_pad,
        }))))
    }

    /// Goes on to another state at once.
    #[expect(clippy::unnecessary_wraps, reason = "the shape every state returns")]
    fn go(&mut self, state: ResponderState) -> Next {
        self.state = state;
        Ok(None)
    }

    /// Stays in a state until there is more input.
    #[expect(clippy::unnecessary_wraps, reason = "the shape every state returns")]
    fn wait(&mut self, state: ResponderState) -> Next {
        self.state = state;
        Ok(Some(Status::Wait))
    }
}

impl<L: Lookup> Handshake for Responder<L> {
    fn poll_output(&mut self) -> Option<Vec<u8>> {
        self.output.take()
    }

    fn handle_input(&mut self, input: &mut &[u8]) -> Result<Status, HandshakeError> {
        loop {
            // A state that fails or ends leaves `Ended` behind.
            let next = match core::mem::replace(&mut self.state, ResponderState::Ended) {
                ResponderState::AwaitKey(key, step) => self.await_key(key, step, input),
                ResponderState::Agree(key, peer) => self.agree(key, peer, input),
                ResponderState::AwaitMark(mark) => self.await_mark(mark, input),
                ResponderState::AwaitTorrent => self.await_torrent(input),
                ResponderState::AwaitOffer(found) => self.await_offer(found, input),
                ResponderState::SkipPad(found, chosen) => self.skip_pad(found, chosen, input),
                ResponderState::AwaitPayloadLen(found, chosen) => {
                    self.await_payload_len(found, chosen, input)
                }
                ResponderState::AwaitPayload(found, chosen, payload, len) => {
                    self.await_payload(found, chosen, payload, len, input)
                }
                ResponderState::Ended => Err(HandshakeError::Finished),
            };
            if let Some(status) = next? {
                return Ok(status);
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            stage: match self.state {
                ResponderState::AwaitKey(..) => Stage::Key,
                ResponderState::Agree(..) | ResponderState::AwaitMark(_) => Stage::Mark,
                ResponderState::Ended => Stage::Finished,
                _ => Stage::Fields,
            },
            received: self.inbox.taken(),
            short_secret: self.secret.as_ref().is_some_and(SharedSecret::starts_with_zero),
            group: self.group,
        }
    }
}
