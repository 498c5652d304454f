//! What a process may, and what others may do with it.

/// Whether this program has more rights than the user who started it. Source: getauxval(3), `AT_SECURE`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn has_rights_of_its_own() -> bool {
    match std::fs::read("/proc/self/auxv") {
        Ok(auxiliary) => of_auxiliary(&auxiliary),
        // The kernel hides the file in a program that must not be dumped, and such a program is one.
        Err(_) => has_other_ids() || has_capabilities().unwrap_or(false),
    }
}

/// Whether this program has more rights than the user who started it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn has_rights_of_its_own() -> bool {
    has_other_ids()
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

/// Forbids core dumps of this process, and that other programs of its user look into its memory.
///
/// - Errors: what the system says.
#[cfg(target_os = "linux")]
pub(crate) fn forbid_dumps() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Forbids core dumps of this process.
///
/// - Errors: what the system says.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forbid_dumps() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
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
