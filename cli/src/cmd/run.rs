//! `schwann run`: any program that uses liblsl, on our library.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::{Outcome, Problem};

/// Run any program that uses LSL on Schwann's library instead of its own.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann run -- python experiment.py
  schwann run -- LabRecorder

Sets PYLSL_LIB (pylsl), MNE_LSL_LIB (mne-lsl), LSL_LIB (bsl) and the loader's path, and becomes the program: its
exit code is that of the program. The loader's path leads to the library under every name that programs ask for,
such as liblsl64.so of Java and Unity on Linux. A program that loads its library by a full path (LSL.jl) keeps its own:
see `schwann swap`. So does one that has liblsl built in.")]
pub(crate) struct Arguments {
    /// Our library, if it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Becomes the program.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let library = library(arguments.library.as_deref())?;
    let folder = links_to(&library)?;
    let Some((program, rest)) = arguments.program.split_first() else {
        return Err(Problem::Failed("no program was named".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(rest).envs(VARIABLES.map(|variable| (variable, &library)));
    command.env(LOADER_PATH, joined(&folder, env::var_os(LOADER_PATH).as_deref())?);
    become_it(command, program)
}

/// Our library: the one that is given, or the one that belongs to this program.
pub(super) fn library(given: Option<&Path>) -> Result<PathBuf, Problem> {
    let library = match given {
        Some(library) => library.to_owned(),
        None => find()?,
    };
    fs::canonicalize(&library).map_err(|error| Problem::with(library.display(), error))
}

/// Finds our library beside this program, where packages put it, or where it was built.
fn find() -> Result<PathBuf, Problem> {
    let program = env::current_exe().map_err(|error| Problem::with("this program", error))?;
    let here = program.parent().unwrap_or(Path::new("."));
    let found = places(here)
        .into_iter()
        .flat_map(|place| LIBRARIES.map(|name| place.join(name)))
        .find(|path| path.exists());
    found.ok_or_else(|| {
        Problem::Failed(format!(
            "{} is not beside {}; build it with `cargo build --release -p schwann-capi`, or say where it is with --library",
            LIBRARIES[0],
            program.display()
        ))
    })
}

/// Where our library may be if this program is in `here`: beside it, in a package of this system, in a Python environment, where
/// it was built.
fn places(here: &Path) -> Vec<PathBuf> {
    let above = here.parent().unwrap_or(here);
    let lib = above.join("lib");
    let mut places = vec![here.to_owned(), lib.clone(), above.join("lib64")];
    // Debian has a folder for each kind of machine; Python has one for each of its versions.
    let folders = fs::read_dir(&lib).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in folders.filter(|folder| folder.is_dir()) {
        places.push(folder.join("site-packages").join(PYTHON_FOLDER));
        places.push(folder);
    }
    // On Windows, Python has one.
    places.push(above.join("Lib").join("site-packages").join(PYTHON_FOLDER));
    places.extend([above.join("release"), PathBuf::from("target/release")]);
    places
}

/// Returns a folder with nothing in it but our library, under the names that programs load it by: a loader's path
/// with more in it would change more than the one library.
fn links_to(library: &Path) -> Result<PathBuf, Problem> {
    // One folder for each place of the library, so that two versions do not disturb each other.
    let place: String = library
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
        .collect();
    let folder = cache().join("schwann").join("lib").join(place);
    let made = fs::create_dir_all(&folder)
        .and_then(|()| NAMES.iter().try_for_each(|name| link(library, &folder.join(name))));
    made.map_err(|error| Problem::with(folder.display(), error))?;
    Ok(folder)
}

fn cache() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir)
}

#[cfg(unix)]
fn link(library: &Path, name: &Path) -> std::io::Result<()> {
    if fs::read_link(name).is_ok_and(|to| to == library) {
        return Ok(());
    }
    // In place of an older one; another process of ours may do the same at this moment.
    let new = name.with_extension(format!("new-{}", std::process::id()));
    std::os::unix::fs::symlink(library, &new)?;
    fs::rename(&new, name)
}

#[cfg(not(unix))]
fn link(library: &Path, name: &Path) -> std::io::Result<()> {
    fs::copy(library, name).map(drop)
}

/// Puts `folder` before what the loader's path says already.
fn joined(folder: &Path, before: Option<&OsStr>) -> Result<OsString, Problem> {
    let others = before.map(|path| env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    env::join_paths(core::iter::once(folder.to_owned()).chain(others))
        .map_err(|error| Problem::with(folder.display(), error))
}

#[cfg(unix)]
fn become_it(mut command: Command, program: &OsStr) -> Outcome {
    use std::os::unix::process::CommandExt as _;
    // Returns only if there is no such program.
    Err(Problem::with(program.display(), command.exec()))
}

#[cfg(not(unix))]
fn become_it(mut command: Command, program: &OsStr) -> Outcome {
    let status = command.status().map_err(|error| Problem::with(program.display(), error))?;
    std::process::exit(status.code().unwrap_or(1))
}

#[cfg(target_os = "macos")]
const LOADER_PATH: &str = "DYLD_LIBRARY_PATH";
#[cfg(windows)]
const LOADER_PATH: &str = "PATH";
#[cfg(not(any(target_os = "macos", windows)))]
const LOADER_PATH: &str = "LD_LIBRARY_PATH";

/// Our library's names: that in a package for programs, and that in one for developers.
#[cfg(target_os = "macos")]
const LIBRARIES: [&str; 2] = ["liblsl.dylib", "liblsl.2.dylib"];
#[cfg(windows)]
const LIBRARIES: [&str; 1] = ["lsl.dll"];
#[cfg(not(any(target_os = "macos", windows)))]
const LIBRARIES: [&str; 2] = ["liblsl.so", "liblsl.so.2"];

/// Where the Python package keeps our library, below `site-packages`.
const PYTHON_FOLDER: &str = "schwann/lib";

/// The variables by which pylsl, mne-lsl and bsl are told of a library.
const VARIABLES: [&str; 3] = ["PYLSL_LIB", "MNE_LSL_LIB", "LSL_LIB"];

/// The names that programs load the library by: the first by themselves, the second because they were linked with it; the third is
/// that of liblsl-Java, Unity and old wrappers.
#[cfg(target_os = "macos")]
const NAMES: [&str; 3] = ["liblsl.dylib", "liblsl.2.dylib", "liblsl64.dylib"];
#[cfg(windows)]
const NAMES: [&str; 2] = ["lsl.dll", "liblsl64.dll"];
#[cfg(not(any(target_os = "macos", windows)))]
const NAMES: [&str; 3] = [
    "liblsl.so",
    "liblsl.so.2",
    if cfg!(target_pointer_width = "64") { "liblsl64.so" } else { "liblsl32.so" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_looked_for_where_packages_put_it() {
        let root = env::temp_dir().join(format!("schwann-places-{}", std::process::id()));
        let folders = ["lib/x86_64-linux-gnu", "lib/python3.12/site-packages/schwann/lib", "bin"];
        for folder in folders {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        let places = places(&root.join("bin"));
        for folder in folders {
            assert!(places.contains(&root.join(folder)), "{folder}: {places:?}");
        }
        fs::remove_dir_all(&root).expect("it is there");
    }
}
