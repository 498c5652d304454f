//! What others on the computer, and files in the current folder, cannot do.

use super::*;

#[test]
fn a_file_in_the_current_folder_neither_opens_streams_nor_names_a_log_elsewhere() {
    let machine = Machine::new("local", "machine");
    machine.says(&["init", "--unprotected"]);
    let folder = |name: &str| {
        let folder = machine.0.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    };
    let (found, own) = (folder("found"), folder("home").join("lsl_api"));
    std::fs::create_dir_all(&own).expect("a folder");
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
    assert!(out.contains("in force   require as first computer"), "{out}");
    let place = found.join("lsl_api.cfg").display().to_string();
    let ignored: Vec<&str> = complaint.lines().filter(|line| line.contains(&place)).collect();
    assert_eq!(ignored.len(), 3, "{complaint}");
    assert!(complaint.contains("policy off is ignored"), "{complaint}");
    assert_eq!(std::fs::read_to_string(&precious).expect("text"), "precious");

    // What the user has chosen counts, and is said with the file that says it.
    file(&own, String::from("[security]\npolicy=prefer\n"));
    file(&found, String::from("[log]\nlevel=-3\n"));
    let [out, complaint] = status();
    assert!(out.contains("in force   prefer as first computer"), "{out}");
    let said = format!("{} sets the policy to prefer", own.join("lsl_api.cfg").display());
    assert_eq!(complaint.matches(&said).count(), 1, "{complaint}");
    file(&found, String::from("[security]\npolicy=require\n"));
    assert!(status()[0].contains("in force   require as first computer"));
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
    let opens = if cfg!(windows) { "`schwann keys remember`" } else { "`schwann keys unlock`" };
    assert!(String::from_utf8_lossy(&locked.stderr).contains(opens));
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
    // In /proc, Linux gives root the files of a process that must not be dumped. So only another user sees it.
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

#[test]
fn a_key_that_cannot_be_seen_ends_no_sealing() {
    let machine = Machine::new("unseen", "machine");
    machine.says(&["init", "--unprotected"]);
    let status = |folder: &Path| {
        let output = finish(machine.command(&["status"]).env("SCHWANN_KEYS", folder), "");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (key, away) = (machine.0.join("device.key"), machine.0.join("away"));
    std::fs::rename(&key, &away).expect("a move");
    let (code, out) = status(&machine.0);
    assert!(code == Some(1) && out.contains("it is missing, although this computer is in a lab"), "{out}");
    std::fs::rename(&away, &key).expect("a move");
    assert_eq!(status(&machine.0).0, Some(0));
    let (code, out) = status(&key);
    assert!(code == Some(1) && out.contains("it is no folder"), "{out}");
    #[cfg(unix)]
    {
        let link = machine.0.join("link");
        std::os::unix::fs::symlink(machine.0.join("nowhere"), &link).expect("a link");
        let (code, out) = status(&link);
        assert!(code == Some(1) && out.contains("a link to nowhere"), "{out}");
    }
}

#[test]
fn what_a_lab_is_made_of_is_not_replaced_when_a_part_of_it_is_gone() {
    let machine = Machine::new("parts", "machine");
    machine.says(&["init", "--unprotected"]);
    let other = Machine::new("parts", "other");
    other.says(&["init", "--unprotected"]);
    let bundle = path(&other, "lab.bundle");
    other.says(&["export", &bundle]);
    let (lab, away) = (machine.0.join("lab.public"), machine.0.join("away"));
    std::fs::rename(&lab, &away).expect("a move");
    for arguments in [&["init", "--unprotected"][..], &["import", &bundle]] {
        let complaint = machine.complains(arguments, "");
        assert!(complaint.contains("lab.public is missing"), "{arguments:?}: {complaint}");
    }
    std::fs::rename(&away, &lab).expect("a move");
    assert_eq!(machine.keys(&["status"]).status.code(), Some(0), "nothing was replaced");
    // A key that waits for its certificate stays, too.
    let third = Machine::new("parts", "third");
    let request = next_argument(&third.says(&["new-device", "third", "--unprotected"]), "schwann keys issue");
    assert!(
        third.complains(&["init", "--unprotected"], "").contains("has a key for another lab's certificate")
    );
    assert!(third.complains(&["import", &bundle], "").contains("has a key of its own"));
    third.says_to(&["trust"], &machine.says(&["issue", &request]));
}

#[test]
fn no_number_of_a_certificate_is_given_twice() {
    let machine = Machine::new("serials", "machine");
    machine.says(&["init", "--unprotected"]);
    for name in ["one", "two"] {
        let device = Machine::new("serials", name);
        let request =
            next_argument(&device.says(&["new-device", name, "--unprotected"]), "schwann keys issue");
        machine.says(&["issue", &request]);
        // As if it was moved away, or its disk was damaged.
        std::fs::remove_file(machine.0.join("authority.serial")).expect("a file");
    }
    let issued = machine.says(&["issued"]);
    assert!(issued.contains("one") && issued.contains("two"), "{issued}");
    machine.says(&["revoke", "two"]);
    let issued = machine.says(&["issued"]);
    let state =
        |name: &str| issued.lines().find(|line| line.contains(name)).expect("a line").contains("revoked");
    assert!(state(" two ") && !state(" one "), "{issued}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_key_that_was_opened_is_not_taken_for_the_one_in_its_place() {
    let [machine, other] = ["machine", "other"].map(|name| Machine::new("stale", name));
    for one in [&machine, &other] {
        one.says(&["init"]);
    }
    machine.says(&["unlock"]);
    let status = || String::from_utf8(machine.keys_locked(&["status"], "").stdout).expect("text");
    assert!(status().contains("in force   require"), "{}", status());
    copy(&other, &machine, "device.key");
    assert!(status().contains("locked"), "{}", status());
}
