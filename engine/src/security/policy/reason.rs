//! Why something cannot be sealed, told to the log and to the thread that asked for it.

use alloc::sync::Arc;
use core::cell::Cell;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use schwann_session::Roles;

use super::{Policy, Terms, Trust};
use crate::lately::Lately;
use crate::security::journal;
use crate::security::keys::TrustError;
use crate::{Error, log};

/// The terms of a stream in whose connections this end has `role`; `own` is what the stream itself asks for.
///
/// - Errors: [`Error::Unsealed`] if it must be sealed and cannot be; the log says why.
pub(crate) fn terms(
    trust: Result<Arc<Trust>, TrustError>,
    stream: &str,
    own: Option<Policy>,
    role: Roles,
) -> Result<Terms, Error> {
    let terms = trust.and_then(|trust| trust.terms(stream, own, role));
    terms.map_err(|error| unsealed(&error))
}

/// Tells why something cannot be sealed although it has to be.
pub(crate) fn unsealed(error: &TrustError) -> Error {
    let reason = error.to_string();
    // Programs try again and again; one line each would bury all others.
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).is_new(reason.clone(), Instant::now()) {
        log::error!("{reason}");
        journal::unusable(&reason);
    }
    REASON.set(Some(reason));
    Error::Unsealed
}

/// Why this thread's last operation said [`Error::Unsealed`], and what mends it; empty if none did.
pub fn reason() -> String {
    let reason = REASON.take();
    REASON.set(reason.clone());
    reason.unwrap_or_default()
}

/// Reasons that were told, for the whole process.
static TOLD: Mutex<Lately<String>> = Mutex::new(Lately::new(Duration::from_secs(60)));

thread_local! {
    static REASON: Cell<Option<String>> = const { Cell::new(None) };
}
