use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use super::*;
use crate::address::Address;
use crate::buffer::Buffer;
use crate::client::{Client, Follower, Options, Start};
use crate::conversation::{Conversation, Step};
use crate::policy::PeerId;
use crate::wire::{ByteOrder, DataType, Event, Header, SamplesDefinition, Totals};

/// A place for a recording, gone when the test is.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("schwann-ft-recording-{}-{number}", std::process::id())))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // A test may have removed it already.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn header() -> Header {
    Header::new(2, 250.0, DataType::Int16).with_channel_names(["Fz", "Cz"])
}

fn fill(buffer: &Buffer) {
    buffer.put_header(header()).unwrap();
    buffer.put_samples(2, &[1_i16, 2, 3, 4]).unwrap();
    buffer.put_events(&[Event::number(1, "trigger", 7), Event::text(2, "stim", "left")]).unwrap();
    buffer.put_samples(2, &[5_i16; 40_000]).unwrap();
    buffer.put_header(Header::new(1, 1.0, DataType::Float64)).unwrap();
    buffer.put_samples(1, &[0.5_f64]).unwrap();
}

fn record(place: &TemporaryFolder) {
    let buffer = Buffer::default();
    let tap = buffer.tap(1 << 30);
    let mut recording = Recording::create(&place.0).unwrap();
    fill(&buffer);
    record_buffer(&tap, &mut recording, &AtomicBool::new(true)).unwrap();
    recording.finish().unwrap();
}

#[test]
fn everything_that_a_buffer_accepts_is_in_the_recording() {
    let place = TemporaryFolder::new();
    record(&place);
    let found = acquisitions(&place.0).unwrap();
    assert_eq!(found.len(), 2);
    let mut first = RecordedAcquisition::open(&found[0]).unwrap();
    assert_eq!((first.header(), first.sample_count()), (&header(), 20_002));
    assert_eq!(first.events(), [Event::number(1, "trigger", 7), Event::text(2, "stim", "left")]);
    assert!(matches!(
        first.timing(),
        [Timing::Samples(2, _), Timing::Events(2, _), Timing::Samples(20_000, _)]
    ));
    let mut values = Vec::new();
    let block = first.read_samples(1, 3, &mut values).unwrap();
    assert_eq!(block, SamplesDefinition::new(2, 3, DataType::Int16).unwrap());
    assert_eq!(values, bytemuck::cast_slice(&[3_i16, 4, 5, 5, 5, 5]));
    let bytes = std::fs::read(found[0].join("header")).unwrap();
    let (_, totals) = Header::parse(ByteOrder::NATIVE, &bytes).unwrap();
    assert_eq!(totals, Totals { samples: 20_002, events: 2 });
    let text = std::fs::read_to_string(found[0].join("header.txt")).unwrap();
    let want = "version=1\nendian=little\ndataType=int16\nfSample=250.000000\nnChans=2\n1:Fz\n2:Cz\nnSamples=20002\nnEvents=2\n";
    assert_eq!(text.replace("big", "little"), want);
}

#[test]
fn a_recording_of_the_original_that_was_killed_is_readable() {
    let place = TemporaryFolder::new();
    record(&place);
    let folder = acquisitions(&place.0).unwrap()[0].clone();
    let whole = RecordedAcquisition::open(&folder).unwrap();
    // What the original's recorder has on disk before it ends: an empty header, and a text without totals.
    std::fs::write(folder.join("header"), []).unwrap();
    let text = std::fs::read_to_string(folder.join("header.txt")).unwrap();
    std::fs::write(folder.join("header.txt"), text.split("nSamples").next().unwrap()).unwrap();
    let mut killed = RecordedAcquisition::open(&folder).unwrap();
    assert_eq!(killed.header(), whole.header());
    assert_eq!((killed.sample_count(), killed.events()), (20_002, whole.events()));
    let mut values = Vec::new();
    killed.read_samples(1, 1, &mut values).unwrap();
    assert_eq!(values, bytemuck::cast_slice(&[3_i16, 4]));
    for damage in ["", "version=1\nendian=little\ndataType=none\nfSample=1\nnChans=1\n"] {
        std::fs::write(folder.join("header.txt"), damage).unwrap();
        assert!(matches!(RecordedAcquisition::open(&folder), Err(RecordingError::Damaged(_))));
    }
}

#[test]
fn a_recording_exists_once() {
    let place = TemporaryFolder::new();
    drop(Recording::create(&place.0).unwrap());
    assert!(matches!(Recording::create(&place.0), Err(RecordingError::File(..))));
    let mut recording = Recording::create(&place.0.join("inner")).unwrap();
    assert!(matches!(recording.samples(1, [&[0_u8][..]], Duration::ZERO), Err(RecordingError::NoHeader)));
}

#[test]
fn long_recordings_continue_in_further_files_of_whole_samples() {
    let place = TemporaryFolder::new();
    let mut recording = Recording::create(&place.0).unwrap().with_longest_file(1001);
    recording.header(&header(), Duration::ZERO).unwrap();
    let values: Vec<u8> = (0..4000_u32).map(|n| n as u8).collect();
    for block in values.chunks(400) {
        recording.samples(100, block.chunks(80), Duration::ZERO).unwrap();
    }
    recording.finish().unwrap();
    let folder = place.0.join("0001");
    let lengths = ["samples", "samples1", "samples2", "samples3"]
        .map(|name| folder.join(name).metadata().unwrap().len());
    assert_eq!(lengths, [1000; 4]);
    let mut acquisition = RecordedAcquisition::open(&folder).unwrap();
    let mut back = Vec::new();
    acquisition.read_samples(0, u32::MAX, &mut back).unwrap();
    assert_eq!(back, values);
    acquisition.read_samples(240, 20, &mut back).unwrap();
    assert_eq!(back, values[960..1040]);
}

