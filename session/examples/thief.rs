//! Tries to open what was recorded on a wire with stolen files: `thief RECORDINGS KEY_FOLDER...`.
//!
//! Takes every run of 32 bytes in every file of the key folders for every secret that it could be. A recording is a
//! pair of files `N.up` and `N.down`, what inlet and outlet said on a connection, or a file `N.datagram`. Ends with 0 if no
//! session and no clock probe opens, and says how much was tried. Searches open: their key is stored, and the threat model
//! says so. `interop/test_secrecy.py` gives it what it heard on the wire.

#[path = "../tests/common/thief.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod thief;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thief::{Datagram, Recording, Secret};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(recordings) = arguments.next() else {
        eprintln!("thief RECORDINGS KEY_FOLDER...");
        return ExitCode::from(2);
    };
    let stolen: Vec<Vec<u8>> = arguments.flat_map(|folder| files(&folder)).map(|path| read(&path)).collect();
    let secrets = thief::candidates(&stolen);
    println!("secrets in {} stolen files: {}", stolen.len(), secrets.len());
    let recorded = files(&recordings);
    let of_kind = |kind: &'static str| {
        recorded.iter().filter(move |path| path.extension().is_some_and(|own| own == kind))
    };
    let connections: Vec<Recording> = of_kind("up")
        .map(|path| Recording::parse(&read(path), &read(&path.with_extension("down"))).expect("a session"))
        .collect();
    let datagrams: Vec<Vec<u8>> = of_kind("datagram").map(|path| read(path)).collect();
    let opened = try_connections(&connections, &secrets) + try_datagrams(&datagrams, &secrets);
    ExitCode::from(u8::from(opened > 0))
}

/// Tries all connections, as many at a time as there are processors; returns how much opened.
fn try_connections(connections: &[Recording], secrets: &HashSet<Secret>) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = connections.len().div_ceil(threads).max(1);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let try_part = |part: &[Recording]| -> Vec<_> {
            part.iter().map(|one| thief::try_everything(one, secrets)).collect()
        };
        let running: Vec<_> =
            connections.chunks(share).map(|part| scope.spawn(move || try_part(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    println!("sessions tried: {}", connections.len());
    println!("attempts on their records: {}", outcomes.iter().map(|(tried, _)| tried).sum::<usize>());
    let opened: Vec<&String> = outcomes.iter().flat_map(|(_, opened)| opened).collect();
    opened.iter().for_each(|what| println!("OPENED {what}"));
    opened.len()
}

/// Tries all datagrams; returns how many clock probes opened.
fn try_datagrams(datagrams: &[Vec<u8>], secrets: &HashSet<Secret>) -> usize {
    let mut counts = [[0, 0]; 2];
    for datagram in datagrams.iter().filter_map(|bytes| Datagram::parse(bytes)) {
        let [tried, opened] = &mut counts[usize::from(datagram.is_probe())];
        *tried += 1;
        *opened += usize::from(secrets.iter().any(|secret| datagram.opens_with(secret)));
    }
    for (what, [tried, opened]) in ["searches and their answers", "clock probes"].iter().zip(counts) {
        println!("{what} tried: {tried}");
        println!("{what} opened: {opened}");
    }
    counts[1][1]
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
