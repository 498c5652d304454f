//! Any library with liblsl's C ABI, loaded by path: what the measuring processes call.
//!
//! With `slices`, [`tap`], [`iceoryx2`], [`crate::heap`] and one peer of [`crate::aead`] the only unsafe code of this
//! crate. It turns the C functions that the scenarios need into safe calls on values that own their handle. All
//! symbols are looked up when the library is loaded. So a missing one is an error at the start, not in the middle
//! of a run. It does not wrap the rest of the ABI; `tests/tools/lsl.py` does.
#![allow(unsafe_code, reason = "calls into a C library that the user names")]

use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use libloading::Library;
use serde::{Deserialize, Serialize};

use crate::workload::Format;

/// Stamps a table of C functions. They are looked up by name when their library is loaded, and the table keeps it
/// loaded.
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

pub(crate) mod iceoryx2;
pub(crate) mod slices;
pub(crate) mod tap;

/// A loaded library.
#[derive(Clone)]
pub(crate) struct Lsl(Arc<Loaded>);

struct Loaded {
    functions: Functions,
    float: Element,
    short: Element,
}

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
        // SAFETY: loading runs the library's initialisers. The user named this file as a liblsl; every
        // program trusts its libraries in the same way.
        let library = unsafe { Library::new(path) }.map_err(fail)?;
        let (float, short) =
            (Element::look_up(&library, "f").map_err(fail)?, Element::look_up(&library, "s"));
        let (functions, short) = (Functions::look_up(library).map_err(fail)?, short.map_err(fail)?);
        Ok(Self(Arc::new(Loaded { functions, float, short })))
    }

    /// Returns `major * 100 + minor` of the library. Source: `lsl_library_version`.
    pub(crate) fn version(&self) -> i32 {
        // SAFETY: takes nothing, and the symbol has this type in every liblsl.
        unsafe { (self.0.functions.library_version)() }
    }

    /// Returns the library's description of its build. Source: `lsl_library_info`.
    pub(crate) fn info(&self) -> String {
        // SAFETY: takes nothing and returns a static string or null.
        text(unsafe { (self.0.functions.library_info)() })
    }

    /// Returns its version and its build.
    pub(crate) fn description(&self) -> String {
        format!("{} {}", self.version(), self.info())
    }
}

/// What a stream announces about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamShape<'a> {
    /// What it is called.
    pub(crate) name: &'a str,
    /// Type of the values.
    pub(crate) format: Format,
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

impl StreamShape<'_> {
    fn sample_bytes(&self) -> usize {
        self.channel_count * self.format.bytes()
    }
}

/// A stream that this process sends.
pub(crate) struct Outlet {
    handle: *mut c_void,
    format: Format,
    sample_bytes: usize,
    library: Lsl,
}

