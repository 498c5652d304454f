//! Whether to obfuscate, when to try again, and what to remember of a peer (mse §6).

use alloc::collections::{BTreeMap, VecDeque};
use core::fmt;
use core::net::SocketAddr;

use crate::bittorrent::BtHandshake;
use crate::dh::Group;
use crate::error::HandshakeError;
use crate::handshake::{Accept, Offer, Progress, Stage};
use crate::method::{Method, Methods};

/// How much a client cares. The same words serve for connections in either direction.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// Plain first; MSE if the peer is known to want it or drops the plain attempt. Accepts either.
    Allowed,
    /// Never MSE, in either direction.
    Disabled,
    /// MSE first; plain, over a new connection, if the peer does not answer it. Accepts either.
    #[default]
    Preferred,
    /// MSE with an obfuscated payload, or nothing.
    Required,
}

impl Policy {
    /// Parses the names that commands and settings use.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "allowed" => Self::Allowed,
            "disabled" => Self::Disabled,
            "preferred" => Self::Preferred,
            "required" => Self::Required,
            _ => return None,
        })
    }

    /// Whether an incoming connection may begin as this attempt did.
    #[must_use]
    pub const fn accepts(self, attempt: Attempt) -> bool {
        match self {
            Self::Disabled => matches!(attempt, Attempt::Plain),
            Self::Required => matches!(attempt, Attempt::Mse),
            Self::Allowed | Self::Preferred => true,
        }
    }

    /// What to offer first: RC4 alone under every policy. Offering plaintext too makes most clients select it,
    /// and forbids the initial payload.
    #[must_use]
    pub fn offer(self, handshake: &BtHandshake) -> Offer {
        Offer::new(Methods::RC4, handshake.encode().to_vec())
    }

    /// What to accept: under [`Self::Required`] no plaintext.
    #[must_use]
    pub fn accept(self) -> Accept {
        match self {
            Self::Required => Accept::default(),
            _ => Accept::new(Methods::of(&[Method::Rc4, Method::Plaintext]), Method::Rc4),
        }
    }
}

/// A way to begin a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Attempt {
    /// With an MSE handshake.
    Mse,
    /// With an MSE handshake that leaves it to the peer whether the payload is obfuscated. Some peers take the handshake and want
    /// the payload in the clear.
    MseAnyPayload,
    /// With the plain BitTorrent handshake.
    Plain,
}

/// How a connection ended before it was of use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// The peer closed or reset the connection.
    Closed,
    /// The handshake could not go on.
    Handshake(HandshakeError),
    /// The peer answered in the clear.
    PlainPeer,
    /// The deadline passed.
    TimedOut,
}

/// A failed attempt: what happened, and how far it had come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// What ended it.
    pub cause: Cause,
    /// How far it was; `None` for a plain attempt.
    pub progress: Option<Progress>,
}

impl Failure {
    /// An MSE attempt that failed.
    #[must_use]
    pub const fn mse(cause: Cause, progress: Progress) -> Self {
        Self { cause, progress: Some(progress) }
    }

    /// A plain attempt that failed.
    #[must_use]
    pub const fn plain(cause: Cause) -> Self {
        Self { cause, progress: None }
    }

    /// Whether the peer never showed that it speaks MSE. Only then does it make sense to go plain. After a
    /// valid key the peer does speak MSE, and a plain attempt would only show what was being hidden.
    #[must_use]
    pub fn leaves_plain_open(&self) -> bool {
        match (self.cause, &self.progress) {
            (Cause::PlainPeer, _) => true,
            (Cause::Closed | Cause::TimedOut, Some(progress)) => progress.stage == Stage::Key,
            _ => false,
        }
    }

    /// Whether the peer speaks MSE and seems to have refused an obfuscated payload. It then left at our offer, or
    /// selected another method. A peer without the torrent looks the same.
    #[must_use]
    pub fn leaves_payload_open(&self) -> bool {
        let refused = match self.cause {
            Cause::Closed => true,
            Cause::Handshake(error) => matches!(error, HandshakeError::MethodNotOffered { .. }),
            Cause::PlainPeer | Cause::TimedOut => false,
        };
        refused && self.progress.is_some_and(|progress| progress.stage > Stage::Key)
    }

    /// Whether the same attempt with a fresh key may well succeed. This is so if the peer left after
    /// step 3 and the secret began with a zero byte (mse §7.12).
    #[must_use]
    pub fn asks_for_a_fresh_key(&self) -> bool {
        matches!(self.cause, Cause::Closed | Cause::TimedOut)
            && self.progress.is_some_and(|p| p.short_secret && p.stage > Stage::Key)
    }

