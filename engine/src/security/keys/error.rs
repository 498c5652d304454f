//! Why there is no key to seal with.

use core::fmt;
use std::path::PathBuf;

use schwann_session::Refusal;

use crate::security::journal::Explained;
use crate::sys;

/// Why connections cannot be sealed although they have to be.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TrustError {
    /// The certificate would be refused by every member.
    Certificate(Refusal),
    /// A file of the key folder cannot be used; the text says why and what to do.
    File(PathBuf, String),
    /// The key is protected by a passphrase that was not given.
    Locked(PathBuf),
    /// Sealing is required, and there is no key.
    NoKey(PathBuf),
}

impl fmt::Display for TrustError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(refusal) => {
                let explained = Explained(*refusal);
                write!(out, "this device's certificate would be refused: {explained}")
            }
            Self::File(path, reason) => write!(out, "{}: {reason}", path.display()),
            Self::Locked(path) => write!(
                out,
                "the key in {} is locked; run `{}`, or set SCHWANN_PASSPHRASE",
                path.display(),
                sys::files::OPEN_KEY
            ),
            Self::NoKey(folder) => write!(
                out,
                "sealing is required, but there is no key in {}; run `schwann keys join`, or `schwann keys init` for a \
                 new lab",
                folder.display()
            ),
        }
    }
}

impl core::error::Error for TrustError {}
