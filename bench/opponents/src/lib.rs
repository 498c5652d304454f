//! Zenoh or iceoryx2 behind the few functions of libzmq that the benchmark calls. So they are loaded and driven
//! like ZeroMQ.
//!
//! The feature of the build says which. A publisher tells of each subscriber once; there is no scouting: both ends know the
//! address, as with ZeroMQ. The publisher blocks when a queue is full, so that nothing is lost.
//!
//! - Source: zmq.h of libzmq 4 for the functions.

#[cfg(feature = "iceoryx2")]
mod iceoryx2;
#[cfg(feature = "zenoh")]
mod zenoh;

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::Display;
use core::time::Duration;

#[cfg(feature = "iceoryx2")]
use self::iceoryx2::{End, VERSION};
#[cfg(feature = "zenoh")]
use self::zenoh::{End, VERSION};

/// Why a call failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    /// Nothing came in time.
    Late,
    /// The library refused, and said why on the standard error.
    Failed,
}

impl Fault {
    /// The number that `errno` tells: EAGAIN, or EIO.
    fn number(self) -> c_int {
        match self {
            Self::Late => 11,
            Self::Failed => 5,
        }
    }

    fn of(error: impl Display) -> Self {
        eprintln!("opponent: {error}");
        Self::Failed
    }
}

/// What the options of libzmq set.
#[derive(Clone, Copy, Default)]
struct Limits {
    /// Messages that a subscriber keeps.
    queue: usize,
    /// How long a receipt waits.
    patience: Duration,
}

/// One end, before and after it has an address.
#[derive(Default)]
struct Socket {
    limits: Limits,
    /// Where a publisher is.
    endpoint: String,
    end: Option<End>,
}

impl Socket {
    /// Sets an option of libzmq, if there is such a thing here.
    fn set(&mut self, option: c_int, value: c_int) {
        match option {
            RECEIVE_QUEUE => self.limits.queue = usize::try_from(value).unwrap_or(0),
            RECEIVE_TIMEOUT => {
                self.limits.patience = Duration::from_millis(u64::try_from(value).unwrap_or(u64::MAX / 2));
            }
            _ => {}
        }
    }

    fn publish(&mut self, address: &str) -> Result<(), Fault> {
        let host = address.trim_start_matches("tcp://").trim_end_matches(":*");
        let (end, port) = End::publisher(host, self.limits)?;
        (self.endpoint, self.end) = (format!("tcp://{host}:{port}"), Some(end));
        Ok(())
    }

    fn subscribe(&mut self, address: &str) -> Result<(), Fault> {
        self.end = Some(End::subscriber(address.trim_start_matches("tcp://"), self.limits)?);
        Ok(())
    }

    fn end(&mut self) -> Result<&mut End, Fault> {
        self.end.as_mut().ok_or_else(|| Fault::of("not connected"))
    }
}

const RECEIVE_QUEUE: c_int = 24;
const RECEIVE_TIMEOUT: c_int = 27;

thread_local! {
    static FAULT: Cell<c_int> = const { Cell::new(0) };
}

/// Makes a context: nothing is kept in it.
#[unsafe(no_mangle)]
pub extern "C" fn zmq_ctx_new() -> *mut c_void {
    core::ptr::NonNull::<c_void>::dangling().as_ptr()
}

/// Makes a socket.
#[unsafe(no_mangle)]
pub extern "C" fn zmq_socket(_context: *mut c_void, _kind: c_int) -> *mut c_void {
    Box::into_raw(Box::new(Socket::default())).cast()
}

/// Ends a socket.
///
/// # Safety
///
/// The handle came from [`zmq_socket`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_close(handle: *mut c_void) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    drop(unsafe { Box::from_raw(handle.cast::<Socket>()) });
    0
}

/// Sets the length of a queue or the patience of a receipt; any other option is taken and changes nothing.
///
/// # Safety
///
/// The handle came from [`zmq_socket`]; the value has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_setsockopt(
    handle: *mut c_void,
    option: c_int,
    value: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let socket = unsafe { &mut *handle.cast::<Socket>() };
    if len == size_of::<c_int>() {
        // SAFETY: the caller promises as many bytes.
        socket.set(option, unsafe { value.cast::<c_int>().read_unaligned() });
    }
    0
}

