//! Text functions on bytes that are mostly UTF-8.

use alloc::vec::Vec;

use super::number::round;
use super::token::is_space;
use crate::wire::convert;

/// Splits text into characters; a byte that is not UTF-8 is one of its own.
pub(super) fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let ends = valid.char_indices().skip(1).map(|(at, _)| at).chain([valid.len()]);
        let starts = valid.char_indices().map(|(at, _)| at);
        starts
            .zip(ends)
            .filter_map(move |(start, end)| valid.as_bytes().get(start..end))
            .chain(chunk.invalid().chunks(1))
    })
}

/// Returns where `needle` first occurs.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    text.windows(needle.len()).position(|window| window == needle)
}

/// Returns what stands before the first `needle`, or nothing.
pub(super) fn before<'a>(text: &'a [u8], needle: &[u8]) -> &'a [u8] {
    find(text, needle).and_then(|at| text.get(..at)).unwrap_or_default()
}

/// Returns what stands after the first `needle`, or nothing.
pub(super) fn after<'a>(text: &'a [u8], needle: &[u8]) -> &'a [u8] {
    find(text, needle).and_then(|at| text.get(at.saturating_add(needle.len())..)).unwrap_or_default()
}

/// Returns the characters from position `start` (the first has 1), at most `length` of them.
pub(super) fn substring(text: &[u8], start: f64, length: f64) -> Vec<u8> {
    let start = round(start);
    let end = start + round(length);
    let mut out = Vec::new();
    for (index, character) in characters(text).enumerate() {
        let position = convert::count(index) + 1.0;
        // Both are false if a bound is NaN, as they must be.
        if position >= start && position < end {
            out.extend_from_slice(character);
        }
    }
    out
}

/// Returns the text without white space around it, and with single spaces inside.
pub(super) fn normalize_space(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for word in text.split(|byte| is_space(*byte)).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
    out
}

/// Replaces each character found in `from` by the one at the same place in `to`, or drops it.
pub(super) fn translate(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let to: Vec<&[u8]> = characters(to).collect();
    let mut out = Vec::with_capacity(text.len());
    for character in characters(text) {
        match characters(from).position(|candidate| candidate == character) {
            Some(index) => out.extend_from_slice(to.get(index).copied().unwrap_or_default()),
            None => out.extend_from_slice(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_code_points_or_stray_bytes() {
        let found: Vec<&[u8]> = characters(b"a\xc3\xa9\xff\xe2\x82b").collect();
        assert_eq!(found, [&b"a"[..], b"\xc3\xa9", b"\xff", b"\xe2", b"\x82", b"b"]);
        assert_eq!(characters(b"").count(), 0);
    }

    #[test]
    fn substring_rounds_as_the_specification_shows() {
        let nan = f64::NAN;
        let infinity = f64::INFINITY;
        for (start, length, text) in [
            (2.0, 3.0, "234"),
            (1.5, 2.6, "234"),
            (0.0, 3.0, "12"),
            (nan, 3.0, ""),
            (1.0, nan, ""),
            (-42.0, infinity, "12345"),
            (-infinity, infinity, ""),
        ] {
            assert_eq!(substring(b"12345", start, length), text.as_bytes(), "{start} {length}");
        }
    }
}
