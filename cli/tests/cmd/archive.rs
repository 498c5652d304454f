//! Recordings that are sealed at rest, and compressed ones, in every command that reads a recording.

use std::fs;

use crate::harness::{Lab, Running, samples};

struct Sealed {
    lab: Lab,
}

impl Sealed {
    fn new(test: &str) -> Self {
        Self { lab: Lab::new(test) }
    }

    /// The program of a machine with a key folder of this name.
    fn on(&self, machine: &str, arguments: &[&str]) -> std::process::Command {
        let mut command = self.lab.schwann(arguments);
        command.env("SCHWANN_KEYS", self.lab.path(machine));
        command
    }

    fn run(&self, machine: &str, arguments: &[&str]) -> (i32, String) {
        let output = self.on(machine, arguments).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code().expect("a code"), text(output.stdout) + &text(output.stderr))
    }

    fn says(&self, machine: &str, arguments: &[&str]) -> String {
        let (code, out) = self.run(machine, arguments);
        assert_eq!(code, 0, "{arguments:?}: {out}");
        out
    }

    /// The names in a folder; none if there is no such folder.
    fn files(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.lab.path(folder)).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }

    /// Records counters on a machine until there are some.
    fn record(&self, machine: &str, arguments: &[&str]) -> Running {
        let mut fake = Running::of(self.on(machine, &["fake", "counter:8@2000"]));
        fake.wait_for_line("sending");
        let always = ["record", "--json", "--wait", "60", "--require", "Fake counter:8@2000"];
        let mut recorder = Running::of(self.on(machine, &[&always[..], arguments].concat()));
        recorder.wait_for(|line| samples(line, "Fake counter:8@2000") >= 8000);
        recorder
    }
}

/// The line that the lab's machine prints for the others.
fn installation(said: &str) -> String {
    let (_, key) = said.split_once("--install ").expect("a command");
    key.lines().next().expect("a key").to_owned()
}

#[test]
fn what_one_machine_seals_the_archive_opens_in_every_command() {
    let lab = Sealed::new("sealed");
    let key = installation(&lab.says("archive", &["keys", "archive", "--unprotected"]));
    assert!(lab.says("archive", &["keys", "archive"]).contains(&key), "it is made once");
    assert!(lab.says("amp", &["keys", "archive", "--install", &key]).contains("elsewhere"));
    let (_, out) = lab.record("amp", &["--seal", "-o", "x.xdf"]).interrupt();
    assert!(out.contains("x.xdf.age"), "{out}");
    assert!(lab.lab.path("x.xdf.age").exists() && !lab.lab.path("x.xdf").exists());

    let (code, out) = lab.run("amp", &["verify", "x.xdf.age"]);
    assert!(code == 3 && out.contains("--identity") && out.contains("keys archive"), "{out}");
    assert!(lab.says("archive", &["verify", "x.xdf.age"]).contains("bit by bit"));
    assert!(lab.says("archive", &["info", "x.xdf.age"]).contains("8 x "));
    assert!(lab.says("archive", &["info", "--quick", "x.xdf.age"]).contains("From the index"));
    fs::create_dir(lab.lab.path("never")).expect("a folder");
    for format in ["brainvision", "edf", "bdf", "nwb", "mcap", "csv", "npz", "xdfz"] {
        let output = format!("{format}/x");
        fs::create_dir_all(lab.lab.path(format)).expect("a folder");
        // What a format cannot hold is left out, with exit code 1.
        let (code, out) = lab.run("archive", &["export", "x.xdf.age", "--to", format, "-o", &output]);
        assert!(code <= 1 && !lab.files(format).is_empty(), "{format}: {out}");
        let (code, out) = lab.run("amp", &["export", "x.xdf.age", "--to", format, "-o", "never/x"]);
        assert!(code == 3 && out.contains("--identity") && lab.files("never").is_empty(), "{format}: {out}");
    }
    lab.says("archive", &["play", "x.xdf.age", "--speed", "1000"]);
    lab.says("archive", &["play", "x.xdf.age", "--speed", "1000", "--from", "1", "--until", "2"]);
    lab.says("archive", &["verify", "x.xdf.age", "--html", "x.html"]);
    assert!(
        fs::read_to_string(lab.lab.path("x.html")).expect("a page").contains("sealed in the format of age")
    );
    lab.says("archive", &["export", "x.xdf.age", "--to", "xdf", "-o", "open.xdf"]);
    fs::copy(lab.lab.path("x.xdf.cert.json"), lab.lab.path("open.xdf.cert.json")).expect("a copy");
    assert!(lab.says("amp", &["verify", "open.xdf"]).contains("bit by bit"), "one certificate for both");

    // With the key in a file, as from a safe, on a machine that does not have it; and with a wrong one.
    lab.says("archive", &["keys", "archive", "--export", "safe.txt"]);
    lab.says("amp", &["verify", "x.xdf.age", "--identity", "safe.txt"]);
    lab.says("other", &["keys", "archive", "--unprotected"]);
    let (code, out) = lab.run("other", &["info", "x.xdf.age"]);
    assert!(code == 3 && out.contains("another key"), "{out}");

    // What a recorder that was killed leaves, repaired and still sealed.
    let whole = fs::read(lab.lab.path("x.xdf.age")).expect("a file");
    fs::write(lab.lab.path("cut.xdf.age"), &whole[..whole.len() - 70_000]).expect("a file");
    let (code, out) = lab.run("archive", &["verify", "cut.xdf.age"]);
    assert!(code == 1 && out.contains("cut off"), "{out}");
    let (code, out) = lab.run("archive", &["repair", "cut.xdf.age"]);
    assert!(code == 1 && out.contains("cut-repaired.xdf.age"), "{out}");
    assert!(lab.says("archive", &["verify", "cut-repaired.xdf.age"]).contains("whole"));
}

