//! This process's identity, its peers, and whether anything may go in the clear.
//!
//! A [`Trust`] is made from the `[security]` section of the configuration, the environment and the keys
//! on disk. Outlets, inlets and searches ask it for one thing: the `Terms` of a stream. What cannot
//! be read never opens anything up: with keys installed, a policy that does not parse means `require`.
//!
//! Source: secure-session §6.

use alloc::sync::Arc;

use schwann_proto::stream_info::StreamInfo;
use schwann_session::Roles;

use super::keys::{self, Member, TrustError};

mod admitted;
mod load;
mod log;
mod pins;
mod reason;
pub(crate) mod settings;
mod streams;
mod summary;

pub use self::admitted::Admitted;
pub(crate) use self::load::load;
pub(crate) use self::log::open_log;
pub use self::pins::{Pin, Pins};
pub use self::reason::reason;
pub(crate) use self::reason::{receiving, sending, unsealed};
pub use self::streams::StreamPolicies;
pub use self::summary::{expires_in_days, summary};

/// What may go in the clear; a later one is stricter.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Policy {
    /// Everything: plain LSL, as the original library.
    #[default]
    Off,
    /// Sealed with members of the lab, plain with others.
    Prefer,
    /// Nothing: who does not seal is refused.
    Require,
}

/// The policies in force, and the membership that they rest on.
#[derive(Clone)]
pub struct Trust {
    policy: Policy,
    streams: StreamPolicies,
    admitted: Admitted,
    pins: Pins,
    member: Option<Arc<Member>>,
}

/// How one stream travels.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) policy: Policy,
    /// With what its connections are sealed; nothing if they are plain.
    pub(crate) sealing: Option<Arc<Member>>,
    /// With what it is found by members; also where its connections are plain.
    pub(crate) finding: Option<Arc<Member>>,
}

/// Which streams are asked for in the clear.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Open {
    /// All.
    Everything,
    /// Those that fulfil this condition, and nothing else of the query is told.
    Fulfilling(String),
    /// None.
    Nothing,
}

impl Policy {
    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Prefer => "prefer",
            Self::Require => "require",
        }
    }

    /// The policy that this word of the configuration names.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Off, Self::Prefer, Self::Require].into_iter().find(|policy| policy.word() == word)
    }
}

impl Trust {
    /// A trust that was not read from disk.
    pub fn new(policy: Policy, member: Option<Member>) -> Self {
        let (streams, admitted, pins) = Default::default();
        Self { policy, streams, admitted, pins, member: member.map(Arc::new) }
    }

    /// The same with policies for single streams.
    #[must_use]
    pub fn with_streams(self, streams: StreamPolicies) -> Self {
        Self { streams, ..self }
    }

    /// The same, where some streams of others may come in the clear.
    #[must_use]
    pub fn with_admitted(self, admitted: Admitted) -> Self {
        Self { admitted, ..self }
    }

    /// The same with streams that come from one device alone.
    #[must_use]
    pub fn with_pins(self, pins: Pins) -> Self {
        Self { pins, ..self }
    }

    /// The policy of streams that have none of their own.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The policy of this computer's own stream with this name.
    pub fn policy_for(&self, stream: &str) -> Policy {
        self.streams.of_stream(stream).unwrap_or(self.policy)
    }

    /// The policy of a stream that another program sends.
    pub fn policy_of_received(&self, info: &StreamInfo) -> Policy {
        if self.pins.concern(info) {
            return Policy::Require;
        }
        match self.streams.of_stream(&info.name().to_string_lossy()) {
            Some(policy) => policy,
            None if self.admitted.admits(info) => self.policy.min(Policy::Prefer),
            None => self.policy,
        }
    }

    /// Which streams of others may come in the clear although the policy is [`Policy::Require`].
    pub fn admitted(&self) -> &Admitted {
        &self.admitted
    }

    /// Which streams come from one device alone.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// The policies of single streams.
    pub fn streams(&self) -> &StreamPolicies {
        &self.streams
    }

    /// This process's membership, if there is one.
    pub fn member(&self) -> Option<&Arc<Member>> {
        self.member.as_ref()
    }

    /// Checks that other members would accept this device in what its certificate is for, if streams must be sealed.
    ///
    /// - Errors: why they would refuse it.
    pub fn check(&self) -> Result<(), TrustError> {
        match self.member.as_ref().filter(|_| self.policy == Policy::Require) {
            Some(member) => member.check(member.credentials().certificate().statement.roles),
            None => Ok(()),
        }
    }

    /// The terms of a stream with this policy, if this end has `role` in its connections.
    ///
    /// - Errors: why the stream cannot be sealed although it has to be.
    fn terms(&self, stream: &str, policy: Policy, role: Roles) -> Result<Terms, TrustError> {
        let plain = || Terms { policy, sealing: None, finding: self.member.clone() };
        let checked = match (&self.member, policy) {
            (_, Policy::Off) => return Ok(plain()),
            (Some(member), _) => member.check(role).map(|()| member),
            (None, Policy::Prefer) => return Ok(plain()),
            (None, Policy::Require) => Err(TrustError::NoKey(keys::store::folder())),
        };
        match checked {
            Ok(member) => {
                Ok(Terms { policy, sealing: Some(Arc::clone(member)), finding: Some(Arc::clone(member)) })
            }
            Err(error) if policy == Policy::Prefer => {
                crate::log::warning!("{stream} travels in the clear: {error}");
                Ok(plain())
            }
            Err(error) => Err(error),
        }
    }

    /// Which streams are looked for in the clear, besides sealed queries.
    pub(crate) fn open_search(&self) -> Open {
        if self.policy != Policy::Require {
            return Open::Everything;
        }
        match (self.streams.plain_condition(), self.admitted.condition()) {
            (None, None) => Open::Nothing,
            (Some(condition), None) => Open::Fulfilling(condition),
            (None, Some(condition)) => Open::Fulfilling(condition.to_owned()),
            (Some(named), Some(admitted)) => Open::Fulfilling(format!("({named}) or ({admitted})")),
        }
    }
}
