//! What is revoked, and does not come back.

use super::*;

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
    assert!(
        lab.complains(&["issue", &request], "").contains("this key was revoked."),
        "the list has its key"
    );
    lab.says(&["issue", "--again", &request]);
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
    for request in [&one, &one] {
        lab.says(&["issue", request]);
    }
    let taken = lab.complains(&["issue", &two], "");
    assert!(taken.contains("another device is called \"EEG room\", with certificate 2"), "{taken}");

    // Another machine with the authority does not know that; here are two of one name once both are joined.
    let other = Machine::new("by-name", "other");
    let [first, second] = ["first.backup", "second.backup"].map(|name| path(&lab, name));
    other.says_to(&["recover", &first], &words_of(&lab.says(&["backup", &first])));
    lab.says(&["revoke", "EEG room"]);
    lab.says(&["issue", &two]);
    other.says(&["revoke", "EEG room"]);
    let third = request("three", "EEG room");
    other.says(&["issue", &third]);
    lab.says_to(&["recover", &second], &words_of(&other.says(&["backup", &second])));
    let complaint = lab.complains(&["revoke", "EEG room"], "");
    assert!(complaint.contains("several devices") && complaint.contains("[4, "), "{complaint}");
    assert!(lab.complains(&["revoke", "eeg room"], "").contains("`schwann keys issued`"));
    assert!(lab.says(&["revoke", "4"]).contains("Certificate 4 is revoked"));
    // One of the two is out; the name means the other.
    assert!(lab.says(&["revoke", "EEG room"]).contains("is revoked by list 4"));
    assert!(lab.says(&["issued"]).lines().any(|row| row.contains("control room") && row.contains("valid")));
}

#[test]
fn a_number_that_is_a_name_and_a_serial_puts_out_neither_by_guess() {
    let lab = Machine::new("numbers", "lab");
    lab.says(&["init", "--unprotected", "--name", "control room"]);
    for (serial, name) in [(2, "1"), (3, "2"), (4, "3"), (5, "12")] {
        put_on_record(&lab, serial, name);
    }
    let complaint = lab.complains(&["revoke", "3"], "");
    for way in ["called \"3\": schwann keys revoke --serial 4", "For \"2\": schwann keys revoke --serial 3"] {
        assert!(complaint.contains(way), "{complaint}");
    }
    assert!(lab.complains(&["revoke", "1"], "").contains("For \"control room\""));
    assert!(lab.says(&["status"]).contains("revoked    list 1"), "nothing was revoked");
    let said = lab.says(&["revoke", "--serial", "4"]);
    assert!(
        said.contains("Certificate 4 is revoked by list 2") && said.contains("refuse 3 within"),
        "{said}"
    );
    // No certificate has this number, so the name alone is meant.
    assert!(lab.says(&["revoke", "12"]).contains("Certificate 5 is revoked by list 3"));
    assert!(lab.complains(&["revoke", "--serial", "12"], "").contains("there is no certificate 12"));
    assert!(lab.complains(&["revoke", "--serial", "two"], "").contains("no number of a certificate"));
    // A replacement names a device, and never a certificate.
    assert!(lab.complains(&["invite", "--replace", "5"], "").contains("is a number"));
    // What is called so from before may be certified again.
    lab.says(&["issue", "12", "--image", &path(&lab, "node.image")]);
    assert!(lab.says(&["issued"]).lines().any(|row| row.contains("  12  ") && row.contains("valid")));
}

#[test]
fn no_new_device_is_called_by_a_number() {
    let (lab, device) = (Machine::new("no-number", "lab"), Machine::new("no-number", "device"));
    let refuses = |machine: &Machine, arguments: &[&str]| {
        let complaint = machine.complains(arguments, "");
        assert!(complaint.contains("is a number") && complaint.contains("\"room 7\""), "{complaint}");
    };
    refuses(&lab, &["init", "--name", "7"]);
    lab.says(&["init"]);
    refuses(&lab, &["invite", "7"]);
    refuses(&lab, &["issue", "7", "--image", &path(&lab, "node.image")]);
    refuses(&device, &["new-device", "7"]);
    refuses(&device, &["join", "--name", "7"]);
    assert!(!device.0.join("device.key").exists());
}

