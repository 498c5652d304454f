//! A stream of very many events: formats that have events beside their streams keep them in memory, the others take any number.

use std::path::Path;
use std::{env, fs, process};

use schwann_export::{ExportError, Format, Options, export};
use schwann_xdf::{Options as WriterOptions, Writer};

const COUNT: usize = 900_000;
const HEADER: &str = "<?xml version=\"1.0\"?><info><name>Triggers</name><type>Triggers</type><channel_count>1</channel_count>\
    <nominal_srate>0</nominal_srate><channel_format>float32</channel_format><desc/></info>";

fn write_recording(path: &Path) {
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    let stream = writer.add_stream(HEADER).expect("a stream");
    for part in 0..COUNT / 1000 {
        let stamps: Vec<_> = (0..1000).map(|n| (part * 1000 + n) as f64 / 50.0).collect();
        stream.push(&stamps, &stamps.iter().map(|stamp| *stamp as f32).collect::<Vec<_>>()).expect("room");
    }
    writer.finish().expect("a whole file");
}

#[test]
fn more_events_than_fit_in_memory_are_columns_and_no_annotations() {
    let folder = env::temp_dir().join(format!("schwann-events-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let recording = folder.join("many.xdf");
    write_recording(&recording);
    let refused = export(&recording, &Options::new(Format::BrainVision), &mut |_, _| {});
    assert!(matches!(refused, Err(ExportError::Events)), "{refused:?}");
    for format in [Format::Csv, Format::Npz] {
        let report = export(&recording, &Options::new(format), &mut |_, _| {}).expect("room for all");
        assert_eq!((report.events, report.files[0].samples), (COUNT as u64, COUNT as u64));
    }
    let lines = fs::read_to_string(folder.join("many.csv")).expect("a table").lines().count();
    assert!(lines > COUNT && lines < COUNT + 9, "{lines}");
    fs::remove_dir_all(&folder).expect("it was there");
}
