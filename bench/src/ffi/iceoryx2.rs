//! iceoryx2 behind the C functions of `bench/opponents`, loaded by path: a publisher and subscribers in shared memory.

use core::ffi::{c_char, c_int};
use std::path::Path;
use std::sync::Arc;

use libloading::Library;

use super::{CallError, LoadError, text};

/// A loaded library.
#[derive(Clone)]
pub(crate) struct Iceoryx2(Arc<Functions>);

impl Iceoryx2 {
    /// Loads the library at `path`.
    ///
    /// # Errors
    ///
    /// [`LoadError`] when the file cannot be loaded or a symbol is missing: name another library.
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let fail = |error: libloading::Error| LoadError(format!("{}: {error}", path.display()));
        // SAFETY: loading runs the library's initialisers. It is built from sources in this repository.
        let library = unsafe { Library::new(path) }.map_err(fail)?;
        Functions::look_up(library).map(|functions| Self(Arc::new(functions))).map_err(fail)
    }

    /// Returns the library's version, as in `0.10.0`.
    pub(crate) fn version(&self) -> String {
        // SAFETY: takes nothing and returns a static string.
        text(unsafe { (self.0.version)() })
    }
}

/// What publishes.
pub(crate) struct Publisher {
    handle: Handle,
    /// The number by which subscribers find it.
    pub(crate) port: u16,
    library: Iceoryx2,
}

impl Publisher {
    /// Publishes, with at most `queue` messages ahead of the slowest subscriber. Beyond that it waits.
    ///
    /// # Errors
    ///
    /// [`CallError`]; the library has told the reason.
    pub(crate) fn new(library: Iceoryx2, queue: usize) -> Result<Self, CallError> {
        let mut port = 0;
        // SAFETY: a valid place for a number.
        let handle = unsafe { (library.0.publish)(queue, &raw mut port) };
        if handle.is_null() { Err(refused()) } else { Ok(Self { handle, port, library }) }
    }

    /// Waits up to `timeout` seconds for so many subscribers, and says whether they are there.
    pub(crate) fn wait(&self, count: usize, timeout: f64) -> bool {
        // SAFETY: the handle is live until drop.
        unsafe { (self.library.0.wait)(self.handle, count, timeout) == 1 }
    }

    /// Publishes one message.
    ///
    /// # Errors
    ///
    /// [`CallError`]; the library has told the reason.
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), CallError> {
        // SAFETY: a live handle; the library reads `len` bytes of the slice and keeps a copy.
        let code = unsafe { (self.library.0.send)(self.handle, message.as_ptr(), message.len()) };
        if code == 0 { Ok(()) } else { Err(refused()) }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        // SAFETY: made by this library and ended once.
        unsafe { (self.library.0.unpublish)(self.handle) };
    }
}

/// What subscribes.
pub(crate) struct Subscriber {
    handle: Handle,
    library: Iceoryx2,
}

impl Subscriber {
    /// Subscribes to the publisher of this number.
    ///
    /// # Errors
    ///
    /// [`CallError`]; the library has told the reason.
    pub(crate) fn new(library: Iceoryx2, port: u16) -> Result<Self, CallError> {
        // SAFETY: takes any number.
        let handle = unsafe { (library.0.subscribe)(port) };
        if handle.is_null() { Err(refused()) } else { Ok(Self { handle, library }) }
    }

    /// Receives one message into `out` within `timeout` seconds and returns its length; 0 when none came.
    ///
    /// # Errors
    ///
    /// [`CallError`]; the library has told the reason.
    pub(crate) fn receive(&mut self, out: &mut [u8], timeout: f64) -> Result<usize, CallError> {
        let receive = self.library.0.receive;
        // SAFETY: a live handle; `out` has room for as many bytes as are named.
        let length = unsafe { receive(self.handle, out.as_mut_ptr(), out.len(), timeout) };
        usize::try_from(length).map_err(|_| refused())
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        // SAFETY: made by this library and ended once.
        unsafe { (self.library.0.unsubscribe)(self.handle) };
    }
}

fn refused() -> CallError {
    CallError::new("iceoryx2 refused; the line above says why")
}

type Handle = *mut core::ffi::c_void;

functions!(Functions {
    version: "opponent_version" as unsafe extern "C" fn() -> *const c_char,
    publish: "opponent_publish" as unsafe extern "C" fn(usize, *mut u16) -> Handle,
    wait: "opponent_wait" as unsafe extern "C" fn(Handle, usize, f64) -> c_int,
    send: "opponent_send" as unsafe extern "C" fn(Handle, *const u8, usize) -> c_int,
    unpublish: "opponent_unpublish" as unsafe extern "C" fn(Handle),
    subscribe: "opponent_subscribe" as unsafe extern "C" fn(u16) -> Handle,
    receive: "opponent_receive" as unsafe extern "C" fn(Handle, *mut u8, usize, f64) -> c_int,
    unsubscribe: "opponent_unsubscribe" as unsafe extern "C" fn(Handle),
});
