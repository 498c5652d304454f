//! Header lines, as both sides parse them. lsl-wire §11.1.

use crate::wire::number;

/// Iterates over the `name: value` lines of `text` up to the line that begins with CR, or to the end.
///
/// Names and values come trimmed and in their original case; compare them ignoring ASCII case.
pub(super) fn headers(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('\n').take_while(|line| !line.starts_with('\r')).filter_map(|line| {
        let (line, _comment) = line.split_once(';').unwrap_or((line, ""));
        let (name, value) = line.split_once(':')?;
        Some((name.trim_ascii(), value.trim_ascii()))
    })
}

/// Reads a leading integer; an unparsable one ends the connection.
pub(super) fn integer(value: &str) -> Option<i32> {
    number::extract_i32(value.as_bytes())
}

/// Reads a truth value: exactly `1`.
pub(super) fn truth(value: &str) -> bool {
    value == "1"
}

/// Returns the position behind the first `needle` at or after `from`.
pub(super) fn end_of(needle: &[u8], bytes: &[u8], from: usize) -> Option<usize> {
    let position = bytes.get(from..)?.windows(needle.len()).position(|window| window == needle)?;
    Some(from + position + needle.len())
}
