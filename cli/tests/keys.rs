//! `schwann keys`: three machines, each a folder, from nothing to one lab.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A machine of its own: a key folder that only this test uses.
struct Machine(PathBuf);

impl Machine {
    fn new(test: &str, name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{test}-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schwann"));
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
    let issued = first.says(&["issue", &request]);
    assert!(third.says_to(&["trust"], &issued).contains("in force   require as EEG room"));

    // Out again.
    first.says(&["revoke", "2"]);
    copy(&first, &third, "lab.revoked");
    let output = third.keys(&["status"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("revoked    list 2"));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let machine = Machine::new("wrong", "one");
    assert!(machine.complains(&["issue", "00"], "").contains("no request"));
    assert!(machine.complains(&["trust"], "rubbish\n").contains("schwann keys new-device"));
    assert!(machine.complains(&["import", "nowhere.bundle"], "").contains("`schwann keys export`"));
    let rubbish = path(&machine, "rubbish");
    std::fs::create_dir_all(&machine.0).expect("a folder");
    std::fs::write(&rubbish, "rubbish").expect("a file");
    assert!(machine.complains(&["import", &rubbish], "").contains("`schwann keys export`"));
    machine.says(&["init", "--unprotected"]);
    assert!(machine.complains(&["trust"], "rubbish\n").contains("`schwann keys issue`"));
    assert!(machine.complains(&["revoke", "7"], "").contains("no certificate 7"));
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
    use schwann_session::provision::{Keys, Paste, Pasted, Request, join};
    use schwann_session::{DeviceKey, SystemEntropy};

    let lab = Machine::new("micro", "lab");
    lab.says(&["init"]);
    let seed = [9; 32];
    let request = Request { device: DeviceKey::from_seed(&seed).public(), name: "cap 7" };
    let said = lab.says(&["issue", "--device", &request.to_string()]);
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

#[test]
fn a_certificate_is_read_from_the_input_and_never_from_the_arguments() {
    // It comes with the lab's discovery key, and other users of a computer see arguments.
    let (lab, device) = (Machine::new("arguments", "lab"), Machine::new("arguments", "device"));
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let issued = lab.says(&["issue", &request]);
    let lines: Vec<&str> = issued.lines().filter(|line| line.starts_with("schwann ")).collect();
    assert!(lines.len() > 5);
    assert_eq!(device.keys(&["trust", lines[0]]).status.code(), Some(2));

    // What a mail program does to a line is noticed, and nothing is installed.
    let damaged = issued.replacen(lines[2], &lines[2].replace(['a', 'b', 'c', '0'], "1"), 1);
    assert!(device.complains(&["trust"], &damaged).contains("`schwann keys issue`"));
    let missing = issued.replacen(lines[2], "", 1);
    assert!(device.complains(&["trust"], &missing).contains("`schwann keys issue`"));
    assert!(!device.0.join("device.certificate").exists());
    // The last line may come without its end.
    assert!(device.says_to(&["trust"], issued.trim_end()).contains("require as EEG room"));
}

#[test]
fn a_key_without_a_certificate_says_how_to_get_one_and_shows_its_request_again() {
    let (lab, device) = (Machine::new("request", "lab"), Machine::new("request", "device"));
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let status = device.keys(&["status"]);
    let text = String::from_utf8(status.stdout).expect("text");
    assert_eq!(status.status.code(), Some(1));
    assert!(text.contains("no certificate yet") && text.contains("`schwann keys trust`"), "{text}");
    assert_eq!(next_argument(&device.says(&["new-device", "EEG room"]), "keys issue"), request);

    // Renewed with the same key; the key need not be opened for it.
    device.says_to(&["trust"], &lab.says(&["issue", &request]));
    let again = device.keys_locked(&["new-device", "EEG room"], "");
    assert_eq!(next_argument(&String::from_utf8_lossy(&again.stdout), "keys issue"), request);
    assert!(device.says_to(&["trust"], &lab.says(&["issue", &request])).contains("(certificate 3)"));

    // A revoked key does not come back.
    lab.says(&["revoke", "3"]);
    copy(&lab, &device, "lab.revoked");
    copy(&lab, &device, "lab.discovery");
    let status = device.keys(&["status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&status.stdout)
            .contains("in force   unusable: this device's certificate would be refused")
    );
    assert!(device.complains(&["new-device", "EEG room"], "").contains("revoked"));
}

#[test]
fn another_devices_certificate_is_not_installed() {
    let (lab, one) = (Machine::new("mixed", "lab"), Machine::new("mixed", "one"));
    let other = Machine::new("mixed", "other");
    lab.says(&["init"]);
    let issued = [&one, &other].map(|device| {
        let request = next_argument(&device.says(&["new-device", "a device"]), "keys issue");
        lab.says(&["issue", &request])
    });
    assert!(one.complains(&["trust"], &issued[1]).contains("another key"));
    assert!(one.says_to(&["trust"], &issued[0]).contains("require as a device"));
    assert!(one.complains(&["trust"], &issued[1]).contains("another key"));
    // Nor where the key is locked: the certificate that is there says whose it is.
    let output = one.keys_locked(&["trust"], &issued[1]);
    assert_eq!(output.status.code(), Some(3));
    assert!(one.says(&["status"]).contains("(certificate 2)"));
}

#[test]
fn a_machine_that_keeps_a_labs_authority_joins_no_other_lab() {
    let (one, other) = (Machine::new("two-labs", "one"), Machine::new("two-labs", "other"));
    one.says(&["init", "--unprotected"]);
    other.says(&["init", "--unprotected"]);
    let bundle = path(&other, "lab.bundle");
    other.says(&["export", &bundle]);
    assert!(one.complains(&["import", &bundle], "").contains("authority of another lab"));
    let request = next_argument(&one.says(&["new-device", "first machine"]), "keys issue");
    assert!(
        one.complains(&["trust"], &other.says(&["issue", &request])).contains("authority of another lab")
    );
    // Its own certificate it may renew.
    assert!(one.says_to(&["trust"], &one.says(&["issue", &request])).contains("(certificate 2)"));
}

#[test]
fn an_old_revocation_list_does_not_come_back_with_a_certificate_or_a_bundle() {
    let (lab, device) = (Machine::new("old", "lab"), Machine::new("old", "device"));
    let sharing = Machine::new("old", "sharing");
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let issued = lab.says(&["issue", &request]);
    let bundle = path(&lab, "lab.bundle");
    lab.says(&["export", &bundle]);
    device.says_to(&["trust"], &issued);
    sharing.says(&["import", &bundle]);
    let other = Machine::new("old", "other");
    lab.says(&["issue", &next_argument(&other.says(&["new-device", "another"]), "keys issue")]);
    lab.says(&["revoke", "3"]);
    for (machine, again) in [(&device, &["trust"][..]), (&sharing, &["import", &bundle])] {
        copy(&lab, machine, "lab.revoked");
        copy(&lab, machine, "lab.discovery");
        assert!(machine.says_to(again, &issued).contains("revoked    list 2"), "{again:?}");
        assert!(machine.says(&["status"]).contains("in force   require as"));
    }
}

#[test]
fn the_labs_machine_lists_what_it_has_issued_and_what_is_revoked() {
    let (lab, device) = (Machine::new("issued", "lab"), Machine::new("issued", "device"));
    lab.says(&["init", "--name", "control room"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    lab.says(&["issue", &request, "--publish-only"]);
    lab.says(&["revoke", "2"]);
    lab.says(&["issue", &request, "--again"]);
    // Nothing secret is needed for it.
    let listed = || String::from_utf8(lab.keys_locked(&["issued"], "").stdout).expect("text");
    let row = |serial: &str, listed: &str| -> String {
        let row = listed.lines().find(|line| line.split_whitespace().next() == Some(serial));
        row.unwrap_or_else(|| panic!("no {serial} in {listed}")).to_owned()
    };
    for (serial, words) in [
        ("1", ["control room", "both", "valid"]),
        ("2", ["EEG room", "publish", "revoked"]),
        ("3", ["EEG room", "both", "valid"]),
    ] {
        let row = row(serial, &listed());
        assert!(words.iter().all(|word| row.contains(word)), "{row}");
    }
    #[cfg(unix)]
    assert_eq!(mode(&lab.0.join("authority.issued")), 0o600);
    assert!(device.complains(&["issued"], "").contains("schwann keys init"));
    // A lab that was founded before there was a list.
    std::fs::remove_file(lab.0.join("authority.issued")).expect("it is there");
    assert!(row("2", &listed()).contains("not on record") && row("2", &listed()).contains("revoked"));
    lab.says(&["issue", &request]);
    assert!(row("4", &listed()).contains("EEG room"));
}

#[test]
fn a_revoked_device_does_not_come_back_with_another_certificate_of_its_key() {
    let (lab, device) = (Machine::new("again", "lab"), Machine::new("again", "device"));
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let issued = [(); 2].map(|()| lab.says(&["issue", &request]));
    device.says_to(&["trust"], &issued[0]);
    assert!(
        lab.says(&["revoke", "2"]).contains("Certificates 2 and 3, all of one key, are revoked by list 2")
    );
    copy(&lab, &device, "lab.revoked");
    copy(&lab, &device, "lab.discovery");
    let output = device.keys_with(&["trust"], &issued[1]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("in force   unusable") && text.contains("revoked"), "{text}");
    assert!(lab.says(&["revoke", "3"]).contains("revoked already; list 2 is in force"));

    // The key is certified again only on request, and is printed again as a whole.
    let complaint = lab.complains(&["issue", &request], "");
    assert!(
        complaint.contains("was revoked (certificate 2, EEG room)") && complaint.contains("--again"),
        "{complaint}"
    );
    assert!(lab.complains(&["issue", "--device", &request], "").contains("was revoked"));
    let back = lab.says(&["issue", "--again", &request]);
    assert!(device.says_to(&["trust"], &back).contains("in force   require as EEG room"));
    assert!(lab.says(&["revoke", "4"]).contains("Certificate 4 is revoked by list 3"));
}

#[test]
fn a_device_is_put_out_by_its_name() {
    let lab = Machine::new("by-name", "lab");
    lab.says(&["init", "--name", "control room"]);
    let request = |name: &str, called: &str| {
        let device = Machine::new("by-name", name);
        next_argument(&device.says(&["new-device", called, "--unprotected"]), "keys issue")
    };
    let (one, two) = (request("one", "EEG room"), request("two", "EEG room"));
    for request in [&one, &one, &two] {
        lab.says(&["issue", request]);
    }
    let complaint = lab.complains(&["revoke", "EEG room"], "");
    assert!(complaint.contains("several devices") && complaint.contains("[2, 3, 4]"), "{complaint}");
    assert!(lab.complains(&["revoke", "eeg room"], "").contains("`schwann keys issued`"));
    assert!(lab.says(&["revoke", "3"]).contains("Certificates 2 and 3"));
    // One of the two is out; the name means the other.
    assert!(lab.says(&["revoke", "EEG room"]).contains("Certificate 4 is revoked by list 3"));
    assert!(lab.says(&["issued"]).lines().any(|row| row.contains("control room") && row.contains("valid")));
}

#[test]
fn certificates_that_are_issued_at_once_have_serials_of_their_own() {
    let (lab, device) = (Machine::new("at-once", "lab"), Machine::new("at-once", "device"));
    lab.says(&["init", "--unprotected"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let started: Vec<_> =
        (0..8).map(|_| lab.command(&["issue", &request]).spawn().expect("the program runs")).collect();
    for running in started {
        assert!(running.wait_with_output().expect("the program ends").status.success());
    }
    let listed = lab.says(&["issued"]);
    for serial in 2..=9 {
        let rows = listed.lines().filter(|line| line.split_whitespace().next() == Some(&serial.to_string()));
        assert_eq!(rows.count(), 1, "{serial} in {listed}");
    }
}

#[test]
fn a_file_in_the_current_folder_neither_opens_streams_nor_names_a_log_elsewhere() {
    let machine = Machine::new("local", "machine");
    machine.says(&["init", "--unprotected"]);
    let folder = |name: &str| {
        let folder = machine.0.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    };
    let (found, own) = (folder("found"), folder("home/lsl_api"));
    let precious = machine.0.join("precious");
    std::fs::write(&precious, "precious").expect("a file");
    let file =
        |folder: &Path, text: String| std::fs::write(folder.join("lsl_api.cfg"), text).expect("a file");
    let log = precious.display();
    file(&found, format!("[security]\npolicy=off\nlog={log}\n[log]\nlevel=-3\nfile={log}\n"));
    let status = || {
        let mut command = machine.command(&["status"]);
        command.current_dir(&found).env("HOME", machine.0.join("home")).env_remove("LSLAPICFG");
        let output = finish(&mut command, "");
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"))
    };
    let [out, complaint] = status();
    assert!(out.contains("in force   require as first machine"), "{out}");
    let place = found.join("lsl_api.cfg").display().to_string();
    let ignored: Vec<&str> = complaint.lines().filter(|line| line.contains(&place)).collect();
    assert_eq!(ignored.len(), 3, "{complaint}");
    assert!(complaint.contains("policy off is ignored"), "{complaint}");
    assert_eq!(std::fs::read_to_string(&precious).expect("text"), "precious");

    // What the user has chosen counts, and is said with the file that says it.
    file(&own, String::from("[security]\npolicy=prefer\n"));
    file(&found, String::from("[log]\nlevel=-3\n"));
    let [out, complaint] = status();
    assert!(out.contains("in force   prefer as first machine"), "{out}");
    let said = format!("{} sets the policy to prefer", own.join("lsl_api.cfg").display());
    assert_eq!(complaint.matches(&said).count(), 1, "{complaint}");
    file(&found, String::from("[security]\npolicy=require\n"));
    assert!(status()[0].contains("in force   require as first machine"));
}

#[test]
#[cfg(unix)]
fn status_names_what_others_may_read_or_replace_in_the_key_folder() {
    use std::os::unix::fs::{PermissionsExt as _, chown};

    let machine = Machine::new("modes", "machine");
    machine.says(&["init", "--unprotected"]);
    machine.says(&["status"]);
    for (name, others, proper, said) in [
        ("", 0o777, 0o700, "chmod 700"),
        ("lab.discovery", 0o644, 0o600, "others can read"),
        ("lab.revoked", 0o666, 0o600, "others can replace"),
        ("device.certificate", 0o620, 0o600, "others can replace"),
    ] {
        let file = machine.0.join(name);
        let set =
            |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("a mode");
        set(others);
        let output = machine.keys(&["status"]);
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.lines().any(|line| line.starts_with("unsafe") && line.contains(said)), "{text}");
        set(proper);
    }
    machine.says(&["status"]);
    // A file of another user's takes root to make, and another user than root to see.
    if chown(machine.0.join("lab.public"), Some(NOBODY), None).is_ok() {
        let output = machine.keys(&["status"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("belongs to another user"));
    }
}

#[test]
fn what_succeeds_while_the_key_is_locked_says_so_and_how_to_open_it() {
    let (lab, device) = (Machine::new("locked", "lab"), Machine::new("locked", "device"));
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let issued = lab.says(&["issue", &request]);
    let locked = device.keys_locked(&["trust"], &issued);
    assert_eq!(locked.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&locked.stderr).contains("`schwann keys unlock`"));
    device.says_to(&["trust"], &issued);
    let bundle = path(&device, "lab.bundle");
    device.says(&["export", &bundle]);
    let shares = Machine::new("locked", "shares");
    let imported = shares.says(&["import", &bundle]);
    assert!(imported.contains("in force   require as EEG room"), "{imported}");
    assert_eq!(shares.keys_locked(&["status"], "").status.code(), Some(1));
    assert_eq!(
        device.keys_locked(&["status"], "").status.code(),
        Some(1),
        "status tells of what is not well"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn the_program_that_handles_keys_leaves_no_core_dump() {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;

    let device = Machine::new("dump", "device");
    std::fs::create_dir_all(&device.0).expect("a folder");
    device.says(&["new-device", "EEG room", "--unprotected"]);
    let mut waiting = device.command(&["trust"]);
    // Linux gives the files in /proc of a process that must not be dumped to root, so it takes another user to see it.
    if std::fs::metadata("/proc/self").expect("Linux has it").uid() == 0 {
        for name in ["", "device.key"] {
            std::os::unix::fs::chown(device.0.join(name), Some(NOBODY), None).expect("root may");
        }
        waiting.uid(NOBODY);
    }
    let mut waiting = waiting.spawn().expect("the program runs");
    let files = format!("/proc/{}/environ", waiting.id());
    let began = std::time::Instant::now();
    while std::fs::metadata(&files).expect("it waits for its input").uid() != 0 {
        assert!(began.elapsed().as_secs() < 20, "the process may be dumped");
        std::thread::yield_now();
    }
    assert!(waiting.try_wait().expect("it is ours").is_none(), "it waits for its input");
    waiting.kill().expect("it runs");
    waiting.wait().expect("it ends");
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_with_rights_of_its_own_believes_neither_the_environment_nor_the_folder() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

    if std::fs::metadata("/proc/self").expect("Linux has it").uid() != 0 {
        return eprintln!("only root can make such a program");
    }
    let machine = Machine::new("setuid", "machine");
    machine.says(&["init", "--unprotected"]);
    std::fs::write(machine.0.join("lsl_api.cfg"), "[log]\nfile=own.log\n").expect("a file");
    let program = machine.0.join("schwann");
    std::fs::copy(env!("CARGO_BIN_EXE_schwann"), &program).expect("a copy");
    let run = || {
        let mut command = Command::new(&program);
        command.args(["keys", "status"]).env("SCHWANN_KEYS", &machine.0).current_dir(&machine.0);
        command.env("SCHWANN_SECURITY_LOG", machine.0.join("security.log")).env_remove("LSLAPICFG");
        String::from_utf8(command.output().expect("it runs").stdout).expect("text")
    };
    let logs = || ["own.log", "security.log"].map(|name| machine.0.join(name).exists());
    let before = run();
    assert!(before.contains(machine.0.to_str().expect("text")) && logs() == [true, true], "{before}");
    for log in ["own.log", "security.log"] {
        std::fs::remove_file(machine.0.join(log)).expect("it is there");
    }
    // Everybody may write into the folder: only the program's own care keeps it from it.
    std::fs::set_permissions(&machine.0, std::fs::Permissions::from_mode(0o777)).expect("a mode");
    chown(&program, Some(NOBODY), None).expect("root may");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("a mode");
    let after = run();
    assert!(after.contains("keys       /etc/schwann") && logs() == [false, false], "{after}");
}

/// A user who owns nothing.
#[cfg(unix)]
const NOBODY: u32 = 65_534;

/// The words of a recovery sheet.
fn words_of(sheet: &str) -> String {
    let from = sheet.find("  words").expect("words");
    let lines = sheet[from..].lines().take(3);
    lines
        .flat_map(|line| line.split_whitespace().filter(|word| *word != "words"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_forgotten_passphrase_is_no_dead_end() {
    let (lab, device, new) =
        (Machine::new("backup", "lab"), Machine::new("backup", "device"), Machine::new("backup", "new"));
    lab.says(&["init", "--name", "control room"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    device.says_to(&["trust"], &lab.says(&["issue", &request]));
    let file = path(&lab, "lab.backup");
    let words = words_of(&lab.says(&["backup", &file]));
    assert_eq!(words.split(' ').count(), 12, "{words}");
    assert!(lab.complains(&["backup", &file], "").contains("never replaced"));

    // Neither the file nor the words alone, and no words but these.
    assert!(new.complains(&["recover", &file], "").contains("twelve words"));
    let swapped = words.split(' ').rev().collect::<Vec<_>>().join(" ");
    assert!(new.complains(&["recover", &file], &format!("{swapped}\n")).contains("not those of its sheet"));
    assert!(new.complains(&["recover", &path(&lab, "device.key")], &words).contains("no backup"));

    // On two lines, as the sheet has them, and shortened: with another passphrase, and without the old one.
    let short: Vec<_> = words.split(' ').map(|word| &word[..word.len().min(4)]).collect();
    let (first, second) = short.split_at(6);
    let typed = format!("{}\n{}\n", first.join(" "), second.join(" "));
    let said = finish(new.command(&["recover", &file]).env("SCHWANN_PASSPHRASE", "another one"), &typed);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert!(
        text.contains("can issue and revoke") && text.contains("On record: 2 certificates, list 1"),
        "{text}"
    );
    let revoked = finish(new.command(&["revoke", "EEG room"]).env("SCHWANN_PASSPHRASE", "another one"), "");
    assert!(
        String::from_utf8_lossy(&revoked.stdout).contains("list 2"),
        "the device that the first machine certified"
    );
}

#[test]
fn the_authority_moves_and_leaves_a_member_behind() {
    let (old, new) = (Machine::new("move", "old"), Machine::new("move", "new"));
    old.says(&["init", "--name", "control room"]);
    let file = path(&old, "lab.backup");
    let words = words_of(&old.says(&["backup", "--move", &file]));
    assert!(old.says(&["status"]).contains("authority  elsewhere"));
    assert!(old.complains(&["issued"], "").contains("not on this machine"));
    let said = new.says_to(&["recover", &file], &words);
    assert!(said.contains("(certificate 2)"), "serials go on: {said}");
    assert!(new.says(&["status"]).contains("this machine can issue and revoke"));
}

#[test]
fn two_machines_with_the_authority_learn_of_each_other() {
    let (one, two) = (Machine::new("two", "one"), Machine::new("two", "two"));
    let [lost, stolen] = ["lost", "stolen"].map(|name| Machine::new("two", name));
    one.says(&["init"]);
    let requests =
        [&lost, &stolen].map(|device| next_argument(&device.says(&["new-device", "a device"]), "keys issue"));
    let file = path(&one, "one.backup");
    let words = words_of(&one.says(&["backup", &file]));
    two.says_to(&["recover", &file], &words);
    // Each certifies and revokes on its own: two different lists of one number.
    one.says(&["issue", &requests[0]]);
    one.says(&["revoke", "2"]);
    let serial = two.says(&["issue", &requests[1]]);
    let serial = serial.split_whitespace().nth(1).expect("a serial").to_owned();
    assert!(serial.parse::<u64>().expect("a number") > 1_000_000, "no serial of the other: {serial}");
    two.says(&["revoke", &serial]);
    let file = path(&two, "two.backup");
    let words = words_of(&two.says(&["backup", &file]));
    let joined = one.says_to(&["recover", &file], &words);
    assert!(joined.contains("list 3"), "{joined}");
    let issued = one.says(&["issued"]);
    let revoked = issued.lines().filter(|line| line.contains("a device") && line.contains("revoked")).count();
    assert_eq!(revoked, 2, "{issued}");
}

#[test]
fn a_new_key_takes_the_place_of_the_old_one_which_is_revoked() {
    let lab = Machine::new("rotate", "lab");
    lab.says(&["init", "--name", "control room"]);
    let before = lab.says(&["status"]);
    let said = lab.says(&["rotate"]);
    assert!(
        said.contains("Certificate 1 is revoked") && said.contains("control room (certificate 2)"),
        "{said}"
    );
    let key = |text: &str| text.lines().find(|line| line.starts_with("key ")).map(str::to_owned);
    assert_ne!(key(&before), key(&said));
}

#[test]
fn a_certificate_is_renewed_where_the_authority_is_reached() {
    let (lab, device) = (Machine::new("renew", "lab"), Machine::new("renew", "device"));
    let config = lab.0.with_extension("cfg");
    std::fs::write(&config, "[ports]\nMulticastPort=27971\nBasePort=27940\nPortRange=30\nIPv6=disable\n[multicast]\nResolveScope=machine\n")
        .expect("written");
    let named = |command: &mut Command| {
        command.env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE);
    };
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let issued =
        finish(lab.command(&["issue", &request, "--days", "20"]).env("SCHWANN_PASSPHRASE", PASSPHRASE), "");
    device.says_to(&["trust"], &String::from_utf8_lossy(&issued.stdout));
    assert!(device.says(&["status"]).contains("days (schwann keys renew)"));

    let mut serve = lab.command(&["renew", "--serve"]);
    named(&mut serve);
    let mut server = serve.spawn().expect("the program runs");
    let mut renew = device.command(&["renew"]);
    named(&mut renew);
    let renewed = finish(&mut renew, "");
    let text = String::from_utf8_lossy(&renewed.stdout).into_owned();
    let _ = server.kill();
    let _ = server.wait();
    assert!(
        text.contains("Renewed: certificate 3, valid for 36"),
        "{text}{}",
        String::from_utf8_lossy(&renewed.stderr)
    );
    assert!(!device.says(&["status"]).contains("EXPIRES"));
    assert!(device.says(&["renew"]).contains("more days; it is renewed from 30 on"));
    let _ = std::fs::remove_file(config);
}

/// A configuration on ports of its own, for machines that find each other.
fn network(test: &str, base: u16) -> PathBuf {
    let path = std::env::temp_dir().join(format!("schwann-keys-{test}-{}.cfg", std::process::id()));
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nPortRange=30\nIPv6=disable\n[multicast]\nResolveScope=machine\n",
        base + 31
    );
    std::fs::write(&path, text).expect("written");
    path
}

/// Reads the six words that `keys invite` shows.
fn words_shown(invited: &mut std::process::Child) -> String {
    use std::io::BufRead as _;
    let out = invited.stdout.as_mut().expect("a pipe");
    let mut lines = std::io::BufReader::new(out).lines().map(|line| line.expect("text"));
    let words = lines.find(|line| line.split_whitespace().count() == 6 && line.starts_with("  "));
    words.expect("six words").trim().to_owned()
}

#[test]
fn a_member_gets_a_new_key_and_its_old_one_is_withdrawn() {
    let [lab, device] = ["lab", "device"].map(|name| Machine::new("rotate-member", name));
    let config = network("rotate-member", 27_860);
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    device.says_to(&["trust"], &lab.says(&["issue", &request]));
    let before = std::fs::read(device.0.join("device.certificate")).expect("a certificate");

    let mut invite = lab.command(&["invite", "--replace", "EEG room"]);
    let invite = invite.env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE);
    let mut invited = invite.spawn().expect("the program runs");
    let words = words_shown(&mut invited);
    let mut rotate = device.command(&["rotate"]);
    let rotated =
        finish(rotate.env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE), &format!("{words}\n"));
    let complaint = String::from_utf8_lossy(&rotated.stderr);
    assert!(rotated.status.success(), "{complaint}{}", String::from_utf8_lossy(&rotated.stdout));
    assert!(complaint.contains("certificate 2, is withdrawn"), "{complaint}");
    assert!(invited.wait().expect("it ends").success());
    assert_ne!(std::fs::read(device.0.join("device.certificate")).expect("a certificate"), before);
    let issued = lab.says(&["issued"]);
    let states: Vec<_> = issued.lines().filter(|line| line.contains("EEG room")).collect();
    assert_eq!(states.len(), 2, "{issued}");
    assert!(states[0].contains("revoked") && states[1].contains("valid"), "{issued}");
    assert!(device.says(&["status"]).contains("certificate 3"));
    // There is no key to replace of a device that is not there.
    let none = lab.complains(&["invite", "--replace", "MRI room"], "");
    assert!(none.contains("no device is called") && none.contains("schwann keys issued"), "{none}");
    let _ = std::fs::remove_file(config);
}

#[test]
fn a_certificate_is_renewed_beside_a_recording() {
    let [lab, device] = ["lab", "device"].map(|name| Machine::new("background", name));
    let config = network("background", 27_820);
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    let issued =
        finish(lab.command(&["issue", &request, "--days", "20"]).env("SCHWANN_PASSPHRASE", PASSPHRASE), "");
    device.says_to(&["trust"], &String::from_utf8_lossy(&issued.stdout));
    let certificate = device.0.join("device.certificate");
    let before = std::fs::read(&certificate).expect("a certificate");
    let mut serve = lab.command(&["renew", "--serve"]);
    let mut server =
        serve.env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE).spawn().expect("it runs");
    // It waits for a stream that never comes, and renews meanwhile.
    let mut record = Command::new(env!("CARGO_BIN_EXE_schwann"));
    record.args(["record", "Nothing", "--wait", "300", "-o"]).arg(device.0.join("nothing.xdf"));
    record.env("SCHWANN_KEYS", &device.0).env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE);
    let mut recording =
        record.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let deadline = std::time::Instant::now() + core::time::Duration::from_secs(120);
    while std::fs::read(&certificate).expect("a certificate") == before {
        assert!(std::time::Instant::now() < deadline, "not renewed");
        std::thread::sleep(core::time::Duration::from_millis(50));
    }
    for process in [&mut recording, &mut server] {
        let _ = process.kill();
        let _ = process.wait();
    }
    assert!(device.says(&["status"]).contains("certificate 3"));
    let _ = std::fs::remove_file(config);
}