impl Outlet {
    /// Creates an outlet with the library's own chunking and a queue of `buffer` seconds per consumer.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the library's reason: the configuration of the run is wrong.
    pub(crate) fn create(
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
            (library.0.functions.create_streaminfo)(
                name.as_ptr(),
                kind.as_ptr(),
                count,
                shape.nominal_rate,
                shape.format.number(),
                source.as_ptr(),
            )
        };
        if info.is_null() {
            return Err(library.last_error("lsl_create_streaminfo"));
        }
        // SAFETY: `info` came from lsl_create_streaminfo; the outlet copies it.
        let handle = unsafe { (library.0.functions.create_outlet_ex)(info, 0, buffer, pushes as c_int) };
        // SAFETY: `info` is ours and is not used again.
        unsafe { (library.0.functions.destroy_streaminfo)(info) };
        if handle.is_null() {
            return Err(library.last_error("lsl_create_outlet_ex"));
        }
        let sample_bytes = shape.sample_bytes();
        Ok(Self { handle, format: shape.format, sample_bytes, library: library.clone() })
    }

    /// Waits up to `timeout` seconds until a consumer is connected, and says whether one is.
    pub(crate) fn wait_for_consumers(&self, timeout: f64) -> bool {
        // SAFETY: the handle is live until drop.
        unsafe { (self.library.0.functions.wait_for_consumers)(self.handle, timeout) != 0 }
    }

    /// Pushes whole samples, interleaved, the last stamped with the library's clock, to be sent at once. One alone is pushed by
    /// the function for single samples.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the code that the library returned.
    pub(crate) fn push(&mut self, values: &[u8]) -> Result<(), CallError> {
        let Element { push_sample, push_chunk, .. } = self.library.0.element(self.format, values.as_ptr());
        assert!(values.len().is_multiple_of(self.sample_bytes), "one value per channel");
        if values.len() == self.sample_bytes {
            // SAFETY: the library reads a sample's values, which is the length of the slice, and they are aligned.
            let code = unsafe { push_sample(self.handle, values.as_ptr().cast(), 0.0, 1) };
            return CallError::check("lsl_push_sample", code);
        }
        let count = (values.len() / self.format.bytes()) as c_ulong;
        // SAFETY: the library reads `count` values of the slice, which are aligned.
        let code = unsafe { push_chunk(self.handle, values.as_ptr().cast(), count, 0.0, 1) };
        CallError::check("lsl_push_chunk", code)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // SAFETY: created by lsl_create_outlet_ex and destroyed once.
        unsafe { (self.library.0.functions.destroy_outlet)(self.handle) };
    }
}

