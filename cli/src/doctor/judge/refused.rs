//! The command that mends a refusal, as far as one command does.

use schwann::security::keys::store::{self, AUTHORITY};
use schwann::security::{Refusal, TrustError};
use schwann_recorder::words::quoted;

use crate::doctor::facts::Facts;

/// What mends that a peer and this computer have no session.
pub(super) fn mending(refusal: Refusal, facts: &Facts) -> String {
    if let Some(error) = &facts.unsealed {
        return mending_own(error);
    }
    match refusal {
        Refusal::MembersOnly | Refusal::NoKeys => JOIN.to_owned(),
        Refusal::PlainPeer => {
            "on that computer: schwann keys join    # or there, for an old device: schwann gateway".to_owned()
        }
        Refusal::Revoked | Refusal::WrongDevice => {
            "on the lab's computer: schwann keys issued    # which device is out, and which is whose"
                .to_owned()
        }
        Refusal::Expired => "on that computer: schwann keys join    # its certificate has expired".to_owned(),
        _ => "schwann keys status    # here and there; compare the lines lab and revoked".to_owned(),
    }
}

/// What mends that this computer can seal nothing.
pub(super) fn mending_own(error: &TrustError) -> String {
    let folder = store::folder();
    match error {
        TrustError::Locked(_) => "schwann keys unlock".to_owned(),
        TrustError::NoKey(_) | TrustError::Certificate(Refusal::Expired) => JOIN.to_owned(),
        TrustError::Certificate(Refusal::Revoked) if folder.join(AUTHORITY).exists() => {
            "schwann keys rotate".to_owned()
        }
        TrustError::Certificate(Refusal::Revoked) => {
            let folder = folder.display().to_string();
            format!(
                "mv {} {}    # then: schwann keys join",
                quoted(&folder),
                quoted(&format!("{folder}.revoked"))
            )
        }
        _ => "schwann keys status".to_owned(),
    }
}

const JOIN: &str = "schwann keys join    # takes the words of `schwann keys invite` on the lab's computer";
