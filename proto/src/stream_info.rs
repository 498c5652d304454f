//! The description of a stream: what it carries, who sends it, where it is served, and free metadata.
//!
//! The description exists twice, as typed fields and as the document that peers and queries see. Setting a field
//! changes both; editing the document leaves the fields alone. The exception is an address. The peer
//! that found the stream fills it in for itself, so it never enters the document (lsl-wire §4.4).

use core::fmt;

use crate::stream::{ChannelFormat, PROTOCOL_VERSION};
use crate::wire::info::{self, InvalidInfo};
use crate::wire::query::Query;
use crate::wire::xml::{Document, NodeId, Text, XmlError};

/// The description of one stream.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    pub(crate) fields: Fields,
    pub(crate) document: Document,
    pub(crate) document_error: Option<XmlError>,
}

/// What a description says beside the free metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    pub(crate) name: Text,
    pub(crate) stream_type: Text,
    pub(crate) channel_count: u32,
    pub(crate) format: ChannelFormat,
    pub(crate) source_id: Text,
    pub(crate) nominal_rate: f64,
    pub(crate) version: i32,
    pub(crate) created_at: f64,
    pub(crate) uid: Text,
    pub(crate) session_id: Text,
    pub(crate) hostname: Text,
    pub(crate) v4: Endpoint,
    pub(crate) v6: Endpoint,
}

/// Where a stream is served over one version of IP.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Endpoint {
    /// Textual address, IPv6 with `%scope`; empty until the stream has been found.
    pub address: Text,
    /// TCP port of samples and descriptions; 0 if not served.
    pub data_port: u16,
    /// UDP port of discovery and time; 0 if not served.
    pub service_port: u16,
}

/// A version of IP.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What an outlet adds to the description that it was given.
#[derive(Clone, Copy, Debug)]
pub struct OutletIdentity<'a> {
    /// The session, from the configuration.
    pub session_id: &'a [u8],
    /// Random bytes from which the outlet's UID is made.
    pub random: [u8; 16],
    /// Seconds on the local clock.
    pub created_at: f64,
    /// The name of this computer.
    pub hostname: &'a [u8],
}

/// Why no stream can be described like that; the caller must correct its arguments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InvalidStream {
    /// The channel count is negative.
    ChannelCount,
    /// There is no channel format of that number.
    ChannelFormat {
        /// The number, as the C interface received it.
        code: i32,
    },
    /// The name is empty.
    Name,
    /// The rate is negative or not a finite number.
    NominalRate,
}

impl StreamInfo {
    /// Describes a new stream.
    ///
    /// - Units: `nominal_rate` in Hz, 0 for a stream without a regular rate.
    /// - Errors: [`InvalidStream`]: correct the arguments.
    /// - Source: `lsl_create_streaminfo`.
    pub fn new(
        name: impl AsRef<[u8]>,
        stream_type: impl AsRef<[u8]>,
        channel_count: i32,
        nominal_rate: f64,
        format: ChannelFormat,
        source_id: impl AsRef<[u8]>,
    ) -> Result<Self, InvalidStream> {
        let name = Text::new(name);
        if name.is_empty() {
            return Err(InvalidStream::Name);
        }
        let channel_count = u32::try_from(channel_count).map_err(|_| InvalidStream::ChannelCount)?;
        // A description with `inf` or `nan` in it is refused by every peer.
        if !nominal_rate.is_finite() || nominal_rate < 0.0 {
            return Err(InvalidStream::NominalRate);
        }
        Ok(Self::from_fields(Fields {
            name,
            stream_type: Text::new(stream_type),
            channel_count,
            format,
            source_id: Text::new(source_id),
            nominal_rate,
            version: PROTOCOL_VERSION,
            ..Fields::default()
        }))
    }

