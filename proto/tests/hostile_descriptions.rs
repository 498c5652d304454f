//! Damaged and malicious descriptions and queries do not crash or stall their reader.

use core::time::Duration;
use std::time::Instant;

use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::query::Query;
use schwann_proto::wire::xml::Document;

/// A small generator, so that a failure can be repeated from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // Steele, Lea, Flood: Fast splittable pseudorandom number generators (SplitMix64).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a [u8]]) -> &'a [u8] {
        from[self.roll(from.len())]
    }

    fn mutate(&mut self, original: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
        let mut bytes = original.to_vec();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len() + 1);
            let end = (at + self.roll(12)).min(bytes.len());
            match self.roll(5) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes.truncate(at),
                2 if at < bytes.len() => bytes[at] = self.roll(256) as u8,
                3 => {
                    let copy = bytes[at..end].repeat(1 + self.roll(3));
                    bytes.splice(at..at, copy);
                }
                _ => drop(bytes.splice(at..at, self.pick(pieces).iter().copied())),
            }
        }
        bytes
    }
}

/// Without optimisation each round is twenty times as long.
const ROUNDS: usize = if cfg!(debug_assertions) { 8_000 } else { 50_000 };

const XML_PIECES: &[&[u8]] = &[
    b"<",
    b">",
    b"/",
    b"</",
    b"/>",
    b"<a>",
    b"</a>",
    b"<a/>",
    b"<a k='v'>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?",
    b"?>",
    b"<!DOCTYPE a [",
    b"&amp;",
    b"&#65;",
    b"&#x10ffff;",
    b"&#xd800;",
    b"&",
    b";",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\r\n",
    b"\"",
    b"'",
    b"=",
    b"1e999",
    b"-1",
    b"99999999999",
    b"<info>",
];

const QUERY_PIECES: &[&[u8]] = &[
    b"(",
    b")",
    b"[",
    b"]",
    b"'",
    b"\"",
    b"/",
    b"//",
    b"..",
    b".",
    b"*",
    b"@",
    b"::",
    b"|",
    b"=",
    b"!=",
    b"<",
    b"-",
    b",",
    b" and ",
    b" or ",
    b" div ",
    b" mod ",
    b"not(",
    b"count(",
    b"string(",
    b"//*[",
    b"ancestor::",
    b"preceding::node()",
    b"following::*",
    b"position()",
    b"last()",
    b"1",
    b".5",
    b"'x'",
    b"name",
    b"\xff",
    b"$",
    b"\0",
    b"substring(name,-1 div 0)",
    b"translate(/,'a','b')",
];

const QUERIES: &[&[u8]] = &[
    b"session_id='default' and name='Golden'",
    b"count(desc/channels/channel[type='EEG'])>3 or starts-with(name,'G')",
    b"//channel[position() < last()]/preceding-sibling::*[1]/label = concat('C', string(3))",
    b"sum(//n[. > -1]) div (count(//*) mod 7) >= floor(2.5) * round(number('3'))",
    b"substring-before(normalize-space(translate(.,'ab','cd')),'x') | //a",
];

fn description() -> Vec<u8> {
    let mut info = StreamInfo::new("Golden", "EEG", 3, 100.0, ChannelFormat::Float32, "src").unwrap();
    info.reset_uid([7; 16]);
    let desc = info.desc().unwrap();
    let tree = info.document_mut();
    let channels = tree.append_child(desc, "channels").unwrap();
    for label in ["C3", "<C4>", "Cz \u{e9}"] {
        let channel = tree.append_child(channels, "channel").unwrap();
        tree.append_child_value(channel, "label", label);
        tree.append_child_value(channel, "n", "2.5");
    }
    info.fullinfo()
}

#[test]
fn mutated_descriptions_are_read_or_refused_and_written_again() {
    let mut dice = Dice(1);
    let original = description();
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let bytes = dice.mutate(&original, XML_PIECES);
        let document = Document::parse(&bytes).document;
        // What was understood is understood again, in full. Only a carriage return that came as a
        // reference is written raw and read as a line feed. Existing peers do the same.
        let written = Document::parse(&document.to_bytes()).document.to_bytes();
        assert_eq!(
            Document::parse(&written).document.to_bytes(),
            written,
            "{:?}",
            String::from_utf8_lossy(&bytes)
        );
        match StreamInfo::parse(&bytes) {
            Ok(info) => {
                accepted += 1;
                let again = StreamInfo::parse(&info.shortinfo()).unwrap();
                assert_eq!(again.shortinfo(), info.shortinfo());
            }
            Err(reason) => {
                refused += 1;
                assert_eq!(StreamInfo::parse_or_blank(&bytes).name(), &*format!("(invalid: {reason})"));
            }
        }
    }
    assert!(accepted > ROUNDS / 50 && refused > ROUNDS / 50, "{accepted} accepted, {refused} refused");
}

#[test]
fn mutated_queries_end_soon() {
    let mut dice = Dice(2);
    let description = Document::parse(&description()).document;
    let (mut parsed, mut slowest) = (0, Duration::ZERO);
    for _ in 0..ROUNDS {
        let original = dice.pick(QUERIES);
        let text = dice.mutate(original, QUERY_PIECES);
        if let Ok(query) = Query::parse(&text) {
            parsed += 1;
            let started = Instant::now();
            let _ = query.evaluate(&description);
            slowest = slowest.max(started.elapsed());
        }
    }
    assert!(parsed > ROUNDS / 50, "{parsed} parsed");
    // The budget allows some milliseconds when optimised; this is for a busy machine without optimisation.
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}
