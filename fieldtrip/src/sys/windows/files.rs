//! Files that are this user's alone: those in the user's profile.

use std::fs::DirBuilder;

/// Makes folders that are as private as the one that they are in.
pub(crate) fn private_folder() -> DirBuilder {
    DirBuilder::new()
}
