//! `schwann keys`: three machines, each a folder, from nothing to one lab.

mod joining;
mod life;
mod revocation;
mod safety;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A machine of its own: a key folder that only this test uses.
struct Machine(PathBuf);

impl Machine {
    fn new(test: &str, name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{test}-{name}"));
        let folder = std::path::absolute(folder).expect("a folder of this machine");
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = schwann();
        command.arg("keys").args(arguments).env("SCHWANN_KEYS", &self.0);
        // There is no person to be asked.
        command.args((arguments.first() == Some(&"issue")).then_some("--yes"));
        command.env_remove("SCHWANN_SECURITY").env("XDG_RUNTIME_DIR", self.0.join("runtime"));
        command
            .env_remove("SCHWANN_PASSPHRASE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn keys(&self, arguments: &[&str]) -> Output {
        self.keys_with(arguments, "")
    }

    /// Runs a command that reads `input`, with the passphrase.
    fn keys_with(&self, arguments: &[&str], input: &str) -> Output {
        finish(self.command(arguments).env("SCHWANN_PASSPHRASE", PASSPHRASE), input)
    }

    /// Runs a command without the passphrase: protected keys stay locked.
    fn keys_locked(&self, arguments: &[&str], input: &str) -> Output {
        finish(&mut self.command(arguments), input)
    }

    /// Runs a command that must succeed, and returns what it prints.
    fn says(&self, arguments: &[&str]) -> String {
        self.says_to(arguments, "")
    }

    fn says_to(&self, arguments: &[&str], input: &str) -> String {
        let output = self.keys_with(arguments, input);
        let text = String::from_utf8(output.stdout).expect("text");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {text}{complaint}");
        text
    }

    /// Runs a command that must fail, and returns what it complains of.
    fn complains(&self, arguments: &[&str], input: &str) -> String {
        let output = self.keys_with(arguments, input);
        assert_eq!(
            output.status.code(),
            Some(3),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stderr).expect("text")
    }
}

fn schwann() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schwann"));
    // On Windows, keys lie nowhere but in the user's profile.
    command.env("USERPROFILE", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn finish(command: &mut Command, input: &str) -> Output {
    let mut running = command.spawn().expect("the program runs");
    // A program that does not read leaves a broken pipe.
    let _ = running.stdin.take().expect("a pipe").write_all(input.as_bytes());
    running.wait_with_output().expect("the program ends")
}

const PASSPHRASE: &str = "correct horse battery staple";

/// The last word of the line that tells what to run next.
fn next_argument(said: &str, command: &str) -> String {
    let line = said.lines().find(|line| line.contains(command)).expect("a next step");
    line.split_whitespace().last().expect("an argument").to_owned()
}

/// The words of a recovery sheet.
fn words_of(sheet: &str) -> String {
    let from = sheet.find("  words").expect("words");
    let lines = sheet[from..].lines().take(3);
    lines
        .flat_map(|line| line.split_whitespace().filter(|word| *word != "words"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn copy(from: &Machine, to: &Machine, name: &str) {
    std::fs::copy(from.0.join(name), to.0.join(name)).expect("a copy");
}

fn path(machine: &Machine, name: &str) -> String {
    machine.0.join(name).display().to_string()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
}
