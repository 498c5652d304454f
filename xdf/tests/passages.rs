//! A stream that is followed by its index has the samples and stamps of the whole recording in memory, from any time on; and an
//! index that is wrong changes nothing.

mod common;

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use common::Chance;
use schwann_xdf::{
    Block, Clocks, Identities, Index, IndexedRecording, Jitter, Location, Options, Reader, Recording, Values,
    Writer, piece_hash,
};

/// A folder of one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("schwann-passages-{}-{test}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

fn xml(name: &str, rate: u32, format: &str, channels: u32) -> String {
    format!(
        "<?xml version=\"1.0\"?><info><name>{name}</name><type>EEG</type><channel_count>{channels}</channel_count>\
         <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format></info>"
    )
}

/// Three minutes of four streams: one whose clock drifts, one whose clock begins anew after a minute, rare markers, and one that
/// stays silent. Each second is in chunks of its own.
fn fill(writer: &Writer) {
    let eeg = writer.add_stream(&xml("EEG", 100, "float32", 3)).expect("a stream");
    let force = writer.add_stream(&xml("Force", 10, "int16", 1)).expect("a stream");
    let marks = writer.add_stream(&xml("Marks", 0, "string", 1)).expect("a stream");
    writer.add_stream(&xml("Silence", 100, "int8", 1)).expect("a stream");
    let mut chance = Chance(7);
    for second in 0..180_u32 {
        let begin = f64::from(second);
        let jitter = 1e-4 * chance.below(100) as f64;
        let stamps: Vec<_> = (0..100).map(|n| 1000.0 + begin + jitter + f64::from(n) / 100.0).collect();
        let values: Vec<_> = (0..300).map(|n| (second * 300 + n) as f32).collect();
        eeg.push(&stamps, &values).expect("room");
        let offset = if second < 60 { 500.0 } else { 940.0 };
        let stamps: Vec<_> = (0..10).map(|n| 1000.0 + begin - offset + f64::from(n) / 10.0).collect();
        force.push(&stamps, &(0..10).map(|n| (second * 10 + n) as i16).collect::<Vec<_>>()).expect("room");
        if second % 40 == 7 {
            marks.push_text(&[2000.0 + begin + 0.5], &[format!("at {second}")]).expect("room");
        }
        if second % 5 == 0 {
            eeg.clock_offset(1000.0 + begin, 0.25 + 2e-5 * begin).expect("room");
            force.clock_offset(1000.0 + begin - offset, offset).expect("room");
            marks.clock_offset(2000.0 + begin, -1000.0).expect("room");
        }
        while writer.health().backlog_bytes > 0 {
            std::thread::yield_now();
        }
    }
}

fn often() -> Options {
    let mut options = Options::default();
    options.flush_every = core::time::Duration::from_micros(100);
    options
}

fn recorded(path: &Path) -> Vec<u8> {
    let writer = Writer::create(path, often()).expect("a file");
    fill(&writer);
    writer.finish().expect("a disk");
    fs::read(path).expect("the file")
}

/// What is due in a stretch of a stream: stamps and values.
type Stretch = (Vec<f64>, Values);

fn followed(
    recording: &IndexedRecording<schwann_xdf::Source>,
    location: &Location,
    id: u32,
    from: f64,
    until: f64,
) -> Stretch {
    let header = recording.headers().iter().find(|header| header.id == id).expect("a header");
    let (mut all, mut values) = (Vec::new(), Values::new(header.format));
    let mut passage = recording.follow(location, id, from).expect("a file").expect("a stream");
    while let Some(block) = passage.next_block().expect("a file") {
        let Block::Samples { stamps, dues, values: more } = block else { continue };
        assert_eq!(more.len(), stamps.len() * header.channel_count);
        let count = dues.partition_point(|due| *due < until);
        all.extend_from_slice(&stamps[..count]);
        let mut more = more.into_owned();
        more.truncate(count * header.channel_count);
        values.append(&more);
        if count < dues.len() {
            break;
        }
    }
    (all, values)
}

/// The same from the whole recording in memory, as `schwann play` did it once.
fn loaded(recording: &Recording, id: u32, from: f64, until: f64) -> Stretch {
    let stream = recording.stream(id).expect("a stream");
    let mut latest = f64::NEG_INFINITY;
    let dues: Vec<_> = stream
        .stamps
        .iter()
        .map(|stamp| {
            latest = latest.max(*stamp);
            latest
        })
        .collect();
    let (begin, end) = (dues.partition_point(|due| *due < from), dues.partition_point(|due| *due < until));
    let end = end.max(begin);
    let mut values = stream.values.clone();
    values.truncate(end * stream.header.channel_count);
    values.remove_front(begin * stream.header.channel_count);
    (stream.stamps[begin..end].to_vec(), values)
}

