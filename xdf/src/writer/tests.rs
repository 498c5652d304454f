use core::sync::atomic::AtomicU32;
use core::time::Duration;
use std::path::PathBuf;

use super::*;
use crate::reader::{Event, Reader};
use crate::wire::BOUNDARY;

/// A path that no other test uses, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("schwann-xdf-{}-{}.xdf", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test may have removed it already.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn header(format: Format, channels: usize, rate: f64) -> String {
    format!(
        "<?xml version=\"1.0\"?><info><name>n</name><type>EEG</type><channel_count>{channels}</channel_count>\
         <nominal_srate>{rate}</nominal_srate><channel_format>{}</channel_format></info>",
        format.name()
    )
}

/// All samples of one stream.
fn samples(path: &Path, id: u32, format: Format) -> (Vec<f64>, Values) {
    let mut reader = Reader::open(path).unwrap();
    let (mut all_stamps, mut all_values) = (Vec::new(), Values::new(format));
    while let Some(event) = reader.next_event().unwrap() {
        match event {
            Event::Damage(damage) => panic!("{damage:?}"),
            Event::Samples { stream, stamps, values } if stream == id => {
                all_stamps.extend_from_slice(stamps);
                all_values.append(values);
            }
            _ => {}
        }
    }
    (all_stamps, all_values)
}

#[test]
fn every_format_comes_back_with_its_stamps() {
    let stamps = [5.0, 5.5, 6.0, 6.25, f64::MIN_POSITIVE, -0.0];
    for values in [
        Values::Double64(vec![
            0.0,
            -0.0,
            1.5,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            1e-300,
            7.0,
            8.0,
            9.0,
            1.0,
            2.0,
        ]),
        Values::Float32(vec![
            0.0,
            -0.0,
            1.5,
            f32::MAX,
            f32::MIN_POSITIVE,
            f32::INFINITY,
            1e-30,
            7.0,
            8.0,
            9.0,
            1.0,
            2.0,
        ]),
        Values::Int8((-6..6).collect()),
        Values::Int16(vec![i16::MIN, i16::MAX, 0, -1, 1, 2, 3, 4, 5, 6, 7, 8]),
        Values::Int32(vec![i32::MIN, i32::MAX, 0, -1, 1, 2, 3, 4, 5, 6, 7, 8]),
        Values::Int64(vec![i64::MIN, i64::MAX, 0, -1, 1, 2, 3, 4, 5, 6, 7, 8]),
        Values::String(
            ["", "a", "ü", "x".repeat(300).as_str(), "<&>\0", "6", "7", "8", "9", "10", "11", "12"]
                .map(str::to_owned)
                .to_vec(),
        ),
    ] {
        let path = Scratch::new();
        let writer = Writer::create(&path.0, Options::default()).unwrap();
        let stream = writer.add_stream(&header(values.format(), 2, 2.0)).unwrap();
        stream.push_values(&stamps, &values).unwrap();
        let summary = writer.finish().unwrap();
        assert_eq!(summary.streams[0].sample_count, 6);
        assert_eq!(summary.file_bytes, std::fs::metadata(&path.0).unwrap().len());
        let (read_stamps, read_values) = samples(&path.0, stream.id(), values.format());
        assert_eq!(read_stamps.map_bits(), stamps.to_vec().map_bits());
        assert_eq!(read_values, values);
    }
}

trait MapBits {
    fn map_bits(self) -> Vec<u64>;
}

impl MapBits for Vec<f64> {
    fn map_bits(self) -> Vec<u64> {
        self.into_iter().map(f64::to_bits).collect()
    }
}

#[test]
fn only_stamps_that_a_reader_would_arrive_at_exactly_are_left_out() {
    let path = Scratch::new();
    let writer = Writer::create(&path.0, Options::default()).unwrap();
    let stream = writer.add_stream(&header(Format::Int8, 1, 100.0)).unwrap();
    let stamps = [7.0, 7.0 + 0.01, 7.0 + 0.01 + 0.01, 7.030_000_1];
    stream.push(&stamps, &[1_i8, 2, 3, 4]).unwrap();
    stream.clock_offset(9.0, 0.25).unwrap();
    writer.finish().unwrap();
    let file = std::fs::read(&path.0).unwrap();
    let mut samples = vec![1, 35, 3, 0, 1, 0, 0, 0, 4, 4, 0, 0, 0, 8];
    samples[1] = u8::try_from(samples.len() - 2 + 8 + 1 + 2 + 2 + 10).unwrap();
    samples.extend_from_slice(&7.0_f64.to_le_bytes());
    samples.extend_from_slice(&[1, 0, 2, 0, 3, 8]);
    samples.extend_from_slice(&7.030_000_1_f64.to_le_bytes());
    samples.push(4);
    let at = file.windows(samples.len()).position(|window| window == samples);
    assert!(at.is_some(), "{file:02x?}\n{samples:02x?}");
    let text = String::from_utf8_lossy(&file);
    assert!(
        text.contains("<first_timestamp>7.0</first_timestamp><last_timestamp>7.0300001</last_timestamp>")
    );
    assert!(text.contains("<sample_count>4</sample_count>"));
    assert!(
        text.contains("<clock_offsets><offset><time>9.0</time><value>0.25</value></offset></clock_offsets>")
    );
    assert!(file.ends_with(&BOUNDARY));
}

