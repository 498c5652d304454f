//! `schwann record` and `schwann play`

use core::time::Duration;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use schwann::outlet::{Outlet, OutletOptions};
use schwann::{ChannelFormat, StreamInfo};
use schwann_recorder::Recorder;
use schwann_xdf::{Clocks, Jitter, Options, RecordedStream, Recording, Survey, Values, Writer};
use serde_json::Value;

use crate::harness::{Lab, Running, samples, stream};
use crate::requests::{Request, ask};
use crate::senders::{Habit, Sender, context_of};
use crate::tunnel::{at, enrol, found};

/// Writes a recording of half a second with numbers, texts and a stream without samples.
fn write_recording(path: &Path) {
    let writer = Writer::create(path, Options::default()).expect("a file");
    let header = |name: &str, kind: &str, channels: u32, rate: u32, format: &str| {
        format!(
            "<?xml version=\"1.0\"?><info><name>{name}</name><type>{kind}</type><channel_count>{channels}\
             </channel_count><nominal_srate>{rate}</nominal_srate><channel_format>{format}</channel_format>\
             <source_id>{name}-1</source_id><desc><maker>Müller &amp; Sons</maker></desc></info>"
        )
    };
    let signal = writer.add_stream(&header("Amplifier", "EEG", 3, 500, "int16")).expect("a stream");
    let marks = writer.add_stream(&header("Marks", "Markers", 1, 0, "string")).expect("a stream");
    writer.add_stream(&header("Silent", "Misc", 2, 10, "double64")).expect("a stream");
    let stamps: Vec<_> = (0..250).map(|n| 7000.0 + f64::from(n) / 500.0).collect();
    signal.push(&stamps, &(0..750_i16).map(|n| n * 43 - 16_000).collect::<Vec<_>>()).expect("room");
    marks.push_text(&[7000.1, 7000.2, 7000.2], &["go", "", "ende ✓"]).expect("room");
    writer.finish().expect("a file");
}

/// Reads a recorder's lines until `streams` have so many samples together.
fn wait_for_samples(recorder: &mut Child, count: u64) {
    for line in BufReader::new(recorder.stdout.as_mut().expect("a pipe")).lines() {
        let progress: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        let streams = progress["streams"].as_array().expect("a list");
        if streams.iter().filter_map(|stream| stream["sample_count"].as_u64()).sum::<u64>() >= count {
            return;
        }
    }
    panic!("the recorder ended early");
}

