//! The four-stamp exchange by which an inlet measures the clock offset to an outlet.
//!
//! Source: lsl-wire §9. When to send, and what to make of the replies, is [`crate::clock`]'s.

use core::str;

use super::{
    NoRoom, Sink,
    discover::after_method,
    number::{self, NumberText, TrailingZeros},
    sink::put_all,
};

/// Asks for the outlet's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Groups the probes of one measurement; replies to other groups are ignored.
    pub wave: i32,
    /// When it was sent, in seconds on the client's clock.
    pub sent: f64,
}

impl Request {
    /// Reads a datagram; nothing if it is not such a request, which is then ignored.
    ///
    /// The original answers malformed requests with bytes left on its stack; that is not copied.
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        let text = after_method(datagram, METHOD)?;
        let mut words = text.split_ascii_whitespace();
        Some(Self {
            wave: number::extract_i32(words.next()?.as_bytes())?,
            sent: number::extract_f64(words.next()?.as_bytes())?,
        })
    }

    /// Appends the datagram.
    pub fn encode(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        put_all(out, &[METHOD, "\r\n", &number::integer(self.wave.into()), " ", &seconds(self.sent), "\r\n"])
    }
}

/// Tells the outlet's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reply {
    /// The request's.
    pub wave: i32,
    /// When the request was sent, in seconds on the client's clock.
    pub request_sent: f64,
    /// When the request was received, in seconds on the outlet's clock.
    pub request_received: f64,
    /// When this reply was sent, in seconds on the outlet's clock.
    pub reply_sent: f64,
}

impl Reply {
    /// Reads a datagram; nothing if it is not such a reply, which is then ignored.
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        let mut words = str::from_utf8(datagram).ok()?.split_ascii_whitespace();
        let wave = number::extract_i32(words.next()?.as_bytes())?;
        let mut stamp = || number::extract_f64(words.next()?.as_bytes());
        Some(Self { wave, request_sent: stamp()?, request_received: stamp()?, reply_sent: stamp()? })
    }

    /// Appends the datagram.
    pub fn encode(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        let Self { wave, request_sent, request_received, reply_sent } = *self;
        let (t0, t1, t2) = (seconds(request_sent), seconds(request_received), seconds(reply_sent));
        put_all(out, &[" ", &number::integer(wave.into()), " ", &t0, " ", &t1, " ", &t2])
    }
}

fn seconds(value: f64) -> NumberText {
    number::general(value, 16, TrailingZeros::Drop)
}

/// Largest message, in bytes.
pub const DATAGRAM_LIMIT: usize = 1024;

const METHOD: &str = "LSL:timedata";

#[cfg(test)]
mod tests {
    use std::{string::String, vec::Vec};

    use super::{Reply, Request};

    #[test]
    fn requests_and_replies_look_as_captured() {
        // `outlet_udp_timedata.json`.
        let cases = [
            (
                "LSL:timedata\r\n1804289383 1000.123456789\r\n",
                (3665.588972318, 3665.589026396),
                " 1804289383 1000.123456789 3665.588972318 3665.589026396",
            ),
            ("LSL:timedata\n1 0.0", (3665.589558699, 3665.589584411), " 1 0 3665.589558699 3665.589584411"),
            (
                "LSL:timedata\r\n7 12345678.123456789\r\n",
                (3665.589744935, 3665.589761319),
                " 7 12345678.12345679 3665.589744935 3665.589761319",
            ),
        ];
        for (request, (request_received, reply_sent), reply) in cases {
            let request = Request::parse(request.as_bytes()).unwrap();
            let answer =
                Reply { wave: request.wave, request_sent: request.sent, request_received, reply_sent };
            let mut out = Vec::new();
            answer.encode(&mut out).unwrap();
            assert_eq!(String::from_utf8_lossy(&out), reply);
            let parsed = Reply::parse(&out).unwrap();
            assert_eq!((parsed.wave, parsed.reply_sent), (request.wave, reply_sent));
        }
    }

    #[test]
    fn malformed_messages_are_ignored() {
        for text in [
            "LSL:timedata\r\nnonsense\r\n",
            "LSL:timedata\r\n1\r\n",
            "LSL:timedata\r\n",
            "LSL:shortinfo\r\n1 2",
        ] {
            assert_eq!(Request::parse(text.as_bytes()), None, "{text:?}");
        }
        for text in ["", " 1 2 3", "x 1 2 3", " 1 2 x 3"] {
            assert_eq!(Reply::parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
