//! A lab is made: keys, requests, certificates.

use super::*;

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
    let output = schwann()
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
    let issued = [(&one, "a device"), (&other, "another device")].map(|(device, name)| {
        let request = next_argument(&device.says(&["new-device", name]), "keys issue");
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
    other.says(&["init", "--unprotected", "--name", "other computer"]);
    let bundle = path(&other, "lab.bundle");
    other.says(&["export", &bundle]);
    assert!(one.complains(&["import", &bundle], "").contains("authority of another lab"));
    let request = next_argument(&one.says(&["new-device", "first computer"]), "keys issue");
    assert!(
        one.complains(&["trust"], &other.says(&["issue", &request])).contains("authority of another lab")
    );
    // Its own certificate it may renew.
    assert!(one.says_to(&["trust"], &one.says(&["issue", &request])).contains("(certificate 2)"));
}

#[test]
fn a_machine_of_no_lab_is_told_that_its_archive_key_is_its_own() {
    let (alone, lab) = (Machine::new("archive", "alone"), Machine::new("archive", "lab"));
    lab.says(&["init", "--unprotected"]);
    assert!(!lab.says(&["archive"]).contains("in no lab"));
    assert!(alone.says(&["archive"]).contains("in no lab"));
    assert!(alone.says(&["archive"]).contains("in no lab"));
}

#[test]
fn a_lost_public_half_of_the_archive_key_is_made_from_the_secret_one() {
    let lab = Machine::new("archive-again", "lab");
    lab.says(&["init"]);
    let made = lab.says(&["archive"]);
    let secret = std::fs::read(lab.0.join("archive.key")).expect("a key");
    for lose in [|path: &str| std::fs::remove_file(path), |path: &str| std::fs::write(path, "")] {
        lose(&path(&lab, "archive.public")).expect("it is lost");
        assert_eq!(lab.says(&["archive"]), made);
        assert_eq!(std::fs::read(lab.0.join("archive.key")).expect("a key"), secret);
    }
}
