//! What the XML of headers and footers says, and the XML that we write.

use roxmltree::{Document, Node, ParsingOptions};

use crate::clock::ClockOffset;
use crate::wire::Format;

/// What a stream is, as its header says.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamHeader {
    /// The number that the file's chunks name the stream by.
    pub id: u32,
    /// `<name>`; empty if absent.
    pub name: String,
    /// `<type>`: what kind of data it carries, such as `EEG`; empty if absent.
    pub content_type: String,
    /// `<source_id>`: the device; empty if absent.
    pub source_id: String,
    /// `<hostname>` of the sender; empty if absent.
    pub hostname: String,
    /// `<channel_count>`; at least 1.
    pub channel_count: usize,
    /// `<channel_format>`
    pub format: Format,
    /// `<nominal_srate>` in hertz; 0 if the stream has no regular rate.
    pub nominal_rate: f64,
    /// Whether the sender says that it may leave samples out (`desc/synchronization/can_drop_samples`).
    pub can_drop_samples: bool,
    /// The label of each channel (`desc/channels/channel/label`); empty if not given for all.
    pub labels: Vec<String>,
    /// The header's XML as stored.
    pub xml: String,
}

/// Why a stream header cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HeaderError {
    /// The XML is not well-formed UTF-8 XML, or too deep.
    Xml,
    /// `<channel_count>` is missing, zero, or more than [`StreamHeader::MAX_CHANNELS`].
    ChannelCount,
    /// `<channel_format>` is missing or not one of the seven.
    Format,
    /// `<nominal_srate>` is missing, negative or not a number.
    NominalRate,
}

impl core::fmt::Display for HeaderError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str(match self {
            Self::Xml => "the header is not well-formed XML",
            Self::ChannelCount => "the header's channel_count is missing or out of range",
            Self::Format => "the header's channel_format is missing or unknown",
            Self::NominalRate => "the header's nominal_srate is missing or out of range",
        })
    }
}

impl core::error::Error for HeaderError {}

impl StreamHeader {
    /// The most channels we accept; a header that claims more is taken for damaged.
    pub const MAX_CHANNELS: usize = 1 << 20;

    /// Parses the XML of a stream header.
    ///
    /// - Errors: [`HeaderError`] for XML from which samples could not be told apart.
    /// - Source: XDF specification 1.0, "StreamHeader"; what else is required is required by pyxdf.
    pub fn parse(id: u32, xml: &[u8]) -> Result<Self, HeaderError> {
        let text = String::from_utf8_lossy(xml);
        let document = parse_xml(&text).ok_or(HeaderError::Xml)?;
        let info = document.root_element();
        let channel_count = child_text(info, "channel_count")
            .parse()
            .ok()
            .filter(|count| (1..=Self::MAX_CHANNELS).contains(count))
            .ok_or(HeaderError::ChannelCount)?;
        let format = Format::parse(child_text(info, "channel_format")).ok_or(HeaderError::Format)?;
        let nominal_rate = child_text(info, "nominal_srate")
            .parse()
            .ok()
            .filter(|rate: &f64| rate.is_finite() && *rate >= 0.0)
            .ok_or(HeaderError::NominalRate)?;
        let desc = child(info, "desc");
        let can_drop = desc.and_then(|desc| child(desc, "synchronization"));
        Ok(Self {
            id,
            name: child_text(info, "name").to_owned(),
            content_type: child_text(info, "type").to_owned(),
            source_id: child_text(info, "source_id").to_owned(),
            hostname: child_text(info, "hostname").to_owned(),
            channel_count,
            format,
            nominal_rate,
            can_drop_samples: can_drop
                .is_some_and(|node| child_text(node, "can_drop_samples").eq_ignore_ascii_case("true")),
            labels: labels(desc, channel_count),
            xml: text.trim_end_matches('\0').to_owned(),
        })
    }

    /// Makes out what a header says that is no longer well-formed; none if samples could not be told apart.
    ///
    /// [`Self::xml`] then says what could be made out.
    pub(crate) fn parse_damaged(id: u32, xml: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(xml);
        let mut out = String::from("<?xml version=\"1.0\"?><info>");
        for name in [
            "name",
            "type",
            "channel_count",
            "nominal_srate",
            "channel_format",
            "source_id",
            "hostname",
            "uid",
        ] {
            if let Some(value) = text_between(&text, &format!("<{name}>"), "<") {
                out.push_str(&format!("<{name}>{value}</{name}>"));
            }
        }
        out.push_str("<desc/></info>");
        Self::parse(id, out.as_bytes()).ok()
    }

