//! What differs between systems: who may look into a folder. No other file of this crate asks which system it runs on.

use std::io;
use std::path::Path;

use tempfile::{Builder, TempDir};

/// Makes a folder in `parent` for its owner alone, which goes with the value.
pub(crate) fn private_folder(parent: &Path) -> io::Result<TempDir> {
    let mut builder = Builder::new();
    builder.prefix(".schwann-");
    make_private(&mut builder);
    builder.tempdir_in(parent)
}

#[cfg(unix)]
fn make_private(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o700));
}

/// Nothing: a folder is as private as the one around it.
#[cfg(not(unix))]
fn make_private(_: &mut Builder<'_, '_>) {}
