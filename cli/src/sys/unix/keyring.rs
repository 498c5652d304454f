//! The Secret Service of the desktop (GNOME Keyring, KWallet, KeePassXC), by `secret-tool` of libsecret.
//!
//! A program of its own does it, because every library for it brings D-Bus in C or an async runtime. Secrets go through pipes,
//! never through arguments.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use zeroize::Zeroizing;

/// Keeps a secret under a name.
///
/// - Errors: what is said to the user.
pub(crate) fn set(name: &str, secret: &[u8]) -> Result<(), String> {
    let label = format!("Schwann: {name}");
    let done = run(&["store", "--label", &label, "service", SERVICE, "key", name], secret)?;
    if done.status.success() { Ok(()) } else { Err(complaint(&done)) }
}

/// The secret under a name, if there is one.
///
/// - Errors: what is said to the user.
pub(crate) fn get(name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
    let done = run(&["lookup", "service", SERVICE, "key", name], &[])?;
    let (found, secret) = (done.status.success(), Zeroizing::new(done.stdout.clone()));
    match (found, done.stderr.is_empty()) {
        (true, _) => Ok(Some(secret)),
        // It says nothing if there is no such secret.
        (false, true) => Ok(None),
        (false, false) => Err(complaint(&done)),
    }
}

/// Takes the secret under a name away.
///
/// - Errors: what is said to the user.
pub(crate) fn delete(name: &str) -> Result<(), String> {
    let done = run(&["clear", "service", SERVICE, "key", name], &[])?;
    if done.stderr.is_empty() { Ok(()) } else { Err(complaint(&done)) }
}

fn run(arguments: &[&str], input: &[u8]) -> Result<Output, String> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => String::from(
            "the program secret-tool is not installed; on Debian and Ubuntu: sudo apt install libsecret-tools",
        ),
        _ => format!("{PROGRAM}: {error}"),
    });
    let mut running = started?;
    if let Some(mut pipe) = running.stdin.take() {
        // One that does not read says why on its own.
        let _ = pipe.write_all(input);
    }
    running.wait_with_output().map_err(|error| format!("{PROGRAM}: {error}"))
}

fn complaint(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.trim();
    let said = if said.is_empty() { "it was refused" } else { said.trim_start_matches("secret-tool: ") };
    format!(
        "{said}; run this in a session of the desktop whose keyring is unlocked, or open the key without it: `schwann keys unlock`"
    )
}

const PROGRAM: &str = "secret-tool";
const SERVICE: &str = "schwann";
/// What the keyring is called in sentences.
pub(crate) const NAME: &str = "the keyring of this desktop (Secret Service)";