/// Puts a device on record as programs did that took a number as its name.
fn put_on_record(lab: &Machine, serial: u64, name: &str) {
    use schwann_session::{AuthorityKey, Certificate, DeviceKey, DeviceName, Statement, SystemEntropy};
    let read = |name: &str| std::fs::read(lab.0.join(name)).expect("a file");
    let seed = read("authority.key").last_chunk().copied().expect("a seed");
    let first =
        Certificate::parse(&read("device.certificate").try_into().expect("its length")).expect("valid");
    let statement = Statement {
        device: DeviceKey::generate(&mut SystemEntropy).expect("random bytes").public(),
        name: DeviceName::new(name).expect("a name"),
        serial,
        ..first.statement
    };
    let certificate = AuthorityKey::from_seed(&seed).certify(statement);
    let issued = [read("authority.issued"), certificate.encode().to_vec()].concat();
    std::fs::write(lab.0.join("authority.issued"), issued).expect("written");
    std::fs::write(lab.0.join("authority.serial"), serial.to_string()).expect("written");
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
fn what_one_machine_put_out_no_other_one_lets_in() {
    let (one, two) = (Machine::new("both", "one"), Machine::new("both", "two"));
    let (lost, stolen) = (Machine::new("both", "lost"), Machine::new("both", "stolen"));
    one.says(&["init"]);
    let [request, another] = [(&lost, "lost"), (&stolen, "stolen")]
        .map(|(device, name)| next_argument(&device.says(&["new-device", name]), "keys issue"));
    let file = path(&one, "one.backup");
    two.says_to(&["recover", &file], &words_of(&one.says(&["backup", &file])));

    // The other machine certifies the same key, and puts another one out, before it hears of anything.
    one.says(&["issue", &request]);
    let issued = two.says(&["issue", &request]);
    two.says(&["issue", &another]);
    two.says(&["revoke", "stolen"]);
    two.says(&["issue", "--again", &another]);
    assert!(two.says(&["revoke", "stolen"]).contains("list 3"));
    one.says(&["revoke", "lost"]);
    hand_list(&one, &lost);
    let trusted = lost.keys_with(&["trust"], &issued);
    assert!(String::from_utf8_lossy(&trusted.stdout).contains("revoked"), "{trusted:?}");

    // Its list is newer, and knows nothing of what was put out here: that is said, and mended.
    hand_list(&two, &one);
    let status = one.keys_with(&["status"], "");
    let said = String::from_utf8_lossy(&status.stdout);
    assert_eq!(status.status.code(), Some(1), "{said}");
    assert!(
        said.contains("lets in again what was put out here") && said.contains("schwann keys revoke 2"),
        "{said}"
    );
    assert!(one.complains(&["issue", &request], "").contains("this key was revoked (certificate 2, lost)"));
    // The file of a move would hold that list alone.
    let moved = path(&one, "moved.backup");
    let refused = one.complains(&["backup", "--move", &moved], "");
    assert!(
        refused.contains("nothing was moved yet") && refused.contains("schwann keys revoke 2"),
        "{refused}"
    );
    assert!(!Path::new(&moved).exists() && one.says(&["issued"]).contains("lost"));
    assert!(one.says(&["revoke", "2"]).contains("list 4"));
    assert!(one.says(&["status"]).contains("revoked    list 4"));
    hand_list(&one, &two);
    assert!(two.complains(&["issue", &request], "").contains("this key was revoked"));
    let rows = two.says(&["issued"]);
    assert_eq!(rows.lines().filter(|row| row.contains("revoked")).count(), 3, "{rows}");
    one.says(&["backup", "--move", &moved]);
}

/// Gives the newest revocation list of one machine to another.
fn hand_list(from: &Machine, to: &Machine) {
    copy(from, to, "lab.revoked");
    copy(from, to, "lab.discovery");
}
