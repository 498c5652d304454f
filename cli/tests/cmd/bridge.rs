//! `schwann ft mirror` and `schwann ft publish` when what they join comes and goes.

use core::time::Duration;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use schwann_fieldtrip::Client;
use schwann_fieldtrip::wire::{DataType, Event, Header, NEVER, Totals};
use schwann_xdf::{Clocks, Jitter, Recording, Values};
use serde_json::Value;

use crate::ft::write_recording;
use crate::harness::Lab;
use crate::requests::{Request, ask};
use crate::served::Running;

/// Plays the recording to its end.
fn play(command: &mut Command) {
    assert!(command.stdout(Stdio::null()).status().expect("play").success());
}

/// Waits until the buffer at `address` has so many samples and events.
fn wait_for(lab: &Lab, address: &str, samples: &str, events: &str) {
    for (what, count) in [("--samples", samples), ("--events", events)] {
        let (code, _, err) = lab.run(&["ft", "wait", address, what, count, "--timeout", "60"]);
        assert_eq!(code, 0, "{what} {count}: {err}");
    }
}

/// Checks that the buffer holds the recording `times` times, back to back, with its markers in place.
fn assert_holds(client: &mut Client, times: i32) {
    let samples = u32::try_from(250 * times).expect("a small number");
    let block = client.samples(0, samples - 1).expect("samples");
    let once: Vec<_> = (0..500_i16).map(|value| value * 60 - 15_000).collect();
    let wanted: Vec<_> = (0..times).flat_map(|_| once.clone()).collect();
    assert_eq!(block.numbers::<i16>().as_deref(), Some(&wanted[..]));
    let marks = |time: i32| [(10, "go"), (20, "stop ✓"), (200, "end")].map(|(n, v)| (n + 250 * time, v));
    let wanted: Vec<_> =
        (0..times).flat_map(marks).map(|(sample, value)| Event::text(sample, "Marks", value)).collect();
    assert_eq!(client.all_events().expect("events"), wanted);
    let (_, totals) = client.header().expect("a header");
    assert_eq!((totals.samples, totals.events), (samples, 3 * times as u32));
}

#[test]
fn a_stream_that_comes_back_goes_on_where_it_stopped() {
    let lab = Lab::new("mirror-again");
    write_recording(&lab.path("stream.xdf"));
    let mirror = Running::spawn(&mut lab.schwann(&["ft", "mirror", "Amplifier", "localhost:0"]));
    for (samples, events) in [("250", "3"), ("500", "6"), ("750", "9")] {
        play(&mut lab.schwann(&["play", "stream.xdf", "--wait"]));
        wait_for(&lab, &mirror.address, samples, events);
    }
    assert_holds(&mut mirror.client(), 3);
    let (code, said) = mirror.end();
    assert_eq!(code, Some(0));
    assert!(said.ends_with("750 samples, 9 events\n"), "{said}");
}

#[test]
fn a_server_that_is_killed_and_comes_back_empty_gets_what_follows_from_its_own_beginning() {
    let lab = Lab::new("mirror-into");
    write_recording(&lab.path("stream.xdf"));
    let mut server = Running::spawn(&mut lab.schwann(&["ft", "serve", "localhost:0"]));
    let address = server.address.clone();
    let mirror = Running::spawn(&mut lab.schwann(&["ft", "mirror", "Amplifier", &address, "--into"]));
    play(&mut lab.schwann(&["play", "stream.xdf", "--wait"]));
    wait_for(&lab, &address, "250", "3");
    assert_holds(&mut server.client(), 1);

    // As `kill -9` does.
    server.child.kill().expect("a process");
    server.child.wait().expect("an end");
    let at = address.strip_prefix("buffer://").expect("an address");
    let server = Running::spawn(&mut lab.schwann(&["ft", "serve", at]));
    play(&mut lab.schwann(&["play", "stream.xdf", "--wait"]));
    wait_for(&lab, &address, "250", "3");
    assert_holds(&mut server.client(), 1);
    let (code, said) = mirror.end();
    assert_eq!(code, Some(0));
    assert!(said.ends_with("500 samples, 6 events\n"), "{said}");
}

