//! Keeps long-term keys out of swap, core dumps and other programs, where the system can.
//!
//! It does not cover a key in use on the stack or in registers, session keys, or a hibernating computer.

use core::fmt;
use core::ops::Deref;

use region::LockGuard;

use crate::log;
use crate::sys::process;

/// A value in memory of its own. The system does not swap it, if this user's limit
/// permits that.
pub(crate) struct Locked<T> {
    // Dropped first: memory that has been given back cannot be unlocked.
    guard: Option<LockGuard>,
    value: Box<Page<T>>,
}

/// Pages are locked whole, so nothing else may lie in one: its end would unlock them.
#[repr(align(4096))]
struct Page<T>(T);

impl<T> Locked<T> {
    /// Moves a value into locked memory.
    pub(crate) fn new(value: T) -> Self {
        let value = Box::new(Page(value));
        let guard = region::lock(&raw const *value, size_of::<Page<T>>());
        let guard = guard.inspect_err(|error| {
            log::verbose!(1, "keys may be swapped to disk: {error}; `ulimit -l` shows the limit");
        });
        Self { guard: guard.ok(), value }
    }

    /// Whether the system keeps the value out of swap.
    pub(crate) fn is_locked(&self) -> bool {
        self.guard.is_some()
    }
}

/// Keeps bytes out of swap until the process ends, if its limit permits that. It serves programs that hold a secret
/// for some seconds, anywhere in memory.
pub fn keep_from_swap(secret: &[u8]) {
    if !secret.is_empty() {
        keep(region::lock(secret.as_ptr(), secret.len()));
    }
}

/// Keeps this thread's stack out of swap until the process ends, if its limit permits that. Keys lie there while
/// they are used.
pub fn keep_stack_from_swap() {
    let here = 0_u8;
    keep(region::query(&raw const here).and_then(|stack| region::lock(stack.as_ptr::<u8>(), stack.len())));
}

/// What shares a page with the secret stays locked with it, so nothing is unlocked before the process ends.
fn keep(locked: region::Result<LockGuard>) {
    match locked {
        Ok(guard) => core::mem::forget(guard),
        Err(error) => {
            log::verbose!(1, "secrets may be swapped to disk: {error}; `ulimit -l` shows the limit");
        }
    }
}

impl<T> Deref for Locked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value.0
    }
}

impl<T> fmt::Debug for Locked<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Locked({})", self.is_locked())
    }
}

/// Forbids core dumps of this process. Where possible, also forbids other programs of its user to look into its
/// memory.
pub fn forbid_dumps() {
    if let Err(error) = process::forbid_dumps() {
        log::verbose!(1, "keys may be in core dumps: {error}");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Bytes of this process that are not swapped.
    fn locked_bytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let line = status.lines().find(|line| line.starts_with("VmLck:")).expect("a line");
        let kib = line.split_whitespace().nth(1).expect("a number");
        kib.parse::<u64>().expect("a number") * 1024
    }

    /// Runs a test of this module in a process of its own: other tests lock memory as well. Says whether this is it.
    fn is_alone(test: &str) -> bool {
        const ALONE: &str = "SCHWANN_TEST_ALONE";
        if std::env::var_os(ALONE).is_some() {
            return true;
        }
        let mut alone = std::process::Command::new(std::env::current_exe().expect("this program"));
        let (_, module) = module_path!().split_once("::").expect("a module of this crate");
        alone.args(["--exact", &format!("{module}::{test}")]).env(ALONE, "1");
        let output = alone.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        false
    }

    #[test]
    fn what_is_kept_from_swap_is_locked_until_the_process_ends() {
        if !is_alone("what_is_kept_from_swap_is_locked_until_the_process_ends") {
            return;
        }
        let before = locked_bytes();
        let is_permitted = Locked::new(0_u8).is_locked();
        let secret = vec![7_u8; 64];
        keep_from_swap(&[]);
        assert_eq!(locked_bytes(), before);
        keep_from_swap(&secret);
        drop(secret);
        let with_secret = locked_bytes();
        assert!(!is_permitted || with_secret >= before + 4096);
        keep_stack_from_swap();
        assert!(!is_permitted || locked_bytes() > with_secret);
    }

    #[test]
    fn the_keys_that_streams_were_found_with_before_are_locked_as_well() {
        use schwann_session::{AuthorityKey, RevocationList, SystemEntropy, UnixSeconds};
        use zeroize::Zeroizing;

        if !is_alone("the_keys_that_streams_were_found_with_before_are_locked_as_well") {
            return;
        }
        let authority = AuthorityKey::generate(&mut SystemEntropy).expect("random");
        let list = RevocationList::sign(&authority, 1, UnixSeconds(1), &[1; 32], &[]).expect("a list");
        let before = locked_bytes();
        let is_permitted = Locked::new(0_u8).is_locked();
        let former = [2_u8, 3].map(|byte| Zeroizing::new([byte; 32])).into();
        let standing = super::super::member::Standing::new(list, Zeroizing::new([1; 32]), former);
        assert_eq!(standing.former().map(|key| key[0]).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(locked_bytes(), if is_permitted { before + 3 * 4096 } else { before });
    }

    #[test]
    fn a_locked_value_is_locked_as_long_as_it_lives_and_no_longer() {
        if !is_alone("a_locked_value_is_locked_as_long_as_it_lives_and_no_longer") {
            return;
        }
        let before = locked_bytes();
        let [first, second] = [1_u8, 2].map(|byte| Locked::new([byte; 32]));
        // Some containers permit no locked memory at all.
        let expected = if first.is_locked() { before + 2 * 4096 } else { before };
        assert_eq!(locked_bytes(), expected);
        assert_eq!((*first, *second), ([1; 32], [2; 32]));
        drop(first);
        assert_eq!(locked_bytes(), expected.saturating_sub(4096).max(before));
        drop(second);
        assert_eq!(locked_bytes(), before);
    }
}
