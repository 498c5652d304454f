//! Files that are this user's alone, and who else may read or replace a file.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

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
    let of_home = || variable("HOME").map(|home| PathBuf::from(home).join(".config"));
    variable("XDG_CONFIG_HOME").map(PathBuf::from).or_else(of_home)
}

/// A folder in memory for this user alone, if the environment names one.
pub(crate) fn memory_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("XDG_RUNTIME_DIR").map(PathBuf::from)
}

/// Makes a folder, and those above it, for this user alone.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Files made with these options are this user's alone.
pub(crate) fn make_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// A file that is opened with these options must be there at once: a pipe does not wait for its reader.
pub(crate) fn open_at_once(options: &mut OpenOptions) {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
}

/// A number that no other file of the same file system has now.
pub(crate) fn number(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// Whether `file` is what lies at `path`, and not what a link there leads to.
pub(crate) fn is_itself(file: &File, path: &Path) -> io::Result<bool> {
    let (open, there) = (file.metadata()?, std::fs::symlink_metadata(path)?);
    let is_same = open.dev() == there.dev() && open.ino() == there.ino();
    Ok(is_same && there.file_type().is_file() && open.nlink() == 1)
}

/// Whether no other user can read the file.
///
/// - Errors: others can, or it cannot be looked at; the text says what to do.
pub(crate) fn check_private(path: &Path) -> io::Result<Result<(), String>> {
    if std::fs::metadata(path)?.mode() & OTHERS == 0 {
        return Ok(Ok(()));
    }
    Ok(Err(format!("others can read this private key; run `chmod 600 {}`", path.display())))
}

/// What others may wrongly do with `folder` and the files in it: a sentence each, with the remedy.
pub(crate) fn weaknesses(folder: &Path, files: &[(&str, Access)]) -> Vec<String> {
    let mut found: Vec<String> = weakness(folder, OTHERS_WRITE, "700").into_iter().collect();
    for (name, access) in files {
        let unwanted = match access {
            Access::Owner => OTHERS,
            Access::Readable => OTHERS_WRITE,
        };
        found.extend(weakness(&folder.join(name), unwanted, "600"));
    }
    found
}

fn weakness(path: &Path, unwanted: u32, mode: &str) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let path = path.display();
    // Root may replace everything anyway.
    if owner != user && owner != 0 {
        return Some(format!(
            "{path} belongs to another user (number {owner}); run `chown {user} {path}` as root"
        ));
    }
    let what = match metadata.mode() & unwanted {
        0 => return None,
        bits if bits & OTHERS_WRITE != 0 => "replace or change",
        _ => "read",
    };
    Some(format!("others can {what} {path}; run `chmod {mode} {path}`"))
}

const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
/// Where settings lie that are no user's own.
pub(crate) const SYSTEM_SETTINGS: &str = "/etc";
/// Why there is no such folder, and what helps.
pub(crate) const NO_MEMORY_FOLDER: &str = if cfg!(target_os = "macos") {
    "macOS has no folder in memory; `schwann keys remember` lets your login open the key instead"
} else {
    "XDG_RUNTIME_DIR is not set; log in at the computer or over ssh"
};
/// What opens a key for all programs of the user.
pub(crate) const OPEN_KEY: &str =
    if cfg!(target_os = "macos") { "schwann keys remember" } else { "schwann keys unlock" };