#[test]
fn a_sealed_stream_is_mirrored_like_any_other_and_not_without_the_key() {
    let lab = Lab::new("mirror-sealed");
    write_recording(&lab.path("stream.xdf"));
    let sealed = |arguments: &[&str]| {
        let mut command = lab.schwann(arguments);
        command.env("SCHWANN_KEYS", lab.path("keys")).env_remove("SCHWANN_SECURITY");
        command
    };
    assert!(sealed(&["keys", "init", "--unprotected"]).output().expect("keys").status.success());
    let stranger = Running::spawn(&mut lab.schwann(&["ft", "mirror", "Amplifier", "localhost:0"]));
    let mirror = Running::spawn(&mut sealed(&["ft", "mirror", "Amplifier", "localhost:0"]));
    play(&mut sealed(&["play", "stream.xdf", "--wait"]));
    wait_for(&lab, &mirror.address, "250", "3");
    assert_holds(&mut mirror.client(), 1);
    assert_eq!(mirror.end().0, Some(0));
    assert!(stranger.client().header().is_err(), "a stranger has no header of a sealed stream");
}

/// Puts samples whose values are their numbers, and an event at each twentieth, until `is_over`.
fn count_up(mut client: Client, is_over: impl Fn() -> bool) -> u32 {
    let mut next = 0_u32;
    while !is_over() {
        let values: Vec<f32> = (next..next + 10).flat_map(|n| [n as f32, -(n as f32)]).collect();
        client.put_samples(2, &values).expect("samples");
        if next.is_multiple_of(20) {
            let sample = i32::try_from(next).expect("a small number");
            client.put_events(&[Event::number(sample, "count", sample)]).expect("events");
        }
        next += 10;
        // Nothing will ever be more than this: it paces.
        let never = Totals { samples: NEVER, events: NEVER };
        client.wait(never, Duration::from_millis(20)).expect("totals");
    }
    next
}

#[test]
fn a_published_buffer_is_a_stream_of_the_same_samples_with_events_at_their_stamps() {
    let lab = Lab::new("publish");
    let server = Running::spawn(&mut lab.schwann(&["ft", "serve", "localhost:0"]));
    let header = Header::new(2, 500.0, DataType::Float32).with_channel_names(["up", "down"]);
    server.client().put_header(&header).expect("a header");
    let mut publisher = lab.start(&["ft", "publish", &server.address, "--oldest"]);
    publisher.wait_for_line("FieldTrip");
    let mut recorder = lab
        .schwann(&["record", "-o", "out.xdf", "--json", "--wait", "60"])
        .args(["--require", "FieldTrip", "--require", "FieldTrip events"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("record");
    let lines = BufReader::new(recorder.stdout.take().expect("a pipe")).lines();
    std::thread::scope(|scope| {
        let recorded = scope.spawn(|| {
            for line in lines {
                let progress: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
                let streams = progress["streams"].as_array().expect("a list");
                let counts = streams.iter().filter_map(|stream| stream["sample_count"].as_u64());
                // Of samples and of markers.
                if counts.clone().count() == 2 && counts.min() >= Some(20) {
                    return;
                }
            }
            panic!("the recorder ended early");
        });
        count_up(server.client(), || recorded.is_finished());
        recorded.join().expect("it was recorded");
    });
    ask(&recorder, Request::Interrupt);
    // It counts up at no steady rate, which a recorder tells by its exit code.
    assert!(recorder.wait().expect("an end").code().is_some_and(|code| code <= 1));

    let recording =
        Recording::load(lab.path("out.xdf"), Clocks::AsRecorded, Jitter::AsRecorded).expect("a file");
    let stream = |kind: &str| {
        recording.streams.iter().find(|stream| stream.header.content_type == kind).expect("a stream")
    };
    let (samples, markers) = (stream("EEG"), stream("Markers"));
    assert!(samples.header.xml.contains("<label>up</label>") && samples.header.nominal_rate == 500.0);
    let Values::Float32(values) = &samples.values else { panic!("not float32") };
    // From the moment when the recorder was there, every sample, once and in order.
    let first = values[0];
    for (n, row) in values.chunks(2).enumerate() {
        assert_eq!(row, [first + n as f32, -(first + n as f32)], "sample {n}");
    }
    let Values::String(texts) = &markers.values else { panic!("no text") };
    let mut compared = 0;
    for (text, stamp) in texts.iter().zip(&markers.stamps) {
        let number: f32 = text.strip_prefix("count:").expect("an event").parse().expect("a number");
        let Some(stamp_of_sample) = samples.stamps.get((number - first) as usize) else { continue };
        if number >= first {
            // Stamps within a chunk follow from one of them, so they are rounded in another way.
            assert!((stamp - stamp_of_sample).abs() < 1e-9, "event {text}: {stamp}, {stamp_of_sample}");
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared} events");
}
