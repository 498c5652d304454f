//! The commands that need no network: `info`, `verify`, `repair`, and what the program says of itself.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use schwann_xdf::{Options, Writer};

/// A folder of one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = env::temp_dir().join(format!("schwann-cli-{}-{test}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a recording of 500 samples.
    fn recording(&self) -> PathBuf {
        let path = self.0.join("session.xdf");
        let writer = Writer::create(&path, Options::default()).unwrap();
        let stream = writer
            .add_stream(
                "<?xml version=\"1.0\"?><info><name>Amplifier</name><type>EEG</type><channel_count>2</channel_count>\
                 <nominal_srate>100</nominal_srate><channel_format>int16</channel_format></info>",
            )
            .unwrap();
        let stamps: Vec<_> =
            (0..500).map(|n| 10.0 + f64::from(n) / 100.0 + if n < 400 { 0.0 } else { 2.0 }).collect();
        stream.push(&stamps, &(0..1000_i16).collect::<Vec<_>>()).unwrap();
        stream.clock_offset(12.0, 0.5).unwrap();
        writer.finish().unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

/// Runs the program; returns its exit code and what it prints.
fn schwann(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_schwann")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn info_shows_what_was_recorded() {
    let scratch = Scratch::new("info");
    let path = scratch.recording();
    let (code, out, _) = schwann(&["info", path.to_str().unwrap()]);
    assert_eq!(code, 0);
    for said in [
        "1 stream",
        "Amplifier (EEG)",
        "2 x int16, 100 Hz",
        "500 samples over 6.990 s",
        "1 gap",
        "1 measurements",
    ] {
        assert!(out.contains(said), "{said} is not in: {out}");
    }
    let (code, out, _) = schwann(&["info", "--json", path.to_str().unwrap()]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["streams"][0]["sample_count"], 500);
    assert_eq!(json["streams"][0]["gap_count"], 1);
    assert_eq!(json["sound"], true);
}

/// Runs the program where no program reads its output; returns its exit code.
fn unread(arguments: &[&str]) -> i32 {
    let (reader, unread) = io::pipe().unwrap();
    drop(reader);
    let mut program = Command::new(env!("CARGO_BIN_EXE_schwann"));
    program.args(arguments).stdout(unread).status().unwrap().code().unwrap()
}

#[test]
fn the_exit_code_is_what_the_work_earned_though_no_program_reads_the_output() {
    let scratch = Scratch::new("unread");
    let whole = scratch.recording();
    let cut = scratch.0.join("cut.xdf");
    let bytes = fs::read(&whole).unwrap();
    fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let [whole, cut] = [&whole, &cut].map(|path| path.to_str().unwrap());
    let absent = scratch.0.join("absent.xdf");
    for (arguments, code) in [
        (&["verify", whole][..], 0),
        (&["verify", cut], 1),
        (&["verify", "--json", cut], 1),
        (&["verify", cut, absent.to_str().unwrap(), whole], 3),
        (&["repair", cut], 1),
        (&["export", cut, "--to", "csv"], 1),
    ] {
        assert_eq!(unread(arguments), code, "{arguments:?}");
    }
}

/// Writes a recording of one stream with these stamps, and returns the page on it.
fn page_on(scratch: &Scratch, nominal_rate: u32, stamps: &[f64]) -> String {
    let path = scratch.0.join(format!("{nominal_rate}-{}.xdf", stamps.len()));
    let writer = Writer::create(&path, Options::default()).unwrap();
    let stream = writer
        .add_stream(&format!(
            "<?xml version=\"1.0\"?><info><name>A</name><type>EEG</type><channel_count>1</channel_count>\
             <nominal_srate>{nominal_rate}</nominal_srate><channel_format>int8</channel_format></info>"
        ))
        .unwrap();
    stream.push(stamps, &vec![0_i8; stamps.len()]).unwrap();
    writer.finish().unwrap();
    let page = path.with_extension("html");
    let (code, out, _) = schwann(&["verify", path.to_str().unwrap(), "--html", page.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}");
    fs::read_to_string(page).unwrap()
}

#[test]
fn a_page_is_not_green_for_a_stream_in_which_nothing_was_judged() {
    let scratch = Scratch::new("unjudged");
    for (rate, stamps, said) in [
        (0, &[][..], "It has no sample, so nothing was judged."),
        (0, &[5.0], "too little was recorded or measured: time-base, drift, no-clock-offsets."),
        (100, &[5.0], "too little was recorded or measured: gaps, rate, jitter, "),
    ] {
        let page = page_on(&scratch, rate, stamps);
        assert!(page.contains("<p class=\"note\">No problems found.") && page.contains(said), "{page}");
    }
}

#[test]
fn a_timeline_is_grey_behind_the_last_gap_that_is_listed() {
    let scratch = Scratch::new("unlisted");
    let with_gaps = |count: u32| {
        let stamps: Vec<_> =
            (0..20 * count).map(|n| f64::from(n) / 100.0 + f64::from(n / 20) / 2.0).collect();
        page_on(&scratch, 100, &stamps)
    };
    let (few, many) = (with_gaps(900), with_gaps(3000));
    for said in ["fill=\"#8c959f\"", "Grey: gaps after the first 1,000 of a stream are not drawn."] {
        assert!(!few.contains(said) && many.contains(said), "{said}");
    }
}

/// Runs `info --quick --json`.
fn quick(path: &Path) -> serde_json::Value {
    let (code, out, errors) = schwann(&["info", "--quick", "--json", path.to_str().unwrap()]);
    assert_eq!((code, errors.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).unwrap()
}

/// The names of an object.
fn names(object: &serde_json::Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

#[test]
fn an_index_answers_what_it_knows_and_says_what_it_does_not() {
    let scratch = Scratch::new("info-quick");
    let path = scratch.recording();
    let (code, out, _) = schwann(&["info", "--quick", path.to_str().unwrap()]);
    assert_eq!(code, 0);
    for said in ["500 samples over 6.990 s", "on average 71.3877 Hz", "1 measurements", "Not looked at: gaps"]
    {
        assert!(out.contains(said), "{said} is not in: {out}");
    }
    assert!(!out.contains("no gaps") && !out.contains("1 gap") && !out.contains("measured"), "{out}");
    let (_, all, _) = schwann(&["info", "--json", path.to_str().unwrap()]);
    let (all, index): (serde_json::Value, _) = (serde_json::from_str(&all).unwrap(), quick(&path));
    assert_eq!((&all["read"], &index["read"]), (&"all".into(), &"index".into()));
    let streams = (&all["streams"][0], &index["streams"][0]);
    for (all, index) in [(&all, &index), streams, (&streams.0["clock"], &streams.1["clock"])] {
        assert_eq!(names(all), names(index));
        for (name, value) in index.as_object().unwrap() {
            let is_same = value.is_null() || value.is_object() || value.is_array() || *value == all[name];
            assert!(is_same || name == "read", "{name}: {value} and {}", all[name]);
        }
    }
    let unknown = ["gap_count", "backward_count", "effective_rate", "findings", "jitter_p50"];
    assert!(unknown.iter().all(|name| index["streams"][0][name].is_null()) && index["sound"].is_null());
}

#[test]
fn without_a_sound_index_the_whole_file_is_read() {
    let scratch = Scratch::new("info-unsound");
    let path = scratch.recording();
    let whole = fs::read(&path).unwrap();
    assert_eq!(quick(&path)["read"], "index");
    let mut flipped = whole.clone();
    let at = flipped.len() - 120;
    flipped[at] ^= 1;
    let torn = whole[..whole.len() * 3 / 4].to_vec();
    for (name, bytes) in [("flipped.xdf", flipped), ("torn.xdf", torn)] {
        let path = scratch.0.join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(quick(&path)["read"], "all", "{name}");
    }
    let (code, _, errors) = schwann(&["export", path.to_str().unwrap(), "--to", "xdfz"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(quick(&scratch.0.join("session.xdfz"))["read"], "all");
}

#[test]
fn a_large_recording_is_answered_from_its_index_unless_asked_otherwise() {
    let scratch = Scratch::new("info-large");
    let path = scratch.0.join("night.xdf");
    let writer = Writer::create(&path, Options::default()).unwrap();
    let header = "<?xml version=\"1.0\"?><info><name>Night</name><type>EEG</type><channel_count>1000</channel_count>\
                  <nominal_srate>100</nominal_srate><channel_format>int16</channel_format></info>";
    let stream = writer.add_stream(header).unwrap();
    let values = vec![7_i16; 100_000];
    for second in 0..330 {
        let stamps: Vec<_> = (0..100).map(|n| f64::from(second) + f64::from(n) / 100.0).collect();
        stream.push(&stamps, &values).unwrap();
    }
    writer.finish().unwrap();
    let file = path.to_str().unwrap();
    let (_, out, _) = schwann(&["info", file]);
    assert!(
        out.contains("33,000 samples") && out.contains("Not looked at") && !out.contains("gaps\n"),
        "{out}"
    );
    let (_, out, _) = schwann(&["info", "--full", file]);
    assert!(out.contains("33,000 samples") && out.contains("no gaps") && !out.contains("looked"), "{out}");
    let (_, out, _) = schwann(&["info", "--json", file]);
    assert!(out.contains("\"gap_count\": 0"), "scripts get every name: {out}");

    // The samples are damaged behind its back: it says nothing of them, and reading finds it.
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle..middle + 3_000_000].fill(0x55);
    fs::write(&path, &bytes).unwrap();
    let index = quick(&path);
    assert_eq!((&index["read"], &index["damage_count"]), (&"index".into(), &serde_json::Value::Null));
    let (_, out, _) = schwann(&["info", "--full", file]);
    assert!(out.contains("DAMAGED"), "{out}");
}

#[test]
fn a_damaged_recording_fails_verification_until_repaired() {
    let scratch = Scratch::new("repair");
    let path = scratch.recording();
    let (code, out, _) = schwann(&["verify", path.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(out.contains("whole") && out.contains("every byte is as recorded"), "{out}");
    let (code, out, _) = schwann(&["repair", path.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("nothing to repair") && fs::read_dir(&scratch.0).unwrap().count() == 1,
        "no copy: {out}"
    );

    let bytes = fs::read(&path).unwrap();
    let cut = scratch.0.join("cut.xdf");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let (code, out, _) = schwann(&["verify", cut.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(
        out.contains("NOT WHOLE") && out.contains("NO FOOTER") && out.contains("ends within a chunk"),
        "{out}"
    );

    let (code, out, _) = schwann(&["repair", cut.to_str().unwrap()]);
    assert_eq!(code, 1, "{out}");
    let repaired = scratch.0.join("cut-repaired.xdf");
    let (code, out, _) = schwann(&["verify", repaired.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(fs::read(&cut).unwrap(), &bytes[..bytes.len() / 2], "the damaged file is not touched");

    let (code, _, errors) = schwann(&["repair", cut.to_str().unwrap()]);
    assert_eq!(code, 3, "a recording is never replaced");
    assert!(errors.starts_with("schwann: ") && errors.contains("cut-repaired.xdf"), "{errors}");
    assert!(errors.contains("name another file") && !errors.contains("os error"), "{errors}");
}

#[test]
fn a_fake_recording_is_whole_and_the_same_for_the_same_seed() {
    let scratch = Scratch::new("fake");
    let path = |name| scratch.0.join(name).to_str().unwrap().to_owned();
    for name in ["a.xdf", "b.xdf"] {
        let (code, _, errors) =
            schwann(&["fake", "eeg:4@250", "counter", "--seconds", "20", "-o", &path(name)]);
        assert_eq!(code, 0, "{errors}");
    }
    assert_eq!(schwann(&["verify", &path("a.xdf"), &path("b.xdf")]).0, 0);
    let load = |name| {
        schwann_xdf::Recording::load(
            path(name),
            schwann_xdf::Clocks::AsRecorded,
            schwann_xdf::Jitter::AsRecorded,
        )
        .unwrap()
    };
    let (a, b) = (load("a.xdf"), load("b.xdf"));
    assert_eq!(a.streams[0].stamps.len(), 5_000);
    assert_eq!(a.streams[0].header.labels, ["Fp1", "Fp2", "F7", "F3"]);
    assert_eq!(a.streams[0].values, b.streams[0].values);
    assert!(a.streams[1].stamps.len() > 3, "markers");
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let scratch = Scratch::new("errors");
    let other = scratch.0.join("notes.txt");
    fs::write(&other, "not a recording").unwrap();
    for (arguments, code) in [
        (&["info", "/nowhere/x.xdf"][..], 3),
        (&["verify", other.to_str().unwrap()], 3),
        (&["info"], 2),
        (&["no-such-command"], 2),
    ] {
        let (found, _, errors) = schwann(arguments);
        assert_eq!(found, code, "{arguments:?}: {errors}");
        assert!(!errors.is_empty());
        assert!(code == 2 || errors.lines().count() == 1, "{errors}");
    }
}

#[test]
fn a_compressed_recording_that_is_none_is_refused() {
    let scratch = Scratch::new("compressed");
    let path = scratch.0.join("x.xdfz");
    fs::write(&path, b"\x1f\x8b\x08\0\0\0\0\0\0\x03and what gzip made of it").unwrap();
    let (code, _, errors) = schwann(&["info", path.to_str().unwrap()]);
    assert!(code == 3 && errors.contains("not an XDF file"), "{errors}");
}

#[test]
fn one_thing_is_counted_as_one() {
    let scratch = Scratch::new("one");
    let path = scratch.0.join("one.xdf");
    let writer = Writer::create(&path, Options::default()).unwrap();
    let header = "<?xml version=\"1.0\"?><info><name>M</name><type>Markers</type><channel_count>1</channel_count>\
                  <nominal_srate>0</nominal_srate><channel_format>string</channel_format></info>";
    writer.add_stream(header).unwrap().push_text(&[1.0], &["x"]).unwrap();
    writer.finish().unwrap();
    for command in ["info", "verify"] {
        let (_, out, _) = schwann(&[command, path.to_str().unwrap()]);
        assert!(
            out.contains("1 sample") && !out.contains("1 samples") && !out.contains("1 streams"),
            "{out}"
        );
    }
}

#[test]
fn help_is_wrapped_once() {
    let (_, help, _) = schwann(&["record", "--help"]);
    let (_, end) = help.split_once("Exit code 0").expect("it says when all is well");
    let lines: Vec<_> = end.trim_end().lines().collect();
    // Without a terminal clap wraps at 100 columns: no line but the last is left before it is full.
    let (_, full) = lines.split_last().expect("lines");
    assert!(full.iter().skip(1).all(|line| line.len() > 80), "{end}");
}

#[test]
fn every_command_has_help_with_examples_and_a_manual_page() {
    let (_, manual, _) = schwann(&["man"]);
    let (code, help, _) = schwann(&["--help"]);
    assert_eq!(code, 0);
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<_> = commands
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|n| !n.is_empty())
        .collect();
    assert!(names.contains(&"verify"), "{help}");
    for name in names {
        let (code, help, _) = schwann(&[name, "--help"]);
        assert_eq!(code, 0);
        assert!(help.contains("Examples:"), "{name} has no examples");
        assert!(manual.contains(&format!("schwann\\-{name}(1)")), "{name} is not in the manual");
    }
    let (code, script, _) = schwann(&["completions", "bash"]);
    assert_eq!(code, 0);
    assert!(script.contains("repair"));
}
