//! `schwann run`: any program that uses liblsl, on our library.

use core::hash::{Hash as _, Hasher as _};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::DefaultHasher;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::swap::binary::Binary;
use crate::exit::{Outcome, Problem};
use crate::sys::{files, library, programs};

/// Run any program that uses LSL on Schwann's library instead of its own.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann run -- python experiment.py
  schwann run -- LabRecorder

Sets PYLSL_LIB (pylsl), MNE_LSL_LIB (mne-lsl), LSL_LIB (bsl) and the loader's path, and becomes the program; the
exit code is the program's. The loader's path leads to the library under every name that programs ask for, such as
liblsl64.so of Java and Unity on Linux. A program that loads its library by a full path (LSL.jl) keeps its own: see
`schwann swap`. So does one that has liblsl built in.")]
pub(crate) struct Arguments {
    /// Schwann's library, if it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Becomes the program.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let our = our_library(arguments.library.as_deref())?;
    let folder = links_to(&our)?;
    let Some((program, rest)) = arguments.program.split_first() else {
        return Err(Problem::Failed("no program was named".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(rest).envs(VARIABLES.map(|variable| (variable, &our)));
    command.env(library::LOADER_PATH, joined(&folder, env::var_os(library::LOADER_PATH).as_deref())?);
    // Returns only if it cannot be run.
    Err(Problem::with(program.display(), programs::become_it(&mut command)))
}

/// Our library: the given one, or the one that belongs to this program.
pub(super) fn our_library(given: Option<&Path>) -> Result<PathBuf, Problem> {
    let Some(given) = given else { return canonical(&find()?) };
    let our = canonical(given)?;
    let read = Binary::read(&our).map_err(|error| Problem::with(our.display(), error))?;
    match read {
        Some(binary) if binary.is_lsl() && !binary.is_ours() => {
            Err(Problem::with(our.display(), "is not Schwann's library, but another of LSL"))
        }
        _ => Ok(our),
    }
}

fn canonical(path: &Path) -> Result<PathBuf, Problem> {
    dunce::canonicalize(path).map_err(|error| Problem::with(path.display(), error))
}

/// Finds our library beside this program, where packages put it, or where it was built.
fn find() -> Result<PathBuf, Problem> {
    let program = env::current_exe().map_err(|error| Problem::with("this program", error))?;
    let here = program.parent().unwrap_or(Path::new("."));
    let found = places(here)
        .into_iter()
        .flat_map(|place| library::OURS.map(|name| place.join(name)))
        .find(|path| path.exists());
    found.ok_or_else(|| {
        Problem::Failed(format!(
            "{} is not beside {}; build it with `cargo build --release -p schwann-capi`, or say where it is with --library",
            library::OURS[0],
            program.display()
        ))
    })
}

/// The places of our library if this program is in `here`. They are beside it, in a package of this system, in a
/// Python environment, and where it was built.
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

/// Returns a folder that has only our library, under the names that programs load. A loader's path with more in
/// it would change more than the one library.
fn links_to(our: &Path) -> Result<PathBuf, Problem> {
    let folder = cache().join("schwann").join("lib").join(name_of(our));
    let made = fs::create_dir_all(&folder)
        .and_then(|()| library::NAMES.iter().try_for_each(|name| library::put(our, &folder.join(name))));
    made.map_err(|error| Problem::with(folder.display(), error))?;
    Ok(folder)
}

/// One folder's name for each place of the library, so that two versions do not disturb each other.
fn name_of(our: &Path) -> String {
    let place = our.to_string_lossy();
    let name: Vec<char> = place
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
        .collect();
    let Some(rest) = name.len().checked_sub(NAME_MAX) else { return name.into_iter().collect() };
    // File systems take 255 bytes; the end of a longer path says more than its beginning.
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    format!("{:016x}{}", hasher.finish(), name.get(rest..).unwrap_or_default().iter().collect::<String>())
}

fn cache() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(files::CACHE_FOLDER)
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir)
}

/// Puts `folder` before what the loader's path says already.
fn joined(folder: &Path, before: Option<&OsStr>) -> Result<OsString, Problem> {
    let others = before.map(|path| env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    env::join_paths(core::iter::once(folder.to_owned()).chain(others))
        .map_err(|error| Problem::with(folder.display(), error))
}

/// The longest name of a folder that is a whole path.
const NAME_MAX: usize = 200;

/// Where the Python package keeps our library, below `site-packages`.
const PYTHON_FOLDER: &str = "schwann/lib";

/// The variables by which pylsl, mne-lsl and bsl are told of a library.
const VARIABLES: [&str; 3] = ["PYLSL_LIB", "MNE_LSL_LIB", "LSL_LIB"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_library_has_a_name_that_a_file_system_takes() {
        assert_eq!(name_of(Path::new("/opt/Köln lab/liblsl.so")), "_opt_K_ln_lab_liblsl.so");
        let long = |first: &str| name_of(Path::new(&format!("/{first}{}/liblsl.so", "/folder".repeat(60))));
        assert!(long("a").len() < 255 && long("a").ends_with("_liblsl.so"));
        assert_ne!(long("a"), long("b"));
    }

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
