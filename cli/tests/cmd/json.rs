//! What `--json` prints is what `docs/json.md` says, name by name.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::harness::{Lab, Running};

/// The names that the section of this title lists.
fn documented(title: &str) -> BTreeSet<String> {
    let page = include_str!("../../../docs/json.md");
    let (_, section) = page.split_once(&format!("## `{title} --json`")).expect("a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let names = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.map(str::to_owned).collect()
}

/// The names in some JSON, such as `streams[].name`. An empty list is a name, too.
fn names(value: &Value, prefix: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let dot = if prefix.is_empty() { "" } else { "." };
            names(value, &format!("{prefix}{dot}{name}"), out);
        }),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().for_each(|item| names(item, &format!("{prefix}[]"), out));
        }
        Value::Array(_) => drop(out.insert(format!("{prefix}[]"))),
        _ => drop(out.insert(prefix.to_owned())),
    }
}

/// Runs a command, and compares the last line or object that it prints with the section of this title.
fn compare(lab: &Lab, title: &str, arguments: &[&str], code: i32) {
    let (found, out, err) = lab.run(arguments);
    assert_eq!((found, err.as_str()), (code, ""), "{arguments:?}: {out}");
    let last = out.lines().last().filter(|line| line.len() > 1).unwrap_or(&out);
    let mut printed = BTreeSet::new();
    names(&serde_json::from_str(last).expect("JSON"), "", &mut printed);
    let documented = documented(title);
    let differences: Vec<_> = printed.symmetric_difference(&documented).collect();
    assert!(differences.is_empty(), "{title}: {differences:?}");
}

/// A stream that only members of a lab may see, and this computer is none.
fn start_hidden(lab: &Lab) -> Running {
    let member = |arguments: &[&str]| {
        let mut command = lab.schwann(arguments);
        command.env("SCHWANN_KEYS", lab.path("keys")).env("SCHWANN_SECURITY", "require");
        command
    };
    assert!(member(&["keys", "init", "--unprotected"]).output().unwrap().status.success());
    let mut hidden = Running::of(member(&["fake", "counter:1@100"]));
    hidden.wait_for_line("sending");
    hidden
}

#[test]
fn every_name_that_is_printed_is_documented_and_no_other() {
    let lab = Lab::new("json");
    let mut fake = lab.start(&["fake", "counter:2@200", "--dropout", "0.4"]);
    fake.wait_for_line("sending");
    compare(
        &lab,
        "schwann record",
        &[
            "record",
            "-o",
            "x.xdf",
            "--wait",
            "60",
            "--require",
            "Test",
            "--seconds",
            "2",
            "--json",
            "Test",
            "Tset",
        ],
        1,
    );
    let hidden = start_hidden(&lab);
    let (code, out, _) = lab.run(&["--json"]);
    drop(hidden);
    let mut printed = BTreeSet::new();
    names(&serde_json::from_str(&out).expect("JSON"), "", &mut printed);
    // The list of a stream that is well is empty.
    let _if_one_is_well = printed.remove("streams[].troubles[]");
    assert_eq!(printed, documented("schwann"), "{code}");
    compare(&lab, "schwann doctor", &["doctor", "--json", "absent.invalid"], 1);
    compare(&lab, "schwann demo", &["demo", "--seconds", "0.5", "--json"], 0);
    let whole = fs::read(lab.path("x.xdf")).expect("a file");
    // Where it is cut, a chunk may end by chance: so some more bytes that are none.
    let cut = [&whole[..whole.len() * 2 / 3], &[0xFF; 3]].concat();
    fs::write(lab.path("cut.xdf"), cut).expect("a file");
    compare(&lab, "schwann verify --json` and `schwann info", &["verify", "--json", "cut.xdf"], 1);
    compare(&lab, "schwann repair", &["repair", "--json", "cut.xdf"], 1);
}
