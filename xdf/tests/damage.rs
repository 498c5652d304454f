//! Damaged recordings. Every whole sample before the damage comes back, and so do those after it where
//! the next chunk can be found.

mod common;

use std::collections::BTreeMap;
use std::io::Cursor;

use common::Chance;
use schwann_xdf::{BOUNDARY, Event, MAGIC, Reader, Survey, Values, compare, repair_into};

/// One sample of a stream: the bits of its stamp, and its values as text.
type Sample = (u64, String);

/// A file, and where everything is in it.
#[derive(Default)]
struct Built {
    file: Vec<u8>,
    /// Per sample: stream, where its chunk begins, where it ends, and what it is.
    samples: Vec<(u32, usize, usize, Sample)>,
    /// Where each chunk begins and ends, and whether it is a stream's header.
    chunks: Vec<(usize, usize, Option<u32>)>,
}

impl Built {
    fn chunk(&mut self, tag: u16, content: &[u8]) -> usize {
        let start = self.file.len();
        let len = content.len() + 2;
        match u8::try_from(len) {
            Ok(len) => self.file.extend_from_slice(&[1, len]),
            Err(_) => {
                self.file.push(4);
                self.file.extend_from_slice(&u32::try_from(len).unwrap().to_le_bytes());
            }
        }
        self.file.extend_from_slice(&tag.to_le_bytes());
        let content_at = self.file.len();
        self.file.extend_from_slice(content);
        let header = (tag == 2).then(|| u32::from_le_bytes(content[..4].try_into().unwrap()));
        self.chunks.push((start, self.file.len(), header));
        content_at
    }

    fn header(&mut self, id: u32, format: &str, channels: usize, rate: f64) {
        let xml = format!(
            "<?xml version=\"1.0\"?><info><name>Stream {id}</name><type>EEG</type><channel_count>{channels}</channel_count>\
             <nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format><desc><a>b</a></desc></info>"
        );
        self.chunk(2, &[&id.to_le_bytes()[..], xml.as_bytes()].concat());
    }

    /// Adds a chunk of samples; each has its stamp, or none to be deduced, the value's bytes, and text.
    fn samples(&mut self, id: u32, samples: &[(Option<f64>, f64, Vec<u8>, String)]) {
        let mut content = id.to_le_bytes().to_vec();
        content.push(4);
        content.extend_from_slice(&u32::try_from(samples.len()).unwrap().to_le_bytes());
        let mut ends = Vec::new();
        for (explicit, _, bytes, _) in samples {
            match explicit {
                None => content.push(0),
                Some(stamp) => {
                    content.push(8);
                    content.extend_from_slice(&stamp.to_le_bytes());
                }
            }
            content.extend_from_slice(bytes);
            ends.push(content.len());
        }
        let start = self.file.len();
        let content_at = self.chunk(3, &content);
        for ((_, stamp, _, text), end) in samples.iter().zip(ends) {
            self.samples.push((id, start, content_at + end, (stamp.to_bits(), text.clone())));
        }
    }

    /// A recording of three streams as a recorder would write it.
    fn recording(chance: &mut Chance) -> Self {
        let mut built = Self { file: MAGIC.to_vec(), ..Self::default() };
        built.chunk(1, b"<?xml version=\"1.0\"?><info><version>1.0</version></info>");
        built.header(1, "int16", 3, 100.0);
        built.header(2, "string", 1, 0.0);
        built.header(70_000, "double64", 2, 50.0);
        let (mut numbers, mut doubles) = (1000.0, 2000.0);
        for block in 0..24_u32 {
            let count = 5 + chance.below(12);
            let samples: Vec<_> = (0..count)
                .map(|at| {
                    let explicit = at == 0 || chance.below(8) == 0;
                    numbers += if explicit { 0.01 + 1e-4 * chance.below(100) as f64 } else { 1.0 / 100.0 };
                    let values = [(); 3].map(|()| chance.next() as i16 >> (chance.below(3) * 5));
                    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    (explicit.then_some(numbers), numbers, bytes, format!("{values:?}"))
                })
                .collect();
            built.samples(1, &samples);
            let samples: Vec<_> = (0..2 + chance.below(4))
                .map(|at| {
                    doubles += 1.0 / 50.0;
                    let values = [(); 2].map(|()| chance.below(1000) as f64 / 8.0);
                    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    ((at == 0).then_some(doubles), doubles, bytes, format!("{values:?}"))
                })
                .collect();
            built.samples(70_000, &samples);
            if block % 2 == 0 {
                let text = "event ".repeat(1 + chance.below(60));
                let mut bytes = match u8::try_from(text.len()) {
                    Ok(len) => vec![1, len],
                    Err(_) => [&[4][..], &u32::try_from(text.len()).unwrap().to_le_bytes()].concat(),
                };
                bytes.extend_from_slice(text.as_bytes());
                let stamp = f64::from(block) + 0.5;
                built.samples(2, &[(Some(stamp), stamp, bytes, format!("{:?}", [text]))]);
            }
            if block % 3 == 0 {
                let offset =
                    [&1_u32.to_le_bytes()[..], &f64::from(block).to_le_bytes(), &0.25_f64.to_le_bytes()]
                        .concat();
                built.chunk(4, &offset);
            }
            if block % 6 == 5 {
                built.chunk(5, &BOUNDARY);
            }
        }
        for id in [1_u32, 2, 70_000] {
            let footer = format!(
                "<?xml version=\"1.0\"?><info><first_timestamp>1</first_timestamp><id>{id}</id></info>"
            );
            built.chunk(6, &[&id.to_le_bytes()[..], footer.as_bytes()].concat());
        }
        built
    }
}

