//! What a node says about its stream: shortinfo and fullinfo, written without a heap.
//!
//! Byte for byte what the desktop library writes; a test compares. lsl-wire §4.

use core::fmt;

use schwann_proto::{
    stream::{ChannelFormat, FIELDS, PROTOCOL_VERSION},
    wire::{NoRoom, Sink, number},
};

/// Identity of one run of a stream: a UUID of version 4, in lower case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Uid([u8; 36]);

impl Uid {
    /// Makes an identity of random bytes.
    ///
    /// - Source: RFC 9562 §5.4.
    #[must_use]
    pub fn new(mut random: [u8; 16]) -> Self {
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut random;
        *version = (*version & 0x0f) | 0x40;
        *variant = (*variant & 0x3f) | 0x80;
        let mut text = [b'-'; 36];
        let places = (0..36).filter(|place| !matches!(place, 8 | 13 | 18 | 23));
        let digits = random.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        for (place, digit) in places.zip(digits) {
            if let Some(to) = text.get_mut(place) {
                *to = if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) };
            }
        }
        Self(text)
    }

    /// The identity as descriptions have it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Where a stream is served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ports {
    /// TCP port of samples and descriptions.
    pub data_port: u16,
    /// UDP port of time, and of discovery beside the multicast port.
    pub service_port: u16,
}

/// A stream, as its maker describes it.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// Name; not empty.
    pub name: &'a str,
    /// Content type, such as `EEG`.
    pub stream_type: &'a str,
    /// Number of values per sample.
    pub channel_count: usize,
    /// Type of the values.
    pub format: ChannelFormat,
    /// Samples per second, in Hz; 0 if they come at any time.
    pub nominal_rate: f64,
    /// Identifies the device across restarts, so that inlets find it again. Use the chip's serial number.
    pub source_id: &'a str,
    /// Name of the device on the network.
    pub hostname: &'a str,
    /// The session; peers of other sessions do not see the stream. Usually `default`.
    pub session_id: &'a str,
    /// Identity of this run.
    pub uid: Uid,
    /// When the stream was made, in seconds on the device's clock.
    pub created_at: f64,
    /// Where it is served.
    pub ports: Ports,
    /// Content of the element `desc`: well-formed XML, or nothing.
    pub desc: &'a str,
}

/// Why no stream can be described like that; correct the description.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InvalidDescription {
    /// Not 1 to 128 channels.
    ChannelCount,
    /// No format.
    Format,
    /// The name is empty.
    Name,
    /// The rate or the time of creation is negative or not finite.
    Number,
    /// A text exceeds [`Description::MAX_TEXT`], so that no datagram could hold the description.
    TextLen,
}

impl fmt::Display for InvalidDescription {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::ChannelCount => "a node has 1 to 128 channels",
            Self::Format => "the stream has no channel format",
            Self::Name => "the name of a stream must not be empty",
            Self::Number => "rate and time of creation must be finite and not negative",
            Self::TextLen => "name, type, source id, hostname and session id have at most 63 bytes each",
        })
    }
}

impl core::error::Error for InvalidDescription {}

impl Description<'_> {
    /// Longest name, type, source id, hostname or session id, in bytes.
    pub const MAX_TEXT: usize = 63;
    /// No shortinfo is longer, in bytes: five texts in which every byte may become a reference of six.
    pub const MAX_SHORTINFO: usize = 5 * 6 * Self::MAX_TEXT + 700;

    /// Checks what the outlet relies on.
    ///
    /// - Errors: [`InvalidDescription`].
    pub fn check(&self) -> Result<(), InvalidDescription> {
        let texts = [self.name, self.stream_type, self.source_id, self.hostname, self.session_id];
        if self.name.is_empty() {
            return Err(InvalidDescription::Name);
        }
        if texts.iter().any(|text| text.len() > Self::MAX_TEXT) {
            return Err(InvalidDescription::TextLen);
        }
        if self.channel_count == 0 || self.channel_count > 128 {
            return Err(InvalidDescription::ChannelCount);
        }
        if self.format == ChannelFormat::Undefined {
            return Err(InvalidDescription::Format);
        }
        let numbers = [self.nominal_rate, self.created_at];
        if numbers.iter().any(|number| !number.is_finite() || *number < 0.0) {
            return Err(InvalidDescription::Number);
        }
        Ok(())
    }

    /// Appends the description without metadata.
    pub fn put_shortinfo(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        self.put(false, out)
    }

    /// Appends the whole description.
    pub fn put_fullinfo(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        self.put(true, out)
    }

    fn put(&self, whole: bool, out: &mut impl Sink) -> Result<(), NoRoom> {
        out.put(b"<?xml version=\"1.0\"?>\n<info>")?;
        for field in FIELDS {
            self.value(field, |value| put_element(field, value, out))?;
        }
        if whole && !self.desc.is_empty() {
            out.put(b"\n\t<desc>")?;
            out.put(self.desc.as_bytes())?;
            out.put(b"</desc>")?;
        } else {
            out.put(b"\n\t<desc />")?;
        }
        out.put(b"\n</info>\n")
    }

    /// Hands the text of an element of the description to `then`; an unknown one is empty.
    pub(crate) fn value<R>(&self, field: &str, then: impl FnOnce(&str) -> R) -> R {
        let count = || number::integer(i64::try_from(self.channel_count).unwrap_or(i64::MAX));
        match field {
            "name" => then(self.name),
            "type" => then(self.stream_type),
            "channel_count" => then(count().as_str()),
            "channel_format" => then(self.format.name()),
            "source_id" => then(self.source_id),
            "nominal_srate" => then(number::description_number(self.nominal_rate).as_str()),
            "version" => then(number::description_number(f64::from(PROTOCOL_VERSION) / 100.0).as_str()),
            "created_at" => then(number::description_number(self.created_at).as_str()),
            "uid" => then(self.uid.as_str()),
            "session_id" => then(self.session_id),
            "hostname" => then(self.hostname),
            "v4data_port" => then(number::integer(self.ports.data_port.into()).as_str()),
            "v4service_port" => then(number::integer(self.ports.service_port.into()).as_str()),
            "v6data_port" | "v6service_port" => then("0"),
            _ => then(""),
        }
    }

    /// Whether there is such an element.
    pub(crate) fn has(field: &str) -> bool {
        FIELDS.contains(&field)
    }
}

