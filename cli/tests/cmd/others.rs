//! Sealed data and the other users of the computer. What needs another user runs where the tests are root's.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use schwann_fieldtrip::wire::{DataType, Header};

use crate::harness::{self, Lab};
use crate::served::Running;
use crate::tunnel::{at, enrol, found, join, share, wait_for};

/// `nobody`: a user without a file or a right.
pub(crate) const ANOTHER_USER: u32 = 65_534;

pub(crate) fn is_root() -> bool {
    let may = rustix::process::geteuid().is_root();
    if !may {
        eprintln!("skipped: only root can run a program as another user");
    }
    may
}

/// Runs `schwann` as another user, without keys; returns its exit code and what it prints.
fn as_another_user(lab: &Lab, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = lab.schwann(arguments);
    let output = command.uid(ANOTHER_USER).gid(ANOTHER_USER).output().expect("a process");
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

/// A program of a computer with keys, in the background.
fn background(lab: &Lab, arguments: &[&str]) -> Background {
    let mut command = at(lab, "meg", arguments);
    Background(command.stdout(Stdio::null()).spawn().expect("a process"))
}

struct Background(std::process::Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _ended_already = self.0.wait();
    }
}

/// Asks for what a buffer holds.
fn get(address: &str) -> [&str; 5] {
    ["ft", "get", address, "--samples", "0:1"]
}

#[test]
fn samples_of_a_sealed_stream_stay_with_the_user_who_mirrors_it() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("others-mirror");
    found(&lab, "meg");
    let _amplifier = background(&lab, &["fake", "eeg:2@250"]);
    let spawn = |command: &mut Command| Running::spawn(command.stderr(Stdio::piped()));
    for where_to in ["localhost:0", lab.path("socket").to_str().expect("text")] {
        let mut closed = spawn(&mut at(&lab, "meg", &["ft", "mirror", "type='EEG'", where_to]));
        let wait = ["ft", "wait", &closed.address, "--samples", "2", "--timeout", "60"];
        assert_eq!(lab.run(&wait).0, 0, "the user's own program");
        let (code, out) = as_another_user(&lab, &get(&closed.address));
        assert_eq!((code, out.as_str()), (Some(3), ""));
        assert_eq!(lab.run(&get(&closed.address)).0, 0);
        if where_to == "localhost:0" {
            let said = closed.child.stderr.take().expect("a pipe");
            wait_for(said, "turned away: a program of the user with number 65534");
        }
    }
    let open = spawn(&mut at(&lab, "meg", &["ft", "mirror", "type='EEG'", "localhost:0", "--others"]));
    let wait = ["ft", "wait", &open.address, "--samples", "2", "--timeout", "60"];
    assert_eq!(as_another_user(&lab, &wait).0, Some(0), "let in on purpose");
}

#[test]
fn another_user_neither_writes_nor_reads_through_a_members_tunnel() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("others-tunnel");
    found(&lab, "meg");
    enrol(&lab, "meg", "desk", &[]);
    let (buffer, shared) = share(&lab, &[]);
    let mut joined = join(&lab, "desk", &shared.address);
    joined.client().put_header(&Header::new(1, 250.0, DataType::Float32)).expect("the user's own program");
    joined.client().put_samples(1, &[1.0_f32, 2.0]).expect("samples");
    fs::write(lab.path("forged.txt"), "6\n6\n").expect("a file");
    let (code, _) = as_another_user(&lab, &["ft", "put", &joined.address, "--file", "forged.txt"]);
    assert_eq!(code, Some(3));
    assert_eq!(as_another_user(&lab, &get(&joined.address)), (Some(3), String::new()));
    assert_eq!(buffer.client().header().expect("a header").1.samples, 2);
    wait_for(
        joined.child.stderr.take().expect("a pipe"),
        "turned away: a program of the user with number 65534",
    );

    let others = ["ft", "tunnel", "join", &shared.address, "localhost:0", "--others"];
    let open = Running::spawn(&mut at(&lab, "desk", &others));
    assert_eq!(as_another_user(&lab, &get(&open.address)), (Some(0), "1\n2\n".into()));
}

#[test]
fn recordings_of_a_lab_with_keys_are_their_owners_alone() {
    let lab = Lab::new("others-files");
    found(&lab, "meg");
    let mode = |name: &str| fs::metadata(lab.path(name)).expect("a file").permissions().mode() & 0o777;
    let run = |arguments: &[&str]| {
        let output = at(&lab, "meg", arguments).output().expect("a process");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    };
    run(&["demo", "--seconds", "1", "--no-dash", "-o", "demo.xdf"]);
    assert_eq!(mode("demo.xdf"), 0o600);
    let _amplifier = background(&lab, &["fake", "eeg:2@250"]);
    let record = ["record", "-o", "session.xdf", "--json", "--require", "EEG", "--wait", "60"];
    let mut recorder = harness::Running::of(at(&lab, "meg", &record));
    recorder.wait_for(|line| harness::samples(line, "Fake eeg:2@250") > 100);
    let (code, rest) = recorder.interrupt();
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!(mode("session.xdf"), 0o600);
    run(&["repair", "session.xdf", "-o", "repaired.xdf"]);
    assert_eq!(mode("repaired.xdf"), 0o600);
}
