//! Any library with liblsl's C ABI, loaded by path: what the measuring processes call.
//!
//! With `slices`, [`tap`], [`zmq`], [`crate::heap`] and one peer of [`crate::aead`] the only unsafe code of this crate. It turns the C functions that the scenarios need into safe calls on values that own their handle; all
//! symbols are looked up when the library is loaded, so a missing one is an error at the start, not in the middle of a run.
//! It does not wrap the rest of the ABI; `tests/tools/lsl.py` does.
#![allow(unsafe_code, reason = "calls into a C library that the user names")]

use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use libloading::Library;
use serde::{Deserialize, Serialize};

/// Stamps a table of C functions, which are looked up by name when their library is loaded, and keeps that loaded.
macro_rules! functions {
    ($name:ident { $($field:ident: $symbol:literal as $type:ty,)* }) => {
        struct $name {
            $($field: $type,)*
            _library: libloading::Library,
        }

        impl $name {
            fn look_up(library: libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self { $($field: $crate::ffi::symbol(&library, $symbol)?,)* _library: library })
            }
        }
    };
}

pub(crate) mod slices;
pub(crate) mod tap;
pub(crate) mod zmq;

/// A loaded library.
#[derive(Clone)]
pub(crate) struct Lsl(Arc<Functions>);

impl Lsl {
    /// The version that brought [`Pushes::Write`].
    pub(crate) const FIRST_WITH_ZERO_COPY: i32 = 118;

    /// Loads the library at `path` and looks up every function that the scenarios use.
    ///
    /// # Errors
    ///
    /// [`LoadError`] when the file cannot be loaded or a symbol is missing: name another library.
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let fail = |error: libloading::Error| LoadError(format!("{}: {error}", path.display()));
        // SAFETY: loading runs the library's initialisers; the user named this file as a liblsl, which is
        // the trust that every program places in its libraries.
        let library = unsafe { Library::new(path) }.map_err(fail)?;
        Functions::look_up(library).map(|functions| Self(Arc::new(functions))).map_err(fail)
    }

    /// Returns `major * 100 + minor` of the library. Source: `lsl_library_version`.
    pub(crate) fn version(&self) -> i32 {
        // SAFETY: takes nothing, and the symbol has this type in every liblsl.
        unsafe { (self.0.library_version)() }
    }

    /// Returns the library's description of its build. Source: `lsl_library_info`.
    pub(crate) fn info(&self) -> String {
        // SAFETY: takes nothing and returns a static string or null.
        text(unsafe { (self.0.library_info)() })
    }
}

/// What a stream announces about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamShape<'a> {
    /// What it is called.
    pub(crate) name: &'a str,
    /// Channels per sample.
    pub(crate) channel_count: usize,
    /// The announced rate, Hz; 0 for an irregular stream.
    pub(crate) nominal_rate: f64,
    /// Unique on this machine: the receiver looks the stream up by it.
    pub(crate) source_id: &'a str,
}

/// What a push does before it returns, as in `lsl_transport_options_t`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Pushes {
    /// It may leave the sample to a thread of the library: `transp_default`.
    #[default]
    Queue = 0,
    /// It writes the caller's values to every consumer's socket, without a copy: `transp_sync_blocking`, since 1.18.
    Write = 4,
}

