//! A lab's later life: recovery, moves, new keys, renewal.

use core::time::Duration;
use std::io::{BufRead as _, BufReader};
use std::time::Instant;

use super::*;

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
    assert!(old.complains(&["issued"], "").contains("not on this computer"));
    let said = new.says_to(&["recover", &file], &words);
    assert!(said.contains("(certificate 2)"), "serials go on: {said}");
    assert!(new.says(&["status"]).contains("this computer can issue and revoke"));
}

#[test]
fn a_list_that_was_damaged_is_missed_when_the_backup_takes_its_place() {
    let (lab, device) = (Machine::new("lost-list", "lab"), Machine::new("lost-list", "device"));
    lab.says(&["init"]);
    lab.says(&["issue", &next_argument(&device.says(&["new-device", "a device"]), "keys issue")]);
    let file = path(&lab, "lab.backup");
    let words = words_of(&lab.says(&["backup", &file]));
    lab.says(&["revoke", "a device"]);
    std::fs::write(path(&lab, "lab.revoked"), "damaged").expect("a file");
    let recovered = lab.keys_with(&["recover", &file], &words);
    let said = String::from_utf8_lossy(&recovered.stderr);
    assert!(recovered.status.success() && said.contains("the backup's list 1 takes its place"), "{said}");
    assert!(lab.says(&["revoke", "a device"]).contains("revoked by list 2"));
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
fn an_older_folder_that_takes_its_backup_gives_no_serial_twice() {
    let lab = Machine::new("image", "lab");
    lab.says(&["init", "--unprotected"]);
    let issue = |name: &str| lab.says(&["issue", name, "--image", &path(&lab, &format!("{name}.image"))]);
    issue("first");
    let image = ["authority.issued", "authority.serial"]
        .map(|name| (lab.0.join(name), std::fs::read(lab.0.join(name)).expect("a file")));
    assert!(issue("second").contains("Certificate 3") && issue("third").contains("Certificate 4"));
    let file = path(&lab, "lab.backup");
    let words = words_of(&lab.says(&["backup", &file]));
    for (path, bytes) in image {
        std::fs::write(path, bytes).expect("written");
    }
    assert!(lab.says_to(&["recover", &file], &words).contains("On record: 4 certificates"));
    assert!(issue("fourth").contains("Certificate 5"), "3 and 4 are taken");
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

#[cfg(unix)]
#[test]
fn a_screen_that_stands_still_keeps_no_device_from_its_certificate() {
    use rustix::process::{Pid, Signal, kill_process};
    let [lab, device] = ["lab", "device"].map(|name| Machine::new("still", name));
    let config = network("still", 27_740);
    lab.says(&["init", "--unprotected"]);
    let request = next_argument(&device.says(&["new-device", "EEG room", "--unprotected"]), "keys issue");
    device.says_to(&["trust"], &lab.says(&["issue", &request, "--days", "20"]));
    let certificate = device.0.join("device.certificate");
    let old = std::fs::read(&certificate).expect("a certificate");

    // The screen takes one line. Then the pipe is full.
    let (screen, mut filling) = std::io::pipe().expect("a pipe");
    let mut serve = lab.command(&["renew", "--serve"]);
    serve.env("LSLAPICFG", &config).stdout(filling.try_clone().expect("a pipe"));
    let mut server = serve.spawn().expect("the program runs");
    let (mut screen, mut first) = (BufReader::new(screen), String::new());
    screen.read_line(&mut first).expect("a line");
    std::thread::spawn(move || filling.write_all(&[b'.'; 1 << 20]));
    // More than the places that one network has.
    let renewals = (0..6).map(|_| {
        std::fs::write(&certificate, &old).expect("written");
        finish(device.command(&["renew"]).env("LSLAPICFG", &config), "")
    });
    let failed: Vec<_> = renewals.filter(|output| !output.status.success()).collect();
    kill_process(Pid::from_child(&server), Signal::INT).expect("it runs");
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.try_wait().expect("a child").is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = server.try_wait().expect("a child");
    let _ = server.kill();
    let _ = server.wait();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(ended.is_some_and(|status| status.success()), "Ctrl-C ends it: {ended:?}");
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
    let out = invited.stdout.as_mut().expect("a pipe");
    let mut lines = BufReader::new(out).lines().map(|line| line.expect("text"));
    let words = lines.find(|line| line.split_whitespace().count() == 6 && line.starts_with("  "));
    words.expect("six words").trim().to_owned()
}

#[test]
fn a_member_gets_a_new_key_and_its_old_one_is_revoked() {
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
    assert!(complaint.contains("certificate 2, is revoked"), "{complaint}");
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
fn a_device_that_offers_the_key_to_be_replaced_stays_a_member() {
    let [lab, device] = ["lab", "device"].map(|name| Machine::new("replace-join", name));
    let config = network("replace-join", 27_780);
    lab.says(&["init"]);
    let request = next_argument(&device.says(&["new-device", "EEG room"]), "keys issue");
    device.says_to(&["trust"], &lab.says(&["issue", &request]));
    for again in [&[][..], &["--again"]] {
        let mut invite = lab.command(&[&["invite", "--replace", "EEG room"], again].concat());
        let invite = invite.env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE);
        let mut invited = invite.spawn().expect("the program runs");
        let words = words_shown(&mut invited);
        let mut join = device.command(&["join"]);
        let join = join.env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE);
        let joined = finish(join, &format!("{words}\n"));
        let complaint = String::from_utf8_lossy(&joined.stderr);
        assert!(!joined.status.success() && complaint.contains("`schwann keys rotate`"), "{complaint}");
        let output = invited.wait_with_output().expect("it ends");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && complaint.contains("nothing was revoked"), "{complaint}");
        assert!(complaint.contains("`schwann keys rotate`"), "{complaint}");
    }
    let issued = lab.says(&["issued"]);
    let states: Vec<_> = issued.lines().filter(|line| line.contains("EEG room")).collect();
    assert!(states.len() == 1 && states[0].contains("valid"), "{issued}");
    assert!(lab.says(&["status"]).contains("revoked    list 1"));
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
    let mut record = schwann();
    record.args(["record", "Nothing", "--wait", "300", "-o"]).arg(device.0.join("nothing.xdf"));
    record.env("SCHWANN_KEYS", &device.0).env("LSLAPICFG", &config).env("SCHWANN_PASSPHRASE", PASSPHRASE);
    let mut recording =
        record.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut lines = BufReader::new(recording.stderr.take().expect("a pipe")).lines();
    assert!(
        lines.any(|line| line.expect("text").contains("this device's certificate was renewed")),
        "the recording says so"
    );
    assert_ne!(std::fs::read(&certificate).expect("a certificate"), before);
    for process in [&mut recording, &mut server] {
        let _ = process.kill();
        let _ = process.wait();
    }
    assert!(device.says(&["status"]).contains("certificate 3"));
    let _ = std::fs::remove_file(config);
}

