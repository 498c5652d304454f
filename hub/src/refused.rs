//! What came from a hub and counts for nothing, in the security log.

use schwann::security::refused_from_hub;
use schwann_relay::Refused;
use schwann_session::Refusal;

/// Names it, unless a device said it before its revocation, or before its certificate ran out.
pub(crate) fn name(what: &str, stream: &str, why: Refused) {
    if !matches!(why, Refused::NotAdmitted(Refusal::Revoked | Refusal::Expired)) {
        refused_from_hub(what, stream, &why);
    }
}