#[test]
fn what_a_crash_cut_off_is_left_out_and_the_rest_is_read() {
    let place = TemporaryFolder::new();
    record(&place);
    let folder = place.0.join("0001");
    let cut = |name: &str, by: u64| {
        let file = std::fs::OpenOptions::new().write(true).open(folder.join(name)).unwrap();
        file.set_len(file.metadata().unwrap().len() - by).unwrap();
    };
    assert_eq!(RecordedAcquisition::open(&folder).unwrap().missing_sample_count(), 0);
    cut("samples", 3);
    assert_eq!(RecordedAcquisition::open(&folder).unwrap().missing_sample_count(), 1);
    cut("events", 1);
    cut("timing", 4);
    let acquisition = RecordedAcquisition::open(&folder).unwrap();
    assert_eq!((acquisition.sample_count(), acquisition.events().len()), (20_001, 1));
    let played: u64 = Playback::new(&acquisition)
        .map(|due| if let Item::Samples(_, n) = due.item { n.into() } else { 0 })
        .sum();
    assert_eq!(played, 20_001);
}

#[test]
fn recordings_of_machines_with_the_other_byte_order_are_read() {
    let place = TemporaryFolder::new();
    std::fs::create_dir_all(&place.0).unwrap();
    let foreign = if ByteOrder::NATIVE == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little };
    let bytes = Header::new(1, 10.0, DataType::Int32).encode(foreign, Totals::default());
    std::fs::write(place.0.join("header"), bytes).unwrap();
    std::fs::write(place.0.join("samples"), foreign.put_u32(0x0102_0304)).unwrap();
    let mut event = Vec::new();
    Event::number(3, "trigger", 9).encode(foreign, &mut event);
    std::fs::write(place.0.join("events"), event).unwrap();
    let mut acquisition = RecordedAcquisition::open(&acquisitions(&place.0).unwrap()[0]).unwrap();
    let mut values = Vec::new();
    acquisition.read_samples(0, 1, &mut values).unwrap();
    assert_eq!(values, 0x0102_0304_u32.to_ne_bytes());
    assert_eq!(acquisition.events(), [Event::number(3, "trigger", 9)]);
}

#[test]
fn a_recording_played_is_the_acquisition_again() {
    let place = TemporaryFolder::new();
    record(&place);
    let mut acquisition = RecordedAcquisition::open(&place.0.join("0001")).unwrap();
    let mut buffer = Buffer::default();
    play(&mut acquisition, &mut buffer, f64::INFINITY, &AtomicBool::new(false)).unwrap().unwrap();
    let played = buffer.header().unwrap();
    assert_eq!(played, (header(), Totals { samples: 20_002, events: 2 }));
    assert_eq!(buffer.events(None).unwrap(), acquisition.events());
    let mut values = Vec::new();
    acquisition.read_samples(0, u32::MAX, &mut values).unwrap();
    assert_eq!(buffer.samples(None).unwrap().1, values);
    let order: Vec<_> = Playback::new(&acquisition).map(|due| due.item).collect();
    assert_eq!(order, [Item::Samples(0, 2), Item::Events(0..2), Item::Samples(2, 20_000)]);
}

#[test]
fn a_server_that_answers_nonsense_ends_the_recording_with_an_error_and_keeps_what_came_before() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
    let buffer = Buffer::default();
    buffer.put_header(header()).unwrap();
    buffer.put_samples(2, &[1_i16; 200]).unwrap();
    let server = thread::spawn(move || {
        // A buffer for one connection, and then something else at its port.
        let (mut stream, _) = listener.accept().unwrap();
        let mut conversation = Conversation::new(buffer, Arc::default(), PeerId(0));
        let mut has_sent_samples = false;
        while !has_sent_samples {
            match conversation.poll() {
                Step::Read(_) => {
                    let count = stream.read(conversation.space()).unwrap();
                    conversation.filled(count);
                }
                Step::Send => {
                    let bytes =
                        conversation.parts().iter().flat_map(|part| part.to_vec()).collect::<Vec<_>>();
                    stream.write_all(&bytes).unwrap();
                    conversation.sent();
                    has_sent_samples = bytes.len() > 200;
                }
                step => panic!("{step:?}"),
            }
        }
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
        // Until the client has had enough.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let place = TemporaryFolder::new();
    let mut recording = Recording::create(&place.0).unwrap();
    let client = Client::connect(address, Options::default()).unwrap();
    let mut follower = Follower::new(client, Start::Oldest);
    let outcome = record_follower(&mut follower, &mut recording, &AtomicBool::new(false));
    assert!(matches!(outcome, Err(RecordingError::Server(ClientError::Confused))), "{outcome:?}");
    drop((follower, recording));
    server.join().unwrap();
    assert_eq!(RecordedAcquisition::open(&place.0.join("0001")).unwrap().sample_count(), 100);
}
