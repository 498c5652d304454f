//! Functions of `lsl/outlet.h`.

use core::ptr;
use core::time::Duration;

use schwann::outlet::{Delivery, Outlet, OutletOptions};
use schwann::{Error, StreamInfo};
use schwann_proto::stream::{BufferUnit, FOREVER, TRANSPORT_SYNC_BLOCKING};

use crate::guard::{guard, record, record_error};
use crate::streaminfo::Info;
use crate::sys::prepare_process;

pub mod push;

/// Starts to serve a stream. Null, with a last error, if that is impossible.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_outlet(
    info: *mut Info,
    chunk_size: i32,
    max_buffered: i32,
) -> *mut Outlet {
    // SAFETY: as this function's own contract.
    unsafe { lsl_create_outlet_ex(info, chunk_size, max_buffered, 0) }
}

/// Starts to serve a stream with transport options.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_outlet_ex(
    info: *mut Info,
    chunk_size: i32,
    max_buffered: i32,
    flags: i32,
) -> *mut Outlet {
    // SAFETY: as this function's own contract.
    let info = unsafe { Info::of(info) };
    prepare_process();
    guard(ptr::null_mut(), || match info.map(|info| create(&info.info, chunk_size, max_buffered, flags)) {
        Some(Ok(outlet)) => Box::into_raw(Box::new(outlet)),
        Some(Err(error)) => {
            record_error(error);
            ptr::null_mut()
        }
        None => {
            record(&"The stream info of an outlet must not be NULL.");
            ptr::null_mut()
        }
    })
}

fn create(info: &StreamInfo, chunk_size: i32, max_buffered: i32, flags: i32) -> Result<Outlet, Error> {
    let synchronous = flags & TRANSPORT_SYNC_BLOCKING != 0;
    let options = OutletOptions {
        chunk_samples: u32::try_from(chunk_size).unwrap_or(0),
        buffer_length: max_buffered,
        buffer_unit: buffer_unit(flags)?,
        delivery: if synchronous { Delivery::Synchronous } else { Delivery::Queued },
    };
    Outlet::new(info, &options)
}

/// What the transport flags make of a buffer length.
pub(crate) fn buffer_unit(flags: i32) -> Result<BufferUnit, Error> {
    BufferUnit::from_transport_flags(flags).ok_or(Error::Argument(
        "transp_bufsize_samples and transp_bufsize_thousandths must not be set together.",
    ))
}

/// Ends a stream.
///
/// # Safety
///
/// - `outlet` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_outlet(outlet: *mut Outlet) {
    if !outlet.is_null() {
        // SAFETY: handles come from `Box::into_raw`, and this one was not given back.
        let outlet = unsafe { Box::from_raw(outlet) };
        guard((), || drop(outlet));
    }
}

/// Whether an inlet receives the stream.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_have_consumers(outlet: *mut Outlet) -> i32 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || i32::from(outlet.is_some_and(Outlet::have_consumers)))
}

/// Waits until an inlet receives the stream, and says whether one does.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_wait_for_consumers(outlet: *mut Outlet, timeout: f64) -> i32 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || i32::from(outlet.is_some_and(|outlet| outlet.wait_for_consumers(1, time_limit(timeout)))))
}

/// A timeout of the C interface: no limit from [`FOREVER`] on, no wait for what is no positive number.
pub(crate) fn time_limit(seconds: f64) -> Option<Duration> {
    (seconds < FOREVER || seconds.is_nan()).then(|| Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// A copy of the description that the stream has on the network.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_get_info(outlet: *mut Outlet) -> *mut Info {
    // SAFETY: as this function's own contract.
    let Some(outlet) = (unsafe { outlet.as_ref() }) else {
        record(&NO_HANDLE);
        return ptr::null_mut();
    };
    guard(ptr::null_mut(), || Info::into_handle(outlet.info().clone()))
}

/// What an outlet without a handle answers.
const NO_HANDLE: Error = Error::Argument("The outlet handle is NULL.");
