//! Names and units of a stream's channels, out of its metadata.

use schwann::StreamInfo;

/// What the channels are called.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Labels {
    /// One name per channel; fewer or empty ones if the metadata has none.
    pub(super) names: Vec<String>,
    /// The unit that all channels share; empty if they do not, or have none.
    pub(super) unit: String,
}

impl Labels {
    /// The name of a channel, or its number counted from 1.
    pub(super) fn name(&self, channel: usize) -> String {
        let name = self.names.get(channel).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| (channel + 1).to_string())
    }
}

/// Reads `desc/channels/channel/{label,unit}`.
///
/// - Source: the metadata conventions of XDF, <https://github.com/sccn/xdf/wiki/EEG-Meta-Data>.
pub(super) fn labels(info: &StreamInfo) -> Labels {
    let mut units = Vec::new();
    let mut names = Vec::new();
    for node in info.described_channels().take(info.channel_count() as usize) {
        let text = |name: &str| -> String {
            let text = info.document().child_value_named(node, name).to_string_lossy();
            text.trim().chars().take(NAME_CHARS).collect()
        };
        names.push(text("label"));
        units.push(text("unit"));
    }
    if names.len() < info.channel_count() as usize {
        // What is not described has no unit, and the others' says nothing of it.
        units.push(String::new());
    }
    units.sort_unstable();
    units.dedup();
    let unit = if let [unit] = &mut *units { short(core::mem::take(unit)) } else { String::new() };
    Labels { names, unit }
}

/// The usual sign for units that are usually written out.
fn short(unit: String) -> String {
    match unit.to_lowercase().as_str() {
        "microvolt" | "microvolts" | "uv" => "µV".to_owned(),
        "millivolt" | "millivolts" => "mV".to_owned(),
        "volt" | "volts" => "V".to_owned(),
        _ => unit,
    }
}

const NAME_CHARS: usize = 24;

#[cfg(test)]
mod tests {
    use schwann::ChannelFormat;

    use super::*;

    fn stream(channels: &[[&str; 2]]) -> StreamInfo {
        let mut info = StreamInfo::new("n", "EEG", 3, 1.0, ChannelFormat::Int8, "").expect("valid");
        let desc = info.desc().expect("a new description has it");
        let document = info.document_mut();
        let parent = document.append_child(desc, "channels").expect("room");
        // It is no channel, and takes none's name.
        document.append_child_value(parent, "reference", "M1").expect("room");
        for [label, unit] in channels {
            let channel = document.append_child(parent, "channel").expect("room");
            document.append_child_value(channel, "label", label).expect("room");
            document.append_child_value(channel, "unit", unit).expect("room");
        }
        info
    }

    #[test]
    fn names_and_the_common_unit_are_read() {
        let read = labels(&stream(&[["Fp1", "microvolts"], [" Cz ", "microvolts"], ["", "microvolts"]]));
        assert_eq!([0, 1, 2].map(|channel| read.name(channel)), ["Fp1", "Cz", "3"]);
        assert_eq!(read.unit, "µV");
        assert_eq!(labels(&stream(&[["A", "V"], ["B", "mm"], ["C", "V"]])).unit, "");
    }

    #[test]
    fn a_channel_that_is_not_described_does_not_get_the_unit_of_the_others() {
        let read = labels(&stream(&[["Fp1", "microvolts"], ["Cz", "microvolts"]]));
        assert_eq!([1, 2].map(|channel| read.name(channel)), ["Cz", "3"]);
        assert_eq!(read.unit, "");
    }

    #[test]
    fn no_metadata_means_numbers() {
        let info = StreamInfo::new("n", "EEG", 3, 1.0, ChannelFormat::Int8, "").expect("valid");
        assert_eq!(labels(&info).name(2), "3");
    }
}
