//! How many files, sockets and threads the system lets the program have.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::Value;

use crate::harness::Lab;
use crate::others::{ANOTHER_USER, is_root};

/// The program in a shell with a limit.
fn in_a_shell(lab: &Lab, limit: &str, arguments: &[&str]) -> Command {
    let program = lab.schwann(arguments);
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("ulimit {limit} && exec \"$0\" \"$@\""));
    shell.arg(program.get_program()).args(program.get_args()).current_dir(lab.path("."));
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Runs the program with a limit; returns its exit code and what it prints.
fn limited(lab: &Lab, limit: &str, arguments: &[&str]) -> (i32, String) {
    let output = in_a_shell(lab, limit, arguments).output().expect("a shell");
    (output.status.code().expect("a code"), String::from_utf8(output.stdout).expect("text"))
}

fn findings(out: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(out).expect("JSON");
    let findings = answer["findings"].as_array().expect("a list");
    findings.iter().filter_map(|finding| Some(finding["code"].as_str()?.to_owned())).collect()
}

#[test]
fn doctor_accuses_no_other_computer_if_it_may_open_too_few_files() {
    let lab = Lab::new("few-files");
    let mut sender = lab.start(&["fake", "counter:2@200"]);
    sender.wait_for_line("sending");
    let (code, out) = limited(&lab, "-n 64", &["doctor", "--json"]);
    assert_eq!((code, findings(&out)), (1, vec![String::from("few-files")]), "{out}");
    // What the system grants for the asking is no reason to complain.
    let (_, out) = limited(&lab, "-S -n 64", &["doctor", "--json"]);
    assert!(!findings(&out).contains(&String::from("few-files")), "{out}");
}

#[test]
fn doctor_does_without_threads_that_it_does_not_get() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("few-threads");
    // Root has no such limit.
    let output = in_a_shell(&lab, "-u 1", &["doctor", "--json"]).uid(ANOTHER_USER).output().expect("a shell");
    let code = output.status.code();
    assert!(code == Some(0) || code == Some(1), "{output:?}");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), "{output:?}");
}

#[test]
fn what_run_starts_has_the_limits_of_its_user() {
    let lab = Lab::new("run-limits");
    let (_, out) = limited(&lab, "-S -n 64", &["run", "--", "bash", "-c", "ulimit -S -n"]);
    assert_eq!(out.lines().last(), Some("64"), "{out}");
}
