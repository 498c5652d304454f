//! Writes the commit into the program. A record names that commit, and a program of another commit must not claim it.

use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "no commit".to_owned());
    println!("cargo:rustc-env=SCHWANN_BUILT_FROM={commit}");
    println!("cargo:rerun-if-changed=build.rs");
    // Git appends a line to this file whenever the commit changes.
    if let Some(moves) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={moves}");
    }
}

/// What git says, or nothing outside of a repository.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
