//! Folders, and files that are this user's alone.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;

/// The variable that names the folder of what programs remember.
pub(crate) const STATE_FOLDER: &str = "XDG_STATE_HOME";
/// The variable that names the folder of what programs can make anew.
pub(crate) const CACHE_FOLDER: &str = "XDG_CACHE_HOME";

/// Files made with these options are this user's alone.
pub(crate) fn make_private(options: &mut OpenOptions) {
    options.mode(0o600);
}