    /// Returns the seconds between two samples; 0 without a regular rate.
    #[must_use]
    pub fn interval(&self) -> f64 {
        if self.nominal_rate > 0.0 { 1.0 / self.nominal_rate } else { 0.0 }
    }

    /// Says whether the stream's samples are events: texts, or single numbers without a rate.
    #[must_use]
    pub fn is_events(&self) -> bool {
        self.format == Format::String || (self.nominal_rate == 0.0 && self.channel_count == 1)
    }
}

/// What a stream's footer says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamFooter {
    /// `<first_timestamp>` in seconds on the stream's clock.
    pub first_stamp: Option<f64>,
    /// `<last_timestamp>` in seconds on the stream's clock.
    pub last_stamp: Option<f64>,
    /// `<sample_count>`
    pub sample_count: Option<u64>,
    /// `<guessed_stamp_count>`: samples whose stamps are guesses, since damage took what tells them; a repair writes it.
    pub guessed_stamp_count: u64,
    /// `<clock_offsets>`: what the chunks of the recording say, once more.
    pub clock_offsets: Vec<ClockOffset>,
    /// The footer's XML as stored.
    pub xml: String,
}

impl StreamFooter {
    /// Parses the XML of a stream footer; none if it is not XML.
    #[must_use]
    pub fn parse(xml: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(xml);
        let document = parse_xml(&text)?;
        let info = document.root_element();
        Some(Self {
            first_stamp: child_text(info, "first_timestamp").parse().ok(),
            last_stamp: child_text(info, "last_timestamp").parse().ok(),
            sample_count: child_text(info, "sample_count").parse().ok(),
            guessed_stamp_count: child_text(info, "guessed_stamp_count").parse().unwrap_or(0),
            clock_offsets: offsets(info),
            xml: text.clone().into_owned(),
        })
    }
}

fn offsets(info: Node<'_, '_>) -> Vec<ClockOffset> {
    let of = |node: Node<'_, '_>| {
        let number = |name| child_text(node, name).parse().ok().filter(|number: &f64| number.is_finite());
        Some(ClockOffset { collected: number("time")?, offset: number("value")? })
    };
    let list = info.children().find(|node| node.has_tag_name("clock_offsets"));
    list.into_iter().flat_map(|list| list.children()).filter_map(of).collect()
}

/// Says whether `xml` is a well-formed XML document.
pub(crate) fn is_xml(xml: &[u8]) -> bool {
    parse_xml(&String::from_utf8_lossy(xml)).is_some()
}

/// Returns the text of the child `name` of an XML document's root; none if the document is not XML.
#[must_use]
pub fn root_child_text(xml: &str, name: &str) -> Option<String> {
    parse_xml(xml).map(|document| child_text(document.root_element(), name).to_owned())
}

fn parse_xml(text: &str) -> Option<Document<'_>> {
    // Some writers end the text with zero bytes.
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: XML_NODES_MAX, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).ok()
}

/// Returns what stands between `before` and `after`; none if it could break the XML that it is put into.
fn text_between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let start = text.find(before)? + before.len();
    let value = text.get(start..)?.split(after).next()?;
    let breaks = |c: char| matches!(c, '<' | '>' | '&' | '\u{FFFD}') || c.is_control();
    Some(value).filter(|value| value.len() <= 1_000 && !value.contains(breaks))
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn child_text<'a>(node: Node<'a, 'a>, name: &str) -> &'a str {
    child(node, name).and_then(|child| child.text()).unwrap_or_default().trim()
}

fn labels(desc: Option<Node<'_, '_>>, channel_count: usize) -> Vec<String> {
    let Some(channels) = desc.and_then(|desc| child(desc, "channels")) else { return Vec::new() };
    let labels: Vec<_> = channels
        .children()
        .filter(|node| node.tag_name().name() == "channel")
        .map(|node| child_text(node, "label").to_owned())
        .collect();
    if labels.len() == channel_count && labels.iter().all(|label| !label.is_empty()) {
        labels
    } else {
        Vec::new()
    }
}

/// Returns the XML of a file header.
pub(crate) fn file_header_xml(datetime: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<info>\n\t<version>1.0</version>\n\t<datetime>{datetime}</datetime>\n</info>\n"
    )
}

