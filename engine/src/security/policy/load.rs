//! How the configuration and the keys on disk become a [`Trust`].

use alloc::sync::Arc;

use super::settings::Settings;
use super::{Policy, Trust};
use crate::config::Config;
use crate::log;
use crate::security::keys::{TrustError, secrecy, store, weaknesses};

/// Reads the policies and, unless all are [`Policy::Off`], the keys.
///
/// - Errors: why streams cannot be sealed although they must be.
pub(crate) fn load(config: &Config) -> Result<Trust, TrustError> {
    let folder = store::folder();
    let presence = store::is_installed(&folder);
    // What cannot be seen counts as a key, so that nothing travels in the clear by a mistake.
    let installed = *presence.as_ref().unwrap_or(&true);
    let Settings { policy, streams, admitted, pins, key_lifetime, permits_core_dumps, remarks, .. } =
        Settings::load(config, installed)?;
    for remark in &remarks {
        log::announce(log::level::WARNING, format_args!("security: {remark}"));
    }
    let of_pins = if pins.is_empty() { Policy::Off } else { Policy::Require };
    let strictest = streams.strictest().unwrap_or_default().max(policy).max(of_pins);
    let trust = Trust::new(policy, None).with_streams(streams).with_admitted(admitted).with_pins(pins);
    if strictest == Policy::Off || (!installed && policy != Policy::Require && of_pins == Policy::Off) {
        return Ok(trust);
    }
    if !presence? {
        return Err(TrustError::NoKey(folder));
    }
    if !permits_core_dumps {
        secrecy::forbid_dumps();
    }
    for weakness in weaknesses(&folder) {
        log::warning!("{weakness}");
    }
    let member = store::member(&folder)?.with_key_lifetime(key_lifetime);
    Ok(Trust { member: Some(Arc::new(member)), ..trust })
}
