//! `schwann config` and `schwann peers`: the file that is in use is named, changed with care, and never spoilt.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A home of its own, with nothing in it.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("config-{name}"));
        // Under Wine, a path of the build names no drive.
        let folder = std::path::absolute(folder).expect("a path");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn runs(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schwann"));
        command
            .args(arguments)
            .current_dir(&self.0)
            .env("HOME", &self.0)
            .env("SCHWANN_KEYS", self.0.join("keys"));
        command.env_remove("LSLAPICFG").output().expect("the program runs")
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = self.runs(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn file(&self) -> PathBuf {
        self.0.join("lsl_api").join("lsl_api.cfg")
    }
}

#[test]
fn a_value_is_set_where_the_library_reads_it_and_shown_with_its_file() {
    let home = Home::new("set");
    let path = home.file().display().to_string();
    assert_eq!(home.says(&["config", "path"]).trim(), path);
    assert!(home.says(&["config", "show"]).contains("the defaults count"));
    assert!(home.says(&["config", "set", "lab.SessionID", "pilot"]).contains(&path));
    let shown = home.says(&["config", "show"]);
    assert!(shown.contains(&path) && shown.contains("lab.SessionID = pilot"), "{shown}");
    home.says(&["config", "set", "--remove", "lab.SessionID"]);
    assert!(!home.says(&["config", "show"]).contains("pilot"));
}

#[test]
fn what_the_library_would_refuse_is_refused_here_and_the_file_stays() {
    let home = Home::new("wrong");
    home.says(&["config", "set", "ports.BasePort", "17000"]);
    let before = std::fs::read(home.file()).expect("the file");
    for arguments in
        [["ports.BasePort", "many"], ["ports.BasePrt", "1"], ["BasePort", "1"], ["lab.SessionID", "a\nb"]]
    {
        let output = home.runs(&["config", "set", arguments[0], arguments[1]]);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
    }
    assert_eq!(std::fs::read(home.file()).expect("the file"), before);
}

#[test]
fn peers_are_named_listed_and_taken_out() {
    let home = Home::new("peers");
    home.says(&["peers", "add", "10.2.0.7"]);
    home.says(&["peers", "add", "127.0.0.1"]);
    assert!(home.says(&["peers", "add", "10.2.0.7"]).contains("named already"));
    let shown = home.says(&["config", "show"]);
    assert!(shown.contains("lab.KnownPeers = {10.2.0.7, 127.0.0.1}"), "{shown}");
    assert!(home.says(&["peers"]).contains("named       10.2.0.7"));
    home.says(&["peers", "remove", "10.2.0.7"]);
    home.says(&["peers", "remove", "127.0.0.1"]);
    assert!(!home.says(&["config", "show"]).contains("KnownPeers"));
    assert_eq!(home.runs(&["peers", "remove", "10.2.0.7"]).status.code(), Some(3));
    for odd in ["", "a b", "a,b", "{a}", "a=b"] {
        assert_eq!(home.runs(&["peers", "add", odd]).status.code(), Some(3), "{odd:?}");
    }
    let unknown = home.runs(&["peers", "add", "amplifier.invalid"]);
    assert_eq!(unknown.status.code(), Some(1), "named, and said to have no address");
}
