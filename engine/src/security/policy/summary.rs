//! Sealing in one line.

use alloc::sync::Arc;
use core::fmt;

use super::{Open, Policy, Trust};
use crate::security::TrustError;

/// What a library's user reads about sealing.
pub fn summary(trust: &Result<Arc<Trust>, TrustError>) -> String {
    let trust = match trust {
        Ok(trust) => trust,
        Err(error) => return format!("unusable: {error}"),
    };
    if let Err(error) = trust.check() {
        return format!("unusable: {error}");
    }
    let mut text = match (trust.policy(), trust.member()) {
        (Policy::Off, _) => String::from("off (streams are sent in the clear)"),
        (policy, Some(member)) => {
            format!("{} as {}", policy.word(), member.credentials().certificate().statement.name.as_str())
        }
        (_, None) => String::from("prefer, without a key (streams are sent in the clear)"),
    };
    if trust.policy() != Policy::Off {
        let discovery = match trust.open_search() {
            Open::Everything => "open",
            Open::Named(_) => "sealed but for named streams",
            Open::Nothing => "sealed",
        };
        fmt::Write::write_fmt(&mut text, format_args!(", discovery {discovery}")).unwrap_or_default();
    }
    for (name, policy) in trust.streams().iter() {
        fmt::Write::write_fmt(&mut text, format_args!(", {name} {}", policy.word())).unwrap_or_default();
    }
    text
}