    /// Reads the description that a peer sent or an application stored.
    ///
    /// A document may end early or become malformed after its fields. Existing peers can write such
    /// documents, so what precedes the fault is accepted; [`Self::document_error`] tells.
    ///
    /// - Errors: [`InvalidInfo`]: drop the message, or use [`Self::blank`].
    /// - Source: lsl-wire §4.3.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidInfo> {
        info::parse(bytes)
    }

    /// Reads a description and returns a [blank](Self::blank) one if it is invalid.
    ///
    /// - Source: `lsl_streaminfo_from_xml`.
    pub fn parse_or_blank(bytes: &[u8]) -> Self {
        Self::parse(bytes).unwrap_or_else(Self::blank)
    }

    /// Returns the description that stands for an invalid one: no channels, and the reason as its name.
    pub fn blank(reason: InvalidInfo) -> Self {
        let mut blank = Self::from_fields(Fields::default());
        // Only the field: the document's name stays empty in the C library, too.
        blank.fields.name = Text::new(alloc::format!("(invalid: {reason})"));
        blank
    }

    /// Returns the description of an outlet made from this one; it has no address and no ports yet.
    pub fn for_outlet(&self, identity: &OutletIdentity<'_>) -> Self {
        let mut outlet = self.clone();
        outlet.set_field("session_id", identity.session_id, |fields| &mut fields.session_id);
        outlet.set_field("hostname", identity.hostname, |fields| &mut fields.hostname);
        outlet.reset_uid(identity.random);
        outlet.set_created_at(identity.created_at);
        for version in [IpVersion::V4, IpVersion::V6] {
            // The description may be that of a stream found elsewhere.
            outlet.set_address(version, b"");
            outlet.set_text(version.tag("address"), b"");
            outlet.set_ports(version, 0, 0);
        }
        outlet
    }

    pub(crate) fn from_fields(fields: Fields) -> Self {
        let document = info::build(&fields);
        Self { fields, document, document_error: None }
    }

    /// Gives the stream a new UID, a random one of version 4, and returns it.
    ///
    /// - Source: `lsl_reset_uid`. Lower case matters: peers lower-case the header lines they compare it with.
    pub fn reset_uid(&mut self, random: [u8; 16]) -> &Text {
        let uid = uuid_version_4(random);
        self.set_field("uid", uid.as_bytes(), |fields| &mut fields.uid);
        &self.fields.uid
    }

    /// Sets the protocol version times 100, such as 110.
    pub fn set_version(&mut self, version: i32) {
        self.fields.version = version;
        self.set_text("version", info::version_text(version).as_bytes());
    }

    /// Sets when the stream was created, in seconds on its own clock.
    pub fn set_created_at(&mut self, created_at: f64) {
        self.fields.created_at = created_at;
        self.set_text("created_at", info::number_text(created_at).as_bytes());
    }

    /// Sets the ports on which the stream is served.
    pub fn set_ports(&mut self, version: IpVersion, data_port: u16, service_port: u16) {
        let endpoint = self.endpoint_mut(version);
        endpoint.data_port = data_port;
        endpoint.service_port = service_port;
        self.set_text(version.tag("data_port"), alloc::format!("{data_port}").as_bytes());
        self.set_text(version.tag("service_port"), alloc::format!("{service_port}").as_bytes());
    }

    /// Sets the address at which the stream was found; the document does not change.
    pub fn set_address(&mut self, version: IpVersion, address: impl AsRef<[u8]>) {
        self.endpoint_mut(version).address = Text::new(address);
    }

    /// Gives access to the document, to edit the metadata below [`Self::desc`].
    pub fn document_mut(&mut self) -> &mut Document {
        &mut self.document
    }

    /// Returns the name.
    pub fn name(&self) -> &Text {
        &self.fields.name
    }

    /// Returns the content type, such as `EEG`.
    pub fn stream_type(&self) -> &Text {
        &self.fields.stream_type
    }

    /// Returns how many channels each sample has.
    pub fn channel_count(&self) -> u32 {
        self.fields.channel_count
    }

    /// Returns the type of the values.
    pub fn channel_format(&self) -> ChannelFormat {
        self.fields.format
    }

    /// Returns the rate in Hz, 0 if irregular.
    pub fn nominal_rate(&self) -> f64 {
        self.fields.nominal_rate
    }

    /// Returns what identifies the source across restarts; empty if there is no such thing.
    pub fn source_id(&self) -> &Text {
        &self.fields.source_id
    }

    /// Returns the protocol version times 100.
    pub fn version(&self) -> i32 {
        self.fields.version
    }

    /// Returns when the outlet was created, in seconds on the sender's clock; 0 before that.
    pub fn created_at(&self) -> f64 {
        self.fields.created_at
    }

    /// Returns the UID of the outlet; empty before there is one.
    pub fn uid(&self) -> &Text {
        &self.fields.uid
    }

    /// Returns the session; empty before there is an outlet.
    pub fn session_id(&self) -> &Text {
        &self.fields.session_id
    }

    /// Returns the name of the sending computer; empty before there is an outlet.
    pub fn hostname(&self) -> &Text {
        &self.fields.hostname
    }

    /// Returns where the stream is served over one version of IP.
    pub fn endpoint(&self, version: IpVersion) -> &Endpoint {
        match version {
            IpVersion::V4 => &self.fields.v4,
            IpVersion::V6 => &self.fields.v6,
        }
    }

    /// Returns the whole document, fields and metadata.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the element that holds the metadata; `None` if someone has removed it.
    pub fn desc(&self) -> Option<NodeId> {
        self.document.child(self.info_element()?, "desc")
    }

    /// Iterates over the elements `desc/channels/channel`, by which XDF's convention describes the channels in order.
    pub fn described_channels(&self) -> impl Iterator<Item = NodeId> + '_ {
        let channels = self.desc().and_then(|desc| self.document.child(desc, "channels"));
        let first = channels.and_then(|channels| self.document.child(channels, "channel"));
        core::iter::successors(first, |channel| self.document.next_sibling_named(*channel, "channel"))
    }

    /// Returns why the document that this was read from was not read to its end, if so.
    ///
    /// After [`XmlError::Truncated`] a caller that received the document over a connection should ask again.
    pub fn document_error(&self) -> Option<XmlError> {
        self.document_error
    }

    /// Returns the message that describes the stream without its metadata.
    pub fn shortinfo(&self) -> alloc::vec::Vec<u8> {
        let mut fields = self.fields.clone();
        // Where a peer finds the stream is for that peer to see.
        fields.v4.address = Text::default();
        fields.v6.address = Text::default();
        info::build(&fields).to_bytes()
    }

    /// Returns the message that describes the stream with its metadata.
    pub fn fullinfo(&self) -> alloc::vec::Vec<u8> {
        self.document.to_bytes()
    }

    /// Returns whether the query is true for this stream.
    ///
    /// A query that costs too much to evaluate is false.
    pub fn matches(&self, query: &Query) -> bool {
        query.matches(&self.document)
    }

    fn set_field(&mut self, tag: &str, value: &[u8], field: impl FnOnce(&mut Fields) -> &mut Text) {
        let value = Text::new(value);
        self.set_text(tag, value.as_bytes());
        *field(&mut self.fields) = value;
    }

    fn set_text(&mut self, tag: &str, value: &[u8]) {
        let Some(info) = self.info_element() else { return };
        if let Some(element) =
            self.document.child(info, tag).or_else(|| self.document.append_child(info, tag))
        {
            self.document.set_text(element, value);
        }
    }

    fn endpoint_mut(&mut self, version: IpVersion) -> &mut Endpoint {
        match version {
            IpVersion::V4 => &mut self.fields.v4,
            IpVersion::V6 => &mut self.fields.v6,
        }
    }

    fn info_element(&self) -> Option<NodeId> {
        self.document.child(self.document.root(), "info")
    }
}

