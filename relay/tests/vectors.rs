//! The committed messages of docs/spec/vectors/relay.json: this code makes them to the byte, and reads them.
//!
//! `tests/system/relay_vectors.py` reads them by the specification alone.
//!
//! `SCHWANN_WRITE_VECTORS=1` writes the file anew, after a change of the specification.

#[path = "common/lab.rs"]
mod lab;

use std::path::Path;

use lab::{Fixture, NOW, Seeded};
use schwann_relay::{
    Announcement, Backlog, Before, Block, ClockAnswer, ClockMessage, Follower, Moment, Note, NoteKind, Range,
    Run, Start, StreamId, Taken,
};
use schwann_session::Entropy as _;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn made() -> Vec<(&'static str, Vec<u8>)> {
    let fixture = Fixture::the();
    let mut entropy = Seeded::new(42);
    let mut moment = Moment { credentials: &fixture.edge, entropy: &mut entropy, list_number: 1, now: NOW };
    let start = Start {
        lab: fixture.lab_id(),
        stream: StreamId([0x5A; 16]),
        description: b"<info><name>Vector</name></info>".to_vec(),
        before: Before::NONE,
    };
    let mut run = Run::begin(start, &mut moment).unwrap();
    let announcement = run.announcement().to_vec();
    let keys = run.wrapped(&[&fixture.recorder.public], &mut moment).unwrap();
    let first = run.seal(b"one sample", 1, &mut moment).unwrap();
    let second = run.seal(b"two more samples", 2, &mut moment).unwrap();
    let end = run.end(&mut moment).unwrap();
    let names = (fixture.lab_id(), StreamId([0x5A; 16]), run.id());
    let note = |kind, credentials| {
        Note::encode(kind, names, &[Range { first: 0, last: 1 }], 1_767_225_600_000, credentials)
    };
    let clock = |answer, credentials| ClockMessage::encode(names, [0xC1; 16], answer, credentials);
    vec![
        ("authority", authority().to_vec()),
        ("seed of the recorder's wrapping key", fixture.recorder.seed.to_vec()),
        ("epoch key", epoch_key().to_vec()),
        (
            "recorder's wrapping key message",
            fixture.recorder.wrapping.publish(&fixture.recorder.credentials, NOW, 1000),
        ),
        ("announcement", announcement),
        ("wrapped keys", keys),
        ("block 0", first.bytes),
        ("block 1", second.bytes),
        ("end", end.bytes),
        ("receipt", note(NoteKind::Receipt(second.place.hash), &fixture.recorder.credentials)),
        ("hole request", note(NoteKind::HoleRequest, &fixture.recorder.credentials)),
        ("loss", note(NoteKind::Loss, &fixture.edge)),
        ("clock probe", clock(None, &fixture.recorder.credentials)),
        ("clock answer", clock(Some(ANSWER), &fixture.edge)),
    ]
}

const ANSWER: ClockAnswer = ClockAnswer {
    received: 1000.25,
    sent: 1000.5,
    stream_offset: -7.5,
    stream_bound: 0.125,
    wall: 1_767_225_600.5,
    wall_bound: f64::INFINITY,
    backlog: Backlog { blocks: 12, seconds: 2.5 },
};

/// What the run draws after the 8 bytes of its name.
fn epoch_key() -> [u8; 32] {
    let (mut entropy, mut drawn) = (Seeded::new(42), [0; 40]);
    entropy.fill(&mut drawn).unwrap();
    *drawn.last_chunk().unwrap()
}

/// The public key of the test lab's authority, of the seed of 32 sevens.
fn authority() -> [u8; 32] {
    schwann_session::DeviceKey::from_seed(&[7; 32]).public().0
}

#[test]
fn messages_are_those_of_the_specification() {
    let made = made();
    let lines: Vec<String> =
        made.iter().map(|(name, bytes)| format!("  \"{name}\": \"{}\"", hexadecimal(bytes))).collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/vectors/relay.json");
    if std::env::var_os("SCHWANN_WRITE_VECTORS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    read(&made);
}

fn read(made: &[(&str, Vec<u8>)]) {
    let fixture = Fixture::the();
    let bytes = |name: &str| made.iter().find(|(one, _)| *one == name).unwrap().1.as_slice();
    let announcement = Announcement::parse(bytes("announcement"), &fixture.lab, &fixture.lists[0]).unwrap();
    let mut follower = Follower::new(&announcement);
    assert!(follower.wrapped(bytes("wrapped keys"), &fixture.recorder.wrapping).unwrap());
    follower.announcement(&announcement).unwrap();
    assert_eq!(follower.description(), Some(b"<info><name>Vector</name></info>".as_slice()));
    for (name, content) in
        [("block 0", b"one sample".as_slice()), ("block 1", b"two more samples"), ("end", b"")]
    {
        match follower.take(&Block::parse(bytes(name)).unwrap()).unwrap() {
            Taken::New(_, opened) => assert_eq!(opened, content),
            other => panic!("{name}: {other:?}"),
        }
    }
    for name in ["receipt", "hole request", "loss"] {
        let note = Note::parse(bytes(name), &fixture.lab, NOW, &fixture.lists[0]).unwrap();
        assert_eq!(note.ranges.as_slice(), [Range { first: 0, last: 1 }]);
    }
    for (name, answer) in [("clock probe", None), ("clock answer", Some(ANSWER))] {
        let clock = ClockMessage::parse(bytes(name), &fixture.lab, NOW, &fixture.lists[0]).unwrap();
        assert_eq!((clock.probe, clock.answer), ([0xC1; 16], answer));
    }
}