/// Writes the address that a publisher listens at, ended by NUL. The requested option does not matter.
///
/// # Safety
///
/// The handle came from [`zmq_socket`]; `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_getsockopt(
    handle: *mut c_void,
    _option: c_int,
    out: *mut c_void,
    len: *mut usize,
) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let endpoint = &unsafe { &*handle.cast::<Socket>() }.endpoint;
    // SAFETY: the caller promises a valid place.
    if endpoint.len() >= unsafe { *len } {
        return fault(Fault::Failed);
    }
    // SAFETY: there is room for the text and a NUL.
    unsafe { core::ptr::copy_nonoverlapping(endpoint.as_ptr(), out.cast(), endpoint.len()) };
    // SAFETY: as above.
    unsafe { out.cast::<u8>().add(endpoint.len()).write(0) };
    0
}

/// Listens at an address as in `tcp://127.0.0.1:*`, and publishes.
///
/// # Safety
///
/// The handle came from [`zmq_socket`]; the address is ended by NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_bind(handle: *mut c_void, address: *const c_char) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let socket = unsafe { &mut *handle.cast::<Socket>() };
    // SAFETY: the caller promises a text.
    done(socket.publish(&unsafe { CStr::from_ptr(address) }.to_string_lossy()))
}

/// Connects to an address as in `tcp://127.0.0.1:7447`, and subscribes.
///
/// # Safety
///
/// The handle came from [`zmq_socket`]; the address is ended by NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_connect(handle: *mut c_void, address: *const c_char) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let socket = unsafe { &mut *handle.cast::<Socket>() };
    // SAFETY: the caller promises a text.
    done(socket.subscribe(&unsafe { CStr::from_ptr(address) }.to_string_lossy()))
}

/// Publishes one message.
///
/// # Safety
///
/// The handle came from [`zmq_socket`]; the message has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_send(
    handle: *mut c_void,
    message: *const c_void,
    len: usize,
    _flags: c_int,
) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let socket = unsafe { &mut *handle.cast::<Socket>() };
    // SAFETY: the caller promises as many bytes.
    let message = unsafe { core::slice::from_raw_parts(message.cast(), len) };
    done(socket.end().and_then(|end| end.send(message)))
}

/// Receives one message, or at a publisher one byte for each subscriber; returns the message's length.
///
/// # Safety
///
/// The handle came from [`zmq_socket`]; `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_recv(handle: *mut c_void, out: *mut c_void, len: usize, _flags: c_int) -> c_int {
    // SAFETY: the caller promises a live handle of ours.
    let socket = unsafe { &mut *handle.cast::<Socket>() };
    // SAFETY: the caller promises as much room.
    let out = unsafe { core::slice::from_raw_parts_mut(out.cast(), len) };
    let patience = socket.limits.patience;
    match socket.end().and_then(|end| end.receive(out, patience)) {
        Ok(length) => c_int::try_from(length).unwrap_or(c_int::MAX),
        Err(fault_of) => fault(fault_of),
    }
}

/// The reason of this thread's last failure.
#[unsafe(no_mangle)]
pub extern "C" fn zmq_errno() -> c_int {
    FAULT.get()
}

/// A reason in words.
#[unsafe(no_mangle)]
pub extern "C" fn zmq_strerror(number: c_int) -> *const c_char {
    let is_late = number == Fault::Late.number();
    let words = if is_late { c"nothing came in time" } else { c"the library refused; see above" };
    words.as_ptr()
}

/// The library's version.
///
/// # Safety
///
/// Three valid places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zmq_version(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) {
    for (place, number) in [major, minor, patch].into_iter().zip(VERSION) {
        if !place.is_null() {
            // SAFETY: the caller promises valid places.
            unsafe { place.write(number) };
        }
    }
}

fn done(result: Result<(), Fault>) -> c_int {
    result.map_or_else(fault, |()| 0)
}

fn fault(fault: Fault) -> c_int {
    FAULT.set(fault.number());
    -1
}
