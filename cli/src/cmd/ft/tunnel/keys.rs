//! Which key an end of a tunnel has, and the lab's newest list of revoked devices.

use std::sync::Arc;

use schwann::Context;
use schwann::security::keys::store;
use schwann::security::{Member, Trust, TrustError};
use schwann_session::Roles;

use super::sealed::Sealed;
use super::warden::Warden;
use crate::exit::Problem;

/// This device's membership in the lab, and what holds its sessions against the lab's lists.
pub(super) struct Keys {
    member: Arc<Member>,
    warden: Arc<Warden>,
}

impl Keys {
    /// Reads the keys, which must permit `role`. A tunnel is never plain, under any policy for streams.
    ///
    /// - Errors: there is no key that can be used; the text says what to do.
    pub(super) fn load(context: &Context, role: Roles) -> Result<Self, Problem> {
        let trust = context.trust().map_err(no_key)?;
        let member = member(&trust).map_err(no_key)?;
        member.check(role).map_err(no_key)?;
        let warden = Warden::start(Arc::clone(&member)).map_err(|error| Problem::with("tunnel", error))?;
        Ok(Self { member, warden })
    }

    /// The membership, with the list that is on disk now.
    pub(super) fn member(&self) -> &Arc<Member> {
        self.member.look();
        &self.member
    }

    /// Ends this session once its device is revoked, and keeps the other end informed.
    pub(super) fn look_after(&self, session: &Arc<Sealed>) {
        self.warden.look_after(session);
    }
}

fn member(trust: &Trust) -> Result<Arc<Member>, TrustError> {
    trust.member().cloned().ok_or_else(|| TrustError::NoKey(store::folder()))
}

fn no_key(error: TrustError) -> Problem {
    let is_off = store::folder().join(store::DEVICE_KEY).exists();
    Problem::Failed(match error {
        TrustError::NoKey(_) if is_off => {
            String::from("sealing is switched off; run the command again with SCHWANN_SECURITY=require")
        }
        error => format!("a tunnel is always sealed: {error}"),
    })
}
