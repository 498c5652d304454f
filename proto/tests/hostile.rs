//! Parsers of what peers send survive anything: 100,000 damaged inputs each, always the same ones.
//!
//! The seeds are captured messages, so that damage reaches behind the first check. The fuzz targets in `fuzz/`
//! run the same parsers with coverage guidance.

use std::{fs, path::Path};

use schwann_proto::{
    stream::ChannelFormat,
    wire::{
        archive::Archive,
        discover::{Query, parse_reply},
        feed::{Command, Expected, Offer, RequestReader, ResponseReader},
        number,
        sample::{ByteOrder, Layout, StampTracker, Subnormals},
        test_pattern, timedata,
    },
};

mod random;

use random::Random;

const ROUNDS: usize = 100_000;

impl Random {
    /// Damages `seed` in a few places: bytes changed, dropped, doubled, or the end cut off.
    fn damage(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len() + 1);
            let byte =
                [0, 1, 0x7f, 0x80, 0xff, b'\r', b'\n', b' ', self.next().to_le_bytes()[0]][self.below(9)];
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                3 => {
                    let part = bytes[at..(at + self.below(20)).min(bytes.len())].to_vec();
                    bytes.extend(part);
                }
                _ => {
                    if let Some(target) = bytes.get_mut(at) {
                        *target = byte;
                    }
                }
            }
        }
        bytes
    }
}

/// Every captured message in this direction whose file name contains `name`.
fn seeds(name: &str, direction: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut seeds = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_string_lossy().contains(name)
            || path.extension().is_none_or(|e| e != "json")
        {
            continue;
        }
        let json: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for step in json["steps"].as_array().unwrap() {
            let hex = step["hex"].as_str().unwrap();
            if step["dir"] == direction && !hex.is_empty() {
                seeds.push(
                    (0..hex.len())
                        .step_by(2)
                        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                        .collect(),
                );
            }
        }
    }
    seeds.sort();
    assert!(!seeds.is_empty(), "no captures of {name} {direction}");
    seeds
}

fn attack(seeds: &[Vec<u8>], mut parse: impl FnMut(&[u8], &mut Random)) {
    let mut random = Random(0x5eed_5eed_5eed_5eed);
    for round in 0..ROUNDS {
        let bytes = random.damage(&seeds[round % seeds.len()]);
        parse(&bytes, &mut random);
    }
}

#[test]
fn samples() {
    let seeds = seeds("_feed110_", "lib->script");
    let mut decoded = 0usize;
    attack(&seeds, |bytes, random| {
        let format = ChannelFormat::ALL[random.below(7)];
        let order = [ByteOrder::Little, ByteOrder::Big][random.below(2)];
        let mut layout = Layout::new(format, random.below(5), order);
        layout.string_limit = 1000;
        layout.subnormals = [Subnormals::Keep, Subnormals::Suppress][random.below(2)];
        let (mut out, mut stamps) = ([0f32; 12], [0f64; 3]);
        let mut tracker = StampTracker::new(100.0);
        let counted = layout.count(bytes, 3);
        let extent =
            layout.decode_chunk(bytes, &mut out[..3 * layout.channel_count], &mut stamps, &mut tracker);
        if layout.channel_count > 0 {
            assert_eq!(extent, counted, "counting and decoding agree");
        }
        if let Ok(Some((_, values, rest))) = layout.split_sample(bytes) {
            assert!(values.len() + rest.len() < bytes.len());
            let mut strings = 0;
            layout.read_strings(values, |_| strings += 1).unwrap();
            assert_eq!(strings, layout.channel_count);
            decoded += 1;
        }
        let _ = test_pattern::verify(&layout, bytes);
    });
    assert!(decoded > ROUNDS / 4, "only {decoded} inputs got past the first check");
}

