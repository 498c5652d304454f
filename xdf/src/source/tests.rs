//! Compressed and sealed recordings: whole, cut off, damaged, and without their key.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs;
use std::io::{Read as _, Write as _};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use super::*;
use crate::{Event, Options, Recipients, Survey, Values, Writer};

/// A folder that no other test uses, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("schwann-source-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test may have removed it already.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const XML: &str = "<info><name>EEG</name><channel_count>4</channel_count><nominal_srate>100</nominal_srate>\
                   <channel_format>int32</channel_format></info>";

/// Writes rows whose values tell their places; returns how many.
fn fill(writer: &Writer, rows: i32) {
    let stream = writer.add_stream(XML).unwrap();
    for row in 0..rows {
        let values: Vec<i32> = (0..4).map(|channel| row * 4 + channel).collect();
        stream.push(&[f64::from(row) * 0.01], &values).unwrap();
        if row % 500 == 0 {
            stream.clock_offset(f64::from(row) * 0.01, 0.25).unwrap();
            while writer.health().backlog_bytes > 0 {
                std::thread::yield_now();
            }
        }
    }
}

fn often() -> Options {
    let mut options = Options::default();
    (options.flush_every, options.sync_every) =
        (core::time::Duration::from_millis(2), core::time::Duration::ZERO);
    options.boundary_every = core::time::Duration::ZERO;
    options
}

fn sealed(scratch: &Scratch, rows: i32) -> (PathBuf, Identities) {
    let (secret, public) = Identities::generate();
    let path = scratch.path("x.xdf.age");
    let writer = Writer::create_sealed(&path, often(), &public).unwrap();
    fill(&writer, rows);
    let summary = writer.finish().unwrap();
    assert_eq!(summary.file_bytes, fs::metadata(&path).unwrap().len());
    (path, Identities::parse(&secret).unwrap())
}

/// Reads all rows; each must be one that was written. Says how many there are, and whether damage was reported.
fn rows(location: &Location) -> (usize, bool) {
    let mut reader = location.reader().unwrap();
    let (mut count, mut damaged) = (0, false);
    while let Some(event) = reader.next_event().unwrap() {
        match event {
            Event::Damage(_) => damaged = true,
            Event::Samples { stamps, values: Values::Int32(values), .. } => {
                count += stamps.len();
                for (stamp, row) in stamps.iter().zip(values.chunks(4)) {
                    let first = (stamp * 100.0).round() as i32 * 4;
                    assert_eq!(row, [first, first + 1, first + 2, first + 3], "made up at {stamp}");
                }
            }
            Event::ClockOffset { offset, .. } => assert_eq!(offset, 0.25, "made up"),
            _ => {}
        }
    }
    (count, damaged)
}

#[test]
fn a_sealed_recording_opens_with_its_key_and_no_other() {
    let scratch = Scratch::new();
    let (path, identities) = sealed(&scratch, 20_000);
    let location = Location::new(&path, identities.clone());
    assert_eq!(location.wrapping().unwrap(), Wrapping::Age);
    assert_eq!(rows(&location), (20_000, false));
    let survey = Survey::of(location.clone(), |_, _| {}).unwrap();
    assert!(survey.is_sound() && survey.file_bytes > 3 * 65_536);
    let whole = crate::compare(location.open().unwrap(), &survey.checksums, |_| {}).unwrap();
    assert!(whole.is_whole());
    // In any order: the index is found at the end, and a second in the middle.
    let mut indexed = crate::IndexedRecording::open(location, |_, _| {}).unwrap();
    assert!(!indexed.was_scanned());
    let mut found = 0;
    indexed.read(&[1], 50.0..51.0, |_, stamps, _| found += stamps.len()).unwrap();
    assert_eq!(found, 100);

    assert!(matches!(Location::from(&path).open(), Err(ReadError::Sealed)));
    let another = Identities::parse(&Identities::generate().0).unwrap();
    assert!(matches!(Location::new(&path, another.clone()).open(), Err(ReadError::WrongKey)));
    assert_eq!(
        rows(&Location::new(&path, another.and(&identities))).0,
        20_000,
        "one of several keys is enough"
    );
    assert!(matches!(Reader::new(File::open(&path).unwrap()), Err(ReadError::Sealed)));
}

