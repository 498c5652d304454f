//! What a stream's description says of its channels, and names that every file system takes.

use std::collections::BTreeSet;

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
    let labels = unique(channels.iter().map(|channel| channel.label.clone()), usize::MAX, "");
    channels.iter_mut().zip(labels).for_each(|(channel, label)| channel.label = label);
    channels
}

/// The labels as a format writes them, no two alike.
///
/// - `plain` makes of a label what the format can hold, up to `longest` characters. It has no label that is `taken`.
pub(crate) fn written_labels(
    channels: &[Channel],
    longest: usize,
    taken: &str,
    plain: impl Fn(&str) -> String,
) -> Vec<String> {
    let labels = (1..).zip(channels).map(|(number, channel)| {
        let cut: String = plain(&channel.label).chars().take(longest).collect();
        let text = cut.trim();
        if text.is_empty() { format!("Ch{number}") } else { text.to_owned() }
    });
    unique(labels, longest, taken)
}

/// How many labels are written in another way.
pub(crate) fn changed_count(channels: &[Channel], written: &[String]) -> u64 {
    channels.iter().zip(written).filter(|(channel, label)| channel.label != **label).count() as u64
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

/// Files name channels, so no two may have one label: the later one gets a number at its end.
fn unique(labels: impl Iterator<Item = String>, longest: usize, taken: &str) -> Vec<String> {
    let mut seen = BTreeSet::from([taken.to_owned()]);
    let other = |(number, label): (usize, String)| {
        let numbered = (number..).map(|number| {
            let end = format!("-{number}");
            let kept: String = label.chars().take(longest.saturating_sub(end.len())).collect();
            kept + &end
        });
        let found = core::iter::once(label.clone()).chain(numbered).find(|label| !seen.contains(label));
        let own = found.unwrap_or_default();
        seen.insert(own.clone());
        own
    };
    (1..).zip(labels).map(other).collect()
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

    fn labelled(labels: &[&str]) -> Vec<Channel> {
        labels.iter().map(|label| Channel { label: (*label).to_owned(), ..Channel::default() }).collect()
    }

    #[test]
    fn labels_that_a_format_cuts_still_differ() {
        let channels = labelled(&["Amplifier 1 left", "Amplifier 1 right", "A-3", "A", "A", "\t", "Status"]);
        let written = written_labels(&channels, 11, "Status", |label| label.replace('\t', " "));
        assert_eq!(written, ["Amplifier 1", "Amplifier-2", "A-3", "A", "A-5", "Ch6", "Status-7"]);
        assert_eq!(changed_count(&channels, &written), 5);
        let labels = unique(["A-3", "A", "A"].map(str::to_owned).into_iter(), usize::MAX, "");
        assert_eq!(labels, ["A-3", "A", "A-4"]);
    }

    #[test]
    fn file_names_come_of_any_name() {
        assert_eq!(file_part("Fake eeg:8@250"), "Fake-eeg-8-250");
        assert_eq!(file_part("../../x"), "x");
        assert_eq!(file_part("\0/"), "stream");
    }
}
