//! Keys as lines of text that survive a serial line, a terminal and a mail program.

use core::fmt;

use crate::key_slots::crc32;

/// Reads pasted lines: `schwann OFFSET BYTES CHECKSUM`, all in hexadecimal, and at last `schwann end LENGTH CHECKSUM`.
///
/// Lines may repeat and come in any order. Other lines are ignored, so echo and prompts do no harm.
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
            // A line that is too long is ignored, up to its end.
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

/// The lines that bring a content into a [`Paste`].
///
/// Formatting fails for a content of more than 65,535 bytes, for which a line has no number.
#[derive(Clone, Copy)]
pub struct Lines<'a>(pub &'a [u8]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(content) = self;
        let len = u16::try_from(content.len()).map_err(|_| fmt::Error)?;
        for (number, part) in content.chunks(BYTES_PER_LINE).enumerate() {
            let offset = u16::try_from(number * BYTES_PER_LINE).map_err(|_| fmt::Error)?.to_be_bytes();
            put_line(&[&offset, part, &line_checksum(offset, part)], out)?;
        }
        out.write_str("schwann end ")?;
        put_hex(&len.to_be_bytes(), out)?;
        out.write_str(" ")?;
        put_hex(&crc32(content).to_be_bytes(), out)?;
        out.write_str("\n")
    }
}

fn put_line(words: &[&[u8]], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("schwann")?;
    for word in words {
        out.write_str(" ")?;
        put_hex(word, out)?;
    }
    out.write_str("\n")
}

/// Appends bytes as people copy them.
pub(super) fn put_hex(bytes: &[u8], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
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

const BYTES_PER_LINE: usize = 32;
/// `schwann`, offset, bytes, checksum and the spaces between, with room for a terminal's additions.
const MAX_LINE: usize = 96;

#[cfg(test)]
mod tests {
    use std::{string::String, string::ToString as _, vec, vec::Vec};

    use super::*;

    fn lines(content: &[u8]) -> String {
        Lines(content).to_string()
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

    /// Lines as Python's `zlib` makes them: devices in the field read these.
    #[test]
    fn lines_are_those_that_devices_read() {
        let content: [u8; 40] = core::array::from_fn(|at| u8::try_from(at).unwrap());
        let expected = "schwann 0000 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f c95d470d\n\
                        schwann 0020 2021222324252627 4ac0c16f\nschwann end 0028 0da62e3c\n";
        assert_eq!(lines(&content), expected);
    }
}