#[test]
fn what_is_pushed_is_in_the_file_before_the_recording_ends() {
    let path = Scratch::new();
    let options = Options {
        flush_every: Duration::from_millis(1),
        sync_every: Duration::from_millis(1),
        ..Options::default()
    };
    let writer = Writer::create(&path.0, options).unwrap();
    let stream = writer.add_stream(&header(Format::Float32, 3, 0.0)).unwrap();
    stream.push(&[1.0], &[1.0_f32, 2.0, 3.0]).unwrap();
    while writer.health().streams.first().is_none_or(|stream| stream.sample_count == 0) {
        std::thread::yield_now();
    }
    let (stamps, values) = samples(&path.0, 1, Format::Float32);
    assert_eq!((stamps, values), (vec![1.0], Values::Float32(vec![1.0, 2.0, 3.0])));
    while writer.health().synced_bytes < writer.health().file_bytes {
        std::thread::yield_now();
    }
    drop(writer);
    assert_eq!(stream.push(&[1.0], &[1.0_f32, 2.0, 3.0]), Err(PushError::Finished));
}

#[test]
fn much_at_once_is_cut_into_chunks_that_can_each_be_read_alone() {
    let path = Scratch::new();
    let writer = Writer::create(&path.0, Options::default()).unwrap();
    let stream = writer.add_stream(&header(Format::Int64, 64, 1000.0)).unwrap();
    let stamps: Vec<_> = (0..10_000).map(|n| 100.0 + f64::from(n) / 1000.0).collect();
    let values: Vec<_> = (0..640_000_i64).collect();
    stream.push(&stamps, &values).unwrap();
    writer.finish().unwrap();
    let (read_stamps, read_values) = samples(&path.0, 1, Format::Int64);
    assert_eq!(read_stamps, stamps);
    assert_eq!(read_values, Values::Int64(values));
    let file = std::fs::read(&path.0).unwrap();
    let mut heads = 0;
    for (at, head) in file.windows(11).enumerate() {
        if head[0] == 4 && head[5..] == [3, 0, 1, 0, 0, 0] {
            heads += 1;
            assert_eq!(file[at + 16], 8, "a chunk's first stamp is written");
        }
    }
    assert_eq!(heads, 5, "5 MB in chunks of 1 MiB");
}

#[test]
fn a_call_that_is_wrong_records_nothing() {
    let path = Scratch::new();
    let writer = Writer::create(&path.0, Options::default()).unwrap();
    assert_eq!(Writer::create(&path.0, Options::default()).err(), Some(CreateError::Exists));
    let nowhere = path.0.with_extension("gone").join("x.xdf");
    assert_eq!(Writer::create(nowhere, Options::default()).err(), Some(CreateError::NoFolder));
    let numbers = writer.add_stream(&header(Format::Int16, 2, 0.0)).unwrap();
    let texts = writer.add_stream_as(9, &header(Format::String, 1, 0.0)).unwrap();
    assert_eq!(writer.add_stream_as(9, &header(Format::String, 1, 0.0)).err(), Some(AddStreamError::IdTaken));
    assert!(matches!(writer.add_stream("<info/>").err(), Some(AddStreamError::Header(_))));
    assert_eq!(numbers.push(&[1.0], &[1_i16]), Err(PushError::Shape));
    assert_eq!(numbers.push(&[1.0], &[1_i32, 2]), Err(PushError::Format));
    assert_eq!(numbers.push_text(&[1.0], &["a", "b"]), Err(PushError::Format));
    assert_eq!(texts.push(&[1.0], &[1_i16]), Err(PushError::Format));
    let summary = writer.finish().unwrap();
    assert!(summary.streams.iter().all(|stream| stream.sample_count == 0));
}

#[test]
fn a_disk_that_does_not_keep_up_is_said_and_takes_nothing() {
    let path = Scratch::new();
    let options =
        Options { flush_every: Duration::from_secs(3600), backlog_bytes_max: 100, ..Options::default() };
    let writer = Writer::create(&path.0, options).unwrap();
    let stream = writer.add_stream(&header(Format::Int8, 1, 0.0)).unwrap();
    let mut taken = 0;
    while stream.push(&[f64::from(taken)], &[1_i8]).is_ok() {
        taken += 1;
    }
    assert_eq!(stream.push(&[0.0], &[1_i8]), Err(PushError::Backlogged));
    assert_eq!(writer.finish().unwrap().streams[0].sample_count, u64::try_from(taken).unwrap());
    assert_eq!(taken, 11);
}

#[test]
fn dates_are_written_as_labrecorder_does() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00+0000"),
        (951_827_696, "2000-02-29T12:34:56+0000"),
        (1_738_282_877, "2025-01-31T00:21:17+0000"),
        (4_107_542_399, "2100-02-28T23:59:59+0000"),
        (4_107_542_400, "2100-03-01T00:00:00+0000"),
    ] {
        assert_eq!(datetime(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
    }
}
