//! Folders, and files that are this user's alone.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;

/// Files made with these options are this user's alone.
pub(crate) fn make_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// What to do with a key that has a passphrase.
pub(crate) const OPEN_KEY: &str = if cfg!(target_os = "macos") {
    "\
Programs open its key with the passphrase. Let your login hold that:
  schwann keys remember"
} else {
    "\
Now, and after each restart or full logout, open this computer's key:
  schwann keys unlock"
};
/// The variable that names the folder of what programs remember.
pub(crate) const STATE_FOLDER: &str = "XDG_STATE_HOME";
/// The variable that names the folder of what programs can make anew.
pub(crate) const CACHE_FOLDER: &str = "XDG_CACHE_HOME";
