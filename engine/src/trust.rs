//! Whom this process is, whom it talks to, and whether anything may go in the clear.
//!
//! A [`Trust`] is made from the `[security]` section of the configuration, the environment and the keys
//! on disk. Outlets, inlets and searches ask it for one thing: the `Terms` of a stream. What cannot
//! be read never opens anything up: with keys installed, a policy that does not parse means `require`.
//!
//! Source: spec: secure-session §6.

use alloc::sync::Arc;
use core::fmt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_session::{Refusal, Roles, UnixSeconds};

mod files;
mod member;
mod peer;
mod permissions;
mod secrecy;
pub(crate) mod settings;
pub mod store;
mod streams;
#[cfg(test)]
mod tests;
pub(crate) mod update;

pub use self::files::{install as install_list, replace as replace_list};
pub(crate) use self::member::DiscoverySecret;
pub use self::member::{Member, UpdateError, Watcher};
pub use self::peer::Peer;
pub use self::permissions::weaknesses;
pub use self::secrecy::{forbid_dumps, keep_from_swap, keep_stack_from_swap};
pub use self::streams::StreamPolicies;
pub(crate) use self::streams::of_description;
pub use self::update::Assembly;

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
pub struct Trust {
    policy: Policy,
    streams: StreamPolicies,
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
    /// Those with these names, and nothing of the query is told but the names.
    Named(Vec<String>),
    /// None.
    Nothing,
}

/// Why connections cannot be sealed although they have to be.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TrustError {
    /// The certificate would be refused by every member.
    Certificate(Refusal),
    /// A file of the key folder cannot be used; the text says why and what to do.
    File(PathBuf, String),
    /// The key is protected by a passphrase that was not given.
    Locked(PathBuf),
    /// Sealing is required, and there is no key.
    NoKey(PathBuf),
}

impl fmt::Display for TrustError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(refusal) => {
                let explained = crate::security::Explained(*refusal);
                write!(out, "this device's certificate would be refused: {explained}")
            }
            Self::File(path, reason) => write!(out, "{}: {reason}", path.display()),
            Self::Locked(path) => write!(
                out,
                "the key in {} is locked; run `schwann keys unlock`, or set SCHWANN_PASSPHRASE",
                path.display()
            ),
            Self::NoKey(folder) => write!(
                out,
                "sealing is required, but there is no key in {}; run `schwann keys init` or \
                 `schwann keys import`",
                folder.display()
            ),
        }
    }
}

impl core::error::Error for TrustError {}

impl Policy {
    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Prefer => "prefer",
            Self::Require => "require",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Off, Self::Prefer, Self::Require].into_iter().find(|policy| policy.word() == word)
    }
}

impl Trust {
    /// A trust that was not read from disk.
    pub fn new(policy: Policy, member: Option<Member>) -> Self {
        Self { policy, streams: StreamPolicies::default(), member: member.map(Arc::new) }
    }

    /// The same with policies for single streams.
    #[must_use]
    pub fn with_streams(self, streams: StreamPolicies) -> Self {
        Self { streams, ..self }
    }

    /// The policy of streams that have none of their own.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The policy of the stream with this name.
    pub fn policy_for(&self, stream: &str) -> Policy {
        self.streams.of_stream(stream).unwrap_or(self.policy)
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

    /// The terms of a stream in whose connections this end has `role`. `own` is what the stream itself asks
    /// for; it may only be stricter.
    ///
    /// - Errors: why the stream cannot be sealed although it has to be.
    pub(crate) fn terms(&self, stream: &str, own: Option<Policy>, role: Roles) -> Result<Terms, TrustError> {
        let policy = self.policy_for(stream).max(own.unwrap_or_default());
        let plain = || Terms { policy, sealing: None, finding: self.member.clone() };
        let checked = match (&self.member, policy) {
            (_, Policy::Off) => return Ok(plain()),
            (Some(member), _) => member.check(role).map(|()| member),
            (None, Policy::Prefer) => return Ok(plain()),
            (None, Policy::Require) => Err(TrustError::NoKey(store::folder())),
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
        let names: Vec<String> = self.streams.plain().map(str::to_owned).collect();
        match self.policy {
            Policy::Off | Policy::Prefer => Open::Everything,
            Policy::Require if names.is_empty() => Open::Nothing,
            Policy::Require => Open::Named(names),
        }
    }
}

/// Seconds since 1970, for certificates and sealed queries.
pub(crate) fn wall_clock() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
