//! Why something cannot be sealed, told to the log and to the thread that asked for it.

use alloc::sync::Arc;
use core::cell::Cell;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use schwann_proto::stream_info::StreamInfo;
use schwann_session::Roles;

use super::{Terms, Trust, streams};
use crate::lately::Lately;
use crate::security::journal;
use crate::security::keys::TrustError;
use crate::{Error, log};

/// The terms of a stream of this computer's own. What its description asks for may only be stricter.
///
/// - Errors: [`Error::Unsealed`] if it must be sealed and cannot be; the log says why.
pub(crate) fn sending(trust: Result<Arc<Trust>, TrustError>, info: &StreamInfo) -> Result<Terms, Error> {
    let name = info.name().to_string();
    let own = streams::of_description(info).unwrap_or_default();
    let terms = trust.and_then(|trust| trust.terms(&name, trust.policy_for(&name).max(own), Roles::PUBLISH));
    terms.map_err(|error| unsealed(&error))
}

/// The terms of a stream that another program sends.
///
/// - Errors: [`Error::Unsealed`] if it must be sealed and cannot be; the log says why.
pub(crate) fn receiving(trust: Result<Arc<Trust>, TrustError>, info: &StreamInfo) -> Result<Terms, Error> {
    let name = info.name().to_string();
    let terms = trust.and_then(|trust| trust.terms(&name, trust.policy_of_received(info), Roles::SUBSCRIBE));
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
