use core::cell::Cell;
use std::io::{Cursor, SeekFrom};

use super::*;
use crate::wire::{BOUNDARY, Tag, put_chunk, put_clock_offset};

const NUMBERS: &str = "<info><channel_count>2</channel_count><nominal_srate>10</nominal_srate>\
    <channel_format>int16</channel_format></info>";
const TEXT: &str = "<info><channel_count>1</channel_count><nominal_srate>0</nominal_srate>\
    <channel_format>string</channel_format></info>";

#[derive(Debug, Default, PartialEq)]
struct Read {
    stamps: Vec<f64>,
    numbers: Vec<i16>,
    texts: Vec<String>,
    offsets: Vec<(f64, f64)>,
    boundaries: usize,
    footers: usize,
    damage: Vec<Damage>,
}

fn read(file: &[u8]) -> Read {
    let mut reader = Reader::new(Cursor::new(file)).unwrap();
    let mut read = Read::default();
    while let Some(event) = reader.next_event().unwrap() {
        match event {
            Event::Boundary => read.boundaries += 1,
            Event::ClockOffset { collected, offset, .. } => read.offsets.push((collected, offset)),
            Event::Damage(damage) => read.damage.push(damage),
            Event::Samples { stream: 1, stamps, values: Values::Int16(values) } => {
                read.stamps.extend_from_slice(stamps);
                read.numbers.extend_from_slice(values);
            }
            Event::Samples { stream: 2, values: Values::String(values), .. } => {
                read.texts.extend_from_slice(values)
            }
            Event::Samples { .. } => panic!("samples of no stream"),
            Event::StreamFooter { .. } => read.footers += 1,
            Event::FileHeader { .. } | Event::StreamHeader(_) => {}
        }
    }
    read
}

fn with_id(id: u32, xml: &str) -> Vec<u8> {
    [&id.to_le_bytes()[..], xml.as_bytes()].concat()
}

/// A file of two streams with three chunks of numbers, and where each chunk begins.
fn file() -> (Vec<u8>, Vec<usize>) {
    let mut file = MAGIC.to_vec();
    let mut starts = Vec::new();
    let mut chunk = |tag, content: &[u8]| {
        starts.push(file.len());
        put_chunk(&mut file, tag, None, content);
    };
    chunk(Tag::FileHeader, b"<?xml version=\"1.0\"?><info><version>1.0</version></info>");
    chunk(Tag::StreamHeader, &with_id(1, NUMBERS));
    chunk(Tag::StreamHeader, &with_id(2, TEXT));
    for at in 0..3_u8 {
        let mut content = vec![1, 0, 0, 0, 4, 3, 0, 0, 0, 8];
        content.extend_from_slice(&f64::from(at).to_le_bytes());
        content.extend_from_slice(&[at, 0, 1, 1, 0, at, 0, 2, 1, 0, at, 0, 3, 1]);
        chunk(Tag::Samples, &content);
        let mut content = vec![2, 0, 0, 0, 1, 1, 8];
        content.extend_from_slice(&f64::from(at).to_le_bytes());
        content.extend_from_slice(&[1, 4, b'm', b'a', b'r', b'k']);
        chunk(Tag::Samples, &content);
        chunk(Tag::Boundary, &BOUNDARY);
    }
    put_clock_offset(&mut file, 1, 5.0, 0.5);
    put_chunk(&mut file, Tag::StreamFooter, Some(1), b"<info><sample_count>9</sample_count></info>");
    (file, starts)
}

#[test]
fn a_whole_file_is_read_without_damage() {
    let read = read(&file().0);
    assert_eq!(read.damage, []);
    assert_eq!(read.stamps, [0.0, 0.1, 0.2, 1.0, 1.1, 1.1 + 0.1, 2.0, 2.1, 2.1 + 0.1]);
    assert_eq!(read.numbers.len(), 18);
    assert_eq!(read.numbers[6..10], [1, 257, 1, 258]);
    assert_eq!(read.texts, ["mark"; 3]);
    assert_eq!((read.offsets.as_slice(), read.boundaries, read.footers), (&[(5.0, 0.5)][..], 3, 1));
}

#[test]
fn a_file_cut_anywhere_gives_all_whole_samples_before() {
    let (file, starts) = file();
    for end in starts[3]..file.len() {
        let read = read(&file[..end]);
        let whole = |content: usize, sample: usize, first: usize| {
            starts[3..]
                .iter()
                .step_by(3)
                .map(|start| {
                    let samples = start + content;
                    (0..3).take_while(|n| end >= samples + first + n * sample).count()
                })
                .sum::<usize>()
        };
        // 2 bytes of length, 2 of tag, 4 of id, 5 of count; then 13 bytes, then 5 each.
        assert_eq!(read.stamps.len(), whole(13, 5, 13), "cut at {end}");
        assert_eq!(
            read.damage.is_empty(),
            starts.contains(&end)
                || end >= starts[11] + 20 && { end == starts[11] + 20 || end == starts[11] + 44 },
            "cut at {end}: {:?}",
            read.damage
        );
    }
}