/// Appends the XML of a stream footer, as LabRecorder writes it.
pub(crate) fn put_footer_xml(out: &mut String, first: f64, last: f64, count: u64, offsets: &[(f64, f64)]) {
    use core::fmt::Write as _;
    let written = write!(
        out,
        "<?xml version=\"1.0\"?><info><first_timestamp>{first:?}</first_timestamp>\
         <last_timestamp>{last:?}</last_timestamp><sample_count>{count}</sample_count><clock_offsets>"
    );
    debug_assert!(written.is_ok(), "a string takes any text");
    for (time, value) in offsets {
        let written = write!(out, "<offset><time>{time:?}</time><value>{value:?}</value></offset>");
        debug_assert!(written.is_ok(), "a string takes any text");
    }
    out.push_str("</clock_offsets></info>");
}

/// The most bytes a footer takes before its clock offsets, with its chunk head.
pub(crate) const FOOTER_BYTES_MAX: usize = 1024;
/// The most bytes a clock offset takes in a footer: tags, and two numbers of at most 24 characters (`{:?}`).
pub(crate) const FOOTER_OFFSET_BYTES_MAX: usize = 120;

/// Far more nodes than any amplifier's header, and few enough to hold in memory.
const XML_NODES_MAX: u32 = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<?xml version=\"1.0\"?><info><name>A &amp; B</name><type>EEG</type><channel_count>2</channel_count>\
        <nominal_srate>10</nominal_srate><channel_format>int16</channel_format><desc><channels><channel><label>Cz</label>\
        </channel><channel><label>Pz</label></channel></channels><synchronization><can_drop_samples>TRUE\
        </can_drop_samples></synchronization></desc></info>";

    #[test]
    fn a_header_says_what_the_stream_is() {
        let header = StreamHeader::parse(7, XML.as_bytes()).unwrap();
        assert_eq!((header.id, header.name.as_str(), header.content_type.as_str()), (7, "A & B", "EEG"));
        assert_eq!((header.channel_count, header.format, header.nominal_rate), (2, Format::Int16, 10.0));
        assert_eq!(header.labels, ["Cz", "Pz"]);
        assert!(header.can_drop_samples);
        assert_eq!(header.xml, XML);
    }

    #[test]
    fn a_header_without_which_samples_cannot_be_told_apart_is_refused() {
        for (from, to, error) in [
            ("<info>", "<info", HeaderError::Xml),
            (">2<", ">0<", HeaderError::ChannelCount),
            (">2<", ">-2<", HeaderError::ChannelCount),
            (">2<", ">99999999999<", HeaderError::ChannelCount),
            ("int16", "int17", HeaderError::Format),
            (">10<", ">NaN<", HeaderError::NominalRate),
            (">10<", ">-1<", HeaderError::NominalRate),
            (">10<", "><", HeaderError::NominalRate),
        ] {
            assert_eq!(
                StreamHeader::parse(1, XML.replace(from, to).as_bytes()),
                Err(error),
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn what_a_damaged_header_says_can_be_made_out() {
        for damaged in [XML.replace("<type>", "<\u{1}ype>"), XML.replace("</desc>", "</d\u{fffd}sc>")] {
            assert_eq!(StreamHeader::parse(7, damaged.as_bytes()), Err(HeaderError::Xml));
            let header = StreamHeader::parse_damaged(7, damaged.as_bytes()).unwrap();
            assert_eq!(
                (header.id, header.channel_count, header.format, header.nominal_rate),
                (7, 2, Format::Int16, 10.0)
            );
            assert!(StreamHeader::parse(7, header.xml.as_bytes()).is_ok());
        }
        assert_eq!(StreamHeader::parse_damaged(7, XML.replace("int16", "in\u{fffd}16").as_bytes()), None);
    }

    #[test]
    fn entities_do_not_expand_without_end() {
        let bomb = "<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><info><name>&b;</name></info>";
        assert_eq!(StreamHeader::parse(1, bomb.as_bytes()), Err(HeaderError::Xml));
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        assert!(StreamHeader::parse(1, deep.as_bytes()).is_err());
    }

    #[test]
    fn our_footer_is_read_back_and_stays_within_its_reserve() {
        let mut xml = String::new();
        let offsets = [(91_716.691_545_932, -1.889_200_211_735_442e-5); 10];
        put_footer_xml(&mut xml, 91_725.014_004_246, 91_735.1, 12, &offsets);
        let footer = StreamFooter::parse(xml.as_bytes()).unwrap();
        assert_eq!((footer.first_stamp, footer.last_stamp), (Some(91_725.014_004_246), Some(91_735.1)));
        assert_eq!(footer.sample_count, Some(12));
        assert!(xml.len() + 16 < FOOTER_BYTES_MAX + 10 * FOOTER_OFFSET_BYTES_MAX);
    }
}
