//! How a device comes to its keys: pasted over a serial line, or flashed as an image; never in the firmware.
//!
//! A new device makes its own key ([`DeviceKey::generate`]), prints a [`request`](put_request), and reads the
//! lines that `schwann keys issue --device REQUEST` prints into a [`Paste`]. [`join`] checks them and lays down what
//! belongs into the key store ([`crate::key_slots`]), from where [`Keys::parse`] reads it at each start.
//!
//! ```text
//! key store                          paste, all lines together
//!   0  authority's public key (32)     0  authority's public key (32)
//!  32  discovery key (32)             32  certificate (192)
//!  64  device's seed (32)            224  discovery key (32)
//!  96  certificate (192)             256  revocation list, to the end
//! 288  revocation list, to the end
//! ```

use core::fmt;

use schwann_proto::wire::{NoRoom, Sink};
use schwann_session::{
    Certificate, Credentials, CredentialsError, DeviceKey, Entropy, Lab, RevocationList,
    discovery::DiscoveryKey,
};

use crate::{
    key_slots::crc32,
    security::{Member, Visible},
};

/// Everything that a device proves itself with.
pub struct Keys<'a> {
    /// The lab.
    pub lab: Lab,
    /// This device, with a Noise key of this start.
    pub credentials: Credentials,
    /// Who is out.
    pub revoked: RevocationList<&'a [u8]>,
    /// The lab's discovery key.
    pub discovery: DiscoveryKey,
}

/// Why keys cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProvisionError {
    /// The parts do not belong together, or to this device: issue a certificate for the request that it printed.
    Mismatch,
    /// The bytes are no membership.
    Malformed,
    /// The random generator failed.
    NoEntropy,
    /// They exceed the memory for them.
    TooLong,
}

impl fmt::Display for ProvisionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Mismatch => "the keys are not this device's; issue a certificate for the request it prints",
            Self::Malformed => {
                "these are no keys; paste all lines that `schwann keys issue --device` printed"
            }
            Self::NoEntropy => "the random generator failed",
            Self::TooLong => "the keys exceed the memory for them",
        })
    }
}

impl core::error::Error for ProvisionError {}

impl<'a> Keys<'a> {
    /// Reads what the key store holds, and makes the Noise key of this start.
    ///
    /// - Units: `record_limit` in bytes: what the links' memory for received bytes holds, less 20.
    /// - Errors: [`ProvisionError`]: provision the device again.
    pub fn parse(
        content: &'a [u8],
        record_limit: usize,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, ProvisionError> {
        let malformed = ProvisionError::Malformed;
        let (lab, rest) = content.split_first_chunk().ok_or(malformed)?;
        let (discovery, rest) = rest.split_first_chunk().ok_or(malformed)?;
        let (seed, rest) = rest.split_first_chunk().ok_or(malformed)?;
        let (certificate, list) = rest.split_first_chunk().ok_or(malformed)?;
        let lab = Lab::new(lab).ok_or(malformed)?;
        let certificate = Certificate::parse(certificate).map_err(|_| malformed)?;
        let revoked = RevocationList::parse(list, &lab).map_err(|_| malformed)?;
        let mut credentials = Credentials::new(DeviceKey::from_seed(seed), certificate, entropy).map_err(
            |error| match error {
                CredentialsError::NoEntropy => ProvisionError::NoEntropy,
                _ => ProvisionError::Mismatch,
            },
        )?;
        credentials.limit_records(record_limit);
        if !revoked.commits_to(discovery) {
            return Err(ProvisionError::Mismatch);
        }
        Ok(Self { lab, credentials, revoked, discovery: DiscoveryKey::new(discovery) })
    }

    /// The membership that outlets and inlets are given.
    #[must_use]
    pub fn member(&self) -> Member<'_> {
        Member {
            credentials: &self.credentials,
            lab: &self.lab,
            revoked: self.revoked,
            discovery: &self.discovery,
            visible: Visible::Members,
        }
    }
}

/// Appends the line that a new device prints, for `schwann keys issue --device`.
///
/// - Shape: `name` has 1 to 48 bytes.
pub fn put_request(key: &DeviceKey, name: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    for byte in key.public().0.iter().chain(name.as_bytes()) {
        out.put(&[digit(byte >> 4), digit(byte & 15)])?;
    }
    Ok(())
}

