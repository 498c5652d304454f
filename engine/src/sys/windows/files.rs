//! Files that are this user's alone: those in the user's profile; Windows keeps other users out.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The rights of others to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    /// Its owner reads and writes it; others do neither.
    Owner,
    /// Others may read it.
    Readable,
}

/// Where this user's programs keep their settings, if the environment says so.
pub(crate) fn settings_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let of_profile =
        || variable("USERPROFILE").map(|home| PathBuf::from(home).join("AppData").join("Roaming"));
    variable("APPDATA").map(PathBuf::from).or_else(of_profile)
}

/// Nothing: Windows has no folder in memory.
pub(crate) fn memory_folder(_variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    None
}

/// Makes a folder, and those above it; what is made in a profile is its user's alone.
///
/// - Errors: it lies outside the profile, where others may read; what the system says.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    // A bare file name's folder is the current one.
    let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = std::path::absolute(named)?;
    // The lowest existing folder already says where the rest will be.
    let above = folder.ancestors().find(|one| one.exists()).unwrap_or(&folder);
    if !is_in_profile(above)? {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("others may read it: {OUTSIDE}"),
        ));
    }
    std::fs::create_dir_all(folder)
}

/// Files are as private as their folder.
pub(crate) fn make_private(_options: &mut OpenOptions) {}

/// No file of a folder is a pipe on Windows.
pub(crate) fn open_at_once(_options: &mut OpenOptions) {}

/// Nothing tells files apart that were changed at the same time and are equally long.
pub(crate) fn number(_metadata: &Metadata) -> u64 {
    0
}

/// Whether `file` is what lies at `path`, and not what a link there leads to.
pub(crate) fn is_itself(_file: &File, path: &Path) -> io::Result<bool> {
    Ok(std::fs::symlink_metadata(path)?.file_type().is_file())
}

/// Whether no other user can read the file.
///
/// - Errors: others may, or it cannot be looked at; the text says what to do.
pub(crate) fn check_private(path: &Path) -> io::Result<Result<(), String>> {
    Ok(if is_in_profile(path)? {
        Ok(())
    } else {
        Err(format!("others may read this private key: {OUTSIDE}"))
    })
}

/// What others may wrongly do with `folder` and the files in it: a sentence each, with the remedy.
pub(crate) fn weaknesses(folder: &Path, files: &[(&str, Access)]) -> Vec<String> {
    // A missing file cannot be read.
    let is_weak = |path: &Path| is_in_profile(path).is_ok_and(|is_inside| !is_inside);
    let weak = files.iter().any(|(name, _)| is_weak(&folder.join(name)));
    let sentence = || format!("others may read or replace what is in {}: {OUTSIDE}", folder.display());
    if weak { vec![sentence()] } else { Vec::new() }
}

fn is_in_profile(path: &Path) -> io::Result<bool> {
    let profile = std::env::var_os("USERPROFILE").map(PathBuf::from);
    let profile = profile.and_then(|profile| profile.canonicalize().ok());
    let path = path.canonicalize()?;
    Ok(profile.is_some_and(|profile| path.starts_with(profile)))
}

/// Where settings lie that are no user's own.
pub(crate) const SYSTEM_SETTINGS: &str = r"C:\ProgramData";

/// Why there is no such folder, and what helps.
pub(crate) const NO_MEMORY_FOLDER: &str =
    "Windows has no folder in memory; `schwann keys remember` lets your login open the key instead";

/// What opens a key for all programs of the user.
pub(crate) const OPEN_KEY: &str = "schwann keys remember";

const OUTSIDE: &str = "it lies outside your user profile; move it to %APPDATA%\\schwann, or name a folder of your profile in SCHWANN_KEYS";
