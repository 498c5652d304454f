//! `schwann keys`: three machines, each a folder, from nothing to one lab.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A machine of its own: a key folder that only this test uses.
struct Machine(PathBuf);

impl Machine {
    fn new(test: &str, name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{test}-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn keys(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_schwann"))
            .arg("keys")
            .args(arguments)
            .env("SCHWANN_KEYS", &self.0)
            .env("SCHWANN_PASSPHRASE", "correct horse battery staple")
            .env_remove("SCHWANN_SECURITY")
            .env("XDG_RUNTIME_DIR", self.0.join("runtime"))
            .output()
            .expect("the program runs")
    }

    /// Runs a command that must succeed, and returns what it prints.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.keys(arguments);
        let text = String::from_utf8(output.stdout).expect("text");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {text}{complaint}");
        text
    }
}

/// The last word of the line that tells what to run next.
fn next_argument(said: &str, command: &str) -> String {
    let line = said.lines().find(|line| line.contains(command)).expect("a next step");
    line.split_whitespace().last().expect("an argument").to_owned()
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

#[test]
fn a_lab_of_three_machines_is_made_by_following_what_the_program_prints() {
    let (first, second, third) =
        (Machine::new("three", "first"), Machine::new("three", "second"), Machine::new("three", "third"));
    assert!(first.says(&["init", "--name", "control room"]).contains("founded"));
    assert!(first.says(&["status"]).contains("in force   require as control room"));
    assert_eq!(first.keys(&["init"]).status.code(), Some(3), "a lab is not founded twice");
    #[cfg(unix)]
    assert!(["authority.key", "device.key"].iter().all(|name| mode(&first.0.join(name)) == 0o600));

    // One identity for several machines.
    let bundle = path(&first, "lab.bundle");
    first.says(&["export", &bundle]);
    assert!(second.says(&["import", &bundle]).contains("in force   require as control room"));

    // A key of its own.
    let request = next_argument(&third.says(&["new-device", "EEG room"]), "keys issue");
    let certificate = next_argument(&first.says(&["issue", &request]), "keys trust");
    assert!(third.says(&["trust", &certificate]).contains("in force   require as EEG room"));

    // Out again.
    first.says(&["revoke", "2"]);
    copy(&first, &third, "lab.revoked");
    let output = third.keys(&["status"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("revoked    list 2"));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let machine = Machine::new("wrong", "one");
    let complaint = |arguments: &[&str]| {
        let output = machine.keys(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(complaint(&["issue", "00"]).contains("no request"));
    assert!(complaint(&["trust", "rubbish"]).contains("no certificate"));
    machine.says(&["init", "--unprotected"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let key = machine.0.join("device.key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("a mode");
        let output = machine.keys(&["status"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("chmod 600"));
    }
}

#[test]
fn a_wrong_passphrase_opens_nothing() {
    let (first, second) = (Machine::new("passphrase", "first"), Machine::new("passphrase", "second"));
    first.says(&["init"]);
    let bundle = path(&first, "lab.bundle");
    first.says(&["export", &bundle]);
    let output = Command::new(env!("CARGO_BIN_EXE_schwann"))
        .args(["keys", "import", &bundle])
        .env("SCHWANN_KEYS", &second.0)
        .env("SCHWANN_PASSPHRASE", "wrong")
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(!second.0.join("device.key").exists());
}

#[test]
fn a_microcontroller_is_given_its_keys_as_lines_or_as_an_image() {
    use schwann_node::provision::{Keys, Paste, Pasted, join, put_request};
    use schwann_session::{DeviceKey, SystemEntropy};

    let lab = Machine::new("micro", "lab");
    lab.says(&["init"]);
    let seed = [9; 32];
    let mut request = Vec::new();
    put_request(&DeviceKey::from_seed(&seed), "cap 7", &mut request).expect("a vector takes everything");
    let said = lab.says(&["issue", "--device", core::str::from_utf8(&request).expect("text")]);
    assert!(said.contains("cap 7"));
    let mut room = [0; 1024];
    let mut paste = Paste::new(&mut room);
    let outcome = said.bytes().map(|byte| paste.handle(byte)).find(|outcome| *outcome != Pasted::More);
    let Some(Pasted::Done(len)) = outcome else { panic!("{outcome:?}") };
    let mut content = [0; 1024];
    let content = join(&seed, paste.collected(len), &mut content).expect("the lab's own");
    let keys = Keys::parse(content, 1000, &mut SystemEntropy).expect("keys");
    let statement = keys.credentials.certificate().statement;
    assert_eq!((statement.name.as_str(), statement.flags.permit_classic()), ("cap 7", true));
    // Another device's seed does not go with it.
    assert!(join(&[8; 32], paste.collected(len), &mut [0; 1024]).is_err());

    let image = path(&lab, "cap.image");
    lab.says(&["issue", "--image", &image, "cap 8"]);
    let bytes = std::fs::read(&image).expect("an image");
    // Head of 12 bytes, then the content.
    let len = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes")) as usize;
    let keys = Keys::parse(&bytes[12..12 + len], 1000, &mut SystemEntropy).expect("keys");
    assert_eq!(keys.credentials.certificate().statement.name.as_str(), "cap 8");
    #[cfg(unix)]
    assert_eq!(mode(Path::new(&image)), 0o600);
}
