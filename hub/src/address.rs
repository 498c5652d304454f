//! Where a hub is, and by which certificate it is known.

use core::fmt;
use core::str::FromStr;
use std::fs::File;
use std::io::Read as _;

/// A hub's address, as `schwann hub up` prints it: `tls://HOST:PORT#FINGERPRINT`, or `wss://` where only the web gets out.
/// As a text it is also the path of a file that has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    url: String,
    pin: Option<Fingerprint>,
}

/// SHA-256 over a hub's certificate.
pub type Fingerprint = [u8; 32];

impl Address {
    /// The address without the fingerprint.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificate that the hub must show; without one, the system's certificate authorities decide.
    #[must_use]
    pub fn pin(&self) -> Option<&Fingerprint> {
        self.pin.as_ref()
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if !text.contains("://") {
            let file = File::open(text).map_err(|_| AddressError::NoScheme)?;
            let mut first = String::new();
            file.take(LONGEST).read_to_string(&mut first).map_err(|_| AddressError::NoScheme)?;
            let first = first.lines().next().unwrap_or_default();
            return if first.contains("://") { first.parse() } else { Err(AddressError::NoScheme) };
        }
        let (url, pin) = text.split_once('#').map_or((text, None), |(url, pin)| (url, Some(pin)));
        let (scheme, place) = url.split_once("://").ok_or(AddressError::NoScheme)?;
        if !matches!(scheme, "tls" | "wss") {
            return Err(AddressError::NotEncrypted);
        }
        if place.is_empty() || place.contains(char::is_whitespace) {
            return Err(AddressError::NoHost);
        }
        let pin = pin.map(|pin| fingerprint(pin).ok_or(AddressError::Fingerprint)).transpose()?;
        Ok(Self { url: url.to_owned(), pin })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.url)
    }
}

/// Reads 64 hexadecimal digits.
fn fingerprint(text: &str) -> Option<Fingerprint> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    rest.is_empty().then_some(())?;
    bytes.try_into().ok()
}

/// Why a text is no address of a hub.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AddressError {
    /// What follows `#` is no fingerprint.
    Fingerprint,
    /// There is no host.
    NoHost,
    /// There is no `tls://` in front.
    NoScheme,
    /// The way would not be encrypted.
    NotEncrypted,
}

impl fmt::Display for AddressError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Fingerprint => {
                "what follows # must be the 64 digits of the hub's fingerprint; copy the whole address that `schwann hub up` prints"
            }
            Self::NoHost => "it names no host, as tls://hub.example.org:4222 does",
            Self::NoScheme => "it is neither an address, which begins with tls:// or wss://, nor a file that has one; `schwann hub up --address FILE` writes one",
            Self::NotEncrypted => "only tls:// and wss:// are encrypted on the way",
        })
    }
}

impl core::error::Error for AddressError {}

/// Most bytes of a file that are read for an address.
const LONGEST: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_pin_the_certificate() {
        let text = format!("tls://hub.example.org:4222#{}", "0aB1".repeat(16));
        let address: Address = text.parse().expect("it is one");
        assert_eq!(address.url(), "tls://hub.example.org:4222");
        assert_eq!(address.pin().expect("a pin").first_chunk(), Some(&[0x0A, 0xB1]));
        assert_eq!("wss://hub:443".parse::<Address>().expect("it is one").pin(), None);
    }

    #[test]
    fn what_is_no_address_says_why() {
        for (text, error) in [
            ("hub:4222", AddressError::NoScheme),
            ("nats://hub:4222", AddressError::NotEncrypted),
            ("tls://", AddressError::NoHost),
            ("tls://hub#12", AddressError::Fingerprint),
            ("tls://hub#é", AddressError::Fingerprint),
        ] {
            assert_eq!(text.parse::<Address>(), Err(error), "{text}");
        }
    }
}