/// Compares all streams in so many stretches of each kind; returns whether the recording was read through for it.
fn compare(location: &Location, count: usize) -> bool {
    let indexed = IndexedRecording::open(location.clone(), |_, _| {}).expect("a recording");
    let whole =
        Recording::load(location.clone(), Clocks::Synchronised, Jitter::AsRecorded).expect("a recording");
    assert!(!whole.streams.is_empty());
    let mut chance = Chance(11);
    let times = || whole.streams.iter().flat_map(|stream| &stream.stamps);
    let (first, last) = times().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(*t), b.max(*t)));
    for stream in &whole.streams {
        let id = stream.header.id;
        let mut stretches = vec![(f64::NEG_INFINITY, f64::INFINITY), (first, last), (last, f64::INFINITY)];
        for _ in 0..count {
            let from = first + (last - first) * chance.below(1000) as f64 / 1000.0;
            stretches.push((from, from + (last - first) * chance.below(200) as f64 / 1000.0));
        }
        stretches.extend(
            stream.stamps.iter().step_by(1 + stream.stamps.len() / count).map(|stamp| (*stamp, *stamp + 0.5)),
        );
        for (from, until) in stretches {
            let (found, expected) =
                (followed(&indexed, location, id, from, until), loaded(&whole, id, from, until));
            let (count, all) = (found.0.len(), expected.0.len());
            assert!(found == expected, "{}: {from} to {until}: {count} of {all}", stream.header.name);
        }
    }
    indexed.was_scanned()
}

#[test]
fn a_passage_has_the_stamps_and_values_of_the_whole_recording() {
    let scratch = Scratch::new("same");
    let path = scratch.path("x.xdf");
    let bytes = recorded(&path);
    assert!(!compare(&Location::from(&path), 40), "it has an index");
    // One that was killed, and one that has lost a chunk in its middle.
    let cut = scratch.path("cut.xdf");
    fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).expect("a file");
    assert!(compare(&Location::from(&cut), 40), "its index is gone");
    let mut hurt = bytes[..bytes.len() - 100].to_vec();
    let middle = hurt.len() / 2;
    hurt[middle..middle + 4000].fill(0x55);
    let path = scratch.path("hurt.xdf");
    fs::write(&path, &hurt).expect("a file");
    assert!(compare(&Location::from(&path), 40));
}

#[test]
fn sealed_and_compressed_recordings_are_followed_too() {
    let scratch = Scratch::new("wrapped");
    let packed = scratch.path("x.xdfz");
    let writer = Writer::create_packed(&packed, often()).expect("a file");
    fill(&writer);
    writer.finish().expect("a disk");
    assert!(!compare(&Location::from(&packed), 4));
    let (secret, recipients) = Identities::generate();
    let identities = Identities::parse(&secret).expect("a key");
    let sealed = scratch.path("x.xdf.age");
    let writer = Writer::create_sealed(&sealed, often(), &recipients).expect("a file");
    fill(&writer);
    writer.finish().expect("a disk");
    assert!(!compare(&Location::new(&sealed, identities.clone()), 4));
    let bytes = fs::read(&sealed).expect("the file");
    fs::write(&sealed, &bytes[..bytes.len() * 3 / 4]).expect("a file");
    assert!(compare(&Location::new(&sealed, identities), 4), "its end is gone");
}

#[test]
fn stamps_that_chunks_leave_out_are_found_after_a_leap() {
    let scratch = Scratch::new("deduced");
    let path = scratch.path("x.xdf");
    let bytes = recorded(&path);
    // As older recorders write: chunks whose first stamp follows from the chunk before.
    let mut reader = Reader::new(Cursor::new(&bytes)).expect("a recording");
    let index = Index::scan(&mut reader, |_, _| {}).expect("memory");
    let force = &index.streams[1];
    let mut out = bytes.clone();
    for entry in force.entries.iter().skip(1).step_by(2) {
        let at = usize::try_from(entry.at).expect("a place");
        // One byte of length, its value, tag, id, and the count in four bytes; or five bytes of length.
        let head = if bytes[at] == 1 { 2 } else { 5 };
        let stamp_at = at + head + 2 + 4 + 5;
        assert_eq!(bytes[stamp_at], 8);
        let end = if head == 2 { at + 2 + usize::from(bytes[at + 1]) } else { panic!("short chunks") };
        // The stamp is left out, and a chunk of another kind takes its place behind.
        let mut chunk = bytes[at..stamp_at].to_vec();
        chunk[1] -= 8;
        chunk.push(0);
        chunk.extend(&bytes[stamp_at + 9..end]);
        chunk.extend([1, 6, 9, 0, 0, 0, 0, 0]);
        out[at..end].copy_from_slice(&chunk);
    }
    assert_ne!(out, bytes);
    fs::write(&path, &out[..out.len() - 100]).expect("a file");
    assert!(compare(&Location::from(&path), 40));
}

