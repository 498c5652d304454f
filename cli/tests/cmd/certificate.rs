//! A recording's certificate, from `record` to `verify` and `sign`.

use std::fs;

use crate::harness::{Lab, samples};

/// Records a stream of counters until it has some samples, with these variables.
fn record(lab: &Lab, variables: &[(&str, &str)]) {
    let with = |arguments: &[&str]| {
        let mut command = lab.schwann(arguments);
        command.envs(variables.iter().copied());
        crate::harness::Running::of(command)
    };
    let mut fake = with(&["fake", "counter:2@200"]);
    fake.wait_for_line("sending");
    let mut recorder =
        with(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", "Fake counter:2@200"]);
    recorder.wait_for(|line| samples(line, "Fake counter:2@200") >= 200);
    recorder.interrupt();
}

fn run(lab: &Lab, variables: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
    let output = lab.schwann(arguments).envs(variables.iter().copied()).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

#[test]
fn a_recording_is_certified_unsigned_without_keys_and_a_change_is_seen() {
    let lab = Lab::new("certificate-plain");
    record(&lab, &[]);
    let (code, out) = run(&lab, &[], &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("UNSIGNED") && out.contains("bit by bit"), "{out}");
    let whole = fs::read(lab.path("x.xdf")).expect("a file");
    let cut = &whole[..whole.len() - 100];
    fs::write(lab.path("x.xdf"), cut).expect("a file");
    let (code, out) = run(&lab, &[], &["verify", "x.xdf"]);
    assert!(code == Some(1) && !out.contains("bit by bit"), "{out}");
    let (code, out) = run(&lab, &[], &["sign", "x.xdf", "--name", "N", "--meaning", "reviewed"]);
    assert!(code == Some(3) && out.contains("keys init"), "{out}");
}

#[test]
fn a_member_signs_and_a_person_endorses() {
    let lab = Lab::new("certificate-lab");
    let keys = lab.path("keys");
    let variables = [("SCHWANN_KEYS", keys.to_str().expect("text")), ("SCHWANN_SECURITY", "require")];
    assert_eq!(run(&lab, &variables, &["keys", "init", "--unprotected"]).0, Some(0));
    record(&lab, &variables);
    let (code, out) = run(&lab, &variables, &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("of this lab") && out.contains("bit by bit"), "{out}");
    let (code, out) =
        run(&lab, &variables, &["sign", "x.xdf", "--name", "M. Curie", "--meaning", "reviewed"]);
    assert_eq!(code, Some(0), "{out}");
    let (code, out) = run(&lab, &variables, &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("reviewed: M. Curie"), "{out}");
    let (code, out) = run(&lab, &[], &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("no member of"), "{out}");
    let text = fs::read_to_string(lab.path("x.xdf.cert.json")).expect("a certificate");
    fs::write(lab.path("x.xdf.cert.json"), text.replacen("\"sig\": \"", "\"sig\": \"A", 1)).expect("a file");
    let (code, out) = run(&lab, &variables, &["verify", "x.xdf"]);
    assert!(code == Some(1) && out.contains("NOT ACCEPTED"), "{out}");
}