#[test]
fn a_revoked_key_of_the_authoritys_own_machine_gets_no_second_certificate() {
    let lab = Machine::new("own-revoked", "lab");
    lab.says(&["init", "--name", "control room"]);
    assert!(!lab.says(&["renew"]).contains("Renewed"), "a certificate that is valid for years stays");
    lab.says(&["revoke", "control room"]);
    // The lab would be lost with the folder, so nothing may advise to put that away.
    let complaint = lab.complains(&["renew"], "");
    assert!(complaint.contains("revoked; `schwann keys rotate`"), "{complaint}");
    assert!(lab.says(&["rotate"]).contains("control room (certificate 2)"));
}

#[test]
fn files_are_never_replaced_and_a_name_that_fits_no_certificate_costs_no_serial() {
    let lab = Machine::new("precious", "lab");
    lab.says(&["init"]);
    let precious = path(&lab, "precious");
    std::fs::write(&precious, "precious").expect("written");
    for command in
        [&["export", &precious][..], &["backup", &precious], &["issue", "node", "--image", &precious]]
    {
        assert!(lab.complains(command, "").contains("never replaced"), "{command:?}");
    }
    let image = path(&lab, "node.image");
    assert!(
        lab.complains(&["issue", &"n".repeat(200), "--image", &image], "")
            .contains("cannot be a device's name")
    );
    assert_eq!(std::fs::read_to_string(&precious).expect("read"), "precious");
    assert!(!lab.says(&["issued"]).contains("not on record"));
}
