//! A recorder that is driven while it records: by LabRecorder's protocol, by the clock, by what happens to its files.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use schwann_xdf::{Clocks, Jitter, RecordedStream, Recording, Values};

use crate::harness::{Lab, Running, samples};

const COUNTER: &str = "Fake counter:1@250";
/// As the second stream of one sender is called.
const SINE: &str = "Fake sine:1@100 #2";

/// The other end of the remote control.
struct Script(TcpStream);

impl Script {
    fn join(recorder: &mut Running) -> Self {
        let line = recorder.wait_for(|line| line["remote"].is_string());
        Self(TcpStream::connect(line["remote"].as_str().unwrap()).unwrap())
    }

    /// Sends a line, and returns the answer.
    fn says(&mut self, line: &str) -> String {
        self.0.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = [0; 1024];
        let count = self.0.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..count]).into_owned()
    }
}

fn load(path: &Path) -> Recording {
    Recording::load(path, Clocks::AsRecorded, Jitter::AsRecorded).unwrap()
}

fn stream<'a>(recording: &'a Recording, name: &str) -> &'a RecordedStream {
    recording.streams.iter().find(|stream| stream.header.name == name).unwrap()
}

/// The counter's values over all files, in their order.
fn counted(paths: &[PathBuf]) -> Vec<f32> {
    let values = paths.iter().flat_map(|path| {
        let recording = load(path);
        let Values::Float32(values) = &stream(&recording, COUNTER).values else { panic!("numbers") };
        assert!(!stream(&recording, COUNTER).clock_offsets.is_empty(), "{}", path.display());
        values.clone()
    });
    values.collect()
}

fn assert_counts_on(values: &[f32]) {
    assert!(values.len() > 100, "{}", values.len());
    assert!(values.windows(2).all(|pair| pair[1] == pair[0] + 1.0), "a sample is missing or twice there");
}

#[test]
fn a_page_in_a_browser_does_not_drive_the_recorder() {
    let lab = Lab::new("control-browser");
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    let mut recorder = lab.start(&["record", "--remote", "127.0.0.1:0", "-o", "x.xdf", "--json"]);
    let line = recorder.wait_for(|line| line["remote"].is_string());
    let address = line["remote"].as_str().unwrap();
    let mut script = Script(TcpStream::connect(address).unwrap());
    assert_eq!(script.says("start"), "OK");
    let mut page = Script(TcpStream::connect(address).unwrap());
    let answer = page.says("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nstop");
    assert!(answer.starts_with("ERROR ") && !answer.contains("OK"), "{answer}");
    recorder.wait_for(|line| samples(line, COUNTER) > 100);
    assert_eq!(script.says("stop"), "OK", "it records still");
    assert_eq!(recorder.interrupt().0, Some(0));
}

#[test]
fn a_script_for_lab_recorder_drives_the_recorder_and_loses_no_sample_between_runs() {
    let lab = Lab::new("control-remote");
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    let mut recorder = lab.start(&["record", "--remote", "127.0.0.1:0", "--folder", "data", "--json"]);
    let mut script = Script::join(&mut recorder);
    for line in [
        "update",
        "select all",
        "filename {root:pilot} {template:exp%n\\%p_%b.xdf} {participant:P3} {task:Rest}",
    ] {
        assert_eq!(script.says(line), "OK", "{line}");
    }
    assert_eq!(script.says("start"), "OK");
    assert!(script.says("start").starts_with("ERROR "), "it records already");
    recorder.wait_for(|line| samples(line, COUNTER) > 100);
    assert_eq!(script.says("annotate the door was open"), "OK");
    assert_eq!(script.says("next"), "OK");
    recorder.wait_for(|line| line["files_before"] == 1 && samples(line, COUNTER) > 300);
    assert_eq!(script.says("stop"), "OK");
    assert!(script.says("stop").starts_with("ERROR nothing"), "it is idle");
    let (code, rest) = recorder.interrupt();
    assert_eq!(code, Some(0), "{rest}");

    let paths = [1, 2].map(|run| lab.path(&format!("data/pilot/exp00{run}/P3_Rest.xdf")));
    assert_counts_on(&counted(&paths));
    let recording = load(&paths[0]);
    assert_eq!(stream(&recording, "Annotations").values, Values::String(vec!["the door was open".into()]));
    let Values::String(events) = &stream(&recording, "Recorder").values else { panic!("text") };
    assert!(events.iter().any(|event| event == "continued in P3_Rest.xdf"), "{events:?}");
}

#[test]
fn a_recording_is_split_by_the_clock_without_losing_a_sample() {
    let lab = Lab::new("control-split");
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    let arguments = ["-o", "x.xdf", "--split", "0.015", "--json", "--wait", "60", "--require", COUNTER];
    let mut recorder = lab.start(&[&["record"][..], &arguments].concat());
    recorder.wait_for(|line| line["files_before"].as_u64() >= Some(2));
    let (code, rest) = recorder.interrupt();
    assert_eq!(code, Some(0), "{rest}");
    let others = (2..).map(|part| lab.path(&format!("x-{part:03}.xdf"))).take_while(|path| path.exists());
    let paths: Vec<_> = [lab.path("x.xdf")].into_iter().chain(others).collect();
    assert!(paths.len() >= 3);
    assert_counts_on(&counted(&paths));
}

