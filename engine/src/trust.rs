//! Whom this process is, whom it talks to, and whether anything may go in the clear.
//!
//! A [`Trust`] is made from the `[security]` section of the configuration, the environment and the keys
//! on disk. Outlets and inlets ask it for one thing: with what to seal a connection. What cannot
//! be read never opens anything up: with keys installed, a policy that does not parse means `require`.
//!
//! Source: spec: secure-session §6.

use core::fmt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_session::{
    ClassicSuite, Context, Credentials, Lab, Refusal, RevocationList, Roles, SystemEntropy, UnixSeconds,
};

pub mod store;

/// What may go in the clear.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Policy {
    /// Everything: plain LSL, as the original library.
    #[default]
    Off,
    /// Sealed with members of the lab, plain with others.
    Prefer,
    /// Nothing: who does not seal is refused.
    Require,
}

/// This process's membership in a lab.
pub struct Member {
    lab: Lab,
    credentials: Credentials,
    revoked: RevocationList<Vec<u8>>,
}

/// The policy in force, and the membership that it rests on.
pub struct Trust {
    policy: Policy,
    member: Option<Member>,
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
            Self::Certificate(refusal) => write!(
                out,
                "this device's certificate would be refused ({refusal}); renew it with `schwann keys issue`"
            ),
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

impl Member {
    /// Joins what a device needs to prove itself and to check others.
    pub fn new(lab: Lab, credentials: Credentials, revoked: RevocationList<Vec<u8>>) -> Self {
        Self { lab, credentials, revoked }
    }

    /// The lab.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// What this device proves itself with.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Runs one step of a handshake with everything that it needs.
    pub fn with_context<R>(&self, step: impl FnOnce(&mut Context<'_>) -> R) -> R {
        step(&mut Context {
            classic: ClassicSuite::Certified,
            credentials: &self.credentials,
            entropy: &mut SystemEntropy,
            lab: &self.lab,
            now: now(),
            revoked: self.revoked.view(),
        })
    }

    /// Checks that other members would accept this device in `role`.
    ///
    /// - Errors: why they would refuse it.
    pub fn check(&self, role: Roles) -> Result<(), TrustError> {
        let checked = self.credentials.check(&self.lab, &self.revoked, role, now());
        checked.map_err(TrustError::Certificate)
    }
}

impl Trust {
    /// A trust that was not read from disk.
    pub fn new(policy: Policy, member: Option<Member>) -> Self {
        Self { policy, member }
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// This process's membership, if there is one.
    pub fn member(&self) -> Option<&Member> {
        self.member.as_ref()
    }

    /// The membership to seal connections with in `role`; nothing if they are plain.
    ///
    /// - Errors: why they cannot be sealed although the policy demands it.
    pub(crate) fn sealing(&self, role: Roles) -> Result<Option<&Member>, TrustError> {
        let checked = match (&self.member, self.policy) {
            (_, Policy::Off) => return Ok(None),
            (Some(member), _) => member.check(role).map(|()| Some(member)),
            (None, Policy::Prefer) => Ok(None),
            (None, Policy::Require) => Err(TrustError::NoKey(store::folder())),
        };
        match checked {
            Err(error) if self.policy == Policy::Prefer => {
                crate::log::warning!("streams are sent in the clear: {error}");
                Ok(None)
            }
            other => other,
        }
    }
}

/// Seconds since 1970, for certificates.
fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
