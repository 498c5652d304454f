//! ZeroMQ's C library, loaded by path: publishers and subscribers over TCP.
//!
//! It wraps what the scenarios need and no more. Source: zmq.h of libzmq 4.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use libloading::Library;

use super::{CallError, LoadError, text};

/// A loaded library with a context.
#[derive(Clone)]
pub(crate) struct ZeroMq(Arc<Functions>);

impl ZeroMq {
    /// Loads the library at `path`.
    ///
    /// # Errors
    ///
    /// [`LoadError`] when the file cannot be loaded or a symbol is missing: name another library.
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let fail = |error: libloading::Error| LoadError(format!("{}: {error}", path.display()));
        // SAFETY: loading runs the library's initialisers. The user named this file as a libzmq; every program
        // trusts its libraries in the same way.
        let library = unsafe { Library::new(path) }.map_err(fail)?;
        Functions::look_up(library).map(|functions| Self(Arc::new(functions))).map_err(fail)
    }

    /// Returns the library's version, as in `4.3.5`.
    pub(crate) fn version(&self) -> String {
        let [mut major, mut minor, mut patch] = [0; 3];
        // SAFETY: three valid places for numbers.
        unsafe { (self.0.version)(&raw mut major, &raw mut minor, &raw mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    fn socket(&self, kind: c_int, queue: c_int) -> Result<Socket, CallError> {
        // SAFETY: takes nothing.
        let context = unsafe { (self.0.ctx_new)() };
        if context.is_null() {
            return Err(self.error("zmq_ctx_new"));
        }
        // SAFETY: a live context. It lives until the process ends, which is when the measurement ends.
        let handle = unsafe { (self.0.socket)(context, kind) };
        if handle.is_null() {
            return Err(self.error("zmq_socket"));
        }
        let socket = Socket { handle, library: self.clone() };
        socket.set(LINGER, 0)?;
        socket.set(SEND_QUEUE, queue)?;
        socket.set(RECEIVE_QUEUE, queue)?;
        Ok(socket)
    }

    fn error(&self, function: &str) -> CallError {
        // SAFETY: takes nothing.
        let number = unsafe { (self.0.errno)() };
        // SAFETY: any number has a text, which lives as long as the library.
        let reason = text(unsafe { (self.0.strerror)(number) });
        CallError(format!("{function} failed: {reason}"))
    }
}

/// A socket of ZeroMQ.
pub(crate) struct Socket {
    handle: *mut c_void,
    library: ZeroMq,
}

impl Socket {
    /// Publishes at a port of `host` that the system chooses, and keeps at most `queue` messages per subscriber.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason.
    pub(crate) fn publisher(library: &ZeroMq, host: &str, queue: c_int) -> Result<Self, CallError> {
        let socket = library.socket(XPUB, queue)?;
        // Otherwise only the first of equal subscriptions would be told.
        socket.set(XPUB_VERBOSE, 1)?;
        let address =
            CString::new(format!("tcp://{host}:*")).map_err(|_| CallError::new("NUL in the host"))?;
        // SAFETY: a live socket and a NUL-terminated string that outlives the call.
        let code = unsafe { (library.0.bind)(socket.handle, address.as_ptr()) };
        socket.check("zmq_bind", code)?;
        Ok(socket)
    }

    /// Subscribes to everything of the publisher at `port` of `host`, and keeps at most `queue` messages.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason.
    pub(crate) fn subscriber(
        library: &ZeroMq,
        host: &str,
        port: u16,
        queue: c_int,
    ) -> Result<Self, CallError> {
        let socket = library.socket(SUB, queue)?;
        // SAFETY: a live socket and an empty value.
        let code = unsafe { (library.0.setsockopt)(socket.handle, SUBSCRIBE, [].as_ptr(), 0) };
        socket.check("zmq_setsockopt", code)?;
        let address =
            CString::new(format!("tcp://{host}:{port}")).map_err(|_| CallError::new("NUL in the host"))?;
        // SAFETY: a live socket and a NUL-terminated string that outlives the call.
        let code = unsafe { (library.0.connect)(socket.handle, address.as_ptr()) };
        socket.check("zmq_connect", code)?;
        Ok(socket)
    }

    /// The port at which it publishes.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason.
    pub(crate) fn port(&self) -> Result<u16, CallError> {
        let mut address = [0_u8; 128];
        let mut length = address.len();
        let get = self.library.0.getsockopt;
        // SAFETY: `address` has room for `length` bytes, and `length` is a valid place.
        let code = unsafe { get(self.handle, LAST_ENDPOINT, address.as_mut_ptr().cast(), &raw mut length) };
        self.check("zmq_getsockopt", code)?;
        let address = CStr::from_bytes_until_nul(&address).ok().and_then(|address| address.to_str().ok());
        let port = address.and_then(|address| address.rsplit_once(':')?.1.parse().ok());
        port.ok_or_else(|| CallError::new("the publisher has no port"))
    }

    /// Waits for receipts so long, seconds.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason.
    pub(crate) fn set_patience(&self, seconds: f64) -> Result<(), CallError> {
        self.set(RECEIVE_TIMEOUT, (seconds * 1e3) as c_int)
    }

    /// Sends one message; a publisher drops it for subscribers whose queue is full.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason.
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), CallError> {
        // SAFETY: the library reads `len` bytes of the slice and keeps a copy.
        let sent = unsafe { (self.library.0.send)(self.handle, message.as_ptr().cast(), message.len(), 0) };
        self.check("zmq_send", sent.min(0))
    }

    /// Receives one message into `out` and returns its length; `None` when none came in time.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason, also for a message that is longer than `out`.
    pub(crate) fn receive(&mut self, out: &mut [u8]) -> Result<Option<usize>, CallError> {
        // SAFETY: `out` has room for as many bytes as are named.
        let length = unsafe { (self.library.0.recv)(self.handle, out.as_mut_ptr().cast(), out.len(), 0) };
        match usize::try_from(length) {
            Ok(length) if length > out.len() => Err(CallError::new("a message is longer than expected")),
            Ok(length) => Ok(Some(length)),
            // SAFETY: takes nothing.
            Err(_) if unsafe { (self.library.0.errno)() } == rustix::io::Errno::AGAIN.raw_os_error() => {
                Ok(None)
            }
            Err(_) => Err(self.library.error("zmq_recv")),
        }
    }

    fn set(&self, option: c_int, value: c_int) -> Result<(), CallError> {
        let set = self.library.0.setsockopt;
        // SAFETY: `value` is a valid place of the size that is named, as all options used here take.
        let code = unsafe { set(self.handle, option, (&raw const value).cast(), size_of::<c_int>()) };
        self.check("zmq_setsockopt", code)
    }

    fn check(&self, function: &str, code: c_int) -> Result<(), CallError> {
        if code == 0 { Ok(()) } else { Err(self.library.error(function)) }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: made by zmq_socket and closed once.
        unsafe { (self.library.0.close)(self.handle) };
    }
}

functions!(Functions {
    bind: "zmq_bind" as unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    close: "zmq_close" as unsafe extern "C" fn(*mut c_void) -> c_int,
    connect: "zmq_connect" as unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    ctx_new: "zmq_ctx_new" as unsafe extern "C" fn() -> *mut c_void,
    errno: "zmq_errno" as unsafe extern "C" fn() -> c_int,
    getsockopt: "zmq_getsockopt"
        as unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, *mut usize) -> c_int,
    recv: "zmq_recv" as unsafe extern "C" fn(*mut c_void, *mut c_void, usize, c_int) -> c_int,
    send: "zmq_send" as unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int,
    setsockopt: "zmq_setsockopt" as unsafe extern "C" fn(*mut c_void, c_int, *const c_void, usize) -> c_int,
    socket: "zmq_socket" as unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    strerror: "zmq_strerror" as unsafe extern "C" fn(c_int) -> *const c_char,
    version: "zmq_version" as unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int),
});

const SUB: c_int = 2;
const SUBSCRIBE: c_int = 6;
const XPUB: c_int = 9;
const LINGER: c_int = 17;
const SEND_QUEUE: c_int = 23;
const RECEIVE_QUEUE: c_int = 24;
const RECEIVE_TIMEOUT: c_int = 27;
const LAST_ENDPOINT: c_int = 32;
const XPUB_VERBOSE: c_int = 40;
