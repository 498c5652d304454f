//! Recordings are opened, sought and drawn by their index, and without one just the same.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use super::*;
use crate::writer::{Options, Writer};

/// A minute of two streams in chunks of a second, and where it lies.
fn recording(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("schwann-index-{}-{name}.xdf", std::process::id()));
    // An earlier run may have left the file.
    let _ = fs::remove_file(&path);
    let writer = Writer::create(&path, Options::default()).expect("a file");
    let xml = |name: &str, rate: u32, format: &str| {
        format!(
            "<?xml version=\"1.0\"?><info><name>{name}</name><type>EEG</type><channel_count>2</channel_count>\
             <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format></info>"
        )
    };
    let eeg = writer.add_stream(&xml("EEG", 100, "float32")).expect("a stream");
    let marks = writer.add_stream(&xml("Marks", 0, "string")).expect("a stream");
    for second in 0..60_u32 {
        let stamps: Vec<_> = (0..100).map(|n| 1000.0 + f64::from(second) + f64::from(n) / 100.0).collect();
        let values: Vec<_> = (0..100_u32).flat_map(|n| [(second * 100 + n) as f32, -1.0]).collect();
        eeg.push(&stamps, &values).expect("room");
        marks.push_text(&[1000.0 + f64::from(second)], &["a", "b"]).expect("room");
    }
    writer.finish().expect("a disk");
    path
}

fn stamps_of(
    recording: &mut IndexedRecording<crate::Source>,
    id: u32,
    range: core::ops::Range<f64>,
) -> Vec<f64> {
    let mut all = Vec::new();
    recording
        .read(&[id], range, |_, stamps, values| {
            assert_eq!(values.len(), 2 * stamps.len());
            all.extend_from_slice(stamps);
        })
        .expect("a file");
    all
}

