//! Recordings with index and checksums, damaged at random: each damage is found. Nothing that opens a recording panics, hangs, or
//! takes memory for what is not there.
//!
//! ```text
//! XDF_DAMAGED_FILES=10000 cargo test -p schwann-xdf --test damaged_recordings
//! ```

mod common;

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use common::Chance;
use schwann_xdf::{IndexedRecording, Options, Reader, Survey, Values, Writer, compare};

/// A recording of three streams with clocks, index and checksums.
fn recording() -> Vec<u8> {
    let path: PathBuf = std::env::temp_dir().join(format!("schwann-damaged-{}.xdf", std::process::id()));
    // An earlier run may have left the file.
    let _ = fs::remove_file(&path);
    let writer = Writer::create(&path, Options::default()).expect("a file");
    let xml = |name: &str, rate: u32, format: &str, channels: u32| {
        format!(
            "<?xml version=\"1.0\"?><info><name>{name}</name><type>EEG</type><channel_count>{channels}</channel_count>\
             <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format></info>"
        )
    };
    let eeg = writer.add_stream(&xml("EEG", 100, "float32", 3)).expect("a stream");
    let force = writer.add_stream(&xml("Force", 50, "int16", 1)).expect("a stream");
    let marks = writer.add_stream(&xml("Marks", 0, "string", 1)).expect("a stream");
    for second in 0..30_u32 {
        let begin = 1000.0 + f64::from(second);
        let stamps =
            |rate: u32| (0..rate).map(|n| begin + f64::from(n) / f64::from(rate)).collect::<Vec<_>>();
        eeg.push(&stamps(100), &vec![second as f32; 300]).expect("room");
        force.push(&stamps(50), &[second as i16; 50]).expect("room");
        marks.push_text(&[begin], &[format!("second {second}")]).expect("room");
        for stream in [&eeg, &force, &marks] {
            stream.clock_offset(begin, 0.25).expect("room");
        }
    }
    writer.finish().expect("a disk");
    let bytes = fs::read(&path).expect("the file");
    fs::remove_file(&path).expect("the file");
    bytes
}

/// Damages a file; it then differs.
fn damage(whole: &[u8], kind: usize, chance: &mut Chance) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    // Half of all damage is at the end, where the index is.
    let tail = whole.len() / 2 * (chance.below(2));
    let at = tail + chance.below(whole.len() - tail);
    let end = (at + 1 + chance.below(64)).min(whole.len());
    match kind {
        0 => bytes[at] ^= 1 << chance.below(8),
        1 => bytes.truncate(at),
        2 => bytes[at..end].fill(0xff),
        3 => bytes[at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1)),
        4 => drop(bytes.splice(at..at, (0..1 + chance.below(64)).map(|_| 0x5a)).count()),
        5 => drop(bytes.drain(at..end)),
        _ => bytes[at..end].iter_mut().for_each(|byte| *byte = byte.rotate_left(3) ^ 0x80),
    }
    bytes
}

/// All that a page or a player does with a recording; returns how many samples it saw.
fn look(bytes: &[u8], what: &str) -> usize {
    let Ok(mut recording) = IndexedRecording::new(Cursor::new(bytes), |_, _| {}) else { return 0 };
    let ids: Vec<u32> = recording.headers().iter().map(|header| header.id).collect();
    let mut seen = 0;
    for id in ids {
        let span = recording.span(id).unwrap_or(0.0..1.0);
        let count = |stamps: &[f64], values: &Values| {
            assert_eq!(values.len() % stamps.len().max(1), 0, "{what}");
            seen += stamps.len();
        };
        recording.read_placed(id, span.start + 10.0..span.start + 12.0, count).expect("memory is no disk");
        recording.newest_placed(id, span.clone(), 20, |_, _| {}).expect("memory is no disk");
        let peaks = recording.peaks(id, span, 100).expect("memory is no disk");
        assert!(peaks.columns.len() <= 100 * 3, "{what}: {}", peaks.columns.len());
    }
    seen
}

#[test]
fn every_damage_is_found_and_none_does_harm() {
    let count = std::env::var("XDF_DAMAGED_FILES").ok().and_then(|text| text.parse().ok()).unwrap_or(210);
    let whole = recording();
    let full = look(&whole, "the whole one");
    assert!(full > 250, "{full}");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut found, mut saved) = (0, 0);
    for trial in 0..count {
        let what = format!("trial {trial}");
        let bytes = damage(&whole, trial % 7, &mut chance);
        if bytes == whole {
            continue;
        }
        saved += usize::from(look(&bytes, &what) > 0);
        let Ok(reader) = Reader::new(Cursor::new(&bytes)) else {
            found += 1;
            continue;
        };
        let survey = Survey::read(reader, |_, _| {}).expect("memory is no disk");
        let compared = compare(Cursor::new(&bytes), &survey.checksums, |_| {}).expect("memory is no disk");
        let is_whole = survey.is_sound() && compared.has_checksums && compared.is_whole();
        assert!(!is_whole, "{what}: a damaged file passes");
        found += 1;
    }
    println!("{found} of {count} damaged files were found, {saved} still showed samples");
    assert!(saved > found / 2, "most damage leaves most samples: {saved} of {found}");
}
