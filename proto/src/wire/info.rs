//! A stream's description as a document: shortinfo and fullinfo.
//!
//! Source: lsl-wire §4.1 (form) and §4.3 (checks). The description itself is [`crate::stream_info::StreamInfo`].

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::stream::ChannelFormat;
use crate::stream_info::{Endpoint, Fields, StreamInfo};
use crate::wire::xml::{Document, NodeId, Parsed, Text, XmlError};
use crate::wire::{convert, number};

/// Why bytes are not the description of a stream; their sender must correct them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InvalidInfo {
    /// `channel_count` is not an integer from 0 on that fits 32 bits.
    ChannelCount,
    /// `channel_format` is none of the seven names.
    ChannelFormat,
    /// `created_at` is not a finite number.
    CreatedAt,
    /// The document is too large or nested too deeply.
    Limit(XmlError),
    /// `name` is empty, which is also so for everything that is no such document at all.
    Name,
    /// `nominal_srate` does not begin with an integer, or is negative.
    NominalRate,
    /// A port is not an integer from 0 to 65535.
    Port(&'static str),
    /// `uid` is empty.
    Uid,
    /// `version` is not a positive number.
    Version,
}

/// Reads a description; see [`StreamInfo::parse`].
pub(crate) fn parse(bytes: &[u8]) -> Result<StreamInfo, InvalidInfo> {
    let Parsed { document, error } = Document::parse(bytes);
    if let Some(error) = error.filter(|error| error.is_limit()) {
        return Err(InvalidInfo::Limit(error));
    }
    let info = document.child(document.root(), "info").ok_or(InvalidInfo::Name)?;
    let fields = Reader { document: &document, info }.fields()?;
    Ok(StreamInfo { fields, document, document_error: error })
}

/// Writes the fields as a document with empty metadata.
pub(crate) fn build(fields: &Fields) -> Document {
    let mut document = Document::new();
    let Some(info) = document.append_child(document.root(), "info") else { return document };
    let mut add = |name: &str, value: &[u8]| document.append_child_value(info, name, value);
    add("name", fields.name.as_bytes());
    add("type", fields.stream_type.as_bytes());
    add("channel_count", format!("{}", fields.channel_count).as_bytes());
    add("channel_format", fields.format.name().as_bytes());
    add("source_id", fields.source_id.as_bytes());
    add("nominal_srate", number_text(fields.nominal_rate).as_bytes());
    add("version", version_text(fields.version).as_bytes());
    add("created_at", number_text(fields.created_at).as_bytes());
    add("uid", fields.uid.as_bytes());
    add("session_id", fields.session_id.as_bytes());
    add("hostname", fields.hostname.as_bytes());
    add("v4address", fields.v4.address.as_bytes());
    add("v4data_port", format!("{}", fields.v4.data_port).as_bytes());
    add("v4service_port", format!("{}", fields.v4.service_port).as_bytes());
    add("v6address", fields.v6.address.as_bytes());
    add("v6data_port", format!("{}", fields.v6.data_port).as_bytes());
    add("v6service_port", format!("{}", fields.v6.service_port).as_bytes());
    document.append_child(info, "desc");
    document
}

/// Returns a number with 16 significant digits, as descriptions have it.
pub(crate) fn number_text(value: f64) -> String {
    String::from(number::description_number(value).as_str())
}

/// Returns a protocol version times 100 as descriptions have it: 110 becomes `1.100000000000000`.
pub(crate) fn version_text(version: i32) -> String {
    number_text(f64::from(version) / 100.0)
}

impl core::error::Error for InvalidInfo {}

/// The texts are those of the C library where it has telling ones.
impl fmt::Display for InvalidInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChannelCount => formatter.write_str("channel_count must be >=0"),
            Self::ChannelFormat => formatter.write_str("Invalid channel format"),
            Self::CreatedAt => formatter.write_str("Invalid value for created_at"),
            Self::Limit(error) => error.fmt(formatter),
            Self::Name => formatter.write_str("Received a stream info with empty <name> field."),
            Self::NominalRate => formatter.write_str("nominal_srate must be >=0"),
            Self::Port(tag) => write!(formatter, "{tag} must be >=0 and <=65535"),
            Self::Uid => formatter.write_str("The UID of the given stream info is empty."),
            Self::Version => formatter.write_str("The version of the given stream info is invalid."),
        }
    }
}

struct Reader<'a> {
    document: &'a Document,
    info: NodeId,
}