#[test]
fn what_is_played_and_recorded_is_what_was_recorded_first() {
    let lab = Lab::new("record-play");
    write_recording(&lab.path("first.xdf"));
    let mut player =
        lab.schwann(&["play", "first.xdf", "--wait"]).stdout(Stdio::null()).spawn().expect("play");
    let mut recorder = lab
        .schwann(&["record", "-o", "second.xdf", "--json", "--wait", "30"])
        .args(["--require", "Amplifier", "--require", "Markers", "--require", "Silent"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("record");
    wait_for_samples(&mut recorder, 253);
    assert!(player.wait().expect("an end").success());
    ask(&recorder, Request::Interrupt);
    // The streams are over, so the required ones are not there at the end.
    assert_eq!(recorder.wait().expect("an end").code(), Some(1));

    let load =
        |name| Recording::load(lab.path(name), Clocks::AsRecorded, Jitter::AsRecorded).expect("a file");
    let (first, second) = (load("first.xdf"), load("second.xdf"));
    let start = second.streams.iter().find(|stream| stream.header.name == "Amplifier").expect("it").stamps[0];
    for stream in &first.streams {
        let again = second.streams.iter().find(|again| again.header.name == stream.header.name).expect("it");
        assert_eq!(again.values, stream.values);
        assert!(again.header.xml.contains("Müller &amp; Sons"), "{}", again.header.xml);
        assert_eq!(
            (again.header.format, again.header.nominal_rate),
            (stream.header.format, stream.header.nominal_rate)
        );
        let moved = again.stamps.iter().zip(&stream.stamps);
        assert!(moved.clone().all(|(again, stamp)| (again - start - (stamp - 7000.0)).abs() < 1e-9));
        assert_eq!(again.stamps.len(), stream.stamps.len());
    }
    let events = second.streams.iter().find(|stream| stream.header.content_type == "RecorderEvents");
    let Values::String(events) = &events.expect("the streams have ended").values else { panic!("text") };
    assert!(events.iter().any(|event| event.starts_with("connection lost: Amplifier")), "{events:?}");
}

/// Records, asks the recorder to end, and proves the file; returns its exit code.
fn recorded_until(name: &str, requests: &[Request]) -> Option<i32> {
    let lab = Lab::new(name);
    let _sender = lab.start(&["fake", "counter:2@100"]);
    let mut recorder = lab
        .schwann(&["record", "-o", "whole.xdf", "--json", "--wait", "30", "--require", "Fake counter:2@100"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("record");
    wait_for_samples(&mut recorder, 50);
    requests.iter().for_each(|&request| ask(&recorder, request));
    let ended = recorder.wait().expect("an end");
    let (code, out, err) = lab.run(&["verify", "whole.xdf"]);
    assert_eq!(code, 0, "{out}{err}");
    ended.code()
}

/// `timeout` and service managers signal a program and then its whole group.
#[test]
fn two_signals_at_once_are_one_request_to_finish() {
    assert_eq!(recorded_until("record-two-signals", &[Request::Interrupt, Request::End]), Some(0));
}

/// The system then gives a program some seconds.
#[test]
fn a_recording_is_whole_though_its_terminal_is_closed() {
    recorded_until("record-closed", &[Request::Close]);
}

#[test]
fn nothing_is_recorded_without_a_required_stream() {
    let lab = Lab::new("record-required");
    let (code, _, err) = lab.run(&["record", "-o", "x.xdf", "--require", "Amplifier", "--wait", "0.2"]);
    assert_eq!(code, 3);
    assert!(err.contains("Amplifier") && err.contains("none at all"), "{err}");
    assert!(!lab.path("x.xdf").exists());
}

#[test]
fn a_recording_without_a_stream_is_not_well() {
    let lab = Lab::new("record-nothing");
    let (code, out, err) = lab.run(&["record", "-o", "x.xdf", "--seconds", "0.3"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("NOTHING") && out.contains("schwann doctor"), "{out}");
}

#[test]
fn a_query_that_finds_nothing_is_named_with_what_was_meant() {
    let lab = Lab::new("record-typo");
    let mut fake = lab.start(&["fake", "eeg:2@250", "counter:1@100"]);
    fake.wait_for_line("sending");
    let arguments =
        ["record", "-o", "x.xdf", "--wait", "60", "--require", "EEG", "--seconds", "3", "EEG", "Makrers"];
    let (code, out, err) = lab.run(&arguments);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let row = out.lines().find(|line| line.contains("NO MATCH")).expect("a row");
    assert!(row.contains("Makrers"), "{out}");
    assert!(out.contains("no stream matches Makrers (did you mean Markers?)"), "{out}");
    assert!(!out.contains("not recorded"), "the others answer, and are not asked for: {out}");
    let (code, out, _) = lab.run(&["record", "-o", "y.xdf", "--seconds", "1.5", "Nowhere"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("no stream matches Nowhere") && out.contains("Fake eeg"), "{out}");
    assert!(!out.contains("whatever comes"), "{out}");
}

#[test]
fn while_a_stream_is_away_nothing_is_said_to_be_well_of_it() {
    let lab = Lab::new("record-away");
    let name = "Fake counter:1@250";
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    // It is not required, so that nothing but its absence is amiss at the end.
    let mut recorder = lab.start(&["record", "-o", "x.xdf", "--json", name]);
    recorder.wait_for(|line| stream(line, name).is_some_and(|it| it["rate"].as_f64().is_some()));
    drop(fake);
    let line = recorder.wait_for(|line| stream(line, name).is_some_and(|it| it["phase"] == "recovering"));
    let line = if stream(&line, name).expect("it")["away_seconds"] == 0.0 {
        recorder.wait_for(|line| stream(line, name).is_some_and(|it| it["away_seconds"] != 0.0))
    } else {
        line
    };
    let away = stream(&line, name).expect("it");
    assert_eq!((&away["rate"], &away["trouble"]), (&Value::Null, &"CONNECTION LOST".into()), "{away}");
    let (code, rest) = recorder.interrupt();
    assert!(code == Some(1) && rest.contains("\"away_seconds\""), "its samples are missing: {rest}");
    let (code, out, _) = lab.run(&["verify", "x.xdf"]);
    assert_eq!(code, 0, "the file is whole: {out}");
    assert!(out.contains(&format!("  {name}: NOT CONNECTED at the end; away for ")), "{out}");
}

#[test]
fn the_end_of_a_sender_that_cannot_come_back_is_no_fault_and_is_told() {
    let lab = Lab::new("record-gone");
    let sender = Sender::start(&lab, Habit { source: "", ..Habit::sound("Ends", 250.0) }, None);
    let mut recorder = lab.start(&["record", "-o", "x.xdf", "--json", "type='EEG'"]);
    recorder.wait_for(|line| samples(line, "Ends") > 100);
    drop(sender);
    recorder.wait_for(|line| stream(line, "Ends").is_some_and(|it| it["phase"] == "lost"));
    let (code, rest) = recorder.interrupt();
    let last: Value = serde_json::from_str(rest.lines().last().expect("a line")).expect("JSON");
    let away = stream(&last, "Ends").and_then(|it| it["away_seconds"].as_f64());
    assert!(code == Some(0) && away.is_some_and(|seconds| seconds > 0.0), "{code:?}: {last}");
}

#[test]
fn a_required_stream_is_waited_for_and_later_ones_are_taken_in() {
    let lab = Lab::new("record-late");
    let mut recorder = lab.start(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", "EEG"]);
    let (eeg, counter) = ("Fake eeg:2@250", "Fake counter:1@100");
    let _first = lab.start(&["fake", "eeg:2@250"]);
    let line = recorder.wait_for(|line| samples(line, eeg) > 0);
    assert!(stream(&line, counter).is_none());
    let _second = lab.start(&["fake", "counter@100"]);
    recorder.wait_for(|line| samples(line, counter) > 0);
    let (code, said) = recorder.interrupt();
    assert_eq!(code, Some(0), "{said}");
    let recording = load(&lab.path("x.xdf"));
    assert!([eeg, counter].iter().all(|name| recorded(&recording, name).stamps.len() > 10));
}

#[test]
fn a_stream_that_comes_back_is_one_stream_with_its_losses_told() {
    let lab = Lab::new("record-return");
    let name = "Fake counter:1@250";
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    let mut recorder = lab.start(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", name]);
    recorder.wait_for(|line| samples(line, name) > 100);
    drop(fake);
    let line = recorder.wait_for(|line| stream(line, name).is_some_and(|it| it["phase"] == "recovering"));
    let before = samples(&line, name);
    let _again = lab.start(&["fake", "counter@250"]);
    recorder.wait_for(|line| {
        stream(line, name).is_some_and(|it| it["recoveries"] == 1) && samples(line, name) > before + 100
    });
    let (code, rest) = recorder.interrupt();
    assert_eq!(code, Some(1), "samples were lost in between: {rest}");
    let recording = load(&lab.path("x.xdf"));
    let signals = recording.streams.iter().filter(|stream| stream.header.content_type == "Test");
    assert_eq!(signals.count(), 1);
    let Values::Float32(values) = &recorded(&recording, name).values else { panic!("numbers") };
    assert_eq!(values.windows(2).filter(|pair| pair[1] < pair[0]).count(), 1, "two runs in one stream");
    let Values::String(events) = &recorded(&recording, "Recorder").values else { panic!("text") };
    let told: Vec<_> = events.iter().filter_map(|event| event.split(':').next()).collect();
    assert!(told.starts_with(&["connection lost"]) && told.contains(&"recovered"), "{events:?}");
}

#[test]
fn a_recording_tells_that_another_device_took_a_stream_over() {
    let lab = Lab::new("record-takeover");
    found(&lab, "control");
    ["amplifier", "other"].iter().for_each(|device| enrol(&lab, "control", device, &[]));
    let run = |device: &str, arguments: &[&str]| Running::of(at(&lab, device, arguments));
    let name = "Fake counter:1@250";
    let mut fake = run("amplifier", &["fake", "counter@250"]);
    fake.wait_for_line("sending");
    let arguments = ["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", name];
    let mut recorder = run("control", &arguments);
    recorder.wait_for(|line| samples(line, name) > 100);
    drop(fake);
    let _other = run("other", &["fake", "counter@250"]);
    recorder.wait_for(|line| stream(line, name).is_some_and(|it| it["recoveries"] == 1));
    recorder.wait_for(|line| stream(line, name).is_some_and(|it| it["phase"] == "recording"));
    recorder.interrupt();
    let recording = load(&lab.path("x.xdf"));
    let Values::String(events) = &recorded(&recording, "Recorder").values else { panic!("text") };
    let told = "comes from another device, other (certificate 3)";
    assert!(events.iter().any(|event| event.contains(told)), "{events:?}");
}

#[test]
fn names_of_bids_count_the_runs() {
    let lab = Lab::new("record-bids");
    let _fake = lab.start(&["fake", "counter@100"]);
    for run in ["001", "002"] {
        let name = format!("study/sourcedata/sub-01/ses-a/eeg/sub-01_ses-a_task-rest_run-{run}_eeg.xdf");
        let arguments = ["--bids", "study", "--subject", "01", "--session", "a", "--task", "rest"];
        let wanted = ["record", "--wait", "60", "--require", "Test", "--json"];
        let mut recorder = lab.start(&[&wanted[..], &arguments[..]].concat());
        recorder.wait_for(|line| samples(line, "Fake counter:1@100") > 10);
        let (code, rest) = recorder.interrupt();
        assert_eq!(code, Some(0), "{rest}");
        assert!(Survey::of(lab.path(&name), |_, _| {}).expect("a recording").is_sound());
    }
}

#[test]
fn a_certificate_that_cannot_be_written_is_told() {
    let lab = Lab::new("record-uncertified");
    let mut fake = lab.start(&["fake", "counter@100"]);
    fake.wait_for_line("sending");
    std::fs::create_dir(lab.path("x.xdf.cert.json.new")).expect("a folder");
    let mut recorder = lab.start(&["record", "-o", "x.xdf", "--wait", "60", "--require", "Test", "--json"]);
    recorder.wait_for(|line| samples(line, "Fake counter:1@100") > 10);
    let (code, rest) = recorder.interrupt();
    assert!(code == Some(1) && rest.contains("its certificate cannot be written"), "{code:?}: {rest}");
    assert!(Survey::of(lab.path("x.xdf"), |_, _| {}).expect("a recording").is_sound());
}

#[test]
fn a_description_that_breaks_off_is_told() {
    let lab = Lab::new("record-cut");
    let mut info =
        StreamInfo::new("Named oddly", "EEG", 1, 0.0, ChannelFormat::Float32, "odd").expect("valid");
    let desc = info.desc().expect("each has one");
    for name in ["alpha power", "after"] {
        info.document_mut().append_child_value(desc, name, "1").expect("room");
    }
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), context_of(&lab, None));
    let _outlet = outlet.expect("a stream");
    let (code, shown, _) =
        lab.run(&["record", "-o", "x.xdf", "--seconds", "1", "--require", "EEG", "--wait", "60"]);
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("Named oddly of ") && shown.contains("has invalid XML in its description"),
        "{shown}"
    );
    assert!(load(&lab.path("x.xdf")).streams[0].header.xml.contains("alpha"), "what can be read is there");
}

#[test]
fn a_stream_that_cannot_be_recorded_keeps_no_other_out_and_a_recorder_that_is_let_go_ends() {
    let lab = Lab::new("record-newer");
    let info = StreamInfo::new("Here", "EEG", 1, 100.0, ChannelFormat::Float32, "here").expect("valid");
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), context_of(&lab, None)).expect("a stream");
    let here = outlet.info().clone();
    let text = String::from_utf8(here.fullinfo()).expect("text").replace(&here.uid().to_string(), "newer");
    let empty = ["<v4address></v4address>", "<v4address />", "<v4address/>"];
    let text = empty.iter().fold(text, |text, tag| text.replace(tag, "<v4address>127.0.0.1</v4address>"));
    let (before, version) = text.split_once("<version>").expect("it has one");
    let (_, after) = version.split_once('<').expect("an end");
    let newer = StreamInfo::parse(format!("{before}<version>2.0<{after}").as_bytes()).expect("a stream");
    let mut recorder = Recorder::create(&lab.path("x.xdf"), context_of(&lab, None)).expect("a file");
    let refused = recorder.admit(&[newer.clone(), here]).refused;
    assert!(matches!(&refused[..], [one] if one.to_string().starts_with("Here: ")), "{refused:?}");
    assert!(recorder.admit(&[newer]).refused.is_empty(), "it was told");
    assert_eq!((recorder.streams().len(), recorder.left_out()), (1, 1));
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs(60))), "the other one is recorded");
    drop(recorder);
    let deadline = Instant::now() + Duration::from_secs(60);
    while outlet.have_consumers() {
        assert!(Instant::now() < deadline, "its threads go on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stands for a full disk where none can be had: the file may not grow further.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_is_said_and_stays_readable() {
    let lab = Lab::new("record-limit");
    let mut fake = lab.start(&["fake", "counter:64@2000"]);
    fake.wait_for_line("sending");
    // Blocks are of 512 bytes or of 1,024, by the shell.
    let limited = "ulimit -f 2000; exec \"$0\" record -o x.xdf --wait 60 --require Test";
    let command = lab.schwann(&[]);
    let output = std::process::Command::new("sh")
        .args(["-c", limited])
        .arg(command.get_program())
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(lab.path(""))
        .output()
        .expect("a shell");
    let err = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("x.xdf") && err.contains("readable") && err.lines().count() == 1, "{err}");
    let survey = Survey::of(lab.path("x.xdf"), |_, _| {}).expect("a recording");
    assert!(survey.streams[0].sample_count > 1_000 && survey.damage_count == 0, "{survey:?}");
}

fn load(path: &Path) -> Recording {
    Recording::load(path, Clocks::AsRecorded, Jitter::AsRecorded).expect("a recording")
}

fn recorded<'a>(recording: &'a Recording, name: &str) -> &'a RecordedStream {
    recording.streams.iter().find(|stream| stream.header.name == name).expect("it is in the recording")
}