impl Pushes {
    /// Whether it is what every library does.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The element types that the scenarios send, with the C functions for each.
pub(crate) trait Element: bytemuck::NoUninit + bytemuck::AnyBitPattern + Default + PartialEq {
    /// The channel format's number in `lsl_channel_format_t`.
    const FORMAT: c_int;
    /// Returns this element's functions.
    fn functions(all: &Functions) -> &ElementFunctions<Self>;
}

impl Element for f32 {
    const FORMAT: c_int = 1;
    fn functions(all: &Functions) -> &ElementFunctions<Self> {
        &all.float
    }
}

impl Element for i16 {
    const FORMAT: c_int = 5;
    fn functions(all: &Functions) -> &ElementFunctions<Self> {
        &all.short
    }
}

/// A stream that this process sends.
pub(crate) struct Outlet {
    handle: *mut c_void,
    channel_count: usize,
    library: Lsl,
}

impl Outlet {
    /// Creates an outlet with the library's own chunking and a queue of `buffer` seconds per consumer.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason: the configuration of the run is wrong.
    pub(crate) fn create<T: Element>(
        library: &Lsl,
        shape: &StreamShape<'_>,
        buffer: i32,
        pushes: Pushes,
    ) -> Result<Self, CallError> {
        let name = CString::new(shape.name).map_err(|_| CallError::new("name holds a NUL"))?;
        let kind = CString::new("Bench").expect("a literal without NUL");
        let source = CString::new(shape.source_id).map_err(|_| CallError::new("source id holds a NUL"))?;
        let count = c_int::try_from(shape.channel_count).map_err(|_| CallError::new("too many channels"))?;
        // SAFETY: three NUL-terminated strings that outlive the call.
        let info = unsafe {
            (library.0.create_streaminfo)(
                name.as_ptr(),
                kind.as_ptr(),
                count,
                shape.nominal_rate,
                T::FORMAT,
                source.as_ptr(),
            )
        };
        if info.is_null() {
            return Err(library.last_error("lsl_create_streaminfo"));
        }
        // SAFETY: `info` came from lsl_create_streaminfo; the outlet copies it.
        let handle = unsafe { (library.0.create_outlet_ex)(info, 0, buffer, pushes as c_int) };
        // SAFETY: `info` is ours and is not used again.
        unsafe { (library.0.destroy_streaminfo)(info) };
        if handle.is_null() {
            return Err(library.last_error("lsl_create_outlet_ex"));
        }
        Ok(Self { handle, channel_count: shape.channel_count, library: library.clone() })
    }

    /// Waits up to `timeout` seconds until a consumer is connected, and says whether one is.
    pub(crate) fn wait_for_consumers(&self, timeout: f64) -> bool {
        // SAFETY: the handle is live until drop.
        unsafe { (self.library.0.wait_for_consumers)(self.handle, timeout) != 0 }
    }

    /// Pushes one sample stamped with the library's clock, to be sent at once.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the code that the library returned.
    pub(crate) fn push_sample<T: Element>(&mut self, sample: &[T]) -> Result<(), CallError> {
        assert_eq!(sample.len(), self.channel_count, "one value per channel");
        // SAFETY: the library reads `channel_count` values, which the assertion guarantees.
        let code =
            unsafe { (T::functions(&self.library.0).push_sample)(self.handle, sample.as_ptr(), 0.0, 1) };
        CallError::check("lsl_push_sample", code)
    }

    /// Pushes whole samples, interleaved, the last stamped with the library's clock, to be sent at once.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the code that the library returned.
    pub(crate) fn push_chunk<T: Element>(&mut self, values: &[T]) -> Result<(), CallError> {
        let count = c_ulong::try_from(values.len()).map_err(|_| CallError::new("chunk too long"))?;
        // SAFETY: the library reads `count` values of the slice.
        let code = unsafe {
            (T::functions(&self.library.0).push_chunk)(self.handle, values.as_ptr(), count, 0.0, 1)
        };
        CallError::check("lsl_push_chunk", code)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // SAFETY: created by lsl_create_outlet_ex and destroyed once.
        unsafe { (self.library.0.destroy_outlet)(self.handle) };
    }
}

/// A stream that this process receives.
pub(crate) struct Inlet {
    handle: *mut c_void,
    channel_count: usize,
    library: Lsl,
}

impl Inlet {
    /// Finds the stream of `shape` by its source id, connects, and returns when the connection stands.
    ///
    /// # Errors
    ///
    /// [`CallError`] when it is not found or not reached within `timeout` seconds.
    pub(crate) fn open(
        library: &Lsl,
        shape: &StreamShape<'_>,
        buffer: i32,
        timeout: f64,
    ) -> Result<Self, CallError> {
        let property = CString::new("source_id").expect("a literal without NUL");
        let value = CString::new(shape.source_id).map_err(|_| CallError::new("source id holds a NUL"))?;
        let mut found = [core::ptr::null_mut(); 1];
        // SAFETY: one slot for one result, and NUL-terminated strings that outlive the call.
        let count = unsafe {
            (library.0.resolve_byprop)(found.as_mut_ptr(), 1, property.as_ptr(), value.as_ptr(), 1, timeout)
        };
        let [info] = found;
        if count < 1 || info.is_null() {
            return Err(CallError::new("the stream was not found"));
        }
        // SAFETY: `info` is a resolved stream info; the inlet copies it.
        let handle = unsafe { (library.0.create_inlet)(info, buffer, 0, 0) };
        // SAFETY: `info` is ours and is not used again.
        unsafe { (library.0.destroy_streaminfo)(info) };
        if handle.is_null() {
            return Err(library.last_error("lsl_create_inlet"));
        }
        let inlet = Self { handle, channel_count: shape.channel_count, library: library.clone() };
        let mut code = 0;
        // SAFETY: a live handle and a valid place for the code.
        unsafe { (library.0.open_stream)(inlet.handle, timeout, &raw mut code) };
        CallError::check("lsl_open_stream", code)?;
        Ok(inlet)
    }