fn read(file: &[u8]) -> BTreeMap<u32, Vec<Sample>> {
    let mut all: BTreeMap<u32, Vec<Sample>> = BTreeMap::new();
    let Ok(mut reader) = Reader::new(Cursor::new(file)) else { return all };
    while let Some(event) = reader.next_event().unwrap() {
        let Event::Samples { stream, stamps, values } = event else { continue };
        let texts: Vec<String> = match values {
            Values::Int16(values) => values.chunks(3).map(|row| format!("{row:?}")).collect(),
            Values::Double64(values) => values.chunks(2).map(|row| format!("{row:?}")).collect(),
            Values::String(values) => values.chunks(1).map(|row| format!("{row:?}")).collect(),
            _ => values_of_a_damaged_header(values.len(), stamps.len()),
        };
        assert!(texts.len() >= stamps.len() || stream != 1, "a row per stamp");
        all.entry(stream).or_default().extend(stamps.iter().map(|stamp| stamp.to_bits()).zip(texts));
    }
    all
}

/// A flipped bit in a header may turn its format into another. `int16` is one bit from `int17`, which
/// is refused, but two flips could in principle lead to `int32`.
fn values_of_a_damaged_header(values: usize, samples: usize) -> Vec<String> {
    (0..samples.min(values)).map(|_| String::new()).collect()
}

/// What was done to a file: bytes from `at` to `end` of the original are no longer as they were.
struct Damaged {
    file: Vec<u8>,
    at: usize,
    end: usize,
}

fn damage(file: &[u8], kind: usize, chance: &mut Chance) -> Damaged {
    let at = chance.below(file.len());
    let mut damaged = file.to_vec();
    let end = match kind {
        // Cut off.
        0 => {
            damaged.truncate(at);
            file.len()
        }
        // One bit.
        1..=6 => {
            damaged[at] ^= 1 << chance.below(8);
            at + 1
        }
        // A stretch of noise, or of zeros as file systems leave them.
        7 | 8 => {
            let end = (at + 1 + chance.below(200)).min(file.len());
            for byte in &mut damaged[at..end] {
                *byte = if kind == 7 { chance.next() as u8 } else { 0 };
            }
            end
        }
        // A stretch that is gone.
        _ => {
            let end = (at + 1 + chance.below(200)).min(file.len());
            damaged.drain(at..end);
            end
        }
    };
    Damaged { file: damaged, at, end }
}

/// What must come back of a damaged file, per stream: samples before the damage, and of later chunks.
fn owed(built: &Built, damaged: &Damaged) -> BTreeMap<u32, (Vec<Sample>, Vec<Sample>)> {
    // Where the first chunk begins that the damage did not touch.
    let resumed = built.chunks.iter().map(|chunk| chunk.0).find(|&start| start >= damaged.end);
    let resumed = resumed.map(|resumed| after_lookalike(built, damaged, resumed));
    let mut owed: BTreeMap<u32, (Vec<Sample>, Vec<Sample>)> = BTreeMap::new();
    for (stream, start, end, sample) in &built.samples {
        let header = built.chunks.iter().find(|chunk| chunk.2 == Some(*stream)).unwrap();
        if damaged.at < header.1 && header.0 < damaged.end {
            // Without its header, a stream's samples cannot be told apart.
            continue;
        }
        let (before, after) = owed.entry(*stream).or_default();
        if *end <= damaged.at {
            before.push(sample.clone());
        } else if resumed.is_some_and(|resumed| *start >= resumed) {
            after.push(sample.clone());
        }
    }
    owed
}

