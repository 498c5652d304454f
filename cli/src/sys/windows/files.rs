//! Folders, and files that are this user's alone: those in the user's profile.

use std::fs::OpenOptions;

/// Files are as private as their folder.
pub(crate) fn make_private(_: &mut OpenOptions) {}

/// What to do with a key that has a passphrase.
pub(crate) const OPEN_KEY: &str = "\
Programs open its key with the passphrase. Let your login hold that:
  schwann keys remember";
/// The variable that names the folder of what programs remember.
pub(crate) const STATE_FOLDER: &str = "LOCALAPPDATA";
/// The variable that names the folder of what programs can make anew.
pub(crate) const CACHE_FOLDER: &str = "LOCALAPPDATA";
