//! Functions of `schwann.h` against data that is silently old.

use core::ffi::{c_char, c_void};

use schwann::inlet::{Alarm, AlarmKind, Inlet};
use schwann::outlet::{Outlet, Pace};

use crate::chunk;
use crate::guard::{ARGUMENT, INTERNAL, OK, guard};
use crate::inlet::hold;
use crate::schwann_additions::{EVENT_BEHIND, EVENT_CAUGHT_UP, EVENT_SILENT, put};

/// `schwann_alarm_t`: what is the matter with a stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AlarmRecord {
    event: i32,
    reserved: i32,
    lag: f64,
    skipped: u64,
}

impl From<Alarm> for AlarmRecord {
    fn from(alarm: Alarm) -> Self {
        let event = match alarm.kind {
            AlarmKind::Behind => EVENT_BEHIND,
            AlarmKind::CaughtUp => EVENT_CAUGHT_UP,
            AlarmKind::Silent => EVENT_SILENT,
            _ => INTERNAL,
        };
        Self { event, reserved: 0, lag: alarm.lag, skipped: alarm.skipped }
    }
}

/// `schwann_alarm_callback_t`.
type Callback = unsafe extern "C" fn(*const AlarmRecord, *mut c_void);

/// A function of the caller's, with what it wants to be called with.
struct Call {
    callback: Callback,
    user: *mut c_void,
}

// SAFETY: the caller promises that the function may be called with its pointer by another thread.
unsafe impl Send for Call {}
// SAFETY: as above; the inlet calls it from one thread at a time.
unsafe impl Sync for Call {}

impl Call {
    fn tell(&self, alarm: Alarm) {
        let record = AlarmRecord::from(alarm);
        // SAFETY: the caller promised that the function may be called as long as it is set.
        unsafe { (self.callback)(&raw const record, self.user) }
    }
}

/// Has pulls pass over samples that are older than this many seconds; 0 or less delivers every sample.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_set_max_lag(inlet: *mut Inlet, seconds: f64) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(inlet) = (unsafe { hold(inlet) }) else { return ARGUMENT };
    guard(INTERNAL, || {
        inlet.set_max_lag(seconds);
        OK
    })
}

/// Has `callback` called when the program falls behind by more than `max_lag` seconds, or nothing arrives for as
/// long. It is called again when that is over. Null ends that.
///
/// # Safety
///
/// - `inlet` is null or a live handle. `callback` is null, or another thread may call it with `user`. That right
///   ends when the inlet is destroyed, or when another callback is set and a call in progress has returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_set_alarm(
    inlet: *mut Inlet,
    max_lag: f64,
    callback: Option<Callback>,
    user: *mut c_void,
) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(inlet) = (unsafe { hold(inlet) }) else { return ARGUMENT };
    guard(INTERNAL, || {
        match callback {
            None => inlet.clear_alarm(),
            Some(callback) => {
                let call = Call { callback, user };
                inlet.set_alarm(max_lag, move |alarm| call.tell(alarm));
            }
        }
        OK
    })
}

/// `schwann_consumer_t`: an inlet as its outlet sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Consumer {
    dropped_samples: u64,
    waiting_bytes: u64,
    skipped_samples: u64,
    lag: f64,
    name: [c_char; 128],
}

/// Lists the consumers of the stream, and which of them are too slow. Writes up to `len` entries; returns the
/// number of consumers.
///
/// # Safety
///
/// - `outlet` is null or a live handle, `consumers` null or valid for writes of `len` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_consumers(
    outlet: *mut Outlet,
    consumers: *mut Consumer,
    len: u64,
) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    let found = guard(Vec::new(), || outlet.map_or_else(Vec::new, Outlet::consumers));
    // SAFETY: as the caller promises.
    let places = unsafe { chunk::write(consumers, usize::try_from(len).unwrap_or(usize::MAX)) };
    for (place, consumer) in places.iter_mut().zip(&found) {
        let report = consumer.report;
        *place = Consumer {
            dropped_samples: consumer.dropped_samples,
            waiting_bytes: consumer.waiting_bytes,
            skipped_samples: report.map_or(0, |report| report.skipped),
            lag: report.filter(|report| report.pace == Pace::Behind).map_or(0.0, |report| report.lag),
            name: [0; 128],
        };
        put(&mut place.name, consumer.name.as_bytes());
    }
    found.len() as u64
}
