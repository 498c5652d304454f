//! How members whose revocation lists differ find each other although their discovery keys differ.
//!
//! ```text
//!   request    LSL:lab \r\n return port \r\n                       sealed under a former key
//!   answer     LSL:lab \r\n list number, IPv4 data port, IPv6 data port \r\n
//! ```
//!
//! Both tell no name. The receiver of an answer connects to the data port. The session brings the newer
//! list to the end that lacks it. A revoked device has the former key, too. It learns that there is an
//! outlet, as by trying its ports, and is refused.
//!
//! Source: secure-session §5.5.

use schwann_proto::stream_info::{IpVersion, StreamInfo};

/// What an answer says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Answer {
    /// The number of the revocation list that the outlet has.
    pub(crate) list: u64,
    v4_port: u16,
    v6_port: u16,
}

impl Answer {
    /// The data port for connections over an IP version; 0 if there is none.
    pub(crate) fn port(&self, version: IpVersion) -> u16 {
        match version {
            IpVersion::V4 => self.v4_port,
            IpVersion::V6 => self.v6_port,
        }
    }
}

/// The request of a member that takes answers at `return_port`.
pub(crate) fn request(return_port: u16) -> Vec<u8> {
    format!("{METHOD}\r\n{return_port}\r\n").into_bytes()
}

/// Reads a request; returns the port that the answer goes to.
pub(crate) fn parse_request(text: &[u8]) -> Option<u16> {
    let mut words = words(text)?;
    let port = words.next()?.parse().ok()?;
    words.next().is_none().then_some(port)
}

/// Appends the answer of the outlet that `info` describes.
pub(crate) fn encode_answer(list: u64, info: &StreamInfo, out: &mut Vec<u8>) {
    let port = |version| info.endpoint(version).data_port;
    let (v4, v6) = (port(IpVersion::V4), port(IpVersion::V6));
    out.extend_from_slice(format!("{METHOD}\r\n{list} {v4} {v6}\r\n").as_bytes());
}

/// Reads an answer.
pub(crate) fn parse_answer(text: &[u8]) -> Option<Answer> {
    let mut words = words(text)?;
    let list = words.next()?.parse().ok()?;
    let (v4_port, v6_port) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    words.next().is_none().then_some(Answer { list, v4_port, v6_port })
}

fn words(text: &[u8]) -> Option<core::str::SplitAsciiWhitespace<'_>> {
    let (line, rest) = core::str::from_utf8(text).ok()?.split_once('\n')?;
    (line.trim_ascii() == METHOD).then(|| rest.split_ascii_whitespace())
}

const METHOD: &str = "LSL:lab";

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;

    use super::*;

    #[test]
    fn calls_survive_the_wire_and_nothing_else_is_taken_for_one() {
        assert_eq!(parse_request(&request(17_001)), Some(17_001));
        let mut info = StreamInfo::new("secret", "EEG", 1, 0.0, ChannelFormat::Int8, "").expect("valid");
        info.set_ports(IpVersion::V4, 16_572, 16_573);
        let mut answer = Vec::new();
        encode_answer(7, &info, &mut answer);
        assert_eq!(parse_answer(&answer), Some(Answer { list: 7, v4_port: 16_572, v6_port: 0 }));
        assert!(!String::from_utf8_lossy(&answer).contains("secret"));
        for text in ["", "LSL:lab", "LSL:lab\r\n", "LSL:lab\r\n70000\r\n", "LSL:shortinfo\r\n1\r\n"] {
            assert_eq!(
                (parse_request(text.as_bytes()), parse_answer(text.as_bytes())),
                (None, None),
                "{text:?}"
            );
        }
        assert_eq!(parse_answer(b"LSL:lab\r\n-1 2 3\r\n"), None);
    }
}
