//! Serving a buffer to programs outside of the caller's.

use core::ffi::c_char;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use schwann_fieldtrip::{Address, Buffer, Policy, Server};

use crate::pointer::text;

/// Serves a buffer.
///
/// # Safety
/// - `buffer` is null or live. `address` is null or ends with a zero byte. `port` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_serve(
    buffer: *const Buffer,
    address: *const c_char,
    port: *mut u16,
) -> *mut Server {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller passes null or a string.
    let address = unsafe { text(address) };
    // SAFETY: the caller passes null or a place for a number.
    let port = unsafe { port.as_mut() };
    let start = || {
        let address: Address = core::str::from_utf8(address?).ok()?.parse().ok()?;
        let server = Server::start(&address, buffer?.clone(), Policy::default()).ok()?;
        if let (Some(place), Address::Tcp { port, .. }) = (port, server.address()) {
            *place = *port;
        }
        Some(Box::into_raw(Box::new(server)))
    };
    catch_unwind(AssertUnwindSafe(start)).ok().flatten().unwrap_or(core::ptr::null_mut())
}

/// Stops a server.
///
/// # Safety
/// - `server` is null or from [`schwann_ft_serve`], and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_stop(server: *mut Server) {
    if !server.is_null() {
        // SAFETY: the caller gives back what `schwann_ft_serve` made, once.
        drop(unsafe { Box::from_raw(server) });
    }
}