    /// Pulls one sample into `out`; `false` when none came within `timeout` seconds.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the code that the library returned.
    pub(crate) fn pull_sample<T: Element>(&mut self, out: &mut [T], timeout: f64) -> Result<bool, CallError> {
        assert_eq!(out.len(), self.channel_count, "one value per channel");
        let count = c_int::try_from(out.len()).map_err(|_| CallError::new("too many channels"))?;
        let mut code = 0;
        let pull = T::functions(&self.library.0).pull_sample;
        // SAFETY: `out` has room for `count` values, and `code` is a valid place.
        let stamp = unsafe { pull(self.handle, out.as_mut_ptr(), count, timeout, &raw mut code) };
        CallError::check("lsl_pull_sample", code)?;
        Ok(stamp != 0.0)
    }

    /// Pulls whole samples into `out` with their stamps and returns the number of samples. Waits until `out`
    /// is full, at most `timeout` seconds.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the code that the library returned.
    pub(crate) fn pull_chunk<T: Element>(
        &mut self,
        out: &mut [T],
        stamps: &mut [f64],
        timeout: f64,
    ) -> Result<usize, CallError> {
        assert_eq!(out.len(), stamps.len() * self.channel_count, "one stamp per sample");
        let values = c_ulong::try_from(out.len()).map_err(|_| CallError::new("chunk too long"))?;
        let samples = c_ulong::try_from(stamps.len()).map_err(|_| CallError::new("chunk too long"))?;
        let mut code = 0;
        let pull = T::functions(&self.library.0).pull_chunk;
        // SAFETY: both buffers have the lengths given, and `code` is a valid place.
        let written = unsafe {
            pull(self.handle, out.as_mut_ptr(), stamps.as_mut_ptr(), values, samples, timeout, &raw mut code)
        };
        CallError::check("lsl_pull_chunk", code)?;
        Ok(usize::try_from(written).map_err(|_| CallError::new("impossible count"))? / self.channel_count)
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        // SAFETY: created by lsl_create_inlet and destroyed once.
        unsafe { (self.library.0.destroy_inlet)(self.handle) };
    }
}

/// A library that cannot be used: its path and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LoadError(String);

/// A call that the library refused: the function and its reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CallError(String);

impl CallError {
    fn new(reason: &str) -> Self {
        Self(reason.to_owned())
    }

    fn check(function: &str, code: c_int) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self(format!("{function} returned {code}"))) }
    }
}

