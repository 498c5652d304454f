//! `schwann run`

use std::env;
use std::fs;
use std::path::Path;

use crate::harness::Lab;

#[test]
fn a_program_is_given_our_library_under_every_name_that_it_may_load() {
    let lab = Lab::new("run");
    fs::write(lab.path("ours.so"), "a library").expect("a file");
    let [shell, option, script] = if cfg!(windows) {
        ["cmd", "/c", "echo %PYLSL_LIB%&echo %MNE_LSL_LIB%&echo %LSL_LIB%&echo %PATH%&exit 7"]
    } else {
        let script = "echo $PYLSL_LIB; echo $MNE_LSL_LIB; echo $LSL_LIB; echo $LD_LIBRARY_PATH$DYLD_LIBRARY_PATH; exit 7";
        ["sh", "-c", script]
    };
    let (code, out, err) = lab.run(&["run", "--library", "ours.so", "--", shell, option, script]);
    assert_eq!((code, err.as_str()), (7, ""));
    let lines: Vec<_> = out.lines().collect();
    assert!(
        Path::new(lines[0]).ends_with("ours.so") && lines[0] == lines[1] && lines[0] == lines[2],
        "{out}"
    );
    let folder = env::split_paths(lines[3]).next().expect("a folder");
    for entry in fs::read_dir(&folder).expect("a folder") {
        assert_eq!(fs::read(entry.expect("a file").path()).expect("a file"), b"a library");
    }
    let bits = if cfg!(target_pointer_width = "64") { 64 } else { 32 };
    let names = if cfg!(target_os = "linux") {
        vec!["liblsl.so".to_owned(), "liblsl.so.2".to_owned(), format!("liblsl{bits}.so")]
    } else if cfg!(windows) {
        vec!["lsl.dll".to_owned(), format!("liblsl{bits}.dll")]
    } else {
        Vec::new()
    };
    for name in names {
        assert!(folder.join(&name).exists(), "{name}");
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let lab = Lab::new("run-absent");
    fs::write(lab.path("ours.so"), "a library").expect("a file");
    let (code, _, err) = lab.run(&["run", "--library", "ours.so", "--", "no-such-program"]);
    assert_eq!(code, 3);
    assert!(err.contains("no-such-program"), "{err}");
}
