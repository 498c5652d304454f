//! Where the libraries are that a user did not name.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Finds this project's library: beside the program, or in the work tree's build folder.
pub(crate) fn ours() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(shared("lsl"))));
    let built = Path::new("target/release").join(shared("lsl"));
    beside.into_iter().chain([built]).find(|path| path.is_file())
}

/// Finds the real liblsl, which the Python package `pylsl` brings. It looks in the environment of this project's
/// checks, then in that of the `python3` on the path.
pub(crate) fn opponent() -> Option<PathBuf> {
    let state = std::env::var_os("SCHWANN_STATE").map(PathBuf::from);
    let environments = state.into_iter().chain(["target/checks".into()]);
    let packages = environments.flat_map(|state| site_packages(&state.join("python")));
    let packages = packages.chain(of_python("pylsl"));
    let mut files = packages.flat_map(|packages| entries(&packages.join("pylsl").join("lib")));
    files.find(|file| is_lsl(file))
}

/// Finds the microcontroller's image for QEMU in the work tree's build folders.
pub(crate) fn image() -> Option<PathBuf> {
    let folders = ["target/qemu", "firmware/qemu-riscv32/target"].map(PathBuf::from);
    let image = "riscv32imac-unknown-none-elf/release/schwann-qemu-riscv32";
    folders.into_iter().map(|folder| folder.join(image)).find(|path| path.is_file())
}

/// Builds iceoryx2's library from the folder `bench/opponents` of the work tree, unless that has been done.
///
/// # Errors
///
/// In words, with the command that failed.
pub(crate) fn iceoryx2() -> Result<PathBuf, String> {
    let manifest = Path::new("bench/opponents/Cargo.toml");
    if !manifest.is_file() {
        return Err(
            "iceoryx2 is built from bench/opponents: call this in the folder of the sources".to_owned()
        );
    }
    eprintln!("bench: building iceoryx2, which takes minutes the first time");
    let target = Path::new("target").join("iceoryx2");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--quiet", "--target-dir"]).arg(&target);
    let status = cargo.arg("--manifest-path").arg(manifest).status();
    let status = status.map_err(|error| format!("cargo does not run: {error}"))?;
    let library = target.join("release").join(shared("schwann_bench_opponent"));
    (status.success() && library.is_file())
        .then_some(library)
        .ok_or_else(|| format!("`cargo build --manifest-path {}` failed ({status})", manifest.display()))
}

fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let pythons = entries(&environment.join("lib"));
    pythons.into_iter().map(|python| python.join("site-packages")).collect()
}

/// The folder of packages in which `python3` finds `package`.
fn of_python(package: &str) -> Option<PathBuf> {
    // Only looks the package up: importing it would load the library and print.
    let script =
        format!("import importlib.util as u; print(u.find_spec('{package}').submodule_search_locations[0])");
    let output = Command::new("python3").args(["-c", &script]).output().ok()?;
    let package = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    Some(package.parent()?.to_owned())
}

fn is_lsl(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("liblsl.so") || name == "liblsl.dylib" || name == "lsl.dll"
}

/// A folder's entries in the order of their names; none if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<_> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries
}

/// What this system calls a shared library.
fn shared(name: &str) -> String {
    format!("{DLL_PREFIX}{name}{DLL_SUFFIX}")
}

/// The remedy if our library is missing.
pub(crate) const NO_OURS: &str = "name the library to judge with --ours";

/// The remedy if there is no library to compare with.
pub(crate) const NO_OPPONENT: &str = "there is no liblsl to compare with: `python3 -m pip install pylsl` brings one, or \
                               name one with --vs LIBRARY";
