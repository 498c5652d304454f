//! Finding a stream on the network without a heap: the query, and what a reply says.
//!
//! A reply is a small document; only the elements that an inlet needs are read, and only before `desc`.

use arrayvec::ArrayString;
use schwann_proto::{
    stream::ChannelFormat,
    wire::{
        NoRoom, Sink,
        discover::{self, Query},
        number,
    },
};

/// A search.
#[derive(Clone, Copy, Debug)]
pub struct Finder<'a> {
    condition: &'a str,
}

/// A stream that was found, as its reply describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<'a> {
    /// Identity of this run of the stream.
    pub uid: &'a str,
    /// Number of values per sample.
    pub channel_count: usize,
    /// Type of the values.
    pub format: ChannelFormat,
    /// Samples per second, in Hz; 0 if irregular.
    pub nominal_rate: f64,
    /// TCP port of samples.
    pub data_port: u16,
    /// UDP port of time.
    pub service_port: u16,
}

impl<'a> Finder<'a> {
    /// Searches for what fulfils `condition`, such as `session_id='default' and type='EEG'`.
    #[must_use]
    pub fn new(condition: &'a str) -> Self {
        Self { condition }
    }

    /// Appends the query. Send it to port 16571 of a multicast group, of the broadcast address or of a known peer.
    /// Repeat every half second until there are replies.
    pub fn encode_query(&self, return_port: u16, out: &mut impl Sink) -> Result<(), NoRoom> {
        let id = self.id();
        Query { condition: self.condition, return_port, id: id.as_str() }.encode(out)
    }

    /// Reads a reply; nothing if it is none, or describes no stream that a node can receive.
    #[must_use]
    pub fn handle_reply<'b>(&self, datagram: &'b [u8]) -> Option<Found<'b>> {
        let document = discover::parse_reply(datagram, self.id().as_str())?;
        Found::parse(core::str::from_utf8(document).ok()?)
    }

    fn id(&self) -> ArrayString<20> {
        let mut id = ArrayString::new();
        // 20 digits hold every 64-bit number.
        let _ = core::fmt::write(&mut id, format_args!("{}", discover::query_id(self.condition)));
        id
    }
}

impl<'a> Found<'a> {
    /// Reads a shortinfo.
    #[must_use]
    pub fn parse(document: &'a str) -> Option<Self> {
        let head = document.find("<desc").map_or(document, |end| document.get(..end).unwrap_or(document));
        let integer = |name| number::extract_i64(element(head, name)?.as_bytes());
        let port = |name| u16::try_from(integer(name)?).ok();
        let uid = element(head, "uid").filter(|uid| !uid.is_empty())?;
        let rate = number::extract_f64(element(head, "nominal_srate")?.as_bytes())?;
        Some(Self {
            uid,
            channel_count: usize::try_from(integer("channel_count")?)
                .ok()
                .filter(|count| (1..=128).contains(count))?,
            format: ChannelFormat::from_name(element(head, "channel_format")?)
                .filter(|format| *format != ChannelFormat::Undefined)?,
            nominal_rate: (rate >= 0.0).then_some(rate)?,
            data_port: port("v4data_port")?,
            service_port: port("v4service_port")?,
        })
    }
}

/// The text of the first element of this name.
fn element<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = document;
    loop {
        let (_, behind) = rest.split_once('<')?;
        rest = behind;
        if let Some(text) = behind.strip_prefix(name).and_then(|behind| behind.strip_prefix('>')) {
            return text.split_once('<').map(|(text, _)| text.trim_ascii());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{format, vec::Vec};

    use super::*;
    use crate::description::tests::example;

    #[test]
    fn a_node_finds_a_node() {
        let stream = example();
        let finder = Finder::new("session_id='default'");
        let mut query = Vec::new();
        finder.encode_query(17001, &mut query).unwrap();
        let asked = Query::parse(&query).unwrap();
        assert_eq!((asked.condition, asked.return_port), ("session_id='default'", 17001));
        let mut reply = Vec::new();
        discover::encode_reply(asked.id, "", &mut reply).unwrap();
        stream.put_shortinfo(&mut reply).unwrap();
        let found = finder.handle_reply(&reply).unwrap();
        assert_eq!(found.uid, stream.uid.as_str());
        assert_eq!((found.channel_count, found.format), (8, ChannelFormat::Float32));
        assert_eq!((found.data_port, found.service_port, found.nominal_rate), (16572, 16573, 1000.0));
    }

    #[test]
    fn replies_that_describe_nothing_are_ignored() {
        let finder = Finder::new("x");
        let id = discover::query_id("x");
        for document in
            ["", "<info>", "<info><uid>a</uid>", "<info><desc><uid>a</uid></desc></info>", "\u{0}"]
        {
            assert_eq!(finder.handle_reply(format!("{id}\r\n{document}").as_bytes()), None);
        }
        assert_eq!(finder.handle_reply(b"\xff\xfe"), None);
    }
}
