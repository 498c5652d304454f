//! The texts that describe a BIDS dataset. What a recording does not say is `n/a`.

use serde_json::json;

use super::Entities;
use crate::brainvision;
use crate::channel::{Channel, described};
use crate::grid::Grid;
use crate::plan::{Plan, Stream};

pub(super) fn dataset(name: &str) -> String {
    pretty(&json!({
        "Name": name,
        "BIDSVersion": "1.10.0",
        "DatasetType": "raw",
        "GeneratedBy": [{ "Name": "schwann export", "Version": env!("CARGO_PKG_VERSION") }],
    }))
}

pub(super) fn readme(name: &str) -> String {
    format!(
        "# {name}\n\nRecordings of live streams of the Lab Streaming Layer. The folder sourcedata has them as they were \
         recorded, in XDF.\nThe raw data were made of them by schwann export: on the recorder's clock, evened out, with the \
         gaps filled and marked BAD_gap.\n\nReplace this text by what the study is about, who made it, and how to cite it.\n"
    )
}

pub(super) fn participants() -> String {
    pretty(&json!({ "participant_id": { "Description": "Who took part" } }))
}

pub(super) fn eeg(stream: &Stream, grid: &Grid, entities: &Entities) -> String {
    let count =
        |wanted: &str| stream.channels.iter().filter(|channel| kind(channel, stream) == wanted).count();
    let mut all = json!({
        "TaskName": entities.task,
        "EEGReference": "n/a",
        "SamplingFrequency": grid.rate,
        "PowerLineFrequency": "n/a",
        "SoftwareFilters": "n/a",
        "RecordingDuration": grid.places as f64 / grid.rate,
        "RecordingType": "continuous",
        "EEGChannelCount": count("EEG"),
        "EOGChannelCount": count("EOG"),
        "ECGChannelCount": count("ECG"),
        "EMGChannelCount": count("EMG"),
        "MISCChannelCount": count("MISC"),
        "TriggerChannelCount": count("TRIG"),
    });
    for (key, value) in KEYS.iter().zip(described(&stream.header, PATHS)) {
        if let Some(value) = value {
            all[key] = value.into();
        }
    }
    pretty(&all)
}

pub(super) fn channels(stream: &Stream, grid: &Grid) -> String {
    let mut out = String::from("name\ttype\tunits\tsampling_frequency\n");
    for (channel, label) in stream.channels.iter().zip(brainvision::labels(stream)) {
        let unit = if channel.unit.is_empty() { "n/a" } else { channel.unit.as_str() };
        let kind = kind(channel, stream);
        out.push_str(&format!("{}\t{kind}\t{}\t{}\n", field(&label), field(unit), grid.rate));
    }
    out
}

/// Events and gaps; times count from the first sample.
pub(super) fn events(plan: &Plan, grid: &Grid) -> String {
    let gaps = grid.gaps().map(|gap| {
        let length = (gap.end - gap.start) as f64 / grid.rate;
        (gap.start as f64 / grid.rate, length, "BAD_gap".to_owned())
    });
    let events = plan.events.iter().map(|event| (event.at - grid.begin, 0.0, field(&event.text)));
    let mut rows: Vec<_> = events.chain(gaps).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut out = String::from("onset\tduration\ttrial_type\tsample\n");
    for (onset, duration, what) in rows {
        let sample = (onset * grid.rate).round();
        out.push_str(&format!("{onset:.9}\t{duration}\t{what}\t{sample}\n"));
    }
    out
}

pub(super) fn events_description() -> String {
    pretty(&json!({
        "onset": { "Description": "Time from the first sample, on the recorder's clock", "Units": "s" },
        "duration": { "Description": "Length; 0 for what happens at a moment", "Units": "s" },
        "trial_type": { "Description": "Text of the marker as it was sent; BAD_gap: no samples were recorded" },
        "sample": { "Description": "Number of the nearest sample, counted from 0" },
    }))
}

pub(super) fn electrodes(stream: &Stream) -> String {
    let mut out = String::from("name\tx\ty\tz\n");
    let channels = stream.channels.iter().zip(brainvision::labels(stream));
    for (channel, label) in channels.filter(|(channel, _)| kind(channel, stream) == "EEG") {
        let place = match channel.location {
            Some([x, y, z]) => format!("{x}\t{y}\t{z}"),
            None => "n/a\tn/a\tn/a".to_owned(),
        };
        out.push_str(&format!("{}\t{place}\n", field(&label)));
    }
    out
}

pub(super) fn coordinates() -> String {
    pretty(&json!({
        "EEGCoordinateSystem": "Other",
        "EEGCoordinateUnits": "mm",
        "EEGCoordinateSystemDescription": "As the stream's description gives the places of its electrodes",
    }))
}

/// The type of a channel as BIDS has it.
fn kind<'a>(channel: &Channel, stream: &Stream) -> &'a str {
    let said = if channel.kind.is_empty() { &stream.header.content_type } else { &channel.kind };
    KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(said)).copied().unwrap_or("MISC")
}

/// A field of a table: no tab and no line break, and never empty.
fn field(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.trim().is_empty() { "n/a".to_owned() } else { text.trim().to_owned() }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// What BIDS calls it, and where a description has it.
///
/// Source: the metadata conventions of XDF for EEG, <https://github.com/sccn/xdf/wiki/EEG-Meta-Data>.
const KEYS: [&str; 6] = [
    "EEGReference",
    "EEGPlacementScheme",
    "CapManufacturer",
    "CapManufacturersModelName",
    "Manufacturer",
    "ManufacturersModelName",
];
const PATHS: [&[&str]; 6] = [
    &["reference", "label"],
    &["cap", "labelscheme"],
    &["cap", "manufacturer"],
    &["cap", "name"],
    &["acquisition", "manufacturer"],
    &["acquisition", "model"],
];
const KINDS: [&str; 14] = [
    "EEG", "EOG", "ECG", "EMG", "TRIG", "MISC", "HEOG", "VEOG", "REF", "GSR", "RESP", "TEMP", "PPG",
    "EYEGAZE",
];
