//! What a caller's pointers stand for.

use core::ffi::{CStr, c_char, c_void};
use core::slice;

/// `length` bytes, for which null is an error unless there are none.
///
/// # Safety
/// - `data` is null or has `length` bytes that do not change during the call.
pub(crate) unsafe fn bytes<'a>(data: *const c_void, length: usize) -> Option<&'a [u8]> {
    match (data.is_null(), length) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: not null, and the caller promises so many bytes.
        (false, _) => Some(unsafe { slice::from_raw_parts(data.cast(), length) }),
    }
}

/// Room for `length` bytes.
///
/// # Safety
/// - `data` is null or has `length` bytes that no other code uses during the call.
pub(crate) unsafe fn bytes_mut<'a>(data: *mut c_void, length: usize) -> Option<&'a mut [u8]> {
    match (data.is_null(), length) {
        (_, 0) => Some(&mut []),
        (true, _) => None,
        // SAFETY: not null, and the caller promises so much room.
        (false, _) => Some(unsafe { slice::from_raw_parts_mut(data.cast(), length) }),
    }
}

/// A C string without its end.
///
/// # Safety
/// - `data` is null or ends with a zero byte.
pub(crate) unsafe fn text<'a>(data: *const c_char) -> Option<&'a [u8]> {
    if data.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises an end.
    Some(unsafe { CStr::from_ptr(data) }.to_bytes())
}
