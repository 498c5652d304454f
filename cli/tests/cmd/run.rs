//! `schwann run`

use std::fs;
use std::path::Path;

use crate::harness::Lab;

#[test]
fn a_program_is_given_our_library_under_every_name_that_it_may_load() {
    let lab = Lab::new("run");
    fs::write(lab.path("ours.so"), "a library").expect("a file");
    let script =
        "echo $PYLSL_LIB; echo $MNE_LSL_LIB; echo $LSL_LIB; echo $LD_LIBRARY_PATH$DYLD_LIBRARY_PATH; exit 7";
    let (code, out, err) = lab.run(&["run", "--library", "ours.so", "--", "sh", "-c", script]);
    assert_eq!((code, err.as_str()), (7, ""));
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].ends_with("/ours.so") && lines[0] == lines[1] && lines[0] == lines[2], "{out}");
    let folder = Path::new(lines[3].split(':').next().expect("a folder"));
    for entry in fs::read_dir(folder).expect("a folder") {
        assert_eq!(fs::read(entry.expect("a file").path()).expect("a file"), b"a library");
    }
    if cfg!(target_os = "linux") {
        let java = if cfg!(target_pointer_width = "64") { "liblsl64.so" } else { "liblsl32.so" };
        for name in ["liblsl.so", "liblsl.so.2", java] {
            assert!(folder.join(name).exists(), "{name}");
        }
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
