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
    environments
        .flat_map(|state| site_packages(&state.join("python")))
        .chain(of_python("pylsl"))
        .find_map(|packages| library_in(&packages.join("pylsl").join("lib"), is_lsl))
}

/// Finds the microcontroller's image for QEMU in the work tree's build folders.
pub(crate) fn image() -> Option<PathBuf> {
    let folders = ["target/qemu", "firmware/qemu-riscv32/target"].map(PathBuf::from);
    let image = "riscv32imac-unknown-none-elf/release/schwann-qemu-riscv32";
    folders.into_iter().map(|folder| folder.join(image)).find(|path| path.is_file())
}

/// Finds ZeroMQ, which the Python package `pyzmq` brings. It takes that of the `python3` on the path, or one
/// fetched once into the user's cache.
///
/// # Errors
///
/// In words, with the command that failed.
pub(crate) fn zero_mq() -> Result<PathBuf, String> {
    let cache = cache().join(PYZMQ);
    let in_cache = || library_in(&cache.join("pyzmq.libs"), is_zero_mq);
    let found = of_python("zmq").and_then(|packages| library_in(&packages.join("pyzmq.libs"), is_zero_mq));
    if let Some(library) = found.or_else(in_cache) {
        return Ok(library);
    }
    eprintln!("bench: fetching ZeroMQ once, into {}", cache.display());
    let mut pip = Command::new("python3");
    pip.args("-m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all:".split(' '));
    let status = pip.arg("--target").arg(&cache).arg(PYZMQ).status();
    let command = || format!("`python3 -m pip install --target {} {PYZMQ}`", cache.display());
    let status = status.map_err(|error| format!("{} does not run: {error}", command()))?;
    in_cache().ok_or_else(|| format!("{} brought no libzmq ({status}); install pyzmq", command()))
}

/// Builds an opponent of the folder `bench/opponents` of the work tree, unless that has been done.
///
/// # Errors
///
/// In words, with the command that failed.
pub(crate) fn built_opponent(name: &str) -> Result<PathBuf, String> {
    let manifest = Path::new("bench/opponents/Cargo.toml");
    if !manifest.is_file() {
        return Err(format!("{name} is built from bench/opponents: call this in the folder of the sources"));
    }
    eprintln!("bench: building {name}, which takes minutes the first time");
    let target = Path::new("target").join(name);
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--locked", "--quiet", "--features", name, "--target-dir"])
        .arg(&target);
    let status = cargo.arg("--manifest-path").arg(manifest).status();
    let status = status.map_err(|error| format!("cargo does not run: {error}"))?;
    let library = target.join("release").join(shared("schwann_bench_opponent"));
    (status.success() && library.is_file()).then_some(library).ok_or_else(|| {
        format!("`cargo build --features {name} --manifest-path {}` failed ({status})", manifest.display())
    })
}

fn cache() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("schwann").join("opponents")
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

fn library_in(folder: &Path, is: fn(&str) -> bool) -> Option<PathBuf> {
    let named = |path: &PathBuf| is(&path.file_name().unwrap_or_default().to_string_lossy());
    entries(folder).into_iter().find(named)
}

fn is_lsl(name: &str) -> bool {
    name.starts_with("liblsl.so") || name == "liblsl.dylib" || name == "lsl.dll"
}

fn is_zero_mq(name: &str) -> bool {
    name.starts_with("libzmq")
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

/// The version that the committed figures are of.
const PYZMQ: &str = "pyzmq==27.1.0";

/// The remedy if our library is missing.
pub(crate) const NO_OURS: &str = "name the library to judge with --ours";

/// The remedy if there is no library to compare with.
pub(crate) const NO_OPPONENT: &str = "there is no liblsl to compare with: `python3 -m pip install pylsl` brings one, or \
                               name one with --vs LIBRARY";