impl Lsl {
    fn last_error(&self, function: &str) -> CallError {
        // SAFETY: returns this thread's error text, never freed by the caller.
        let reason = text(unsafe { (self.0.last_error)() });
        CallError(format!("{function} failed: {reason}"))
    }
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: not null, and the library returns NUL-terminated strings that live at least until the next call.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

type Handle = *mut c_void;
type PushSample<T> = unsafe extern "C" fn(Handle, *const T, f64, c_int) -> c_int;
type PushChunk<T> = unsafe extern "C" fn(Handle, *const T, c_ulong, f64, c_int) -> c_int;
type PullSample<T> = unsafe extern "C" fn(Handle, *mut T, c_int, f64, *mut c_int) -> f64;
type PullChunk<T> =
    unsafe extern "C" fn(Handle, *mut T, *mut f64, c_ulong, c_ulong, f64, *mut c_int) -> c_ulong;

/// The typed functions of one element type.
pub(crate) struct ElementFunctions<T> {
    push_sample: PushSample<T>,
    push_chunk: PushChunk<T>,
    pull_sample: PullSample<T>,
    pull_chunk: PullChunk<T>,
}

/// The functions of one library, which stays loaded as long as they are reachable.
pub(crate) struct Functions {
    library_version: unsafe extern "C" fn() -> c_int,
    library_info: unsafe extern "C" fn() -> *const c_char,
    last_error: unsafe extern "C" fn() -> *const c_char,
    create_streaminfo: CreateStreaminfo,
    destroy_streaminfo: unsafe extern "C" fn(Handle),
    create_outlet_ex: unsafe extern "C" fn(Handle, c_int, c_int, c_int) -> Handle,
    destroy_outlet: unsafe extern "C" fn(Handle),
    wait_for_consumers: unsafe extern "C" fn(Handle, f64) -> c_int,
    resolve_byprop: ResolveByprop,
    create_inlet: unsafe extern "C" fn(Handle, c_int, c_int, c_int) -> Handle,
    destroy_inlet: unsafe extern "C" fn(Handle),
    open_stream: unsafe extern "C" fn(Handle, f64, *mut c_int),
    float: ElementFunctions<f32>,
    short: ElementFunctions<i16>,
    _library: Library,
}

type CreateStreaminfo =
    unsafe extern "C" fn(*const c_char, *const c_char, c_int, f64, c_int, *const c_char) -> Handle;
type ResolveByprop =
    unsafe extern "C" fn(*mut Handle, u32, *const c_char, *const c_char, c_int, f64) -> c_int;

impl Functions {
    fn look_up(library: Library) -> Result<Self, libloading::Error> {
        Ok(Self {
            library_version: symbol(&library, "lsl_library_version")?,
            library_info: symbol(&library, "lsl_library_info")?,
            last_error: symbol(&library, "lsl_last_error")?,
            create_streaminfo: symbol(&library, "lsl_create_streaminfo")?,
            destroy_streaminfo: symbol(&library, "lsl_destroy_streaminfo")?,
            create_outlet_ex: symbol(&library, "lsl_create_outlet_ex")?,
            destroy_outlet: symbol(&library, "lsl_destroy_outlet")?,
            wait_for_consumers: symbol(&library, "lsl_wait_for_consumers")?,
            resolve_byprop: symbol(&library, "lsl_resolve_byprop")?,
            create_inlet: symbol(&library, "lsl_create_inlet")?,
            destroy_inlet: symbol(&library, "lsl_destroy_inlet")?,
            open_stream: symbol(&library, "lsl_open_stream")?,
            float: element(&library, "f")?,
            short: element(&library, "s")?,
            _library: library,
        })
    }
}

fn element<T>(library: &Library, suffix: &str) -> Result<ElementFunctions<T>, libloading::Error> {
    Ok(ElementFunctions {
        push_sample: symbol(library, &format!("lsl_push_sample_{suffix}tp"))?,
        push_chunk: symbol(library, &format!("lsl_push_chunk_{suffix}tp"))?,
        pull_sample: symbol(library, &format!("lsl_pull_sample_{suffix}"))?,
        pull_chunk: symbol(library, &format!("lsl_pull_chunk_{suffix}"))?,
    })
}

pub(crate) fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, libloading::Error> {
    // SAFETY: every caller names a function of its library's C interface and asks for exactly its declared type.
    unsafe { library.get::<F>(name) }.map(|found| *found)
}
