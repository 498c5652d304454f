//! Which key an end of a tunnel has, kept up to date.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use schwann::Config;
use schwann::trust::{Member, Trust, TrustError, store};
use schwann_session::Roles;

use crate::exit::Problem;

/// This device's membership in the lab, read again when the list of revoked devices changes.
pub(super) struct Keys {
    config: Arc<Config>,
    role: Roles,
    read: Mutex<(Arc<Trust>, Option<SystemTime>)>,
}

impl Keys {
    /// Reads the keys, which must permit `role`. A tunnel is never plain, whatever the policy for streams is.
    ///
    /// - Errors: there is no key that can be used; the text says what to do.
    pub(super) fn load(config: Arc<Config>, role: Roles) -> Result<Self, Problem> {
        let changed = revoked_at();
        let trust = Arc::new(store::load(&config).map_err(no_key)?);
        let keys = Self { config, role, read: Mutex::new((trust, changed)) };
        let trust = keys.trust();
        member(&trust).map_err(no_key)?.check(role).map_err(no_key)?;
        Ok(keys)
    }

    /// The keys as they are now.
    pub(super) fn trust(&self) -> Arc<Trust> {
        let changed = revoked_at();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.1 != changed {
            match store::load(&self.config) {
                Ok(trust) if member(&trust).is_ok_and(|member| member.check(self.role).is_ok()) => {
                    *read = (Arc::new(trust), changed);
                }
                // Half written, or out: what was read before stays in force until it can be read.
                Ok(_) => eprintln!("schwann: the keys changed and cannot be used; run `schwann keys status`"),
                Err(error) => eprintln!("schwann: the keys changed and cannot be read: {error}"),
            }
        }
        Arc::clone(&read.0)
    }
}

/// The membership of a trust that was loaded.
pub(super) fn member(trust: &Trust) -> Result<&Member, TrustError> {
    trust.member().map(Arc::as_ref).ok_or_else(|| TrustError::NoKey(store::folder()))
}

fn revoked_at() -> Option<SystemTime> {
    std::fs::metadata(store::folder().join(store::REVOKED)).and_then(|file| file.modified()).ok()
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
