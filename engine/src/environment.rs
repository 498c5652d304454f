//! Environment variables, which a program with rights of its own does not believe.
//!
//! The user who starts a setuid program has fewer rights than it gets. This user sets its environment and its
//! current folder, and may choose keys, configuration and logs by neither. Source: getauxval(3), `AT_SECURE`.

use std::ffi::OsString;
use std::sync::OnceLock;

use crate::sys::process;

/// The value of a variable. `None` if it is not set, empty, or set by a user with fewer rights than the program's.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if has_rights_of_its_own() {
        return None;
    }
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The same as text; what is not UTF-8 becomes replacement characters.
pub(crate) fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// Whether this program has more rights than the user who started it: it is setuid, setgid, or its file has
/// capabilities.
pub(crate) fn has_rights_of_its_own() -> bool {
    static SECURE: OnceLock<bool> = OnceLock::new();
    *SECURE.get_or_init(process::has_rights_of_its_own)
}
