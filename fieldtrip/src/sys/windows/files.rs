//! Files that are this user's alone: those in the user's profile.

use std::fs::DirBuilder;

/// Makes folders as private as their parent.
pub(crate) fn private_folder() -> DirBuilder {
    DirBuilder::new()
}
