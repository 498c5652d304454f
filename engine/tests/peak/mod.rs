//! The memory that a test's process has had.

/// The most so far, resident, in KiB; nothing where the system does not tell.
pub(crate) fn peak_kib() -> Option<u64> {
    // Under Wine there is such a file, of another process.
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    Some(line.trim().trim_end_matches(" kB").parse().expect("a number"))
}
