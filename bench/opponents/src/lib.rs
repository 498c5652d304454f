//! iceoryx2 behind a few C functions, so that the benchmark can load it like its other opponents.
//!
//! A function that fails says why on the standard error, and returns null or -1. Seconds are how long it waits.

mod iceoryx2;

use core::ffi::{CStr, c_char, c_int};
use core::fmt::Display;
use core::time::Duration;

use self::iceoryx2::{Publisher, Subscriber, VERSION};

/// A call failed, and the reason is told.
struct Failed;

impl Failed {
    fn of(error: impl Display) -> Self {
        eprintln!("opponent: {error}");
        Self
    }
}

/// The library's version, ended by NUL.
#[unsafe(no_mangle)]
pub extern "C" fn opponent_version() -> *const c_char {
    const { CStr::as_ptr(VERSION) }
}

/// Publishes, with so many messages ahead of the slowest subscriber. Writes the number by which subscribers find it.
///
/// # Safety
///
/// `port` is a valid place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opponent_publish(queue: usize, port: *mut u16) -> *mut Publisher {
    let publisher = Publisher::new(queue).inspect(|publisher| {
        // SAFETY: the caller promises a valid place.
        unsafe { port.write(publisher.port) };
    });
    handle(publisher)
}

/// Waits for so many subscribers: 1 when they are there, and 0 if not all came.
///
/// # Safety
///
/// The publisher came from [`opponent_publish`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opponent_wait(publisher: *const Publisher, count: usize, seconds: f64) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    c_int::from(unsafe { &*publisher }.wait(count, Duration::from_secs_f64(seconds)))
}

/// Publishes one message; all have the length of the first.
///
/// # Safety
///
/// The publisher came from [`opponent_publish`]; the message has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opponent_send(publisher: *mut Publisher, message: *const u8, len: usize) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let publisher = unsafe { &mut *publisher };
    // SAFETY: the caller promises as many bytes.
    publisher.send(unsafe { core::slice::from_raw_parts(message, len) }).map_or(-1, |()| 0)
}

/// Ends a publisher.
///
/// # Safety
///
/// It came from [`opponent_publish`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opponent_unpublish(publisher: *mut Publisher) {
    // SAFETY: the caller promises a live handle of ours.
    drop(unsafe { Box::from_raw(publisher) });
}

/// Subscribes to the publisher of this number.
#[unsafe(no_mangle)]
pub extern "C" fn opponent_subscribe(port: u16) -> *mut Subscriber {
    handle(Subscriber::new(port))
}

/// Receives one message and returns its length; 0 if none came. What does not fit is left out.
///
/// # Safety
///
/// The subscriber came from [`opponent_subscribe`]; `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opponent_receive(
    subscriber: *const Subscriber,
    out: *mut u8,
    len: usize,
    seconds: f64,
) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let subscriber = unsafe { &*subscriber };
    // SAFETY: the caller promises as much room.
    let out = unsafe { core::slice::from_raw_parts_mut(out, len) };
    let length = subscriber.receive(out, Duration::from_secs_f64(seconds));
    length.map_or(-1, |length| c_int::try_from(length).unwrap_or(c_int::MAX))
}

/// Ends a subscriber.
///
/// # Safety
///
/// It came from [`opponent_subscribe`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opponent_unsubscribe(subscriber: *mut Subscriber) {
    // SAFETY: the caller promises a live handle of ours.
    drop(unsafe { Box::from_raw(subscriber) });
}

fn handle<T>(end: Result<T, Failed>) -> *mut T {
    end.map_or(core::ptr::null_mut(), |end| Box::into_raw(Box::new(end)))
}
