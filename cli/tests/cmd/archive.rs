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
    lab.says("archive", &["export", "x.xdf.age", "--to", "csv", "-o", "x.csv"]);
    lab.says("archive", &["play", "x.xdf.age", "--speed", "1000"]);
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