#[test]
fn archives() {
    let seeds = seeds("_feed100_", "script->lib");
    let mut decoded = 0usize;
    attack(&seeds, |bytes, random| {
        let _ = Archive::decode_header(bytes);
        let mut archive = Archive::new(ChannelFormat::ALL[random.below(7)], random.below(5));
        archive.string_limit = 1000;
        let mut out = Vec::new();
        let len = archive.sample_len(bytes);
        let taken = archive.decode(bytes, &mut out);
        assert_eq!(taken.ok(), len.ok(), "measuring and decoding agree");
        if let Ok(Some(len)) = len {
            assert!(len <= bytes.len());
            assert_eq!(archive.plain_layout().sample_len(&out), Ok(Some(out.len())));
            decoded += 1;
        } else {
            assert!(out.is_empty(), "nothing is left behind");
        }
        let _ = test_pattern::verify_archive(&archive, bytes);
    });
    assert!(decoded > ROUNDS / 10, "only {decoded} inputs got past the first check");
}

#[test]
fn requests() {
    let mut seeds = seeds("outlet_feed", "script->lib");
    seeds.push(b"LSL:fullinfo\r\n".to_vec());
    seeds.push(b"LSL:shortinfo\r\nname='A'\r\n".to_vec());
    let offer = Offer {
        version: 110,
        uid: "x",
        format: ChannelFormat::Float32,
        swap_performance: 1.0,
        synchronous: false,
    };
    let mut understood = 0usize;
    attack(&seeds, |bytes, random| {
        let whole = RequestReader::new().read(bytes);
        let mut reader = RequestReader::new();
        let first = reader.read(&bytes[..random.below(bytes.len())]);
        if first == Ok(None) {
            assert_eq!(reader.read(bytes), whole, "pieces do not matter");
        }
        if let Ok(Some(Command::Feed(request))) = whole {
            let mut out = Vec::new();
            if let Ok(agreement) = offer.negotiate(&request) {
                agreement.encode_response(&offer, &mut out).unwrap();
            }
            request.encode(&mut out).unwrap();
            understood += 1;
        }
    });
    assert!(understood > ROUNDS / 10, "only {understood} inputs got past the first check");
}

#[test]
fn responses() {
    let seeds = seeds("inlet_feed", "script->lib");
    let expected = Expected {
        version: 110,
        uid: "11111111-2222-4333-8444-555555555555",
        format: ChannelFormat::Float32,
    };
    let mut accepted = 0usize;
    attack(&seeds, |bytes, random| {
        let whole = ResponseReader::new(expected).read(bytes);
        let mut reader = ResponseReader::new(expected);
        if reader.read(&bytes[..random.below(bytes.len())]) == Ok(None) {
            assert_eq!(reader.read(bytes), whole, "pieces do not matter");
        }
        let _ = reader.finish(bytes);
        accepted += usize::from(matches!(whole, Ok(Some(response)) if response.len <= bytes.len()));
    });
    assert!(accepted > ROUNDS / 100, "only {accepted} inputs got past the first check");
}

#[test]
fn datagrams() {
    let mut seeds = seeds("outlet_udp", "script->lib");
    seeds.extend(self::seeds("outlet_udp_timedata", "lib->script"));
    let mut understood = 0usize;
    attack(&seeds, |bytes, _| {
        understood += usize::from(Query::parse(bytes).is_some());
        understood += usize::from(timedata::Request::parse(bytes).is_some());
        understood += usize::from(timedata::Reply::parse(bytes).is_some());
        let _ = parse_reply(bytes, "987654321");
    });
    assert!(understood > ROUNDS / 10, "only {understood} inputs got past the first check");
}

#[test]
fn numbers() {
    let seeds = ["-123.456e+78", "9223372036854775807", "  +.5e-3x", "0000", "1e400"]
        .map(|text| text.as_bytes().to_vec());
    attack(&seeds, |bytes, _| {
        let (double, single) = (number::extract_f64(bytes), number::extract_f32(bytes));
        assert_eq!(double.is_some(), single.is_some());
        assert!(double.is_none_or(f64::is_finite) && single.is_none_or(f32::is_finite));
        let wide = number::extract_i64(bytes);
        let narrow = |value: i64| i32::try_from(value.clamp(i32::MIN.into(), i32::MAX.into())).unwrap();
        assert_eq!(number::extract_i32(bytes), wide.map(narrow));
        if let Some(double) = double {
            let text = number::general(double, 17, number::TrailingZeros::Drop);
            assert_eq!(number::extract_f64(text.as_bytes()), Some(double));
        }
    });
}