#[test]
fn a_part_of_a_recording_is_read_whether_it_has_an_index_or_not() {
    let path = recording("part");
    let whole = fs::read(&path).expect("a file");
    let mut indexed = IndexedRecording::open(&path, |_, _| {}).expect("a recording");
    assert!(!indexed.was_scanned());
    // The index and the checksum after it are lost.
    let without = path.with_extension("cut.xdf");
    fs::write(&without, &whole[..whole.len() - 200]).expect("a file");
    let mut scanned = IndexedRecording::open(&without, |_, _| {}).expect("a recording");
    assert!(scanned.was_scanned());
    for recording in [&mut indexed, &mut scanned] {
        assert_eq!(
            recording.headers().iter().map(|header| header.name.as_str()).collect::<Vec<_>>(),
            ["EEG", "Marks"]
        );
        for (id, range, count) in [
            (1, 1010.0..1020.0, 1000),
            (1, 1059.995..2000.0, 0),
            (1, 0.0..1000.005, 1),
            (2, 1010.0..1020.0, 10),
            (1, 0.0..1e9, 6000),
        ] {
            let stamps = stamps_of(recording, id, range.clone());
            assert_eq!(stamps.len(), count, "{range:?}");
            assert!(stamps.iter().all(|stamp| range.contains(stamp)));
        }
        let peaks = recording.peaks(1, 1000.0..1060.0, 6).expect("peaks");
        // A column of the overview may hang over by an eighth of a second.
        assert!(peaks.columns.len() == 12 && (peaks.columns[0][1] - 999.0).abs() <= 13.0, "{peaks:?}");
        let close = recording.peaks(1, 1030.0..1031.0, 50).expect("peaks");
        assert_eq!(close.columns.len(), 100);
        assert!(
            close
                .columns
                .iter()
                .step_by(2)
                .all(|[least, greatest]| (least - greatest).abs() <= 3.0 && *least >= 2999.0)
        );
    }
    for path in [path, without] {
        fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn an_index_comes_back_from_its_bytes_and_damage_is_no_index() {
    let path = recording("bytes");
    let whole = fs::read(&path).expect("a file");
    fs::remove_file(path).expect("it is there");
    let found = Index::at_end_of(&mut Cursor::new(&whole)).expect("memory").expect("an index");
    let mut chunk = Vec::new();
    found.put(&mut chunk);
    let end = whole.len() - Checksum::CHUNK_BYTES;
    assert!(whole[..end].ends_with(&chunk), "what is read is what was written");
    let scanned =
        Index::scan(&mut Reader::new(Cursor::new(&whole)).expect("a recording"), |_, _| {}).expect("memory");
    for (found, scanned) in found.streams.iter().zip(&scanned.streams) {
        assert_eq!(
            (found.sample_count, &found.entries, found.header_at),
            (scanned.sample_count, &scanned.entries, scanned.header_at)
        );
    }
    for at in (end - chunk.len()..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        // A damaged index causes no failure, and the recording opens.
        let _ = Index::at_end_of(&mut Cursor::new(&damaged)).expect("memory");
        IndexedRecording::new(Cursor::new(&damaged), |_, _| {}).expect("a recording");
    }
}

#[test]
fn an_index_stays_small() {
    let mut stream = StreamIndex::new(1, 0);
    stream.overview = Overview::new(2);
    for chunk in 0..100_000_u32 {
        let at = f64::from(chunk);
        stream.add_chunk(u64::from(chunk), at, at, 1);
        stream.overview.add(&[at], &[at as f32, 0.0]);
    }
    assert!(stream.entries.len() < ENTRIES_MAX && stream.overview.len() <= 2_048);
    assert_eq!(
        stream.before(50_000.5).map(|entry| entry.stamp >= 49_980.0 && entry.stamp <= 50_000.5),
        Some(true)
    );
    let greatest =
        (0..stream.overview.len()).map(|place| stream.overview.column(place)[0][1]).fold(0.0, f32::max);
    assert_eq!(greatest, 99_999.0);
}

/// Three minutes of a stream whose clock is 500 s behind and begins anew after a minute, in an own file.
fn reset(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("schwann-index-{}-{name}.xdf", std::process::id()));
    // An earlier run may have left the file.
    let _ = fs::remove_file(&path);
    let writer = Writer::create(&path, Options::default()).expect("a file");
    let xml = "<?xml version=\"1.0\"?><info><name>EEG</name><type>EEG</type><channel_count>1</channel_count>\
               <nominal_srate>10</nominal_srate><channel_format>int32</channel_format></info>";
    let eeg = writer.add_stream(xml).expect("a stream");
    for second in 0..180_u32 {
        let offset = if second < 60 { 500.0 } else { 940.0 };
        let own = 1000.0 + f64::from(second) - offset;
        let stamps: Vec<_> = (0..10).map(|n| own + f64::from(n) / 10.0).collect();
        let values: Vec<_> = (0..10).map(|n| (second * 10 + n) as i32).collect();
        eeg.push(&stamps, &values).expect("room");
        if second % 5 == 0 {
            eeg.clock_offset(own, offset).expect("room");
        }
    }
    writer.finish().expect("a disk");
    path
}

#[test]
fn a_part_on_the_recorders_clock_is_found_behind_a_reset_of_the_senders() {
    let path = reset("reset");
    let whole = fs::read(&path).expect("a file");
    let without = path.with_extension("cut.xdf");
    fs::write(&without, &whole[..whole.len() - 200]).expect("a file");
    for (path, was_scanned) in [(&path, false), (&without, true)] {
        let mut recording = IndexedRecording::open(path, |_, _| {}).expect("a recording");
        assert_eq!(recording.was_scanned(), was_scanned);
        assert!(recording.datetime().starts_with("20"), "{}", recording.datetime());
        let id = recording.index().streams[0].id;
        let span = recording.span(id).expect("samples");
        assert!((span.start - 1000.0).abs() < 1e-6 && (span.end - 1179.9).abs() < 1e-6, "{span:?}");
        for (from, until) in [(1000.0, 1000.5), (1058.95, 1061.05), (1100.0, 1103.0), (1179.0, 2000.0)] {
            let mut found = Vec::new();
            let take = |stamps: &[f64], values: &Values| {
                let Values::Int32(values) = values else { panic!("integers") };
                assert_eq!(stamps.len(), values.len());
                found.extend(values.iter().copied());
            };
            recording.read_placed(id, from - 1e-4..until - 1e-4, take).expect("a file");
            let expected = |n: &i32| (from..until).contains(&(1000.0 + f64::from(*n) / 10.0 + 1e-4));
            assert_eq!(found, (0..1800).filter(expected).collect::<Vec<_>>(), "{from} to {until}");
        }
    }
    [path, without].iter().for_each(|path| fs::remove_file(path).expect("the file"));
}