#[test]
fn a_dataset_is_made_of_a_sealed_recording_and_keeps_it_sealed() {
    let lab = Sealed::new("sealed-bids");
    lab.says("archive", &["keys", "archive", "--unprotected"]);
    lab.says("archive", &["fake", "eeg:4@250", "--seconds", "20", "-o", "e.xdf"]);
    lab.says("archive", &["repair", "e.xdf", "-o", "e.xdf.age"]);
    lab.says("archive", &["export", "e.xdf.age", "--bids", "study", "--subject", "01", "--task", "rest"]);
    assert_eq!(lab.files("study/sourcedata/sub-01/eeg"), ["sub-01_task-rest_run-001_eeg.xdf.age"]);
    assert!(lab.files("study/sub-01/eeg").contains(&"sub-01_task-rest_run-001_eeg.eeg".to_owned()));
    let source = lab.lab.path("study/sourcedata/sub-01/eeg/sub-01_task-rest_run-001_eeg.xdf.age");
    let bytes = |path| fs::read(path).expect("a file");
    assert!(bytes(source) == bytes(lab.lab.path("e.xdf.age")), "as it is");
}

#[test]
fn the_configuration_can_demand_that_recordings_are_sealed() {
    let lab = Sealed::new("sealed-policy");
    let path = lab.lab.path("lsl_api.cfg");
    let config = fs::read_to_string(&path).expect("a file");
    fs::write(&path, format!("{config}[security]\nrecordings = sealed\n")).expect("a file");
    let (code, out) = lab.run("amp", &["record", "-o", "x.xdf"]);
    assert!(code == 3 && out.contains("keys archive") && out.contains("--to"), "{out}");
    assert!(!lab.lab.path("x.xdf").exists() && !lab.lab.path("x.xdf.age").exists());
    let key = installation(&lab.says("archive", &["keys", "archive", "--unprotected"]));
    let (_, out) = lab.record("amp", &["--to", &key, "-o", "x.xdf"]).interrupt();
    assert!(out.contains("x.xdf.age"), "{out}");
    let certificate = fs::read_to_string(lab.lab.path("x.xdf.cert.json")).expect("a certificate");
    assert!(certificate.contains("payload"));
    lab.says("archive", &["verify", "x.xdf.age"]);
    fs::write(&path, format!("{config}[security]\nrecordings = maybe\n")).expect("a file");
    let (code, out) = lab.run("amp", &["record", "-o", "y.xdf"]);
    assert!(code == 3 && out.contains("\"maybe\""), "{out}");
}

#[test]
fn a_sealed_recording_that_is_killed_opens_up_to_its_last_seconds() {
    let lab = Sealed::new("sealed-killed");
    lab.says("amp", &["keys", "archive", "--unprotected"]);
    let mut recorder = lab.record("amp", &["--seal", "-o", "x.xdf"]);
    recorder.process.kill().expect("it runs");
    recorder.process.wait().expect("it ends");
    drop(recorder);
    let (code, out) = lab.run("amp", &["verify", "x.xdf.age"]);
    assert!(code == 1 && out.contains("cut off") && !out.contains(" 0 samples"), "{out}");
}

#[test]
fn a_compressed_recording_is_read_by_every_command() {
    let lab = Sealed::new("compressed");
    lab.says("amp", &["fake", "counter:8@200", "--seconds", "20", "-o", "x.xdf"]);
    lab.says("amp", &["export", "x.xdf", "--to", "xdfz"]);
    let len = |name: &str| fs::metadata(lab.lab.path(name)).expect("a file").len();
    assert!(len("x.xdfz") < len("x.xdf"));
    fs::remove_file(lab.lab.path("x.xdf")).expect("a file");
    assert!(lab.says("amp", &["verify", "x.xdfz"]).contains("whole"));
    lab.says("amp", &["export", "x.xdfz", "--to", "npz"]);
    lab.says("amp", &["play", "x.xdfz", "--speed", "1000"]);
    lab.says("amp", &["export", "x.xdfz", "--to", "xdf"]);
    assert!(lab.says("amp", &["verify", "x.xdf"]).contains("whole"));
}