#[test]
fn hostile_names_from_remote_control_leave_no_trace_outside_the_folder() {
    let lab = Lab::new("control-hostile");
    let mut recorder = lab.start(&["record", "--remote", "127.0.0.1:0", "--folder", "data", "--json"]);
    let mut script = Script::join(&mut recorder);
    for option in [
        "{root:..}",
        "{root:/tmp}",
        "{template:../../x.xdf}",
        "{participant:../../x}",
        "{task:a/b}",
        "{root:C:\\}",
        "{template:a:b.xdf}",
        "{session:..}",
        "{run:-1}",
        "{root",
        "{modality:nul}",
    ] {
        let answer = script.says(&format!("filename {option}"));
        assert!(answer.starts_with("ERROR ") && answer.ends_with("\r\n"), "{option}: {answer}");
    }
    assert_eq!(script.says("start"), "OK");
    assert_eq!(script.says("stop"), "OK");
    recorder.interrupt();
    let inside: Vec<_> =
        fs::read_dir(lab.path("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    // A recording and its certificate.
    let is_ours = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("recording-");
    assert!(inside.len() == 2 && inside.iter().all(is_ours), "{inside:?}");
    let mut beside: Vec<_> =
        fs::read_dir(lab.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    beside.retain(|name| name != "data" && name != "lsl_api.cfg");
    assert!(beside.iter().all(|name| name.to_string_lossy().starts_with('.')), "{beside:?}");
}

#[test]
fn a_recording_whose_file_is_deleted_goes_on_in_another_and_says_so() {
    let lab = Lab::new("control-deleted");
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    let arguments = ["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", COUNTER];
    let mut recorder = lab.start(&arguments);
    recorder.wait_for(|line| samples(line, COUNTER) > 100);
    fs::remove_file(lab.path("x.xdf")).unwrap();
    let said = recorder.wait_for(|line| line["remark"].is_string());
    assert!(said["remark"].as_str().unwrap().contains("goes on in x-002.xdf"), "{said}");
    recorder.wait_for(|line| samples(line, COUNTER) > 600);
    assert_eq!(recorder.interrupt().0, Some(1));
    assert_counts_on(&counted(&[lab.path("x-002.xdf")]));
}

#[test]
fn a_recording_whose_folder_is_deleted_goes_on_in_a_new_one_and_says_so() {
    let lab = Lab::new("control-folder");
    let mut fake = lab.start(&["fake", "counter@250"]);
    fake.wait_for_line("sending");
    fs::create_dir(lab.path("day")).unwrap();
    let arguments = ["record", "-o", "day/x.xdf", "--json", "--wait", "60", "--require", COUNTER];
    let mut recorder = lab.start(&arguments);
    recorder.wait_for(|line| samples(line, COUNTER) > 100);
    fs::remove_dir_all(lab.path("day")).unwrap();
    let said = recorder.wait_for(|line| line["remark"].is_string());
    assert!(said["remark"].as_str().unwrap().contains("goes on in day/x-002.xdf"), "{said}");
    recorder.wait_for(|line| samples(line, COUNTER) > 600);
    assert_eq!(recorder.interrupt().0, Some(1));
    assert_counts_on(&counted(&[lab.path("day/x-002.xdf")]));
}

#[test]
fn a_profile_says_what_the_command_line_does_not() {
    let lab = Lab::new("control-profile");
    let _fake = lab.start(&["fake", "counter@250", "sine@100"]);
    let text = format!(
        "[record]\nstreams = [\"{COUNTER}\"]\nrequire = [\"{COUNTER}\"]\nwait = 60\nseconds = 1\nbids = \"study\"\n\
         task = \"rest\"\n[limits]\ngaps = 3\n"
    );
    fs::write(lab.path("study.toml"), &text).unwrap();
    let (code, out, err) = lab.run(&["record", "--profile", "study.toml"]);
    assert!(code == 3 && err.contains("study.toml") && err.contains("--subject"), "{out}{err}");
    // A busy machine may have held up the sender for as long as the recording took.
    let is_well = |code: i32, out: &str| code == 0 || (code == 1 && out.contains("STOPPED"));
    let (code, out, err) = lab.run(&["record", "--profile", "study.toml", "--subject", "02"]);
    assert!(is_well(code, &out), "{out}{err}");
    let recording = load(&lab.path("study/sourcedata/sub-02/eeg/sub-02_task-rest_run-001_eeg.xdf"));
    assert_eq!(recording.streams.len(), 1, "the other stream was not wanted");
    let arguments = ["record", "--profile", "study.toml", "--subject", "02", "-o", "own.xdf", SINE];
    let (code, out, err) = lab.run(&arguments);
    assert!(is_well(code, &out), "{out}{err}");
    let names: Vec<_> =
        load(&lab.path("own.xdf")).streams.iter().map(|one| one.header.name.clone()).collect();
    assert!(names.iter().any(|name| name == SINE), "the command line comes first: {names:?}");
    fs::write(lab.path("study.toml"), text.replace("streams", "stream")).unwrap();
    let (code, _, err) = lab.run(&["record", "--profile", "study.toml"]);
    assert!(code == 3 && err.contains("`stream`"), "{err}");
}

#[test]
fn a_recording_without_a_name_is_named_by_the_time() {
    let lab = Lab::new("control-unnamed");
    let _fake = lab.start(&["fake", "counter@250"]);
    let arguments = ["record", "--wait", "60", "--require", COUNTER, "--folder", "new/data", "--json"];
    let mut recorder = lab.start(&arguments);
    let line = recorder.wait_for(|line| samples(line, COUNTER) > 100);
    let (code, rest) = recorder.interrupt();
    assert_eq!(code, Some(0), "{rest}");
    let path = lab.path(line["file"].as_str().unwrap());
    assert!(path.starts_with(lab.path("new/data")) && load(&path).streams.len() == 1, "{line}");
}
