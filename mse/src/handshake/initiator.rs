//! The side that dials.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::inbox::{Inbox, Sought};
use super::{Draw, Established, Handshake, Progress, Stage, Status, VC, pad_len};
use crate::bittorrent::PREFIX;
use crate::cipher::Rc4;
use crate::dh::{Group, KeyPair, PublicKey, SharedSecret};
use crate::error::HandshakeError;
use crate::keys::{self, Direction};
use crate::method::{Method, Methods};
use crate::skey::InfoHash;

/// What an initiator offers.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Offer {
    /// The methods offered. With [`Method::Plaintext`] among them most clients select it.
    pub methods: Methods,
    /// Sent along with step 3, always under RC4: at most 68 bytes for clients in general. Empty if
    /// plaintext is offered, which Transmission 3.x gets wrong (mse §6, §7.2).
    pub initial_payload: Vec<u8>,
}

impl Offer {
    /// Offers `methods`, and sends `initial_payload` along.
    #[must_use]
    pub fn new(methods: Methods, initial_payload: Vec<u8>) -> Self {
        Self { methods, initial_payload }
    }
}

/// RC4 or nothing, no initial payload.
impl Default for Offer {
    fn default() -> Self {
        Self::new(Methods::RC4, Vec::new())
    }
}

/// The initiator's side of a handshake. See the crate's page for the drive loop.
pub struct Initiator {
    info_hash: InfoHash,
    offer: Offer,
    crypto_pad: u16,
    group: Group,
    output: Option<Vec<u8>>,
    inbox: Inbox,
    state: InitiatorState,
    secret: Option<SharedSecret>,
    key_pad: usize,
}

enum InitiatorState {
    AwaitKey(KeyPair),
    AwaitMark(Ciphers, [u8; 8]),
    AwaitSelect(Ciphers),
    SkipPad(Ciphers, Method, usize),
    Ended,
}

type Next = Result<Option<Status>, HandshakeError>;

/// The RC4 state of each direction, which the handshake's fields go through.
struct Ciphers {
    outgoing: Rc4,
    incoming: Rc4,
}

impl Initiator {
    /// Begins a handshake about one torrent.
    ///
    /// - Errors: [`HandshakeError::InitialPayloadTooLong`] if it does not fit its 16-bit length.
    pub fn new(info_hash: InfoHash, offer: Offer, draw: Draw) -> Result<Self, HandshakeError> {
        let announced = offer.initial_payload.len();
        if announced > usize::from(u16::MAX) {
            return Err(HandshakeError::InitialPayloadTooLong { announced });
        }
        Ok(Self {
            info_hash,
            offer,
            crypto_pad: draw.crypto_pad(),
            group: draw.key.group(),
            output: Some(draw.key_step()),
            inbox: Inbox::new(),
            state: InitiatorState::AwaitKey(draw.key),
            secret: None,
            key_pad: 0,
        })
    }

    fn await_key(&mut self, key: KeyPair, input: &mut &[u8]) -> Next {
        if self.inbox.collected().len() < PREFIX.len() {
            match self.inbox.fill(input, PREFIX.len()) {
                Some(start) if *start == PREFIX => return Ok(Some(Status::Plain(start.to_vec()))),
                Some(_) => {}
                None => return self.wait(InitiatorState::AwaitKey(key)),
            }
        }
        let Some(bytes) = self.inbox.fill(input, self.group.key_len()) else {
            return self.wait(InitiatorState::AwaitKey(key));
        };
        let secret = key.shared_secret(&PublicKey::parse(self.group, bytes)?)?;
        self.inbox.clear();
        let mut ciphers = Ciphers {
            outgoing: keys::rc4(Direction::FromInitiator, &secret, &self.info_hash),
            incoming: keys::rc4(Direction::FromResponder, &secret, &self.info_hash),
        };
        self.output = Some(self.crypto_step(&mut ciphers.outgoing, &secret));
        let mut mark = VC;
        ciphers.incoming.apply(&mut mark);
        self.secret = Some(secret);
        self.go(InitiatorState::AwaitMark(ciphers, mark))
    }

    /// Step 3, in one piece.
    fn crypto_step(&self, outgoing: &mut Rc4, secret: &SharedSecret) -> Vec<u8> {
        let payload = &self.offer.initial_payload;
        let payload_len = u16::try_from(payload.len()).unwrap_or_default();
        let mut fields = Vec::with_capacity(16 + usize::from(self.crypto_pad) + payload.len());
        fields.extend_from_slice(&VC);
        fields.extend_from_slice(&self.offer.methods.bits().to_be_bytes());
        fields.extend_from_slice(&self.crypto_pad.to_be_bytes());
        fields.resize(fields.len() + usize::from(self.crypto_pad), 0);
        fields.extend_from_slice(&payload_len.to_be_bytes());
        fields.extend_from_slice(payload);
        outgoing.apply(&mut fields);
        let name = keys::covered(keys::req2(&self.info_hash), &keys::req3(secret));
        [&keys::req1(secret)[..], &name, &fields].concat()
    }

