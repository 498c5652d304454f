//! The two roles of a handshake as state machines: bytes in, bytes out.
//!
//! Before working here, read mse §4 (the steps) and §7 (what running clients taught).
//! Nothing here waits, draws or allocates for a stranger before the stranger has sent a valid public key.

mod inbox;
mod initiator;
mod responder;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use self::initiator::{Initiator, Offer};
pub use self::responder::{Accept, Responder};
use crate::cipher::Cipher;
use crate::dh::{Group, KeyPair};
use crate::error::HandshakeError;
use crate::method::{Method, Methods};
use crate::skey::InfoHash;

/// One side of a handshake, in either role.
pub trait Handshake {
    /// Takes the next step to send. Send it in one write: clients lose 40 ms or the stream on pieces.
    fn poll_output(&mut self) -> Option<Vec<u8>>;

    /// Takes what the peer sent, advancing `input` past what it used. If input is left over with
    /// [`Status::Wait`], send the output and then give that input again. A responder sends its key before
    /// it computes. Input left over with any other status belongs to the payload.
    ///
    /// - Errors: the connection is of no more use; [`Handshake::progress`] says how far it came.
    fn handle_input(&mut self, input: &mut &[u8]) -> Result<Status, HandshakeError>;

    /// How far the handshake is.
    fn progress(&self) -> Progress;
}

/// What a handshake has come to. Send any [`Handshake::poll_output`] before acting on it.
#[derive(Debug)]
pub enum Status {
    /// Both sides have keys and a method.
    Established(Box<Established>),
    /// The peer speaks plain BitTorrent. These are the bytes taken from it, to be handed on untouched.
    Plain(Vec<u8>),
    /// More input is needed.
    Wait,
}

/// A finished handshake.
#[derive(Debug)]
#[non_exhaustive]
pub struct Established {
    /// The torrent both peers mean. The BitTorrent handshake that follows must name the same.
    pub info_hash: InfoHash,
    /// What was selected.
    pub method: Method,
    /// For what we send.
    pub outgoing: Cipher,
    /// For what we receive.
    pub incoming: Cipher,
    /// The initiator's first payload, already in the clear; empty at the initiator.
    pub initial_payload: Vec<u8>,
    /// What the peer offered, at the responder; what we offered, at the initiator.
    pub offered: Methods,
    /// Length of the padding after the peer's public key, in bytes.
    pub key_pad: usize,
    /// Length of the padding inside the peer's encrypted step, in bytes.
    pub crypto_pad: usize,
}

/// How far a handshake came, for the decision what to try next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being waited for.
    pub stage: Stage,
    /// Bytes the peer has sent.
    pub received: usize,
    /// Whether the shared secret begins with a zero byte, which deployed peers get wrong.
    pub short_secret: bool,
    /// The group we compute in.
    pub group: Group,
}

/// What a handshake waits for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Stage {
    /// The peer's public key.
    Key,
    /// The mark that ends the padding after it.
    Mark,
    /// The encrypted fields.
    Fields,
    /// Nothing more.
    Finished,
}

/// Everything random in one side's handshake. Never use one twice.
#[derive(Debug)]
pub struct Draw {
    /// Our key pair.
    pub key: KeyPair,
    /// PadA or PadB: random bytes, at most [`PAD_MAX`]; what is longer is cut.
    pub key_pad: Vec<u8>,
    /// Length of PadC or PadD, at most [`PAD_MAX`]; the bytes themselves are zeros.
    pub crypto_pad: usize,
}

impl Draw {
    /// Draws from `fill`, which must write random bytes.
    pub fn random(group: Group, mut fill: impl FnMut(&mut [u8])) -> Self {
        let mut pad_len = || {
            let mut bytes = [0; 2];
            fill(&mut bytes);
            usize::from(u16::from_le_bytes(bytes)) % (PAD_MAX + 1)
        };
        let (key_pad, crypto_pad) = (pad_len(), pad_len());
        let mut key_pad = alloc::vec![0; key_pad];
        fill(&mut key_pad);
        Self { key: KeyPair::random(group, fill), key_pad, crypto_pad }
    }

    /// Draws from the operating system.
    ///
    /// - Errors: the system has no randomness to give; nothing can be done without.
    #[cfg(feature = "std")]
    pub fn system(group: Group) -> Result<Self, getrandom::Error> {
        let mut outcome = Ok(());
        let draw = Self::random(group, |out| {
            if let Err(error) = getrandom::fill(out) {
                outcome = Err(error);
            }
        });
        outcome.map(|()| draw)
    }

    /// Steps 1 and 2: the public key and its padding.
    fn key_step(&self) -> Vec<u8> {
        let pad = self.key_pad.get(..PAD_MAX).unwrap_or(&self.key_pad);
        [self.key.public_key(), pad].concat()
    }

    fn crypto_pad(&self) -> u16 {
        u16::try_from(self.crypto_pad.min(PAD_MAX)).unwrap_or_default()
    }
}

/// Refuses padding longer than the protocol permits.
fn pad_len(announced: u16) -> Result<usize, HandshakeError> {
    let announced = usize::from(announced);
    if announced > PAD_MAX {
        return Err(HandshakeError::PadTooLong { announced });
    }
    Ok(announced)
}

/// Eight zero bytes, the "verification constant" VC.
const VC: [u8; 8] = [0; 8];
/// The longest padding of any step, in bytes.
pub const PAD_MAX: usize = 512;