    /// Whether this is what two peers configured for different groups see of each other.
    #[must_use]
    pub fn suggests_another_group(&self) -> bool {
        let Some(progress) = self.progress else { return false };
        let lost = !matches!(self.cause, Cause::PlainPeer)
            && matches!(progress.stage, Stage::Key | Stage::Mark | Stage::Finished);
        // A reset throws away what the peer sent before it: how much came then says nothing.
        let heard = progress.received >= Group::Mse768.key_len() || self.cause == Cause::Closed;
        progress.group == Group::Oakley1024
            && lost
            && heard
            && match self.cause {
                Cause::Handshake(error) => error == HandshakeError::NoSynchronisation,
                _ => true,
            }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            Cause::Closed => f.write_str("the peer closed the connection")?,
            Cause::Handshake(error) => error.fmt(f)?,
            Cause::PlainPeer => f.write_str("the peer speaks plain BitTorrent only")?,
            Cause::TimedOut => f.write_str("the peer did not answer in time")?,
        }
        if self.cause == Cause::Closed && self.leaves_payload_open() {
            f.write_str(" at our offer: it wants the payload in the clear, or has not this torrent")?;
        }
        if self.suggests_another_group() {
            f.write_str("; this end is configured for the 1,024-bit group, the peer seems not to be")?;
        }
        Ok(())
    }
}

impl core::error::Error for Failure {}

/// The attempts to reach one peer. Each is a new connection: the peer has read the last one's bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dialling {
    policy: Policy,
    attempt: Attempt,
    /// Going from MSE to plain, or back, is still open.
    other_left: bool,
    /// Leaving the payload to the peer is still open.
    any_payload_left: bool,
    fresh_key_left: bool,
}

impl Dialling {
    /// Begins with what the policy and earlier experience say.
    #[must_use]
    pub fn new(policy: Policy, remembered: Option<Attempt>) -> Self {
        let (attempt, other_left) = match policy {
            Policy::Disabled => (Attempt::Plain, false),
            Policy::Required => (Attempt::Mse, false),
            Policy::Allowed => (remembered.unwrap_or(Attempt::Plain), true),
            Policy::Preferred => (remembered.unwrap_or(Attempt::Mse), true),
        };
        let any_payload_left = other_left && attempt != Attempt::MseAnyPayload;
        Self { policy, attempt, other_left, any_payload_left, fresh_key_left: true }
    }

    /// How to begin the next connection.
    #[must_use]
    pub const fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// What to do after a failure: dial again as the result says, or give up.
    #[must_use]
    pub fn after(mut self, failure: &Failure) -> Option<Self> {
        if self.fresh_key_left && failure.asks_for_a_fresh_key() {
            self.fresh_key_left = false;
            return Some(self);
        }
        self.attempt = match self.attempt {
            Attempt::Mse if self.any_payload_left && failure.leaves_payload_open() => {
                self.any_payload_left = false;
                return Some(Self { attempt: Attempt::MseAnyPayload, ..self });
            }
            Attempt::Mse | Attempt::MseAnyPayload if self.other_left && failure.leaves_plain_open() => {
                Attempt::Plain
            }
            // A peer that dropped the plain attempt may require MSE.
            Attempt::Plain if self.other_left => Attempt::Mse,
            _ => return None,
        };
        self.other_left = false;
        Some(self)
    }
}

/// Which attempt worked with which peer. Bounded: the peer seen first is forgotten first.
#[derive(Clone, Debug)]
pub struct PeerMemory {
    worked: BTreeMap<SocketAddr, Attempt>,
    order: VecDeque<SocketAddr>,
    capacity: usize,
}

impl PeerMemory {
    /// Remembers `capacity` peers at most.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { worked: BTreeMap::new(), order: VecDeque::new(), capacity }
    }

    /// Notes that `attempt` reached the peer.
    pub fn note(&mut self, peer: SocketAddr, attempt: Attempt) {
        if self.capacity == 0 {
            return;
        }
        if self.worked.insert(peer, attempt).is_some() {
            return;
        }
        if self.order.len() == self.capacity {
            let oldest = self.order.pop_front();
            oldest.and_then(|oldest| self.worked.remove(&oldest));
        }
        self.order.push_back(peer);
    }

    /// What worked with the peer.
    #[must_use]
    pub fn recall(&self, peer: &SocketAddr) -> Option<Attempt> {
        self.worked.get(peer).copied()
    }
}

#[cfg(test)]
mod tests;
