//! Functions of `lsl/inlet.h`.

use core::ptr;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover};
use schwann::security::Explained;
use schwann::{Error, StreamInfo};

use crate::guard::{
    ARGUMENT, INTERNAL, OK, TIMEOUT, guard, record, record_error, recorded_code as recorded, set_code,
};
use crate::outlet::buffer_unit;
use crate::streaminfo::Info;
use crate::sys::prepare_process;

mod pull;

pub use pull::*;

/// Makes a receiver. Null, with a last error, if the description is not of a stream to be received.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_inlet(
    info: *mut Info,
    max_buflen: i32,
    max_chunklen: i32,
    recover: i32,
) -> *mut Inlet {
    // SAFETY: as this function's own contract.
    unsafe { lsl_create_inlet_ex(info, max_buflen, max_chunklen, recover, 0) }
}

/// Makes a receiver with transport options.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_inlet_ex(
    info: *mut Info,
    max_buflen: i32,
    max_chunklen: i32,
    recover: i32,
    flags: i32,
) -> *mut Inlet {
    // SAFETY: as this function's own contract.
    let info = unsafe { Info::of(info) };
    prepare_process();
    guard(ptr::null_mut(), || {
        let info = info.ok_or(Error::Argument("The stream info of an inlet must not be NULL."));
        match info.and_then(|info| create(&info.info, max_buflen, max_chunklen, recover, flags)) {
            Ok(inlet) => Arc::into_raw(Arc::new(inlet)).cast_mut(),
            Err(error) => {
                record_error(error);
                ptr::null_mut()
            }
        }
    })
}

fn create(
    info: &StreamInfo,
    max_buflen: i32,
    max_chunklen: i32,
    recover: i32,
    flags: i32,
) -> Result<Inlet, Error> {
    let chunk_samples =
        u32::try_from(max_chunklen).map_err(|_| Error::Argument("max_chunklen must be nonnegative."))?;
    let options = InletOptions {
        buffer_length: max_buflen,
        buffer_unit: buffer_unit(flags)?,
        chunk_samples,
        recover: if recover != 0 { Recover::BySourceId } else { Recover::No },
    };
    Inlet::new(info, &options)
}

/// Ends a receiver.
///
/// # Safety
///
/// - `inlet` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_inlet(inlet: *mut Inlet) {
    if !inlet.is_null() {
        // SAFETY: handles come from `Arc::into_raw`, and this one was not given back.
        let inlet = unsafe { Arc::from_raw(inlet) };
        guard((), || {
            // Another thread that waits in it shares it: it comes back now, and the last one out ends the inlet.
            inlet.end();
            drop(inlet);
        });
    }
}

/// Keeps an inlet for the length of a call, during which another thread may give the handle back.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
pub(crate) unsafe fn hold(inlet: *mut Inlet) -> Option<Arc<Inlet>> {
    if inlet.is_null() {
        return None;
    }
    // SAFETY: a live handle owns a count of its own, so the inlet is there.
    unsafe { Arc::increment_strong_count(inlet) };
    // SAFETY: the count that was just added belongs to the result.
    Some(unsafe { Arc::from_raw(inlet) })
}

/// Runs an operation; its error goes to `ec`, and `failure` to the caller.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
unsafe fn with<R: Copy>(
    inlet: *mut Inlet,
    ec: *mut i32,
    failure: R,
    operation: impl FnOnce(&Inlet) -> Result<R, i32>,
) -> R {
    // SAFETY: as the caller promises.
    let inlet = unsafe { hold(inlet) };
    let inlet = inlet.as_deref();
    let result = guard(Err(INTERNAL), || inlet.ok_or(ARGUMENT).and_then(operation));
    if let (Err(TIMEOUT), Some(refusal)) = (&result, inlet.and_then(Inlet::refusal)) {
        // The time was over because nothing can come.
        record(&format!("There is no session with the outlet: {}", Explained(refusal)));
    }
    // SAFETY: as the caller promises.
    unsafe { set_code(ec, result.err().unwrap_or(OK)) };
    result.unwrap_or(failure)
}

/// The whole description of the stream, which the caller gives back.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_get_fullinfo(inlet: *mut Inlet, timeout: f64, ec: *mut i32) -> *mut Info {
    let fetch = |inlet: &Inlet| inlet.full_info(timeout).map(Info::into_handle).map_err(recorded);
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, ptr::null_mut(), fetch) }
}

/// Connects to the stream.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_open_stream(inlet: *mut Inlet, timeout: f64, ec: *mut i32) {
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, (), |inlet| inlet.open_stream(timeout).map_err(recorded)) };
}

/// Disconnects from the stream.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_close_stream(inlet: *mut Inlet) {
    let close = |inlet: &Inlet| {
        inlet.close_stream();
        Ok(())
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), (), close) };
}

/// What to add to the sender's stamps to have them on the local clock.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_time_correction(inlet: *mut Inlet, timeout: f64, ec: *mut i32) -> f64 {
    // SAFETY: as this function's own contract; null pointers are permitted.
    unsafe { lsl_time_correction_ex(inlet, ptr::null_mut(), ptr::null_mut(), timeout, ec) }
}

/// Like [`lsl_time_correction`], with the sender's time at the measurement and the uncertainty.
///
/// # Safety
///
/// - `inlet` is null or a live handle; the other pointers are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_time_correction_ex(
    inlet: *mut Inlet,
    remote_time: *mut f64,
    uncertainty: *mut f64,
    timeout: f64,
    ec: *mut i32,
) -> f64 {
    let measure = |inlet: &Inlet| inlet.clock_offset(timeout).map(Some).map_err(recorded);
    // SAFETY: as this function's own contract.
    let Some(estimate) = (unsafe { with(inlet, ec, None, measure) }) else { return 0.0 };
    for (place, value) in [(remote_time, estimate.remote_time), (uncertainty, estimate.uncertainty)] {
        if !place.is_null() {
            // SAFETY: not null, so the caller promises that it can be written.
            unsafe { place.write(value) };
        }
    }
    estimate.offset
}

/// Chooses how stamps are processed.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_postprocessing(inlet: *mut Inlet, flags: u32) -> i32 {
    let set = |inlet: &Inlet| {
        inlet.set_post_processing(flags);
        Ok(OK)
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), OK, set) }
}

/// Number of samples that can be pulled.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_samples_available(inlet: *mut Inlet) -> u32 {
    let count = |inlet: &Inlet| Ok(u32::try_from(inlet.samples_available()).unwrap_or(u32::MAX));
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), 0, count) }
}

/// Drops what was not pulled, and says how many samples that were.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_inlet_flush(inlet: *mut Inlet) -> u32 {
    let flush = |inlet: &Inlet| Ok(u32::try_from(inlet.flush()).unwrap_or(u32::MAX));
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), 0, flush) }
}

/// Whether the sender's clock may have changed since the last call.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_was_clock_reset(inlet: *mut Inlet) -> u32 {
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), 0, |inlet| Ok(u32::from(inlet.was_clock_reset()))) }
}

/// Sets the half-time of the de-jittering filter, in seconds.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_smoothing_halftime(inlet: *mut Inlet, halftime: f32) -> i32 {
    let set = |inlet: &Inlet| {
        inlet.set_smoothing_halftime(halftime);
        Ok(OK)
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), OK, set) }
}
