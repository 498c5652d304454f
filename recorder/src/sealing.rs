//! Whether recordings are sealed at rest, and to whom: the lab's archive key, and others that a person names.
//!
//! The archive key is a pair of age keys. Every recording computer has the public half, in `archive.public` of its key
//! folder, and seals to it; the secret half is where recordings are read. `schwann keys archive` makes and installs both.

use core::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use schwann::Config;
use schwann::security::keys::store;
use schwann_xdf::{KeyError, Recipients};

/// The lab's archive key as this computer has it; none if it has none.
///
/// - Errors: the file cannot be read, or is no key.
pub fn archive_key() -> Result<Option<Recipients>, SealingError> {
    let path = store::folder().join(ARCHIVE_PUBLIC);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SealingError::File(path, error)),
    };
    let key: Recipients = text.parse().map_err(|error| SealingError::Key(path, error))?;
    Ok(Some(key).filter(|key| !key.is_empty()))
}

/// To whom a recording is sealed; nothing if it is not.
///
/// It is sealed if `is_wished`, if `more` names a key, or if the configuration says `recordings = sealed` in `[security]`.
///
/// - Errors: [`SealingError`]: then nothing must be recorded, because it would lie open, or no key would open it.
pub fn recipients(
    config: &Config,
    is_wished: bool,
    more: &Recipients,
) -> Result<Option<Recipients>, SealingError> {
    if !is_wished && more.is_empty() && !is_policy(config)? {
        return Ok(None);
    }
    let mut all = archive_key()?.unwrap_or_default();
    all.add(more);
    if all.is_empty() { Err(SealingError::NoKey) } else { Ok(Some(all)) }
}

/// Whether the configuration wants recordings sealed; a file in the current folder can want it, and cannot forbid it.
fn is_policy(config: &Config) -> Result<bool, SealingError> {
    let mut is_sealed = false;
    for word in config.raw_in_each("security", "recordings") {
        match word {
            "sealed" => is_sealed = true,
            "plain" => {}
            other => return Err(SealingError::Word(other.chars().take(80).collect())),
        }
    }
    Ok(is_sealed)
}

/// Why it is not known to whom to seal a recording.
#[derive(Debug)]
#[non_exhaustive]
pub enum SealingError {
    /// The file with the archive key cannot be read.
    File(PathBuf, io::Error),
    /// The file with the archive key has none.
    Key(PathBuf, KeyError),
    /// There is no key to seal to.
    NoKey,
    /// The configuration says something else than `sealed` or `plain`.
    Word(String),
}

impl fmt::Display for SealingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(out, "{}: {error}; nothing was recorded", path.display()),
            Self::Key(path, error) => write!(
                out,
                "{}: {error}; install the key again: schwann keys archive --install age1...",
                path.display()
            ),
            Self::NoKey => out.write_str(
                "recordings shall be sealed, and there is no key to seal them to: schwann keys archive makes one or \
                 installs the lab's, or name one: --to age1...",
            ),
            Self::Word(word) => write!(
                out,
                "recordings in section [security] of the configuration must be sealed or plain, not {word:?}; nothing \
                 was recorded"
            ),
        }
    }
}

impl core::error::Error for SealingError {}

/// The file in the key folder with the secret half of the archive key.
pub const ARCHIVE_KEY: &str = "archive.key";
/// The file in the key folder with its public half.
pub const ARCHIVE_PUBLIC: &str = "archive.public";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_and_a_person_can_both_want_sealing() {
        let config = |text: &str| Config::parse(text).expect("valid");
        let key = schwann_xdf::Identities::generate().1;
        let none = Recipients::default();
        let plain = config("[security]\nrecordings = plain\n");
        assert!(recipients(&plain, false, &none).expect("plain").is_none());
        for (config, is_wished, more) in [
            (config(""), true, &key),
            (config(""), false, &key),
            (config("[security]\nrecordings = sealed\n"), false, &key),
        ] {
            let all = recipients(&config, is_wished, more).expect("a key").expect("sealed");
            assert!(all.to_string().contains(&key.to_string()));
        }
        let error =
            recipients(&config("[security]\nrecordings = yes\n"), false, &none).expect_err("no such word");
        assert!(error.to_string().contains("\"yes\""), "{error}");
    }
}