    fn await_mark(&mut self, ciphers: Ciphers, mark: [u8; 8], input: &mut &[u8]) -> Next {
        match self.inbox.seek(input, &mark) {
            Sought::After { pad } => {
                self.key_pad = pad;
                self.go(InitiatorState::AwaitSelect(ciphers))
            }
            Sought::Never => Err(HandshakeError::NoSynchronisation),
            Sought::NotYet => self.wait(InitiatorState::AwaitMark(ciphers, mark)),
        }
    }

    fn await_select(&mut self, mut ciphers: Ciphers, input: &mut &[u8]) -> Next {
        let Some(mut fields) = self.inbox.take::<6>(input) else {
            return self.wait(InitiatorState::AwaitSelect(ciphers));
        };
        ciphers.incoming.apply(&mut fields);
        let [s0, s1, s2, s3, p0, p1] = fields;
        let selected = u32::from_be_bytes([s0, s1, s2, s3]);
        // Exactly one bit, known to us and offered: everything else is refused (mse §7.6).
        let method = Method::from_bit(selected)
            .filter(|&method| self.offer.methods.contains(method))
            .ok_or(HandshakeError::MethodNotOffered { selected })?;
        let pad = pad_len(u16::from_be_bytes([p0, p1]))?;
        self.go(InitiatorState::SkipPad(ciphers, method, pad))
    }

    fn skip_pad(&mut self, mut ciphers: Ciphers, method: Method, pad: usize, input: &mut &[u8]) -> Next {
        if self.inbox.fill(input, pad).is_none() {
            return self.wait(InitiatorState::SkipPad(ciphers, method, pad));
        }
        ciphers.incoming.skip(pad);
        let secret = self.secret.take().ok_or(HandshakeError::Finished)?;
        let cipher = |state, direction| keys::payload(method, state, direction, &secret, &self.info_hash);
        Ok(Some(Status::Established(Box::new(Established {
            info_hash: self.info_hash,
            method,
            outgoing: cipher(ciphers.outgoing, Direction::FromInitiator),
            incoming: cipher(ciphers.incoming, Direction::FromResponder),
            initial_payload: Vec::new(),
            offered: self.offer.methods,
            key_pad: self.key_pad,
            crypto_pad: pad,
        }))))
    }

    /// Goes on to another state at once.
    #[expect(clippy::unnecessary_wraps, reason = "the shape every state returns")]
    fn go(&mut self, state: InitiatorState) -> Next {
        self.state = state;
        Ok(None)
    }

    /// Stays in a state until there is more input.
    #[expect(clippy::unnecessary_wraps, reason = "the shape every state returns")]
    fn wait(&mut self, state: InitiatorState) -> Next {
        self.state = state;
        Ok(Some(Status::Wait))
    }
}

impl Handshake for Initiator {
    fn poll_output(&mut self) -> Option<Vec<u8>> {
        self.output.take()
    }

    fn handle_input(&mut self, input: &mut &[u8]) -> Result<Status, HandshakeError> {
        loop {
            // A state that fails or ends leaves `Ended` behind.
            let next = match core::mem::replace(&mut self.state, InitiatorState::Ended) {
                InitiatorState::AwaitKey(key) => self.await_key(key, input),
                InitiatorState::AwaitMark(ciphers, mark) => self.await_mark(ciphers, mark, input),
                InitiatorState::AwaitSelect(ciphers) => self.await_select(ciphers, input),
                InitiatorState::SkipPad(ciphers, method, pad) => self.skip_pad(ciphers, method, pad, input),
                InitiatorState::Ended => Err(HandshakeError::Finished),
            };
            if let Some(status) = next? {
                return Ok(status);
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            stage: match self.state {
                InitiatorState::AwaitKey(_) => Stage::Key,
                InitiatorState::AwaitMark(..) => Stage::Mark,
                InitiatorState::AwaitSelect(_) | InitiatorState::SkipPad(..) => Stage::Fields,
                InitiatorState::Ended => Stage::Finished,
            },
            received: self.inbox.taken(),
            short_secret: self.secret.as_ref().is_some_and(SharedSecret::starts_with_zero),
            group: self.group,
        }
    }
}