impl Reader<'_> {
    /// Reads and checks every field, in the order in which existing peers do.
    fn fields(&self) -> Result<Fields, InvalidInfo> {
        let name = self.non_empty("name", InvalidInfo::Name)?;
        let channel_count = self.integer("channel_count", InvalidInfo::ChannelCount)?;
        let channel_count = u32::try_from(channel_count).map_err(|_| InvalidInfo::ChannelCount)?;
        let nominal_rate = self.nominal_rate()?;
        let format = self.channel_format()?;
        let version = self.version()?;
        let created_at = number::extract_f64(self.text("created_at")).ok_or(InvalidInfo::CreatedAt)?;
        let uid = self.non_empty("uid", InvalidInfo::Uid)?;
        Ok(Fields {
            name,
            stream_type: self.copy("type"),
            channel_count,
            format,
            source_id: self.copy("source_id"),
            nominal_rate,
            version,
            created_at,
            uid,
            session_id: self.copy("session_id"),
            hostname: self.copy("hostname"),
            v4: self.endpoint("v4address", "v4data_port", "v4service_port")?,
            v6: self.endpoint("v6address", "v6data_port", "v6service_port")?,
        })
    }

    fn nominal_rate(&self) -> Result<f64, InvalidInfo> {
        // Existing peers read the integer part first and refuse a value without one. So do we; otherwise
        // some programs would see a stream that others do not.
        self.integer("nominal_srate", InvalidInfo::NominalRate)?;
        number::extract_f64(self.text("nominal_srate"))
            .filter(|rate| *rate >= 0.0)
            .ok_or(InvalidInfo::NominalRate)
    }

    fn channel_format(&self) -> Result<ChannelFormat, InvalidInfo> {
        core::str::from_utf8(self.text("channel_format"))
            .ok()
            .and_then(ChannelFormat::from_name)
            .filter(|format| *format != ChannelFormat::Undefined)
            .ok_or(InvalidInfo::ChannelFormat)
    }

    fn version(&self) -> Result<i32, InvalidInfo> {
        // Truncated as in existing peers, but after a step smaller than any version's last digit. In
        // binary, 1.15 times 100 is a little less than 115.
        number::extract_f64(self.text("version"))
            .map(|version| convert::i32_from_f64(version * 100.0 + 1e-6))
            .filter(|version| *version > 0)
            .ok_or(InvalidInfo::Version)
    }

    fn endpoint(
        &self,
        address: &'static str,
        data_port: &'static str,
        service_port: &'static str,
    ) -> Result<Endpoint, InvalidInfo> {
        Ok(Endpoint {
            address: self.copy(address),
            data_port: self.port(data_port)?,
            service_port: self.port(service_port)?,
        })
    }

    fn port(&self, tag: &'static str) -> Result<u16, InvalidInfo> {
        let port = self.integer(tag, InvalidInfo::Port(tag))?;
        u16::try_from(port).map_err(|_| InvalidInfo::Port(tag))
    }

    fn integer(&self, tag: &str, error: InvalidInfo) -> Result<i32, InvalidInfo> {
        number::extract_i64(self.text(tag)).and_then(|value| i32::try_from(value).ok()).ok_or(error)
    }

    fn non_empty(&self, tag: &str, error: InvalidInfo) -> Result<Text, InvalidInfo> {
        let text = self.copy(tag);
        if text.is_empty() { Err(error) } else { Ok(text) }
    }

    fn copy(&self, tag: &str) -> Text {
        self.document.child_value_named(self.info, tag).clone()
    }

    fn text(&self, tag: &str) -> &[u8] {
        self.document.child_value_named(self.info, tag).as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    /// A valid description in which one field is replaced.
    fn with(tag: &str, value: &str) -> Result<StreamInfo, InvalidInfo> {
        let mut info = StreamInfo::new("N", "T", 3, 100.0, ChannelFormat::Float32, "x").unwrap();
        info.reset_uid([0; 16]);
        let root = info.document().document_element().unwrap();
        assert!(info.document_mut().set_child_value(root, tag, value) || value.is_empty());
        StreamInfo::parse(&info.fullinfo())
    }

    #[test]
    fn fields_are_checked_as_existing_peers_do() {
        let port = InvalidInfo::Port("v4data_port");
        for (tag, value, reason) in [
            ("name", "", InvalidInfo::Name),
            ("name", " ", InvalidInfo::Name),
            ("channel_count", "", InvalidInfo::ChannelCount),
            ("channel_count", "-1", InvalidInfo::ChannelCount),
            ("channel_count", "abc", InvalidInfo::ChannelCount),
            ("channel_count", "2147483648", InvalidInfo::ChannelCount),
            ("nominal_srate", ".5", InvalidInfo::NominalRate),
            ("nominal_srate", "inf", InvalidInfo::NominalRate),
            ("nominal_srate", "nan", InvalidInfo::NominalRate),
            ("nominal_srate", "-1", InvalidInfo::NominalRate),
            ("nominal_srate", "99999999999", InvalidInfo::NominalRate),
            ("channel_format", "undefined", InvalidInfo::ChannelFormat),
            ("channel_format", "Float32", InvalidInfo::ChannelFormat),
            ("version", "", InvalidInfo::Version),
            ("version", "0.001", InvalidInfo::Version),
            ("version", "abc", InvalidInfo::Version),
            ("version", "1e10", InvalidInfo::Version),
            ("created_at", "", InvalidInfo::CreatedAt),
            ("created_at", "nan", InvalidInfo::CreatedAt),
            ("uid", "", InvalidInfo::Uid),
            ("v4data_port", "", port),
            ("v4data_port", "65536", port),
            ("v4data_port", "-1", port),
        ] {
            assert_eq!(with(tag, value).map(drop), Err(reason), "{tag} {value:?}");
        }
    }

    #[test]
    fn numbers_may_be_followed_by_anything() {
        assert_eq!(with("channel_count", " +3.7x").unwrap().channel_count(), 3);
        assert_eq!(with("nominal_srate", "0.5 Hz").unwrap().nominal_rate(), 0.5);
        assert_eq!(with("nominal_srate", "1e3").unwrap().nominal_rate(), 1000.0);
        assert_eq!(with("version", "1.10x").unwrap().version(), 110);
        assert_eq!(with("version", "1").unwrap().version(), 100);
        assert_eq!(with("version", "1.15").unwrap().version(), 115);
        assert_eq!(with("created_at", " 7s").unwrap().created_at(), 7.0);
        assert_eq!(
            with("v4data_port", "5x").unwrap().endpoint(crate::stream_info::IpVersion::V4).data_port,
            5
        );
    }

    #[test]
    fn old_documents_are_read_whatever_their_order_and_form() {
        let text = "<info><nominal_srate>250</nominal_srate><channel_format>int16</channel_format><version>1.1\
            </version><name>Old</name><uid>u</uid><channel_count>2</channel_count><created_at>1.5</created_at>\
            <v6service_port>4</v6service_port><v6data_port>3</v6data_port><v4service_port>2</v4service_port>\
            <v4data_port>1</v4data_port></info>";
        let info = StreamInfo::parse(text.as_bytes()).unwrap();
        assert_eq!((info.nominal_rate(), info.channel_format()), (250.0, ChannelFormat::Int16));
        assert_eq!(info.source_id(), &"");
        assert_eq!(info.desc(), None);
    }

    #[test]
    fn garbage_becomes_a_blank_description_that_names_the_reason() {
        let blank = StreamInfo::parse_or_blank(b"garbage");
        assert_eq!(blank.name(), &"(invalid: Received a stream info with empty <name> field.)");
        assert_eq!((blank.channel_count(), blank.version(), blank.nominal_rate()), (0, 0, 0.0));
        assert_eq!(blank.channel_format(), ChannelFormat::Undefined);
        assert!(blank.desc().is_some());
        assert!(blank.fullinfo().windows(13).any(|bytes| bytes == b"<name></name>"));
    }

    #[test]
    fn a_description_that_ends_early_says_so() {
        let mut info = with("name", "N").unwrap();
        let desc = info.desc().unwrap();
        info.document_mut().append_child_value(desc, "manufacturer", "ACME");
        let message = info.fullinfo();
        let cut = message.windows(4).position(|bytes| bytes == b"ACME").unwrap();
        let read = StreamInfo::parse(&message[..cut]).unwrap();
        assert_eq!(read.document_error(), Some(XmlError::Truncated));
        assert_eq!(StreamInfo::parse(&message).unwrap().document_error(), None);
    }

    #[test]
    fn an_oversized_description_is_refused_as_such() {
        let deep = "<a>".repeat(1000);
        let error = StreamInfo::parse(deep.as_bytes()).unwrap_err();
        assert_eq!(error, InvalidInfo::Limit(XmlError::TooDeep));
        assert_eq!(error.to_string(), "elements are nested too deeply");
    }
}