#[test]
fn a_sealed_recording_that_was_cut_off_opens_as_far_as_its_chunks_go() {
    let scratch = Scratch::new();
    let (path, identities) = sealed(&scratch, 20_000);
    let bytes = fs::read(&path).unwrap();
    let cut = scratch.path("cut.xdf.age");
    let header = bytes.len() % 65_552;
    let mut before = 0;
    for len in [header + 65_552, header + 65_553, header + 2 * 65_552, bytes.len() - 65_552, bytes.len() - 1]
    {
        fs::write(&cut, &bytes[..len]).unwrap();
        let location = Location::new(&cut, identities.clone());
        let (count, damaged) = rows(&location);
        assert!(damaged && count >= before, "{len}: {count}");
        assert!(Survey::of(location, |_, _| {}).unwrap().is_truncated(), "{len}");
        before = count;
    }
    assert!(before > 10_000);
    let opened = |len: usize| {
        fs::write(&cut, &bytes[..len]).unwrap();
        Location::new(&cut, identities.clone()).reader().map(drop)
    };
    // Behind the header, and before the end of the first chunk.
    for len in [2_000, 12_000, 65_552] {
        assert!(matches!(opened(len), Err(ReadError::SealCut)), "{len}");
    }
    // The header's length is random, and 30 bytes are no seal yet.
    for len in [30, 100, 150, 250] {
        let within_header = opened(len);
        let is_refused = matches!(
            within_header,
            Err(ReadError::Seal | ReadError::WrongKey | ReadError::NotXdf | ReadError::SealCut)
        );
        assert!(is_refused, "{len}");
    }
}

#[test]
fn a_part_that_does_not_open_is_left_out_and_nothing_is_made_up() {
    let scratch = Scratch::new();
    let (path, identities) = sealed(&scratch, 20_000);
    let bytes = fs::read(&path).unwrap();
    let damaged = scratch.path("damaged.xdf.age");
    for at in (1_000..bytes.len()).step_by(23_456) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x20;
        fs::write(&damaged, &changed).unwrap();
        let location = Location::new(&damaged, identities.clone());
        let (count, was_told) = rows(&location);
        assert!(was_told, "byte {at}");
        // A chunk of age, and the chunks of the recording that it touches; the first one has the stream's header.
        assert!(at < 66_000 || count >= 20_000 - 2 * 65_536 / 20, "byte {at}: {count} rows");
        assert!(!Survey::of(location, |_, _| {}).unwrap().is_sound(), "byte {at}");
    }
}

#[test]
fn what_is_killed_while_it_is_sealed_opens() {
    let scratch = Scratch::new();
    let (secret, public) = Identities::generate();
    let path = scratch.path("x.xdf.age");
    let writer = Writer::create_sealed(&path, often(), &public).unwrap();
    fill(&writer, 20_000);
    while writer.health().synced_bytes < 4 * 65_552 {
        std::thread::yield_now();
    }
    // What a process that is killed now would leave.
    let left = scratch.path("left.xdf.age");
    fs::copy(&path, &left).unwrap();
    let location = Location::new(&left, Identities::parse(&secret).unwrap());
    let (count, damaged) = rows(&location);
    assert!(damaged && count > 20_000 - 2 * 65_536 / 20, "{count}");
    writer.finish().unwrap();
}

#[test]
fn nothing_is_sealed_to_no_one() {
    let path = Scratch::new();
    let created = Writer::create_sealed(path.path("x.xdf.age"), Options::default(), &Recipients::default());
    assert!(matches!(created, Err(crate::CreateError::NoRecipient)));
    assert!(!path.path("x.xdf.age").exists());
}

