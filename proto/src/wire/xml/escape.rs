//! References and line ends: what text looks like inside a document.

use alloc::vec::Vec;

/// Where a run of characters stands; attributes and element text follow different rules.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum EscapeRules {
    Attribute,
    Cdata,
    Text,
}

/// Decodes references and normalises line ends.
///
/// A reference that is unknown, unterminated, or names NUL or a number beyond Unicode stays as it is.
pub(super) fn decode(raw: &[u8], place: EscapeRules) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, place) {
            (b'&', EscapeRules::Attribute | EscapeRules::Text) => match reference(tail) {
                Some((code, tail)) => {
                    push_utf8(&mut out, code);
                    rest = tail;
                }
                None => out.push(b'&'),
            },
            (b'\r', _) => {
                rest = tail.strip_prefix(b"\n").unwrap_or(tail);
                out.push(if place == EscapeRules::Attribute { b' ' } else { b'\n' });
            }
            (b'\n' | b'\t', EscapeRules::Attribute) => out.push(b' '),
            (byte, _) => out.push(*byte),
        }
    }
    out
}

/// Writes text so that [`decode`] gives it back; `"` is written as a reference in attributes only.
///
/// A carriage return in element text is written raw and so read as a line feed. Existing peers write it
/// like that.
pub(super) fn encode(text: &[u8], place: EscapeRules, out: &mut Vec<u8>) {
    for &byte in text {
        match (byte, place) {
            (b'&', _) => out.extend_from_slice(b"&amp;"),
            (b'<', _) => out.extend_from_slice(b"&lt;"),
            (b'>', EscapeRules::Text) => out.extend_from_slice(b"&gt;"),
            (b'"', EscapeRules::Attribute) => out.extend_from_slice(b"&quot;"),
            (b'\t' | b'\n' | b'\r', EscapeRules::Text) => out.push(byte),
            (0..0x20, _) => {
                out.extend_from_slice(&[
                    b'&',
                    b'#',
                    b'0'.saturating_add(byte / 10),
                    b'0'.saturating_add(byte % 10),
                    b';',
                ]);
            }
            _ => out.push(byte),
        }
    }
}

/// Parses what follows an ampersand and returns the code point and the bytes after the semicolon.
fn reference(text: &[u8]) -> Option<(u32, &[u8])> {
    const LONGEST: usize = 12;
    let end = text.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let (name, tail) = text.split_at_checked(end)?;
    let tail = tail.strip_prefix(b";")?;
    let code = match name {
        b"amp" => u32::from(b'&'),
        b"apos" => u32::from(b'\''),
        b"gt" => u32::from(b'>'),
        b"lt" => u32::from(b'<'),
        b"quot" => u32::from(b'"'),
        _ => character_code(name.strip_prefix(b"#")?)?,
    };
    Some((code, tail))
}

fn character_code(digits: &[u8]) -> Option<u32> {
    let (digits, radix) = match digits.strip_prefix(b"x") {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    // `from_str_radix` would accept a sign.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let code = u32::from_str_radix(core::str::from_utf8(digits).ok()?, radix).ok()?;
    (1..=0x10_ffff).contains(&code).then_some(code)
}

/// Appends a code point. `char` refuses surrogates; they become the three bytes that other libraries
/// write.
pub(super) fn push_utf8(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let bits = |shift: u32, mask: u32| u8::try_from((code >> shift) & mask).unwrap_or_default();
            out.extend_from_slice(&[0xe0 | bits(12, 0x0f), 0x80 | bits(6, 0x3f), 0x80 | bits(0, 0x3f)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_and_unknown_ones_kept() {
        for (raw, text) in [
            ("a&amp;&lt;&gt;&quot;&apos;b", "a&<>\"'b"),
            ("&#65;&#x42;&#x1F600;", "AB😀"),
            ("&foo;&amp &; &#; &#x; &#xg; &#-1;", "&foo;&amp &; &#; &#x; &#xg; &#-1;"),
            ("&#0;&#x110000;", "&#0;&#x110000;"),
            ("a\r\nb\rc\n", "a\nb\nc\n"),
        ] {
            assert_eq!(decode(raw.as_bytes(), EscapeRules::Text), text.as_bytes(), "{raw}");
        }
    }

    #[test]
    fn every_text_survives_a_round_trip() {
        let text: Vec<u8> = (1..=255).filter(|byte| *byte != b'\r').collect();
        for place in [EscapeRules::Attribute, EscapeRules::Text] {
            let mut written = Vec::new();
            encode(&text, place, &mut written);
            assert_eq!(decode(&written, place), text);
        }
    }
}
