//! Finds out how a document is encoded and turns it into UTF-8.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::escape::push_utf8;

/// Returns the document as UTF-8 without byte-order mark; bytes that claim to be UTF-8 are taken as they are.
///
/// Byte-order marks and the first characters decide, and `encoding="latin1"` in the declaration. Units that are no
/// code point are left out.
pub(super) fn to_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match detect(bytes) {
        Encoding::Latin1 => Cow::Owned(from_latin1(bytes)),
        Encoding::Utf16(order) => Cow::Owned(from_utf16(bytes, order)),
        Encoding::Utf32(order) => Cow::Owned(from_utf32(bytes, order)),
        Encoding::Utf8 => Cow::Borrowed(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Latin1,
    Utf16(Order),
    Utf32(Order),
    Utf8,
}

#[derive(Clone, Copy)]
enum Order {
    Big,
    Little,
}

fn detect(bytes: &[u8]) -> Encoding {
    match bytes {
        [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, b'<', ..] => Encoding::Utf32(Order::Big),
        [0xff, 0xfe, 0, 0, ..] | [b'<', 0, 0, 0, ..] => Encoding::Utf32(Order::Little),
        [0xfe, 0xff, ..] | [0, b'<', ..] => Encoding::Utf16(Order::Big),
        [0xff, 0xfe, ..] | [b'<', 0, ..] => Encoding::Utf16(Order::Little),
        [b'<', b'?', b'x', b'm', b'l', ..] if declares_latin1(bytes) => Encoding::Latin1,
        _ => Encoding::Utf8,
    }
}

fn declares_latin1(bytes: &[u8]) -> bool {
    let end = bytes.windows(2).take(256).position(|pair| pair == b"?>").unwrap_or_default();
    let declaration = bytes.get(..end).unwrap_or_default().to_ascii_lowercase();
    [&b"iso-8859-1"[..], b"latin1"].iter().any(|name| {
        let quoted = |quote: u8| [&[quote], *name, &[quote]].concat();
        [quoted(b'"'), quoted(b'\'')].iter().any(|value| {
            let with_key = [b"encoding=", value.as_slice()].concat();
            declaration.windows(with_key.len()).any(|window| window == with_key)
        })
    })
}

fn from_latin1(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        push_utf8(&mut out, u32::from(*byte));
    }
    out
}

fn from_utf16(bytes: &[u8], order: Order) -> Vec<u8> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| match order {
        Order::Big => u16::from_be_bytes(*pair),
        Order::Little => u16::from_le_bytes(*pair),
    });
    let mut out = Vec::with_capacity(bytes.len());
    for character in char::decode_utf16(units).flatten().filter(|character| *character != BYTE_ORDER_MARK) {
        push_utf8(&mut out, u32::from(character));
    }
    out
}

fn from_utf32(bytes: &[u8], order: Order) -> Vec<u8> {
    let (units, _) = bytes.as_chunks::<4>();
    let codes = units.iter().map(|unit| match order {
        Order::Big => u32::from_be_bytes(*unit),
        Order::Little => u32::from_le_bytes(*unit),
    });
    let mut out = Vec::with_capacity(bytes.len() / 2);
    for character in codes.filter_map(char::from_u32).filter(|character| *character != BYTE_ORDER_MARK) {
        push_utf8(&mut out, u32::from(character));
    }
    out
}

const BYTE_ORDER_MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<?xml version=\"1.0\"?><a>é😀</a>";

    fn utf16(order: fn(u16) -> [u8; 2], mark: bool) -> Vec<u8> {
        mark.then_some(0xfeff).into_iter().chain(TEXT.encode_utf16()).flat_map(order).collect()
    }

    fn utf32(order: fn(u32) -> [u8; 4], mark: bool) -> Vec<u8> {
        mark.then_some(0xfeff).into_iter().chain(TEXT.chars().map(u32::from)).flat_map(order).collect()
    }

    #[test]
    fn every_unicode_form_becomes_utf_8() {
        for mark in [false, true] {
            for bytes in [
                utf16(u16::to_be_bytes, mark),
                utf16(u16::to_le_bytes, mark),
                utf32(u32::to_be_bytes, mark),
                utf32(u32::to_le_bytes, mark),
            ] {
                assert_eq!(to_utf8(&bytes), TEXT.as_bytes());
            }
        }
        assert_eq!(to_utf8(b"\xef\xbb\xbf<a/>"), &b"<a/>"[..]);
    }

    #[test]
    fn a_declared_latin1_document_is_converted() {
        let bytes = b"<?xml version=\"1.0\" encoding='ISO-8859-1'?><a>\xe9</a>";
        assert!(to_utf8(bytes).ends_with("<a>é</a>".as_bytes()));
        assert_eq!(
            to_utf8(b"<?xml version=\"1.0\"?><a>\xe9</a>"),
            &b"<?xml version=\"1.0\"?><a>\xe9</a>"[..]
        );
    }
}
