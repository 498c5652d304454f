//! Tries to open a recorded connection with stolen files: `thief FROM_INLET FROM_OUTLET KEY_FOLDER...`.
//!
//! Takes every run of 32 bytes in every file of the folders for every secret that it could be. Ends with 0 if nothing
//! opens, and says how much was tried. `interop/test_secrecy.py` gives it what it heard on the wire.

#[path = "../tests/common/thief.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod thief;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from_inlet, from_outlet, folders @ ..] = arguments.as_slice() else {
        eprintln!("thief FROM_INLET FROM_OUTLET KEY_FOLDER...");
        return ExitCode::from(2);
    };
    let read =
        |path: &Path| std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let recorded = [from_inlet, from_outlet].map(|path| read(Path::new(path)));
    let recording = thief::Recording::parse(&recorded[0], &recorded[1]).expect("a sealed connection");
    let mut stolen = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).expect("a folder of keys") {
            stolen.push(read(&entry.expect("an entry").path()));
        }
    }
    let secrets = thief::candidates(&stolen);
    let (tried, opened) = thief::try_everything(&recording, &secrets);
    println!(
        "{} files, {} secrets, {tried} attempts on {} records: {} opened",
        stolen.len(),
        secrets.len(),
        recording.from_inlet.len() + recording.from_outlet.len(),
        opened.len()
    );
    for what in &opened {
        println!("OPENED: {what}");
    }
    ExitCode::from(u8::from(!opened.is_empty()))
}
