//! Functions of `schwann.h`: what the original cannot tell. See the header for the C side.

use schwann::inlet::{Inlet, StreamEvent};
use schwann::outlet::Outlet;

use crate::chunk;
use crate::guard::{ARGUMENT, INTERNAL, guard, outcome};
use crate::outlet::time_limit;

/// No event came in time.
const EVENT_NONE: i32 = 0;
/// Samples arrive.
const EVENT_CONNECTED: i32 = 1;
/// The connection broke and the stream is looked for.
const EVENT_RECOVERING: i32 = 2;
/// The stream will not come back to this inlet.
const EVENT_LOST: i32 = 3;
/// The sender's clock may be another one now.
const EVENT_CLOCK_RESET: i32 = 4;

/// Age of the newest pulled sample in seconds; NaN before the first.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_lag(inlet: *mut Inlet) -> f64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { inlet.as_ref() };
    guard(f64::NAN, || inlet.and_then(Inlet::lag).unwrap_or(f64::NAN))
}

/// Samples that arrived and were dropped because nobody pulled them in time.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_dropped_samples(inlet: *mut Inlet) -> u64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { inlet.as_ref() };
    guard(0, || inlet.map_or(0, Inlet::dropped_samples))
}

/// Bytes of samples that wait to be pulled.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_buffered_bytes(inlet: *mut Inlet) -> u64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { inlet.as_ref() };
    guard(0, || inlet.map_or(0, Inlet::buffered_bytes) as u64)
}

/// The oldest event of the connection that was not taken yet; waits for one up to `timeout` seconds.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_next_event(inlet: *mut Inlet, timeout: f64) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(inlet) = (unsafe { inlet.as_ref() }) else { return ARGUMENT };
    guard(INTERNAL, || match inlet.next_event(timeout) {
        None => EVENT_NONE,
        Some(StreamEvent::Connected) => EVENT_CONNECTED,
        Some(StreamEvent::Recovering) => EVENT_RECOVERING,
        Some(StreamEvent::Lost) => EVENT_LOST,
        Some(StreamEvent::ClockReset) => EVENT_CLOCK_RESET,
        Some(_) => INTERNAL,
    })
}

/// Number of inlets that receive the stream.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_consumer_count(outlet: *mut Outlet) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || outlet.map_or(0, Outlet::consumer_count) as u64)
}

/// Waits until `count` inlets receive the stream; 1 if they do, 0 if they do not after `timeout` seconds.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_wait_for_consumers(
    outlet: *mut Outlet,
    count: u64,
    timeout: f64,
) -> i32 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    guard(0, || i32::from(outlet.is_some_and(|outlet| outlet.wait_for_consumers(count, time_limit(timeout)))))
}

/// Waits until the kernel has every sample pushed so far; 0 if it has, -1 if not after `timeout` seconds.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_flush(outlet: *mut Outlet, timeout: f64) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(outlet) = (unsafe { outlet.as_ref() }) else { return ARGUMENT };
    guard(INTERNAL, || outcome(outlet.flush(time_limit(timeout))))
}

/// Samples that all consumers together, also those that are gone, were too slow for.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_dropped_samples(outlet: *mut Outlet) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || outlet.map_or(0, Outlet::dropped_samples))
}

/// Samples that each present consumer was too slow for; writes up to `len` counts and returns the number of
/// consumers.
///
/// # Safety
///
/// - `outlet` is null or a live handle; `counts` is null or points to `len` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_dropped_by_consumer(
    outlet: *mut Outlet,
    counts: *mut u64,
    len: u64,
) -> u64 {
    // SAFETY: as this function's own contract.
    let Some(outlet) = (unsafe { outlet.as_ref() }) else { return 0 };
    // SAFETY: as this function's own contract.
    let places = unsafe { chunk::write(counts, usize::try_from(len).unwrap_or(0)) };
    guard(0, || {
        let consumers = outlet.consumers();
        places.iter_mut().zip(&consumers).for_each(|(place, consumer)| *place = consumer.dropped_samples);
        consumers.len() as u64
    })
}

/// Bytes that wait for consumers that lag.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_buffered_bytes(outlet: *mut Outlet) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || outlet.map_or(0, Outlet::buffered_bytes) as u64)
}