#[test]
fn a_damaged_length_costs_nothing() {
    let (file, starts) = file();
    for start in &starts[3..] {
        for bit in 0..16 {
            let mut damaged = file.clone();
            damaged[start + bit / 8] ^= 1 << (bit % 8);
            let read = read(&damaged);
            assert_eq!(
                (read.numbers.len(), read.texts.len()),
                (18, 3),
                "length at {start}, bit {bit}: {:?}",
                read.damage
            );
            assert!(!read.damage.is_empty());
        }
    }
}

#[test]
fn lengths_that_no_memory_could_hold_are_refused() {
    let (mut file, starts) = file();
    let clean = file.len();
    file.extend_from_slice(&[8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 3, 0, 1, 0, 0, 0, 8]);
    file.extend_from_slice(&[0xFF; 8]);
    let read = read(&file);
    assert_eq!(read.stamps.len(), 9);
    assert_eq!(read.damage.len(), 1);
    assert!(read.damage[0].at >= clean as u64);
    assert!(starts.len() > 3);
}

#[test]
fn another_recording_in_the_file_is_told_and_not_mixed_in() {
    let (file, starts) = file();
    for end in starts[3]..=file.len() {
        let alone = read(&file[..end]);
        let joined = read(&[&file[..end], &file[..]].concat());
        let context = format!("cut at {end}: {:?}", joined.damage);
        assert_eq!((&joined.stamps, &joined.texts), (&alone.stamps, &alone.texts), "{context}");
        assert_eq!((joined.footers, &joined.offsets), (alone.footers, &alone.offsets), "{context}");
        let another = Damage { at: end as u64, bytes: file.len() as u64, kind: DamageKind::Another };
        assert_eq!(joined.damage.last(), Some(&another), "{context}");
        assert!(joined.damage.len() <= alone.damage.len().max(1) + 1, "{context}");
    }
}

#[test]
fn what_is_not_xdf_is_refused() {
    for bytes in [&b""[..], b"XDF", b"RIFF", b"RIFF\x01\x05hello world", &[0; 64]] {
        assert!(matches!(Reader::new(Cursor::new(bytes)), Err(ReadError::NotXdf)));
    }
}

#[test]
fn a_chunk_that_the_specification_does_not_name_is_skipped() {
    let (file, starts) = file();
    let mut longer = file[..starts[3]].to_vec();
    put_chunk(&mut longer, Tag::Samples, None, b"??");
    let at = longer.len() - 4;
    longer[at] = 77;
    longer.extend_from_slice(&file[starts[3]..]);
    assert_eq!(read(&longer), read(&file));
    let unknown = |file: &[u8]| {
        let reader = Reader::new(Cursor::new(file)).unwrap();
        crate::repair_into(reader, Vec::new(), |_, _| {}).unwrap().unknown_chunk_count
    };
    assert_eq!((unknown(&file), unknown(&longer)), (0, 1), "a repair leaves it out, and says so");
}

#[test]
fn samples_whose_tag_is_damaged_are_no_chunk_of_another_kind() {
    let (mut file, starts) = file();
    let whole = read(&file);
    file[starts[3] + 2] = 77;
    let read = read(&file);
    assert_eq!((read.stamps, read.damage.len()), (whole.stamps, 1));
}

/// A file that counts how often it is read.
struct Counted<'a> {
    file: Cursor<&'a [u8]>,
    reads: &'a Cell<usize>,
}

impl io::Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.reads.set(self.reads.get() + 1);
        self.file.read(to)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn short_chunks_share_what_was_read_ahead() {
    let mut file = MAGIC.to_vec();
    put_chunk(&mut file, Tag::StreamHeader, None, &with_id(1, NUMBERS));
    for _ in 0..150_000 {
        put_chunk(&mut file, Tag::Samples, None, &[1, 0, 0, 0, 1, 1, 0, 1, 0, 2, 0]);
    }
    let reads = Cell::new(0);
    let mut reader = Reader::new(Counted { file: Cursor::new(&file), reads: &reads }).unwrap();
    let mut samples = 0;
    while let Some(event) = reader.next_event().unwrap() {
        samples += usize::from(matches!(event, Event::Samples { .. }));
    }
    assert_eq!(samples, 150_000);
    assert!(reads.get() < 100, "{} reads", reads.get());
}
