//! Where the libraries are that a user did not name.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Finds this project's library: beside the program, or in the work tree's build folder.
#[must_use]
pub fn ours() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(LIBRARY)));
    let built = Path::new("target/release").join(LIBRARY);
    beside.into_iter().chain([built]).find(|path| path.is_file())
}

/// Finds the real liblsl, which the Python package `pylsl` brings: in the environment of this project's checks, or
/// in that of the `python3` on the path.
#[must_use]
pub fn opponent() -> Option<PathBuf> {
    let state = std::env::var_os("SCHWANN_STATE").map(PathBuf::from);
    let environments = state.into_iter().chain(["target/checks".into()]);
    environments
        .flat_map(|state| site_packages(&state.join("interop-venv")))
        .chain(of_python())
        .find_map(|packages| library_in(&packages.join("pylsl").join("lib")))
}

/// What to do when there is none.
pub const NO_OPPONENT: &str = "there is no liblsl to compare with: `python3 -m pip install pylsl` brings one, or \
                               name one with --vs LIBRARY";

fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let pythons = entries(&environment.join("lib"));
    pythons.into_iter().map(|python| python.join("site-packages")).collect()
}

fn of_python() -> Option<PathBuf> {
    // Only looks the package up: importing it would load the library and print.
    let script = "import importlib.util as u; print(u.find_spec('pylsl').submodule_search_locations[0])";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let package = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    Some(package.parent()?.to_owned())
}

fn library_in(folder: &Path) -> Option<PathBuf> {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("liblsl.so") || name == "liblsl.dylib" || name == "lsl.dll"
    };
    entries(folder).into_iter().find(is_library)
}

/// A folder's entries in the order of their names; none if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<_> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries
}

const LIBRARY: &str = if cfg!(target_os = "macos") {
    "liblsl.dylib"
} else if cfg!(windows) {
    "lsl.dll"
} else {
    "liblsl.so"
};