/// A stream that this process receives.
pub(crate) struct Inlet {
    handle: *mut c_void,
    format: Format,
    sample_bytes: usize,
    stamps: Vec<f64>,
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
            (library.0.functions.resolve_byprop)(
                found.as_mut_ptr(),
                1,
                property.as_ptr(),
                value.as_ptr(),
                1,
                timeout,
            )
        };
        let [info] = found;
        if count < 1 || info.is_null() {
            return Err(CallError::new("the stream was not found"));
        }
        // SAFETY: `info` is a resolved stream info; the inlet copies it.
        let handle = unsafe { (library.0.functions.create_inlet)(info, buffer, 0, 0) };
        // SAFETY: `info` is ours and is not used again.
        unsafe { (library.0.functions.destroy_streaminfo)(info) };
        if handle.is_null() {
            return Err(library.last_error("lsl_create_inlet"));
        }
        let (format, sample_bytes) = (shape.format, shape.sample_bytes());
        let inlet = Self { handle, format, sample_bytes, stamps: Vec::new(), library: library.clone() };
        let mut code = 0;
        // SAFETY: a live handle and a valid place for the code.
        unsafe { (library.0.functions.open_stream)(inlet.handle, timeout, &raw mut code) };
        CallError::check("lsl_open_stream", code)?;
        Ok(inlet)
    }

    /// Pulls whole samples into `out` and returns their number. Waits until `out` is full, at most `timeout` seconds. One alone
    /// is pulled by the function for single samples.
    ///
    /// # Errors
    ///
    /// [`CallError`] with the code that the library returned.
    pub(crate) fn pull(&mut self, out: &mut [u8], timeout: f64) -> Result<usize, CallError> {
        let Element { pull_sample, pull_chunk, .. } = self.library.0.element(self.format, out.as_ptr());
        self.stamps.resize(out.len() / self.sample_bytes, 0.0);
        let (values, mut code) = (out.len() / self.format.bytes(), 0);
        let to = out.as_mut_ptr().cast();
        if out.len() == self.sample_bytes {
            // SAFETY: `out` has room for as many values and is aligned, and `code` is a valid place.
            let stamp = unsafe { pull_sample(self.handle, to, values as c_int, timeout, &raw mut code) };
            CallError::check("lsl_pull_sample", code)?;
            return Ok(usize::from(stamp != 0.0));
        }
        let (samples, stamps) = (self.stamps.len() as c_ulong, self.stamps.as_mut_ptr());
        let values = values as c_ulong;
        // SAFETY: both buffers have the lengths given and are aligned, and `code` is a valid place.
        let written = unsafe { pull_chunk(self.handle, to, stamps, values, samples, timeout, &raw mut code) };
        CallError::check("lsl_pull_chunk", code)?;
        Ok(written as usize * self.format.bytes() / self.sample_bytes)
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        // SAFETY: created by lsl_create_inlet and destroyed once.
        unsafe { (self.library.0.functions.destroy_inlet)(self.handle) };
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
        let reason = text(unsafe { (self.0.functions.last_error)() });
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

/// The functions for one type of values.
struct Element {
    push_sample: unsafe extern "C" fn(Handle, *const c_void, f64, c_int) -> c_int,
    push_chunk: unsafe extern "C" fn(Handle, *const c_void, c_ulong, f64, c_int) -> c_int,
    pull_sample: unsafe extern "C" fn(Handle, *mut c_void, c_int, f64, *mut c_int) -> f64,
    pull_chunk: PullChunk,
}

type PullChunk =
    unsafe extern "C" fn(Handle, *mut c_void, *mut f64, c_ulong, c_ulong, f64, *mut c_int) -> c_ulong;

impl Element {
    fn look_up(library: &Library, suffix: &str) -> Result<Self, libloading::Error> {
        Ok(Self {
            push_sample: symbol(library, &format!("lsl_push_sample_{suffix}tp"))?,
            push_chunk: symbol(library, &format!("lsl_push_chunk_{suffix}tp"))?,
            pull_sample: symbol(library, &format!("lsl_pull_sample_{suffix}"))?,
            pull_chunk: symbol(library, &format!("lsl_pull_chunk_{suffix}"))?,
        })
    }
}

impl Loaded {
    /// The functions for values of `format` at a place, which must be aligned as they are.
    fn element(&self, format: Format, place: *const u8) -> &Element {
        assert!(place.addr().is_multiple_of(format.bytes()), "values are aligned");
        match format {
            Format::Float32 => &self.float,
            Format::Int16 => &self.short,
        }
    }
}

functions!(Functions {
    library_version: "lsl_library_version" as unsafe extern "C" fn() -> c_int,
    library_info: "lsl_library_info" as unsafe extern "C" fn() -> *const c_char,
    last_error: "lsl_last_error" as unsafe extern "C" fn() -> *const c_char,
    create_streaminfo: "lsl_create_streaminfo"
        as unsafe extern "C" fn(*const c_char, *const c_char, c_int, f64, c_int, *const c_char) -> Handle,
    destroy_streaminfo: "lsl_destroy_streaminfo" as unsafe extern "C" fn(Handle),
    create_outlet_ex: "lsl_create_outlet_ex" as unsafe extern "C" fn(Handle, c_int, c_int, c_int) -> Handle,
    destroy_outlet: "lsl_destroy_outlet" as unsafe extern "C" fn(Handle),
    wait_for_consumers: "lsl_wait_for_consumers" as unsafe extern "C" fn(Handle, f64) -> c_int,
    resolve_byprop: "lsl_resolve_byprop"
        as unsafe extern "C" fn(*mut Handle, u32, *const c_char, *const c_char, c_int, f64) -> c_int,
    create_inlet: "lsl_create_inlet" as unsafe extern "C" fn(Handle, c_int, c_int, c_int) -> Handle,
    destroy_inlet: "lsl_destroy_inlet" as unsafe extern "C" fn(Handle),
    open_stream: "lsl_open_stream" as unsafe extern "C" fn(Handle, f64, *mut c_int),
});

pub(crate) fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, libloading::Error> {
    // SAFETY: every caller names a function of its library's C interface and asks for exactly its declared type.
    unsafe { library.get::<F>(name) }.map(|found| *found)
}
