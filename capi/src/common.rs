//! Functions of `lsl/common.h`.

use core::ffi::{c_char, c_ulong};
use std::ffi::CString;
use std::path::Path;
use std::sync::OnceLock;

use schwann::{Context, local_clock};
use schwann_proto::stream::{LIBRARY_VERSION, PROTOCOL_VERSION};

use crate::guard::{guard, last_error};
use crate::strings;

/// Text of this thread's last error; empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn lsl_last_error() -> *const c_char {
    last_error()
}

/// The newest protocol version spoken, times 100.
#[unsafe(no_mangle)]
pub extern "C" fn lsl_protocol_version() -> i32 {
    guard(PROTOCOL_VERSION, || Context::get().tuning.protocol_version.min(PROTOCOL_VERSION))
}

/// The version of the C interface, times 100.
#[unsafe(no_mangle)]
pub extern "C" fn lsl_library_version() -> i32 {
    LIBRARY_VERSION
}

/// What this library is, and whether it seals streams.
#[unsafe(no_mangle)]
pub extern "C" fn lsl_library_info() -> *const c_char {
    static INFO: OnceLock<CString> = OnceLock::new();
    let info = INFO.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        let security = guard(String::from("unknown"), || schwann::security::summary(&Context::get().trust()));
        let text = format!("Schwann {version}/compatible:liblsl-1.18/link:SHARED/security:{security}");
        CString::new(text).unwrap_or_default()
    });
    info.as_ptr()
}

/// Seconds of the local clock.
#[unsafe(no_mangle)]
pub extern "C" fn lsl_local_clock() -> f64 {
    local_clock()
}

/// Gives back a string that this library returned.
///
/// # Safety
///
/// - `text` is null, or a string that the caller owns and has not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_string(text: *mut c_char) {
    // SAFETY: as this function's own contract.
    unsafe { strings::free(text) };
}

/// Gives back `count` strings that this library returned.
///
/// # Safety
///
/// - `texts` points to `count` pointers, each as [`lsl_destroy_string`] takes them; null if `count` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_string_array(texts: *mut *mut c_char, count: c_ulong) {
    if texts.is_null() {
        return;
    }
    for index in 0..count as usize {
        // SAFETY: the caller promises `count` pointers.
        let place = unsafe { texts.add(index) };
        // SAFETY: one of the pointers that the caller promises.
        let text = unsafe { place.read() };
        // SAFETY: as this function's own contract.
        unsafe { strings::free(text) };
    }
}

/// Names the configuration file; acts only before the configuration is first used.
///
/// # Safety
///
/// - `path` is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_config_filename(path: *const c_char) {
    // SAFETY: as this function's own contract.
    let Some(path) = (unsafe { strings::bytes(path) }) else { return };
    guard((), || {
        let path = String::from_utf8_lossy(path).into_owned();
        if schwann::set_config_filename(Path::new(&path)).is_err() {
            eprintln!("lsl_set_config_filename came too late: the configuration is in use; call it first");
        }
    });
}

/// Gives the configuration itself; acts only before the configuration is first used.
///
/// # Safety
///
/// - `content` is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_config_content(content: *const c_char) {
    // SAFETY: as this function's own contract.
    let Some(content) = (unsafe { strings::bytes(content) }) else { return };
    guard((), || {
        if schwann::set_config_content(&String::from_utf8_lossy(content)).is_err() {
            eprintln!("lsl_set_config_content came too late: the configuration is in use; call it first");
        }
    });
}
