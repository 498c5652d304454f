//! The names of LSL's library, and how programs are led to it.

use std::fs;
use std::io;
use std::path::Path;

/// Makes `name` a copy of the library, because links need rights that users do not have.
///
/// A running program may have the copy in use. Then the copy cannot be written or removed, but it can be renamed.
///
/// - Errors: what the system says.
pub(crate) fn put(library: &Path, name: &Path) -> io::Result<()> {
    if is_copy(library, name) {
        return Ok(());
    }
    let process = std::process::id();
    let new = name.with_extension(format!("new-{process}"));
    fs::copy(library, &new)?;
    let moved = fs::rename(&new, name).or_else(|_| {
        let old = name.with_extension(format!("old-{process}"));
        fs::rename(name, &old)?;
        fs::rename(&new, name)
    });
    remove_left_over(name);
    moved.inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

/// Whether `name` has what the library has; both are small.
fn is_copy(library: &Path, name: &Path) -> bool {
    let is_as_long =
        fs::metadata(name).ok().map(|one| one.len()) == fs::metadata(library).ok().map(|one| one.len());
    is_as_long && fs::read(name).ok() == fs::read(library).ok()
}

/// Removes older copies that no program has in use any more.
fn remove_left_over(name: &Path) {
    let Some(folder) = name.parent() else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_old = entry.path().extension().is_some_and(|end| end.to_string_lossy().starts_with("old-"));
        if is_old {
            // A copy that a program still uses stays.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The variable that leads the loader.
pub(crate) const LOADER_PATH: &str = "PATH";
/// Our library's names.
pub(crate) const OURS: [&str; 1] = ["lsl.dll"];
/// The names that programs load the library by. liblsl-Java, Unity and old wrappers load the second.
pub(crate) const NAMES: [&str; 2] =
    ["lsl.dll", if cfg!(target_pointer_width = "64") { "liblsl64.dll" } else { "liblsl32.dll" }];
