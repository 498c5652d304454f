//! Text that comes from elsewhere, from a stream or a file, does not steer the terminal: no character of it repaints a line,
//! begins one, or turns the direction of reading around.

use std::fs;

use schwann::log::steers_terminals;

use crate::harness::Lab;
use crate::senders::{Habit, Sender};

const HOSTILE: &str = "E\u{9b}2K\r\nAll is well\u{202e}";

/// Runs a command, and looks at all that it prints.
fn run(lab: &Lab, arguments: &[&str]) {
    let (_, out, err) = lab.run(arguments);
    for line in out.lines().chain(err.lines()) {
        let is_ours = !line.contains(steers_terminals) && !line.starts_with("All is well");
        assert!(is_ours, "{arguments:?}: {line:?}");
    }
}

#[test]
fn a_name_does_not_steer_the_terminal() {
    let lab = Lab::new("foreign-names");
    let sender = Sender::start(&lab, Habit { rate: 97.0, ..Habit::sound(HOSTILE, 500.0) }, None);
    for arguments in [
        &["--once"][..],
        &["--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["record", "-o", "x.xdf", "--wait", "20", "--seconds", "2", "type='EEG'"],
        &["verify", "x.xdf"],
        &["verify", "x.xdf", "--json"],
        &["info", "x.xdf"],
        &["info", "x.xdf", "--json"],
        &["repair", "x.xdf"],
        &["export", "x.xdf", "--to", "csv", "-o", "y"],
        &["export", "x.xdf", "--to", "edf", "-o", "y"],
    ] {
        run(&lab, arguments);
    }
    drop(sender);
    let whole = fs::read(lab.path("x.xdf")).expect("a recording");
    let cut = "cut\u{9b}2K\r\nAll is well.xdf";
    fs::write(lab.path(cut), &whole[..whole.len() * 2 / 3]).expect("written");
    for arguments in [
        &["verify", cut][..],
        &["info", cut],
        &["export", cut, "--to", "csv", "-o", "z"],
        &["repair", cut, "-o", "mended\u{9b}2K\r\nAll is well.xdf"],
        &["play", cut, "--speed", "100"],
        &["play", "absent\u{9b}.xdf"],
    ] {
        run(&lab, arguments);
    }
}
