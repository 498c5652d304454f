//! The keyring of macOS (Keychain) and of Windows (Credential Manager, which DPAPI protects).
//!
//! These systems have no folder in memory for an open key. So each program of the user asks the keyring by itself.

use keyring::{Entry, Error};
use zeroize::Zeroizing;

/// The secret under a name, if there is one.
///
/// - Errors: what the keyring says.
pub(crate) fn get(name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
    match Entry::new("schwann", name).and_then(|entry| entry.get_secret()) {
        Ok(secret) => Ok(Some(Zeroizing::new(secret))),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
