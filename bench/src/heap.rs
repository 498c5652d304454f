//! How much memory something holds. The allocator counts it on request; otherwise a branch is the whole cost.
#![allow(unsafe_code, reason = "passes on to the system's allocator")]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::alloc::System;

/// The allocator of the program `schwann-bench`.
pub(crate) struct Counting;

/// Makes something, and returns it with the bytes that this process holds more than before.
pub(crate) fn held_by<T>(make: impl FnOnce() -> T) -> (T, f64) {
    HELD.store(0, Ordering::SeqCst);
    IS_COUNTING.store(true, Ordering::SeqCst);
    let made = make();
    IS_COUNTING.store(false, Ordering::SeqCst);
    (made, HELD.load(Ordering::SeqCst) as f64)
}

fn count(more: usize, less: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        HELD.fetch_add(more.cast_signed() - less.cast_signed(), Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on as it is to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps `System`'s contract, which is ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

static HELD: AtomicIsize = AtomicIsize::new(0);
static IS_COUNTING: AtomicBool = AtomicBool::new(false);
