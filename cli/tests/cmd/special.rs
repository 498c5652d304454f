//! What is there already stays, whatever it is: a file where a socket was named, a link, a device.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::Lab;

/// A device like `/dev/null` in the lab's folder; none where this user may not make one.
fn null(lab: &Lab) -> Option<PathBuf> {
    let path = lab.path("null");
    let made = Command::new("mknod").arg(&path).args(["c", "1", "3"]).output();
    made.is_ok_and(|output| output.status.success()).then_some(path)
}

fn is_device(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_char_device())
}

#[test]
fn a_server_takes_no_file_for_a_socket_that_was_left_behind() {
    let lab = Lab::new("no-socket");
    fs::write(lab.path("x.xdf"), "samples").expect("written");
    let (code, _, err) = lab.run(&["ft", "serve", "./x.xdf"]);
    assert!(code == 3 && err.contains("no socket"), "{code}: {err}");
    assert_eq!(fs::read_to_string(lab.path("x.xdf")).expect("still there"), "samples");
}

#[test]
fn a_configuration_behind_a_link_is_changed_and_the_link_stays() {
    let lab = Lab::new("linked-config");
    let (real, link) = (lab.path("real.cfg"), lab.path("link.cfg"));
    fs::write(&real, "[lab]\nSessionID=one\n").expect("written");
    symlink(&real, &link).expect("a link");
    let mut set = lab.schwann(&["config", "set", "lab.SessionID", "two"]);
    assert!(set.env("LSLAPICFG", &link).output().expect("it runs").status.success());
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(fs::read_to_string(&real).expect("there").contains("two"));
}

#[test]
fn a_device_is_neither_replaced_nor_removed() {
    let lab = Lab::new("device");
    let Some(null) = null(&lab) else {
        println!("left out: this user may make no device");
        return;
    };
    let mut set = lab.schwann(&["config", "set", "lab.SessionID", "two"]);
    let output = set.env("LSLAPICFG", &null).output().expect("it runs");
    assert!(output.status.code() == Some(3) && is_device(&null), "{output:?}");
    let (code, _, err) =
        lab.run(&["record", "-o", "x.xdf", "--seconds", "1", "--control", "--control-file", "null"]);
    assert!(code == 3 && err.contains("something is there") && is_device(&null), "{code}: {err}");
}