fn put_element(name: &str, value: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    out.put(b"\n\t<")?;
    out.put(name.as_bytes())?;
    out.put(b">")?;
    for byte in value.bytes() {
        put_escaped(byte, out)?;
    }
    out.put(b"</")?;
    out.put(name.as_bytes())?;
    out.put(b">")
}

/// Text as existing peers escape it.
fn put_escaped(byte: u8, out: &mut impl Sink) -> Result<(), NoRoom> {
    match byte {
        b'&' => out.put(b"&amp;"),
        b'<' => out.put(b"&lt;"),
        b'>' => out.put(b"&gt;"),
        b'\t' | b'\n' | b'\r' => out.put(&[byte]),
        0..0x20 => out.put(&[b'&', b'#', b'0' + byte / 10, b'0' + byte % 10, b';']),
        _ => out.put(&[byte]),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::vec::Vec;

    use schwann_proto::stream_info::{IpVersion, OutletIdentity, StreamInfo};

    use super::*;

    pub(crate) fn example() -> Description<'static> {
        Description {
            name: "Node <1> & \"co\"",
            stream_type: "EEG",
            channel_count: 8,
            format: ChannelFormat::Float32,
            nominal_rate: 1000.0,
            source_id: "chip-77",
            hostname: "node",
            session_id: "default",
            uid: Uid::new([0xa8; 16]),
            created_at: 12.25,
            ports: Ports { data_port: 16572, service_port: 16573 },
            desc: "<manufacturer>Schwann</manufacturer>",
        }
    }

    #[test]
    fn a_shortinfo_is_that_of_the_desktop() {
        let node = example();
        let mut info = StreamInfo::new(node.name, node.stream_type, 8, 1000.0, node.format, node.source_id)
            .unwrap()
            .for_outlet(&OutletIdentity {
                session_id: b"default",
                random: [0xa8; 16],
                created_at: 12.25,
                hostname: b"node",
            });
        info.set_ports(IpVersion::V4, 16572, 16573);
        let mut out = Vec::new();
        node.put_shortinfo(&mut out).unwrap();
        assert_eq!(core::str::from_utf8(&out), core::str::from_utf8(&info.shortinfo()));
        assert!(out.len() <= Description::MAX_SHORTINFO);
    }

    #[test]
    fn a_fullinfo_is_understood_by_the_desktop() {
        let node = example();
        let mut out = Vec::new();
        node.put_fullinfo(&mut out).unwrap();
        let info = StreamInfo::parse(&out).unwrap();
        assert_eq!(info.document_error(), None);
        assert_eq!(info.name().as_bytes(), node.name.as_bytes());
        let desc = info.desc().unwrap();
        assert_eq!(info.document().child_value_named(desc, "manufacturer").as_bytes(), b"Schwann");
    }

    #[test]
    fn a_longest_shortinfo_fits_what_is_promised() {
        let worst = core::str::from_utf8(&[1; Description::MAX_TEXT]).unwrap();
        let node = Description {
            name: worst,
            stream_type: worst,
            source_id: worst,
            hostname: worst,
            session_id: worst,
            created_at: 1.234567890123456e-300,
            nominal_rate: 1.234567890123456e300,
            ..example()
        };
        node.check().unwrap();
        let mut out = Vec::new();
        node.put_shortinfo(&mut out).unwrap();
        assert!(out.len() <= Description::MAX_SHORTINFO, "{}", out.len());
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let cases = [
            (Description { name: "", ..example() }, InvalidDescription::Name),
            (Description { channel_count: 129, ..example() }, InvalidDescription::ChannelCount),
            (Description { format: ChannelFormat::Undefined, ..example() }, InvalidDescription::Format),
            (Description { nominal_rate: f64::NAN, ..example() }, InvalidDescription::Number),
        ];
        for (description, why) in cases {
            assert_eq!(description.check(), Err(why));
        }
    }
}
