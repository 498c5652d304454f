//! The boundary itself: panics, error codes, and the text of the last error.

use core::cell::Cell;
use core::ffi::c_char;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use schwann::{Error, security};

thread_local! {
    static LAST_ERROR: LastError = const { LastError(Cell::new([0; LAST_ERROR_LEN])) };
}

/// A thread's last error as a C string.
struct LastError(Cell<[u8; LAST_ERROR_LEN]>);

/// Runs `body`; a panic becomes `failure` and a last error.
pub(crate) fn guard<R>(failure: R, body: impl FnOnce() -> R) -> R {
    // Nothing that a panic may have left half-done is used again: every lock of the engine recovers.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(_) => {
            record(&"Internal error. Please report the message printed above.");
            failure
        }
    }
}

/// Keeps an error's text for `lsl_last_error` of this thread, cut to what fits.
pub(crate) fn record(error: &dyn fmt::Display) {
    let text = error.to_string();
    let mut end = text.len().min(LAST_ERROR_LEN - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut buffer = [0; LAST_ERROR_LEN];
    for (to, from) in buffer.iter_mut().zip(text.bytes().take(end)) {
        *to = from;
    }
    LAST_ERROR.with(|last| last.0.set(buffer));
}

/// The buffer that holds this thread's last error.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.0.as_ptr().cast_const().cast())
}

/// The C code of an error.
pub(crate) fn code(error: Error) -> i32 {
    match error {
        Error::Timeout => TIMEOUT,
        Error::Lost => LOST,
        Error::Argument(_) => ARGUMENT,
        _ => INTERNAL,
    }
}

/// The C code of an error, which is also kept for `lsl_last_error`.
pub(crate) fn recorded_code(error: Error) -> i32 {
    record_error(error);
    code(error)
}

/// Keeps an error's text, and what is behind it where the error alone does not say.
pub(crate) fn record_error(error: Error) {
    match error {
        Error::Unsealed => record(&security::reason()),
        error => record(&error),
    }
}

/// The C code of an outcome, whose error is also kept for `lsl_last_error`.
pub(crate) fn outcome(result: Result<(), Error>) -> i32 {
    result.map_or_else(recorded_code, |()| OK)
}

/// Writes an error code where the caller wants it.
///
/// # Safety
///
/// - `place` is null or valid for a write.
pub(crate) unsafe fn set_code(place: *mut i32, code: i32) {
    if !place.is_null() {
        // SAFETY: not null, so the caller promises that it can be written.
        unsafe { place.write(code) };
    }
}

/// Size of the buffer that `lsl_last_error` returns; its last byte is always NUL.
const LAST_ERROR_LEN: usize = 512;

/// No error.
pub(crate) const OK: i32 = 0;
/// The time was over.
pub(crate) const TIMEOUT: i32 = -1;
/// The stream is gone.
pub(crate) const LOST: i32 = -2;
/// A wrong argument.
pub(crate) const ARGUMENT: i32 = -3;
/// Anything else.
pub(crate) const INTERNAL: i32 = -4;
