//! `schwann swap`: our library in the place of one that a program brings along.

pub(in crate::cmd) mod binary;
mod record;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Outcome, Problem};
use binary::Binary;
use record::Record;

/// Replace a program's own LSL library by Schwann's, and undo that.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann swap /opt/LabRecorder
  schwann swap ~/matlab-lsl/bin
  schwann swap --list
  schwann swap --undo

Looks for LSL libraries in the folder and below. Keeps each as FILE.before-schwann beside Schwann's, and remembers
the place. Use it for programs that `schwann run` does not reach. Leaves a library alone if it is for another kind
of computer, or newer: it has functions that Schwann's lacks.

Exit code 0 if every library there is Schwann's now, 1 if one is not or none was found.")]
pub(crate) struct Arguments {
    /// The program's folder, or the library itself; limits --undo to that place.
    #[arg(value_name = "PATH", required_unless_present_any = ["undo", "list"])]
    path: Option<PathBuf>,
    /// Put the kept libraries back.
    #[arg(long)]
    undo: bool,
    /// List the libraries that were swapped.
    #[arg(long, conflicts_with_all = ["undo", "path"])]
    list: bool,
    /// Schwann's library, if it is not beside this program.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["undo", "list"])]
    library: Option<PathBuf>,
}

/// Swaps, takes back, or lists.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut record = Record::open()?;
    let path = arguments.path.as_deref().map(absolute).transpose()?;
    match path {
        _ if arguments.list => list(&record),
        path if arguments.undo => undo_all(&mut record, path.as_deref()),
        Some(path) => swap_all(&mut record, &path, &super::run::our_library(arguments.library.as_deref())?),
        None => Ok(Exit::Usage),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Problem> {
    dunce::canonicalize(path).map_err(|error| Problem::with(path.display(), error))
}

fn swap_all(record: &mut Record, path: &Path, library: &Path) -> Outcome {
    let ours = read(library)?.filter(Binary::is_ours);
    let ours = ours.ok_or_else(|| Problem::with(library.display(), "is not Schwann's library"))?;
    let found = candidates(path)?;
    let mut out = io::stdout().lock();
    let (mut seen, mut exit) = (0, Exit::Good);
    for file in found {
        let Some(theirs) = read(&file)?.filter(Binary::is_lsl) else { continue };
        seen += 1;
        let refusal = ours.refusal(&theirs);
        if let Some(refusal) = refusal {
            exit = Exit::Found;
            writeln!(out, "left alone  {}: {refusal}", file.display())?;
            continue;
        }
        // The place is remembered first: what ends this program meanwhile can be taken back.
        record.add(&file)?;
        exchange(&file, library, theirs.is_ours())
            .map_err(|error| Problem::with(file.display(), advice(&error)))?;
        let done = if theirs.is_ours() { "renewed" } else { "swapped" };
        writeln!(out, "{done}     {}", file.display())?;
    }
    if seen == 0 {
        exit = Exit::Found;
        writeln!(out, "no LSL library in {}: does the program have it built in?", path.display())?;
    }
    Ok(exit)
}

fn undo_all(record: &mut Record, path: Option<&Path>) -> Outcome {
    let mut out = io::stdout().lock();
    let mut exit = Exit::Good;
    let files = record.files().to_vec();
    let files: Vec<_> = files.iter().filter(|file| path.is_none_or(|path| file.starts_with(path))).collect();
    if files.is_empty() {
        writeln!(out, "nothing to take back; see: schwann swap --list")?;
        return Ok(Exit::Found);
    }
    for file in files {
        if !file.parent().is_some_and(Path::exists) {
            record.remove(file)?;
            writeln!(out, "gone        {}: its folder was removed", file.display())?;
            continue;
        }
        match undo(file)? {
            None => {
                record.remove(file)?;
                writeln!(out, "taken back  {}", file.display())?;
            }
            Some(refusal) => {
                exit = Exit::Found;
                writeln!(out, "left alone  {}: {refusal}", file.display())?;
            }
        }
    }
    Ok(exit)
}

fn list(record: &Record) -> Outcome {
    let mut out = io::stdout().lock();
    for file in record.files() {
        let state = match read(file) {
            Ok(Some(binary)) if binary.is_ours() => "ours",
            Ok(Some(_)) => "replaced since by another library",
            Ok(None) | Err(_) => "not there any more",
        };
        writeln!(out, "{}: {state}", file.display())?;
    }
    if record.files().is_empty() {
        writeln!(out, "no library was swapped")?;
    }
    Ok(Exit::Good)
}

/// Puts ours in the place of a library, which is kept. On an error all is as it was.
fn exchange(file: &Path, ours: &Path, is_ours: bool) -> io::Result<()> {
    let new = beside(file, NEW);
    // A link of that name would have another file overwritten; what was broken off may have left one.
    let _ = fs::remove_file(&new);
    let copied =
        fs::copy(ours, &new).and_then(|_| fs::set_permissions(&new, fs::metadata(file)?.permissions()));
    let place = || fs::rename(&new, file);
    // One of ours is not worth keeping.
    copied.and_then(|()| if is_ours { place() } else { keep(file, place) }).inspect_err(|_| {
        // The first error is the one to report; the new file may be gone already.
        let _ = fs::remove_file(&new);
    })
}

/// Keeps a library while `place` puts another there. One that was kept before gives way, and comes back on an error.
///
/// The library itself stays until the other takes its place: the program always has one.
fn keep(file: &Path, place: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let (kept, older) = (beside(file, KEPT), beside(file, OLDER));
    match fs::rename(&kept, &older) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // A second name, or a copy where the disk has no such names.
    let linked = fs::hard_link(file, &kept).or_else(|_| fs::copy(file, &kept).map(drop));
    let outcome = linked.and_then(|()| place());
    // The error to report is that of the outcome; often there is no older one.
    if outcome.is_ok() {
        let _ = fs::remove_file(&older);
    } else {
        let _ = fs::remove_file(&kept);
        let _ = fs::rename(&older, &kept);
    }
    outcome
}

/// Puts the kept library back; or says why not.
fn undo(file: &Path) -> Result<Option<&'static str>, Problem> {
    let kept = beside(file, KEPT);
    if !kept.exists() {
        return Ok(Some("the library that was kept beside it is not there"));
    }
    if read(&kept).ok().flatten().is_some_and(|kept| kept.is_ours()) {
        return Ok(Some("what was kept beside it is Schwann's, too; install the program again"));
    }
    if read(file).ok().flatten().is_some_and(|now| !now.is_ours()) {
        return Ok(Some("it was replaced since by another library; remove one of the two by hand"));
    }
    fs::rename(&kept, file).map_err(|error| Problem::with(file.display(), advice(&error)))?;
    Ok(None)
}