/// Joins a device's seed with the membership that was pasted, as the key store keeps them.
///
/// - Errors: [`ProvisionError`]; `out` then holds nothing of use, and should be wiped all the same.
pub fn join<'a>(seed: &[u8; 32], pasted: &[u8], out: &'a mut [u8]) -> Result<&'a [u8], ProvisionError> {
    let malformed = ProvisionError::Malformed;
    let (lab, rest) = pasted.split_first_chunk::<32>().ok_or(malformed)?;
    let (certificate, rest) = rest.split_first_chunk::<{ Certificate::LEN }>().ok_or(malformed)?;
    let (discovery, list) = rest.split_first_chunk::<32>().ok_or(malformed)?;
    let checked_lab = Lab::new(lab).ok_or(malformed)?;
    let checked = Certificate::parse(certificate).map_err(|_| malformed)?;
    let revoked = RevocationList::parse(list, &checked_lab).map_err(|_| malformed)?;
    let together = checked.verify(&checked_lab).is_ok()
        && checked.statement.device == DeviceKey::from_seed(seed).public()
        && revoked.commits_to(discovery);
    if !together {
        return Err(ProvisionError::Mismatch);
    }
    let parts: [&[u8]; 5] = [lab, discovery, seed, certificate, list];
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    let out = out.get_mut(..len).ok_or(ProvisionError::TooLong)?;
    out.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, from)| *to = *from);
    Ok(out)
}

/// Reads pasted lines: `schwann OFFSET BYTES CHECKSUM`, all in hexadecimal, and at last `schwann end LENGTH CHECKSUM`.
///
/// Lines may come again and in any order; what is not such a line is ignored, so echo and prompts do no harm.
pub struct Paste<'a> {
    out: &'a mut [u8],
    line: [u8; MAX_LINE],
    len: usize,
}

/// What a byte of a serial line meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pasted {
    /// A line was damaged: paste it again.
    Damaged,
    /// Everything is there, this many bytes.
    Done(usize),
    /// Nothing yet, or a line was taken.
    More,
}

impl<'a> Paste<'a> {
    /// Collects into `out`.
    pub fn new(out: &'a mut [u8]) -> Self {
        Self { out, line: [0; MAX_LINE], len: 0 }
    }

    /// Takes a byte of the serial line.
    pub fn handle(&mut self, byte: u8) -> Pasted {
        if byte != b'\n' && byte != b'\r' {
            // A line that is too long is none; its end is still waited for.
            if let Some(place) = self.line.get_mut(self.len) {
                *place = byte;
            }
            self.len = self.len.saturating_add(1);
            return Pasted::More;
        }
        let len = core::mem::take(&mut self.len);
        let Self { out, line, .. } = self;
        match line.get(..len).and_then(|line| core::str::from_utf8(line).ok()) {
            Some(line) => handle_line(line, out),
            // Longer than any line of ours, or no text: damaged only if it began as one.
            None if line.starts_with(b"schwann ") => Pasted::Damaged,
            None => Pasted::More,
        }
    }

    /// What was collected.
    #[must_use]
    pub fn collected(&self, len: usize) -> &[u8] {
        self.out.get(..len).unwrap_or_default()
    }
}

/// Appends the lines that bring `content` into a [`Paste`].
pub fn put_lines(content: &[u8], out: &mut impl Sink) -> Result<(), NoRoom> {
    let hex = |bytes: &[u8], out: &mut dyn FnMut(&[u8]) -> Result<(), NoRoom>| {
        bytes.iter().try_for_each(|byte| out(&[digit(byte >> 4), digit(byte & 15)]))
    };
    let mut put = |bytes: &[u8]| out.put(bytes);
    for (number, part) in content.chunks(BYTES_PER_LINE).enumerate() {
        let offset = u16::try_from(number * BYTES_PER_LINE).map_err(|_| NoRoom)?.to_be_bytes();
        put(b"schwann ")?;
        hex(&offset, &mut put)?;
        put(b" ")?;
        hex(part, &mut put)?;
        put(b" ")?;
        hex(&line_checksum(offset, part), &mut put)?;
        put(b"\n")?;
    }
    let len = u16::try_from(content.len()).map_err(|_| NoRoom)?;
    put(b"schwann end ")?;
    hex(&len.to_be_bytes(), &mut put)?;
    put(b" ")?;
    hex(&crc32(content).to_be_bytes(), &mut put)?;
    put(b"\n")
}

