//! Files that are this user's alone.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;

/// Makes folders that only this user may enter.
pub(crate) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}
