//! The names of LSL's library, and how programs are led to it.

use std::fs;
use std::io;
use std::path::Path;

/// Makes `name` lead to the library.
///
/// - Errors: what the system says.
pub(crate) fn put(library: &Path, name: &Path) -> io::Result<()> {
    if fs::read_link(name).is_ok_and(|to| to == library) {
        return Ok(());
    }
    // In place of an older one; another process of ours may do the same at this moment.
    let new = name.with_extension(format!("new-{}", std::process::id()));
    std::os::unix::fs::symlink(library, &new)?;
    fs::rename(&new, name)
}

const IS_MACOS: bool = cfg!(target_os = "macos");
/// The variable that leads the loader.
pub(crate) const LOADER_PATH: &str = if IS_MACOS { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
/// Our library's names: that in a package for programs, and that in one for developers.
pub(crate) const OURS: [&str; 2] =
    if IS_MACOS { ["liblsl.dylib", "liblsl.2.dylib"] } else { ["liblsl.so", "liblsl.so.2"] };
/// The names that programs load the library by. Programs load the first by themselves, and the second because they
/// were linked with it. liblsl-Java, Unity and old wrappers load the third.
pub(crate) const NAMES: [&str; 3] = match (IS_MACOS, cfg!(target_pointer_width = "64")) {
    (true, _) => ["liblsl.dylib", "liblsl.2.dylib", "liblsl64.dylib"],
    (false, true) => ["liblsl.so", "liblsl.so.2", "liblsl64.so"],
    (false, false) => ["liblsl.so", "liblsl.so.2", "liblsl32.so"],
};