fn handle_line(line: &str, out: &mut [u8]) -> Pasted {
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some("schwann") {
        return Pasted::More;
    }
    let [Some(first), Some(second), Some(third)] = [words.next(), words.next(), words.next()] else {
        return Pasted::Damaged;
    };
    match first {
        "end" => finish(second, third, out).map_or(Pasted::Damaged, Pasted::Done),
        offset => take_part(offset, second, third, out).map_or(Pasted::Damaged, |()| Pasted::More),
    }
}

fn take_part(offset: &str, bytes: &str, checksum: &str, out: &mut [u8]) -> Option<()> {
    let offset: [u8; 2] = unhex(offset)?;
    let mut part = [0; BYTES_PER_LINE];
    let len = bytes.len() / 2;
    let part = part.get_mut(..len)?;
    fill_hex(bytes, part)?;
    (unhex(checksum)? == line_checksum(offset, part)).then_some(())?;
    let start = usize::from(u16::from_be_bytes(offset));
    out.get_mut(start..start + len)?.copy_from_slice(part);
    Some(())
}

fn finish(len: &str, checksum: &str, out: &[u8]) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes(unhex(len)?));
    (u32::from_be_bytes(unhex(checksum)?) == crc32(out.get(..len)?)).then_some(len)
}

/// Checksum of a line, offset included.
fn line_checksum(offset: [u8; 2], part: &[u8]) -> [u8; 4] {
    let mut line = [0; BYTES_PER_LINE + 2];
    line.iter_mut().zip(offset.iter().chain(part)).for_each(|(to, from)| *to = *from);
    crc32(line.get(..part.len() + 2).unwrap_or_default()).to_be_bytes()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    fill_hex(text, &mut bytes)?;
    Some(bytes)
}

fn fill_hex(text: &str, out: &mut [u8]) -> Option<()> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != out.len() {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    for (to, [high, low]) in out.iter_mut().zip(pairs) {
        *to = (value(*high)? << 4) | value(*low)?;
    }
    Some(())
}

fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + (value - 10) }
}

const BYTES_PER_LINE: usize = 32;
/// `schwann`, offset, bytes, checksum and the spaces between, with room for a terminal's additions.
const MAX_LINE: usize = 96;

#[cfg(test)]
mod tests {
    use std::{string::String, vec, vec::Vec};

    use super::*;

    fn lines(content: &[u8]) -> String {
        let mut out = Vec::new();
        put_lines(content, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn paste(text: &str, out: &mut [u8]) -> Pasted {
        let mut paste = Paste::new(out);
        let mut last = Pasted::More;
        for byte in text.bytes() {
            match paste.handle(byte) {
                Pasted::More => {}
                other => last = other,
            }
        }
        last
    }

    #[test]
    fn what_is_pasted_arrives() {
        let content: Vec<u8> = (0..=255).chain(0..80).collect();
        let mut out = vec![0; 400];
        assert_eq!(paste(&lines(&content), &mut out), Pasted::Done(336));
        assert_eq!(out[..336], content);
    }

    #[test]
    fn a_terminals_additions_do_no_harm() {
        let content = [9; 70];
        let text = std::format!(
            "{}\r\n\u{e4}\r\n{}\r\n\r\n",
            "a greeting ".repeat(20),
            lines(&content).replace('\n', "\r\n\r\n")
        );
        let mut out = vec![0; 100];
        assert_eq!(paste(&text, &mut out), Pasted::Done(70));
        assert_eq!(out[..70], content);
    }

    #[test]
    fn a_damaged_character_is_noticed() {
        let text = lines(&[1; 40]);
        for place in 8..text.len() {
            let mut damaged = text.clone().into_bytes();
            if matches!(damaged[place], b'\n' | b' ') || !damaged[place].is_ascii_hexdigit() {
                continue;
            }
            damaged[place] = if damaged[place] == b'0' { b'1' } else { b'0' };
            let mut out = vec![0; 64];
            let mut reader = Paste::new(&mut out);
            let seen: Vec<_> = damaged.iter().map(|byte| reader.handle(*byte)).collect();
            assert!(!seen.iter().any(|one| matches!(one, Pasted::Done(_))), "{place}");
        }
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        assert_eq!(paste(&lines(&[1; 40]), &mut [0; 39]), Pasted::Damaged);
        assert_eq!(paste(&std::format!("schwann {}\n", "0".repeat(500)), &mut [0; 39]), Pasted::Damaged);
    }
}
