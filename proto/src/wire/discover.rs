//! How streams are found: the query, sent as a datagram or over TCP, and the reply to it.
//!
//! Source: lsl-wire §5 (queries), §6.1–§6.3 (datagrams), §8 (TCP). When to send what is [`crate::resolver`]'s.

use core::str;

use super::{NoRoom, Sink, number, sink::put_all};

/// A discovery query.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Query<'a> {
    /// An XPath condition; empty matches everything.
    pub condition: &'a str,
    /// UDP port at the sender's address that the reply goes to.
    pub return_port: u16,
    /// What the reply begins with; any text without white space.
    pub id: &'a str,
}

impl<'a> Query<'a> {
    /// Reads a datagram; nothing if it is not a query, which is then ignored.
    pub fn parse(datagram: &'a [u8]) -> Option<Self> {
        let text = after_method(datagram, METHOD)?;
        let (condition, rest) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = rest.split_ascii_whitespace();
        let port = number::extract_i64(words.next()?.as_bytes())?;
        Some(Self {
            condition: condition.trim_ascii(),
            return_port: u16::try_from(port).ok()?,
            id: words.next()?,
        })
    }

    /// Appends the datagram.
    pub fn encode(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        let Self { condition, return_port, id } = self;
        let port = number::integer((*return_port).into());
        put_all(out, &[METHOD, "\r\n", condition, "\r\n", &port, " ", id, "\r\n"])
    }

    /// Appends the form for TCP, which has no port and no id; the reply is a bare document.
    pub fn encode_tcp(condition: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
        put_all(out, &[METHOD, "\r\n", condition, "\r\n"])
    }
}

/// Appends the reply to the query with this id.
///
/// The original drops silently what exceeds a datagram (65,507 bytes); so does the network.
pub fn encode_reply(id: &str, shortinfo: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    put_all(out, &[id, "\r\n", shortinfo])
}

/// Returns the document in a reply to the query with this id; nothing if it is no reply to it.
pub fn parse_reply<'a>(datagram: &'a [u8], id: &str) -> Option<&'a [u8]> {
    let line_end = datagram.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = datagram.split_at_checked(line_end)?;
    let (_, document) = rest.split_first()?;
    (line.trim_ascii_end() == id.as_bytes()).then_some(document)
}

/// Returns an id for the query with this condition.
///
/// Receivers treat ids as opaque; equal queries have equal ids, so that a late reply to an earlier wave counts.
pub fn query_id(condition: &str) -> u64 {
    // FNV-1a, 64 bits.
    condition
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns what follows the first line of `datagram`, if that line names `method`.
pub(super) fn after_method<'a>(datagram: &'a [u8], method: &str) -> Option<&'a str> {
    let text = str::from_utf8(datagram).ok()?;
    let (line, rest) = text.split_once('\n')?;
    (line.trim_ascii() == method).then_some(rest)
}

const METHOD: &str = "LSL:shortinfo";
/// Largest reply that a resolver reads, in bytes: what one datagram can carry.
pub const REPLY_LIMIT: usize = 65_536;

#[cfg(test)]
mod tests {
    use std::{string::String, vec::Vec};

    use super::{Query, encode_reply, parse_reply, query_id};

    #[test]
    fn a_query_survives_the_wire() {
        let query = Query { condition: "name='Golden'", return_port: 17001, id: "987654321" };
        let mut out = Vec::new();
        query.encode(&mut out).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), "LSL:shortinfo\r\nname='Golden'\r\n17001 987654321\r\n");
        assert_eq!(Query::parse(&out), Some(query));
    }

    #[test]
    fn sloppy_queries_are_understood_like_the_original_does() {
        // As captured: `outlet_udp_shortinfo.json`.
        let cases: [(&str, Option<Query<'_>>); 9] = [
            ("LSL:shortinfo\n\n17001 abc", Some(Query { condition: "", return_port: 17001, id: "abc" })),
            (
                "  LSL:shortinfo \t\r\n  type = 'EEG' and channel_count > 2  \r\n 17001   id-with-dash trailing\r\n",
                Some(Query {
                    condition: "type = 'EEG' and channel_count > 2",
                    return_port: 17001,
                    id: "id-with-dash",
                }),
            ),
            ("LSL:nonsense\r\n\r\n", None),
            ("LSL:shortinfo", None),
            ("LSL:shortinfo\r\nname='A'\r\n", None),
            ("LSL:shortinfo\r\nname='A'\r\n17001\r\n", None),
            ("LSL:shortinfo\r\nname='A'\r\n70000 1\r\n", None),
            ("LSL:shortinfo\r\nname='A'\r\n-1 1\r\n", None),
            ("LSL:timedata\r\n1 2.5\r\n", None),
        ];
        for (text, query) in cases {
            assert_eq!(Query::parse(text.as_bytes()), query, "{text:?}");
        }
        assert_eq!(Query::parse(b"LSL:shortinfo\r\n\xff\r\n1 1\r\n"), None);
    }

    #[test]
    fn only_replies_to_our_own_query_are_read() {
        let mut out = Vec::new();
        encode_reply("42", "<info />", &mut out).unwrap();
        assert_eq!(parse_reply(&out, "42"), Some(&b"<info />"[..]));
        assert_eq!(parse_reply(&out, "4"), None);
        assert_eq!(parse_reply(b"42", "42"), None);
        assert_eq!(parse_reply(b"42 \n", "42"), Some(&b""[..]));
    }

    #[test]
    fn equal_queries_have_equal_ids() {
        assert_eq!(query_id("name='A'"), query_id("name='A'"));
        assert_ne!(query_id("name='A'"), query_id("name='B'"));
        assert_eq!(query_id(""), 0xcbf2_9ce4_8422_2325);
    }
}