/// A chunk that lost bytes may by chance end where another does. It then has its old length with other bytes at
/// its end, and nothing in the file says so.
fn after_lookalike(built: &Built, damaged: &Damaged, resumed: usize) -> usize {
    let gone = built.file.len() - damaged.file.len();
    let cut = built.chunks.iter().find(|chunk| (chunk.0..chunk.1).contains(&damaged.at));
    let lookalike = cut.and_then(|cut| built.chunks.iter().find(|chunk| chunk.1 == cut.1 + gone));
    lookalike.filter(|_| gone > 0).map_or(resumed, |chunk| chunk.1.max(resumed))
}

fn check(built: &Built, damaged: &Damaged, found: &BTreeMap<u32, Vec<Sample>>, what: &str) {
    for (stream, (before, after)) in owed(built, damaged) {
        let none = Vec::new();
        let found = found.get(&stream).unwrap_or(&none);
        assert!(found.starts_with(&before), "{what}: stream {stream} before byte {}", damaged.at);
        assert!(found.ends_with(&after), "{what}: stream {stream} after byte {}", damaged.end);
    }
}

fn repaired(file: &[u8]) -> Option<Vec<u8>> {
    let reader = Reader::new(Cursor::new(file)).ok()?;
    let mut out = Vec::new();
    repair_into(reader, &mut out, |_, _| {}).unwrap();
    Some(out)
}

/// Whether a file reads without damage, and as its checksums say.
fn is_whole(file: &[u8]) -> bool {
    let Ok(reader) = Reader::new(Cursor::new(file)) else { return false };
    let survey = Survey::read(reader, |_, _| {}).unwrap();
    survey.is_sound() && compare(Cursor::new(file), &survey.checksums, |_| {}).unwrap().is_whole()
}

#[test]
fn ten_thousand_damaged_files_give_back_every_whole_sample() {
    let mut chance = Chance(3);
    let mut kinds = [0_usize; 10];
    for round in 0..10 {
        let built = Built::recording(&mut chance);
        let whole = read(&built.file);
        assert_eq!(whole.values().map(Vec::len).sum::<usize>(), built.samples.len());
        for trial in 0..1000 {
            let kind = trial % 10;
            let damaged = damage(&built.file, kind, &mut chance);
            let what = format!("round {round}, trial {trial}, kind {kind}");
            let Some(salvaged) = repaired(&damaged.file) else {
                assert!(damaged.at < 8, "{what}: taken for no recording at byte {}", damaged.at);
                continue;
            };
            check(&built, &damaged, &read(&damaged.file), &what);
            check(&built, &damaged, &read(&salvaged), &what);
            assert!(is_whole(&salvaged), "{what}: not sound, or without checksums");
            let mut flipped = salvaged;
            let at = chance.below(flipped.len());
            flipped[at] ^= 1 << chance.below(8);
            assert!(!is_whole(&flipped), "{what}: a flipped bit in byte {at}");
            kinds[kind] += 1;
        }
    }
    assert!(kinds.iter().all(|&count| count > 900), "{kinds:?}");
}

#[test]
fn a_flipped_bit_costs_no_sample_outside_its_chunk() {
    let mut chance = Chance(11);
    let built = Built::recording(&mut chance);
    for at in 0..built.file.len() {
        let mut file = built.file.clone();
        file[at] ^= 1 << chance.below(8);
        let damaged = Damaged { file, at, end: at + 1 };
        check(&built, &damaged, &read(&damaged.file), "one bit");
    }
}

#[test]
fn a_repair_counts_texts_that_are_no_utf_8() {
    let mut built = Built { file: MAGIC.to_vec(), ..Built::default() };
    built.chunk(1, b"<?xml version=\"1.0\"?><info><version>1.0</version></info>");
    built.header(1, "string", 1, 0.0);
    // One sample without a stamp each: the length of the length, the length, the text.
    built.chunk(
        3,
        &[&1_u32.to_le_bytes()[..], &[1, 2], &[0, 1, 2, b'o', b'k'], &[0, 1, 2, 0xfc, b'b']].concat(),
    );
    let reader = Reader::new(Cursor::new(&built.file)).unwrap();
    let done = repair_into(reader, Vec::new(), |_, _| {}).unwrap();
    assert_eq!((done.sample_count, done.damage_count, done.replaced_text_count), (2, 0, 1));
}
