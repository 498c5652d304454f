//! How a process knows that it is another one's copy.

use core::ffi::c_int;
use core::sync::atomic::AtomicU32;

/// A word that the system makes zero in every process that gets a copy of this one's memory. The C library
/// need not know of that process. Nothing if the system cannot.
pub(super) fn word_for_this_process() -> Option<&'static AtomicU32> {
    const PROTECTION: c_int = libc::PROT_READ | libc::PROT_WRITE;
    const KIND: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    const LEN: usize = size_of::<AtomicU32>();
    // SAFETY: a new mapping, which takes no memory that is in use.
    let page = unsafe { libc::mmap(core::ptr::null_mut(), LEN, PROTECTION, KIND, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: advice on a mapping of our own, which holds nothing yet.
    let wipes = unsafe { libc::madvise(page, LEN, libc::MADV_WIPEONFORK) } == 0;
    // Some emulators accept any advice and follow none: they would accept this as well.
    // SAFETY: as above; there is no advice of this number.
    let accepts_all = unsafe { libc::madvise(page, LEN, -1) } == 0;
    if !wipes || accepts_all {
        // SAFETY: our own mapping, which no other code has seen.
        unsafe { libc::munmap(page, LEN) };
        return None;
    }
    // SAFETY: a zeroed page, aligned for anything, that is never given back.
    Some(unsafe { &*page.cast::<AtomicU32>() })
}
