//! Sealing in one line.

use alloc::sync::Arc;
use core::fmt;

use super::{Open, Policy, Trust};
use crate::security::TrustError;
use crate::time::wall_clock;

use schwann_session::renewal;

/// Whole days until this device's certificate expires; none while that is more than 30 days ahead.
pub fn expires_in_days(trust: &Trust) -> Option<u64> {
    let until = trust.member()?.credentials().certificate().statement.not_after.0;
    let left = until.checked_sub(wall_clock().0)?;
    (left <= renewal::AHEAD).then_some(left / 86_400)
}

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
    if let Some(days) = expires_in_days(trust) {
        fmt::Write::write_fmt(
            &mut text,
            format_args!(", CERTIFICATE EXPIRES in {days} days (schwann keys renew)"),
        )
        .unwrap_or_default();
    }
    if trust.policy() != Policy::Off {
        let discovery = match trust.open_search() {
            Open::Everything => "open",
            Open::Fulfilling(_) => "sealed but for named streams",
            Open::Nothing => "sealed",
        };
        fmt::Write::write_fmt(&mut text, format_args!(", discovery {discovery}")).unwrap_or_default();
    }
    for (name, policy) in trust.streams().iter() {
        fmt::Write::write_fmt(&mut text, format_args!(", {name} {}", policy.word())).unwrap_or_default();
    }
    if let Some(condition) = trust.admitted().condition().filter(|_| trust.policy() == Policy::Require) {
        fmt::Write::write_fmt(&mut text, format_args!(", plain {condition}")).unwrap_or_default();
    }
    for pin in trust.pins().iter() {
        fmt::Write::write_fmt(&mut text, format_args!(", pinned {}", pin.condition())).unwrap_or_default();
    }
    text
}
