//! Strings across the boundary.

use core::ffi::{CStr, c_char};
use core::ptr;

/// The bytes of a C string, or nothing for null.
///
/// # Safety
///
/// - `text` is null or a NUL-terminated string that lives as long as the result is used.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so the caller promises a NUL-terminated string.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A copy of `text` with a NUL behind it, from C's `malloc`, because programs call `free` on it.
///
/// Returns null if there is no memory.
pub(crate) fn malloc_copy(text: &[u8]) -> *mut c_char {
    // SAFETY: any size may be asked for.
    let copy: *mut u8 = unsafe { libc::malloc(text.len() + 1) }.cast();
    if copy.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: `copy` has room for the text and one byte more, and is new, so it overlaps with nothing.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len()) };
    // SAFETY: the last of the bytes allocated above.
    let end = unsafe { copy.add(text.len()) };
    // SAFETY: within the allocation.
    unsafe { end.write(0) };
    copy.cast()
}

/// Gives back a string from [`malloc_copy`].
///
/// # Safety
///
/// - `text` is null or came from C's `malloc` and was not given back yet.
pub(crate) unsafe fn free(text: *mut c_char) {
    // SAFETY: as the caller promises; `free` accepts null.
    unsafe { libc::free(text.cast()) };
}