/// The recording with its index changed, and a checksum that agrees with it.
fn with_index(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let checksum_at = out.len() - 76;
    let len = u64::from_le_bytes(out[checksum_at - 24..checksum_at - 16].try_into().expect("eight bytes"));
    let from = checksum_at - 24 - usize::try_from(len).expect("a length");
    assert_eq!(&out[from..from + 8], b"schwann\x02");
    change(&mut out[from..checksum_at - 24]);
    let piece = u64::from_le_bytes(out[checksum_at + 12..checksum_at + 20].try_into().expect("eight bytes"));
    let hash = piece_hash(&out[usize::try_from(piece).expect("a place")..checksum_at]);
    out[checksum_at + 28..checksum_at + 60].copy_from_slice(&hash);
    out
}

#[test]
fn no_flipped_bit_of_an_index_is_believed() {
    let scratch = Scratch::new("flipped");
    let bytes = recorded(&scratch.path("x.xdf"));
    let len = u64::from_le_bytes(bytes[bytes.len() - 100..bytes.len() - 92].try_into().expect("eight bytes"));
    let chunk = usize::try_from(len).expect("a length") + 24 + 7 + 76;
    let mut chance = Chance(3);
    for _ in 0..200 {
        let mut flipped = bytes.clone();
        let at = bytes.len() - 1 - chance.below(chunk);
        flipped[at] ^= 1 << chance.below(8);
        assert_eq!(Index::at_end_of(&mut Cursor::new(&flipped)).expect("memory"), None, "byte {at}");
        let recording = IndexedRecording::new(Cursor::new(&flipped), |_, _| {}).expect("a recording");
        assert!(recording.was_scanned());
    }
}

#[test]
fn an_index_that_contradicts_the_footers_or_the_headers_is_not_believed() {
    let scratch = Scratch::new("footers");
    let bytes = recorded(&scratch.path("x.xdf"));
    let same = with_index(&bytes, |_| {});
    assert!(same == bytes);
    // Name and number of streams are before: id 12, header 16, samples 24, first stamp 32, last stamp 40, entries 48.
    for (what, at) in [("id", 12), ("header", 16), ("samples", 24), ("first stamp", 32), ("last stamp", 40)] {
        let wrong = with_index(&bytes, |index| index[at] ^= 1);
        let recording = IndexedRecording::new(Cursor::new(&wrong), |_, _| {}).expect("a recording");
        assert!(recording.was_scanned(), "{what}");
    }
    // The first entry is the first sample, and entries ascend.
    for (what, at) in [("first entry's stamp", 52 + 8), ("first entry's count", 52 + 16)] {
        let wrong = with_index(&bytes, |index| index[at] ^= 1);
        assert_eq!(Index::at_end_of(&mut Cursor::new(&wrong)).expect("memory"), None, "{what}");
    }
}

#[test]
fn entries_that_are_wrong_are_passed_over_and_the_samples_are_the_same() {
    let scratch = Scratch::new("entries");
    let path = scratch.path("x.xdf");
    let bytes = recorded(&path);
    let whole = Recording::load(&path, Clocks::Synchronised, Jitter::AsRecorded).expect("a recording");
    let first = whole.streams[0].stamps[0];
    // Places that are off by one, or stamps that are: of one entry, and of all but the first.
    for (field, every) in [(0, false), (0, true), (8, false), (8, true)] {
        let wrong = with_index(&bytes, |index| {
            let count = u32::from_le_bytes(index[48..52].try_into().expect("four bytes")) as usize;
            assert!(count > 100, "{count}");
            for entry in (1..count).filter(|entry| every || *entry == 90) {
                index[52 + 24 * entry + field] ^= 1;
            }
        });
        fs::write(&path, &wrong).expect("a file");
        let location = Location::from(&path);
        let mut recording = IndexedRecording::open(&path, |_, _| {}).expect("a recording");
        assert!(!recording.was_scanned());
        for (from, until) in [(89.5, 90.5), (90.0, 120.0), (0.0, 1.0), (170.0, 1e9)] {
            let (from, until) = (first + from, first + until);
            assert!(followed(&recording, &location, 1, from, until) == loaded(&whole, 1, from, until));
            let mut placed = Vec::new();
            recording
                .read_placed(1, from..until, |times, _| placed.extend_from_slice(times))
                .expect("a file");
            assert_eq!(placed, loaded(&whole, 1, from, until).0, "{field} {every} {from}");
        }
    }
}