impl IpVersion {
    /// Returns the name of the element that holds `what` for this version.
    fn tag(self, what: &str) -> &'static str {
        match (self, what) {
            (Self::V4, "address") => "v4address",
            (Self::V4, "data_port") => "v4data_port",
            (Self::V4, _) => "v4service_port",
            (Self::V6, "address") => "v6address",
            (Self::V6, "data_port") => "v6data_port",
            (Self::V6, _) => "v6service_port",
        }
    }
}

impl core::error::Error for InvalidStream {}

/// The texts are those of the C library, whose tests compare some of them.
impl fmt::Display for InvalidStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChannelCount => formatter.write_str("The channel_count of a stream must be nonnegative."),
            Self::ChannelFormat { code } => {
                write!(formatter, "The stream info was created with an unknown channel format {code}")
            }
            Self::Name => formatter.write_str("The name of a stream must be non-empty."),
            Self::NominalRate => {
                formatter.write_str("The nominal sampling rate of a stream must be nonnegative.")
            }
        }
    }
}

/// Returns a UUID of version 4, variant RFC 4122, in lower case.
fn uuid_version_4(random: [u8; 16]) -> alloc::string::String {
    const VERSION_4: u128 = 0x4 << 76;
    const VERSION_BITS: u128 = 0xf << 76;
    const VARIANT_RFC_4122: u128 = 0b10 << 62;
    const VARIANT_BITS: u128 = 0b11 << 62;
    let bits = u128::from_be_bytes(random) & !VERSION_BITS & !VARIANT_BITS | VERSION_4 | VARIANT_RFC_4122;
    let group = |shift: u32, digits: u32| bits >> shift & !(u128::MAX << (4 * digits));
    alloc::format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        group(96, 8),
        group(80, 4),
        group(64, 4),
        group(48, 4),
        group(0, 12)
    )
}

#[cfg(test)]
mod tests;
