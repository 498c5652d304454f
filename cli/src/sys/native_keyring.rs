//! The keyring of macOS (Keychain) and of Windows (Credential Manager, which DPAPI protects).

use keyring::{Entry, Error};

/// The secret under a name, if there is one.
pub(crate) use schwann::security::keys::store::keyring_secret as get;

/// Keeps a secret under a name.
///
/// - Errors: what is said to the user.
pub(crate) fn set(name: &str, secret: &[u8]) -> Result<(), String> {
    entry(name)?.set_secret(secret).map_err(|error| error.to_string())
}

/// Takes the secret under a name away.
///
/// - Errors: what is said to the user.
pub(crate) fn delete(name: &str) -> Result<(), String> {
    match entry(name)?.delete_credential() {
        Ok(()) | Err(Error::NoEntry) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn entry(name: &str) -> Result<Entry, String> {
    Entry::new("schwann", name).map_err(|error| error.to_string())
}

/// What the keyring is called in sentences.
pub(crate) const NAME: &str = "the keyring of this system";
