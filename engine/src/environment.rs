//! Environment variables, which a program with rights of its own does not believe.
//!
//! A setuid program is started by a user who has fewer rights than it gets. This user sets its environment and its
//! current folder, and may choose keys, configuration and logs by neither. Source: getauxval(3), `AT_SECURE`.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The value of a variable; `None` if it is not set, empty, or set by a user with fewer rights than the program's.
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

/// Whether this program has rights that the user who started it has not: it is setuid, setgid, or its file has
/// capabilities.
pub(crate) fn has_rights_of_its_own() -> bool {
    static SECURE: OnceLock<bool> = OnceLock::new();
    *SECURE.get_or_init(look)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn look() -> bool {
    match std::fs::read("/proc/self/auxv") {
        Ok(auxiliary) => of_auxiliary(&auxiliary),
        // The kernel hides the file in a program that must not be dumped, and such a program is one.
        Err(_) => has_other_ids() || has_capabilities().unwrap_or(false),
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn look() -> bool {
    has_other_ids()
}

#[cfg(not(unix))]
fn look() -> bool {
    false
}

/// What the kernel said at the start: pairs of words, a key and its value.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn of_auxiliary(bytes: &[u8]) -> bool {
    const AT_SECURE: usize = 23;
    let (words, _) = bytes.as_chunks::<{ size_of::<usize>() }>();
    let (pairs, _) = words.as_chunks::<2>();
    pairs
        .iter()
        .any(|[key, value]| usize::from_ne_bytes(*key) == AT_SECURE && usize::from_ne_bytes(*value) != 0)
}

#[cfg(unix)]
fn has_other_ids() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    getuid() != geteuid() || getgid() != getegid()
}

/// Whether a user other than root has capabilities that did not come with the environment.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_capabilities() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    Some(!rustix::process::geteuid().is_root() && set("CapPrm:")? & !set("CapAmb:")? != 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_word_is_found_among_the_others() {
        let auxiliary = |pairs: &[[usize; 2]]| -> Vec<u8> {
            pairs.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect()
        };
        assert!(of_auxiliary(&auxiliary(&[[6, 4096], [23, 1], [0, 0]])));
        assert!(!of_auxiliary(&auxiliary(&[[6, 23], [23, 0], [0, 0]])));
        assert!(!of_auxiliary(&[1, 2, 3]));
    }
}
