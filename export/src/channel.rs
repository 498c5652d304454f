//! What a stream's description says of its channels, and names that every file system takes.

use roxmltree::{Document, Node, ParsingOptions};
use schwann_xdf::StreamHeader;

/// A channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Channel {
    pub(crate) label: String,
    /// Such as `µV`; empty if not said.
    pub(crate) unit: String,
    /// Such as `EEG`; empty if not said.
    pub(crate) kind: String,
    /// Where its electrode is, as the description says.
    pub(crate) location: Option<[f64; 3]>,
}

/// The channels of a stream; what is not said has a label by its number.
pub(crate) fn channels(header: &StreamHeader) -> Vec<Channel> {
    let document = parsed(header);
    let described: Vec<_> = document
        .iter()
        .filter_map(|document| {
            child(document.root_element(), "desc").and_then(|desc| child(desc, "channels"))
        })
        .flat_map(|channels| channels.children().filter(|node| node.tag_name().name() == "channel"))
        .map(channel)
        .collect();
    let is_complete = described.len() == header.channel_count;
    let mut channels: Vec<_> = (0..header.channel_count)
        .map(|at| described.get(at).filter(|_| is_complete).cloned().unwrap_or_default())
        .collect();
    for (at, channel) in channels.iter_mut().enumerate() {
        if channel.label.is_empty() {
            channel.label = format!("Ch{}", at + 1);
        }
    }
    make_unique(&mut channels);
    channels
}

/// What the description of a stream says at each of these paths below `desc`; none where it says nothing.
pub(crate) fn described<const N: usize>(header: &StreamHeader, paths: [&[&str]; N]) -> [Option<String>; N] {
    let document = parsed(header);
    let desc = document.as_ref().and_then(|document| child(document.root_element(), "desc"));
    paths.map(|path| {
        let node = path.iter().try_fold(desc?, |node, name| child(node, name))?;
        let text = node.text().unwrap_or_default().trim();
        (!text.is_empty()).then(|| text.to_owned())
    })
}

fn parsed(header: &StreamHeader) -> Option<Document<'_>> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    Document::parse_with_options(header.xml.trim(), options).ok()
}

fn channel(node: Node<'_, '_>) -> Channel {
    let axis = |name: &str| {
        let location = child(node, "location")?;
        child_text(location, name).parse::<f64>().ok().filter(|value| value.is_finite())
    };
    let location = axis("X").zip(axis("Y")).zip(axis("Z")).map(|((x, y), z)| [x, y, z]);
    Channel {
        label: child_text(node, "label").to_owned(),
        unit: unit(child_text(node, "unit")),
        kind: child_text(node, "type").to_owned(),
        location,
    }
}

/// Files name channels, so no two may have one label.
fn make_unique(channels: &mut [Channel]) {
    let mut seen = std::collections::BTreeSet::new();
    for (at, channel) in channels.iter_mut().enumerate() {
        if !seen.insert(channel.label.clone()) {
            channel.label = format!("{}-{}", channel.label, at + 1);
            seen.insert(channel.label.clone());
        }
    }
}

/// The unit as formats write it.
fn unit(text: &str) -> String {
    let short = match text.to_lowercase().as_str() {
        "microvolts" | "microvolt" | "uv" | "µv" | "μv" => "µV",
        "millivolts" | "millivolt" | "mv" => "mV",
        "volts" | "volt" | "v" => "V",
        "nanovolts" | "nanovolt" | "nv" => "nV",
        _ => text,
    };
    short.to_owned()
}

/// A part of a file's name that says which stream it is of.
pub(crate) fn file_part(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '-';
    let text: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(PART_CHARS_MAX).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "stream".to_owned() } else { text.to_owned() }
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn child_text<'a>(node: Node<'a, 'a>, name: &str) -> &'a str {
    child(node, name).and_then(|child| child.text()).unwrap_or_default().trim()
}

const NODES_MAX: u32 = 4_000_000;
const PART_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_labels_units_and_places_as_described() {
        let xml = "<info><name>A</name><channel_count>3</channel_count><nominal_srate>1</nominal_srate>\
                   <channel_format>int8</channel_format><desc><channels><channel><label>Cz</label>\
                   <unit>microvolts</unit><type>EEG</type><location><X>0</X><Y>1.5</Y><Z>9</Z></location></channel>\
                   <channel><label>Cz</label></channel><channel/></channels></desc></info>";
        let header = StreamHeader::parse(1, xml.as_bytes()).expect("a header");
        let found = channels(&header);
        let labels: Vec<_> = found.iter().map(|channel| channel.label.as_str()).collect();
        assert_eq!(labels, ["Cz", "Cz-2", "Ch3"]);
        assert_eq!((found[0].unit.as_str(), found[0].location), ("µV", Some([0.0, 1.5, 9.0])));
    }

    #[test]
    fn file_names_come_of_any_name() {
        assert_eq!(file_part("Fake eeg:8@250"), "Fake-eeg-8-250");
        assert_eq!(file_part("../../x"), "x");
        assert_eq!(file_part("\0/"), "stream");
    }
}