#[test]
fn a_compressed_recording_reads_like_the_plain_one_and_damage_is_told() {
    let scratch = Scratch::new();
    let (plain, packed) = (scratch.path("x.xdf"), scratch.path("x.xdfz"));
    let writer = Writer::create(&plain, often()).unwrap();
    fill(&writer, 5_000);
    writer.finish().unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let original = fs::read(&plain).unwrap();
    encoder.write_all(&original).unwrap();
    let bytes = encoder.finish().unwrap();
    fs::write(&packed, &bytes).unwrap();
    let location = Location::from(&packed);
    assert_eq!(location.wrapping().unwrap(), Wrapping::Gzip);
    assert_eq!(Survey::of(&packed, |_, _| {}).unwrap(), Survey::of(&plain, |_, _| {}).unwrap());
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 2, "what was unpacked has no name");
    let (mut told, mut untold) = (Vec::new(), 0);
    location.unpack(|done, all| told.push((done, all))).unwrap();
    location.unpack(|_, _| untold += 1).unwrap();
    // The last content comes before the checksum and the length, which are 8 bytes.
    assert!(told.is_sorted() && told.last().is_some_and(|(done, all)| done + 8 >= *all), "{told:?}");
    assert_eq!(untold, 0, "a recording is unpacked once");

    for len in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 4] {
        fs::write(&packed, &bytes[..len]).unwrap();
        let survey = Survey::of(&packed, |_, _| {}).unwrap();
        assert!(survey.is_truncated() && survey.streams[0].sample_count > 0, "cut at {len}");
    }
    for at in (0..bytes.len()).step_by(997).chain([bytes.len() - 6, bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        fs::write(&packed, &changed).unwrap();
        let is_whole = Survey::of(&packed, |_, _| {}).is_ok_and(|survey| survey.is_sound());
        // Some of the header tells of the time alone, and a repetition may be copied from another place.
        let mut content = Vec::new();
        let is_same = GzDecoder::new(&changed[..]).read_to_end(&mut content).is_ok() && content == original;
        assert!(!is_whole || is_same, "byte {at}");
    }
}

#[test]
fn what_is_compressed_while_it_is_recorded_reads_like_the_plain_one_also_after_a_kill() {
    let scratch = Scratch::new();
    let (plain, packed) = (scratch.path("plain.xdf"), scratch.path("x.xdfz"));
    for path in [&plain, &packed] {
        let is_packed = path == &packed;
        let made =
            if is_packed { Writer::create_packed(path, often()) } else { Writer::create(path, often()) };
        let writer = made.unwrap();
        fill(&writer, 20_000);
        let mut left = 0;
        if is_packed {
            while writer.health().synced_bytes == 0 || left == 0 {
                std::thread::yield_now();
                // What a process that is killed now would leave.
                let copy = scratch.path("left.xdfz");
                fs::copy(path, &copy).unwrap();
                left = rows(&Location::from(&copy)).0;
            }
            assert!(left <= 20_000);
        }
        let summary = writer.finish().unwrap();
        assert_eq!(summary.file_bytes, fs::metadata(path).unwrap().len());
    }
    assert_eq!(rows(&Location::from(&packed)), (20_000, false));
    assert!(Survey::of(&packed, |_, _| {}).unwrap().is_sound());
    let size = |path| fs::metadata(path).unwrap().len();
    assert!(size(&packed) < size(&plain), "{} and {}", size(&packed), size(&plain));
    let mut indexed = crate::IndexedRecording::open(&packed, |_, _| {}).unwrap();
    assert!(!indexed.was_scanned());
    let id = indexed.index().streams[0].id;
    assert!(!indexed.peaks(id, indexed.span(id).unwrap(), 10).unwrap().columns.is_empty());
}
