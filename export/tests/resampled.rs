//! What lies on the disk while streams are resampled.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use schwann_export::{Format, Options, export};
use schwann_xdf::{Options as WriterOptions, Writer};

fn write_recording(path: &Path) {
    let header = "<?xml version=\"1.0\"?><info><name>Amp</name><type>EEG</type><channel_count>1</channel_count>\
                  <nominal_srate>100</nominal_srate><channel_format>int16</channel_format><desc/></info>";
    let writer = Writer::create(path, WriterOptions::default()).expect("a file");
    let stream = writer.add_stream(header).expect("a stream");
    let stamps: Vec<_> = (0..1000).map(|n| 100.0 + f64::from(n) / 100.0).collect();
    stream.push(&stamps, &[7_i16; 1000]).expect("room");
    writer.finish().expect("a whole file");
}

fn hidden(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
    entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect()
}

#[test]
fn streams_on_their_way_are_for_their_owner_alone_and_go() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = env::temp_dir().join(format!("schwann-resampled-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let recording = folder.join("session.xdf");
    write_recording(&recording);
    let mut options = Options::new(Format::Csv);
    options.resample = Some(50.0);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let mut seen = Vec::new();
    export(&recording, &options, &mut |_, _| {
        for place in hidden(&folder) {
            let files = fs::read_dir(&place).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
            seen.extend(files.map(|file| (mode(&place), mode(&file))));
        }
    })
    .expect("a recording");
    assert!(!seen.is_empty() && seen.iter().all(|modes| *modes == (0o700, 0o600)), "{seen:?}");
    assert_eq!(hidden(&folder), Vec::<PathBuf>::new());
    fs::remove_dir_all(&folder).expect("it was there");
}