fn read(file: &Path) -> Result<Option<Binary>, Problem> {
    Binary::read(file).map_err(|error| Problem::with(file.display(), error))
}

/// Files that may be LSL libraries, by their names; links are not followed, because their ends are found, too.
fn candidates(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), vec![(path.to_owned(), 0)]);
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| Problem::with(folder.display(), error))?;
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEPTH_MAX {
                folders.push((entry.path(), depth + 1));
            } else if kind.is_file() && may_be_lsl(&entry.file_name().to_string_lossy().to_lowercase()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The names that liblsl, its packages and its wrappers use; `lsl` alone is that in a framework of macOS.
fn may_be_lsl(name: &str) -> bool {
    let library = [".so", ".dll", ".dylib"].iter().any(|ending| name.contains(ending));
    let ours = [KEPT, NEW, OLDER].iter().any(|ending| name.ends_with(ending));
    name == "lsl" || (library && !ours && (name.starts_with("liblsl") || name.starts_with("lsl")))
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// What a person can do about an error of the system.
fn advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!(
                "{error}: close programs that use it, or do this as the user that installed it (sudo, administrator)"
            )
        }
        _ => error.to_string(),
    }
}

const KEPT: &str = ".before-schwann";
const NEW: &str = ".schwann-new";
/// A library that was kept before, while its successor is being kept.
const OLDER: &str = ".older-before-schwann";
/// Folders below a program's folder that are looked into.
const DEPTH_MAX: usize = 12;

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::{exchange, may_be_lsl};

    #[test]
    fn an_exchange_that_fails_leaves_all_as_it_was() {
        let folder = env::temp_dir().join(format!("schwann-swap-{}", process::id()));
        fs::create_dir_all(folder.join("lsl.dll")).unwrap();
        let [file, kept, ours] =
            ["liblsl.so", "liblsl.so.before-schwann", "ours"].map(|name| folder.join(name));
        fs::write(&file, "theirs").unwrap();
        fs::write(&kept, "older").unwrap();
        exchange(&file, &ours, false).expect_err("there is nothing to copy");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "older");

        // A folder cannot be kept.
        let (odd, odd_kept) = (folder.join("lsl.dll"), folder.join("lsl.dll.before-schwann"));
        fs::write(&ours, "ours").unwrap();
        fs::write(&odd_kept, "older").unwrap();
        exchange(&odd, &ours, false).expect_err("a folder");
        assert_eq!(fs::read_to_string(&odd_kept).unwrap(), "older");

        exchange(&file, &ours, false).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "ours");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "theirs");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 5, "nothing else is left behind");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn libraries_are_known_by_their_names() {
        let libraries =
            ["liblsl.so.1.16.2", "liblsl64.so", "lsl.dll", "liblsl64.dll", "liblsl.2.dylib", "lsl"];
        for name in libraries {
            assert!(may_be_lsl(name), "{name}");
        }
        for name in [
            "liblsl.so.before-schwann",
            "liblsl.so.older-before-schwann",
            "liblsl.h",
            "lsl_c.h",
            "libasound.so",
            "lslcmake.cmake",
        ] {
            assert!(!may_be_lsl(name), "{name}");
        }
    }
}
