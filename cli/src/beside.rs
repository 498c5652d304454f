//! Work side by side; where the system gives no thread for that, one after the other.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::resume_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// Does `work` for each item, at most `most` of them at a time, and returns what came of them, in their order.
pub(crate) fn each<T: Sync, R: Send + Sync>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Vec<_> = items.iter().map(|_| OnceLock::new()).collect();
    let take_all = || {
        while let Some((item, place)) = items.iter().zip(&done).nth(next.fetch_add(1, Ordering::Relaxed)) {
            // Each place is taken once.
            let _ = place.set(work(item));
        }
    };
    thread::scope(|scope| {
        for _ in 1..items.len().min(most) {
            if thread::Builder::new().spawn_scoped(scope, take_all).is_err() {
                break;
            }
        }
        // This thread takes part, so that all is done however few others there are.
        take_all();
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// Does both, and returns what came of them.
pub(crate) fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    let work = Mutex::new(Some(one));
    let one = || work.lock().unwrap_or_else(PoisonError::into_inner).take().map(|work| work());
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, one);
        let other = other();
        let one = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => one(),
        };
        (one.expect("it is taken once"), other)
    })
}

#[cfg(test)]
mod tests {
    use super::{both, each};

    #[test]
    fn all_is_done_and_comes_in_order() {
        let numbers: Vec<_> = (0..100).collect();
        for most in [0, 1, 3, 1000] {
            assert_eq!(each(&numbers, most, |number| number * 2), (0..200).step_by(2).collect::<Vec<_>>());
        }
        assert_eq!(each(&[0; 0], 4, |number| *number), [0; 0]);
        assert_eq!(both(|| 1, || "two"), (1, "two"));
    }
}
