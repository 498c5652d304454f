//! Descriptions of synthetic streams.

use schwann::StreamInfo;
use schwann_proto::stream::ChannelFormat;

use super::{Kind, Spec};
use crate::exit::Problem;

/// Describes a signal with the labels of its channels.
pub(crate) fn signal(name: &str, spec: Spec, labels: &[String]) -> Result<StreamInfo, Problem> {
    let channel_count = i32::try_from(spec.channel_count).unwrap_or(i32::MAX);
    let mut info = StreamInfo::new(name, spec.content_type(), channel_count, spec.rate, spec.format, name)
        .map_err(|error| Problem::with(name, error))?;
    let Some(desc) = info.desc() else { return Ok(info) };
    let document = info.document_mut();
    document.append_child_value(desc, "manufacturer", "Schwann");
    let Some(channels) = document.append_child(desc, "channels") else { return Ok(info) };
    for label in labels {
        let Some(channel) = document.append_child(channels, "channel") else { continue };
        document.append_child_value(channel, "label", label);
        if spec.kind == Kind::Eeg {
            document.append_child_value(channel, "unit", "microvolts");
            document.append_child_value(channel, "type", "EEG");
        }
    }
    Ok(info)
}

/// Describes a stream of markers.
pub(crate) fn markers(name: &str) -> Result<StreamInfo, Problem> {
    StreamInfo::new(name, "Markers", 1, 0.0, ChannelFormat::String, name)
        .map_err(|error| Problem::with(name, error))
}
