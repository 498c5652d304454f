//! Who can open a sealed recording: the keys it is sealed to, and the keys that open it.
//!
//! The format is age, so that `age -d` opens what Schwann seals. Source: age-encryption.org/v1 (C2SP `age.md`).

use core::fmt;
use core::str::FromStr;
use std::io::{self, Write};
use std::sync::Arc;

use age::secrecy::ExposeSecret as _;
use age::stream::StreamWriter;
use age::x25519;
use zeroize::Zeroizing;

/// The public keys that a recording is sealed to; the holder of any one of their secret keys opens it.
#[derive(Clone, Debug, Default)]
pub struct Recipients(Vec<x25519::Recipient>);

impl Recipients {
    /// Adds the keys of `others` that are missing.
    pub fn add(&mut self, others: &Self) {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        self.0.extend(others.0.iter().filter(|other| !texts.contains(&other.to_string())).cloned());
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins a sealed file in `out`; its header is written now.
    ///
    /// - Errors: from `out`; [`io::ErrorKind::InvalidInput`] without a recipient.
    pub fn seal<W: Write>(&self, out: W) -> io::Result<Sealed<W>> {
        let recipients = self.0.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = age::Encryptor::with_recipients(recipients)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        Ok(Sealed(encryptor.wrap_output(out)?))
    }
}

/// One or several of them, with spaces or commas between.
impl FromStr for Recipients {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let words = text.split([' ', ',', '\n', '\r', '\t']).filter(|word| !word.is_empty());
        let parsed =
            words.map(|word| word.parse().map_err(|_| KeyError::Recipient(word.chars().take(80).collect())));
        parsed.collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Recipients {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        out.write_str(&texts.join(" "))
    }
}

/// A file that is being sealed: bytes in, sealed chunks of 64 KiB out.
pub struct Sealed<W: Write>(StreamWriter<W>);

impl<W: Write> Sealed<W> {
    /// Plain bytes in a chunk.
    pub const CHUNK_BYTES: u64 = 64 << 10;
    /// Bytes that a chunk grows by.
    pub const TAG_BYTES: u64 = 16;

    /// Writes the last chunk, without which the file passes for one that was cut off.
    ///
    /// - Errors: from the writer below.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Write for Sealed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> fmt::Debug for Sealed<W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Sealed")
    }
}

/// The secret keys that open sealed recordings. They are wiped when the last copy of the list is dropped.
#[derive(Clone, Default)]
pub struct Identities(Arc<Vec<x25519::Identity>>);

impl Identities {
    /// No key: for recordings that are not sealed.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Makes a new key; returns its secret text, as a file of age has it, and its public half.
    #[must_use]
    pub fn generate() -> (Zeroizing<String>, Recipients) {
        let identity = x25519::Identity::generate();
        let text = Zeroizing::new(identity.to_string().expose_secret().to_owned());
        (text, Recipients(vec![identity.to_public()]))
    }

    /// Reads a file of identities as `age-keygen` writes it: a secret key per line, and comments after `#`.
    ///
    /// - Errors: [`KeyError::Identity`] with the line, and without what stands there; [`KeyError::NoIdentity`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let lines = text.lines().map(str::trim).enumerate();
        let keys = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys: Vec<_> = keys
            .map(|(place, line)| line.parse().map_err(|_| KeyError::Identity { line: place + 1 }))
            .collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(KeyError::NoIdentity) } else { Ok(Self(Arc::new(keys))) }
    }

    /// These keys, and those of `others`.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        Self(Arc::new(self.0.iter().chain(others.0.iter()).cloned().collect()))
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their public halves.
    #[must_use]
    pub fn recipients(&self) -> Recipients {
        Recipients(self.0.iter().map(x25519::Identity::to_public).collect())
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &dyn age::Identity> {
        self.0.iter().map(|identity| identity as &dyn age::Identity)
    }
}

/// Why a text is no key.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeyError {
    /// A line of a file is no secret key.
    Identity {
        /// The line, counted from 1.
        line: usize,
    },
    /// A file has no secret key.
    NoIdentity,
    /// A word is no public key.
    Recipient(String),
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity { line } => {
                write!(out, "line {line} is no secret key of age; one begins with AGE-SECRET-KEY-1")
            }
            Self::NoIdentity => out.write_str("there is no secret key of age in it; age-keygen makes one"),
            Self::Recipient(word) => write!(out, "{word:?} is no public key of age; one begins with age1"),
        }
    }
}

impl core::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_age_writes_them() {
        // The pair of keys in the tests of rage (`age/src/x25519.rs`), in a file as age-keygen writes it.
        let file = "# created: 2026-01-01T00:00:00Z\n# public key: see below\n\
                    AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33\n";
        let read = Identities::parse(file).expect("a key");
        let public = read.recipients().to_string();
        assert_eq!(public, "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa");
        let (secret, own) = Identities::generate();
        assert_eq!(Identities::parse(&secret).expect("a key").recipients().to_string(), own.to_string());
        let mut both: Recipients = format!("{own}, {public}").parse().expect("two keys");
        both.add(&own);
        assert_eq!(both.0.len(), 2, "one that is there is not added again");
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_repeated() {
        assert_eq!(Identities::parse("# nothing\n").err(), Some(KeyError::NoIdentity));
        let error = Identities::parse("#\nAGE-SECRET-KEY-1SECRET\n").err().expect("no key");
        assert!(error == KeyError::Identity { line: 2 } && !error.to_string().contains("1SECRET"));
        assert!("age1notakey".parse::<Recipients>().is_err());
    }
}
