//! Functions of `lsl/resolver.h`.

use core::ffi::c_char;
use core::ptr;
use core::time::Duration;
use std::borrow::Cow;
use std::sync::Arc;

use schwann::resolver::{self, ContinuousResolver, ResolveError};
use schwann::{Context, Error, StreamInfo};

use crate::chunk;
use crate::guard::{ARGUMENT, INTERNAL, guard, record, record_error};
use crate::outlet::time_limit;
use crate::streaminfo::Info;
use crate::strings;

/// Searches all streams for `wait_time` seconds; returns how many were found, or an error.
///
/// # Safety
///
/// - `buffer` is null or points to `buffer_elements` handles, which are overwritten.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_resolve_all(
    buffer: *mut *mut Info,
    buffer_elements: u32,
    wait_time: f64,
) -> i32 {
    let search = || resolver::resolve_all(Context::get(), timeout(wait_time));
    // SAFETY: as this function's own contract.
    unsafe { deliver(buffer, buffer_elements as usize, "", search) }
}

/// Searches streams whose property has a value, until `minimum` are found or `timeout` is over.
///
/// As in the original, a property without a value is a predicate, and without a property every stream is wanted.
///
/// # Safety
///
/// - `buffer` is null or points to `buffer_elements` handles, which are overwritten; the strings are null or
///   NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_resolve_byprop(
    buffer: *mut *mut Info,
    buffer_elements: u32,
    prop: *const c_char,
    value: *const c_char,
    minimum: i32,
    time_out: f64,
) -> i32 {
    // SAFETY: as this function's own contract.
    let wanted = unsafe { Wanted::property(prop, value) };
    let search = || wanted.search(count(minimum), timeout(time_out));
    // SAFETY: as this function's own contract.
    unsafe { deliver(buffer, buffer_elements as usize, &wanted.text(), search) }
}

/// Searches streams that fulfil an XPath predicate, until `minimum` are found or `timeout` is over. Without a
/// predicate, as in the original, every stream is wanted.
///
/// # Safety
///
/// - `buffer` is null or points to `buffer_elements` handles, which are overwritten; `pred` is null or
///   NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_resolve_bypred(
    buffer: *mut *mut Info,
    buffer_elements: u32,
    pred: *const c_char,
    minimum: i32,
    time_out: f64,
) -> i32 {
    // SAFETY: as this function's own contract.
    let wanted = unsafe { Wanted::predicate(pred) };
    let search = || wanted.search(count(minimum), timeout(time_out));
    // SAFETY: as this function's own contract.
    unsafe { deliver(buffer, buffer_elements as usize, &wanted.text(), search) }
}

/// Searches all the time.
#[unsafe(no_mangle)]
pub extern "C" fn lsl_create_continuous_resolver(forget_after: f64) -> *mut ContinuousResolver {
    start(&Wanted::All, forget_after)
}

/// Searches streams whose property has a value, all the time.
///
/// # Safety
///
/// - The strings are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_continuous_resolver_byprop(
    prop: *const c_char,
    value: *const c_char,
    forget_after: f64,
) -> *mut ContinuousResolver {
    // SAFETY: as this function's own contract.
    start(&unsafe { Wanted::property(prop, value) }, forget_after)
}

/// Searches streams that fulfil an XPath predicate, all the time.
///
/// # Safety
///
/// - `pred` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_continuous_resolver_bypred(
    pred: *const c_char,
    forget_after: f64,
) -> *mut ContinuousResolver {
    // SAFETY: as this function's own contract.
    start(&unsafe { Wanted::predicate(pred) }, forget_after)
}

/// The streams that were there lately.
///
/// # Safety
///
/// - `resolver` is null or a live handle. `buffer` is null or points to `buffer_elements` handles (or to
///   1,024, if that is less); they are overwritten.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_resolver_results(
    resolver: *mut ContinuousResolver,
    buffer: *mut *mut Info,
    buffer_elements: u32,
) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(resolver) = (unsafe { resolver.as_ref() }) else { return ARGUMENT };
    let len = (buffer_elements as usize).min(RESULTS_LIMIT);
    // SAFETY: as this function's own contract.
    unsafe { deliver(buffer, len, "", || Ok(resolver.results())) }
}

/// Ends a search.
///
/// # Safety
///
/// - `resolver` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_continuous_resolver(resolver: *mut ContinuousResolver) {
    if !resolver.is_null() {
        // SAFETY: handles come from `Box::into_raw`, and this one was not given back.
        let resolver = unsafe { Box::from_raw(resolver) };
        guard((), || drop(resolver));
    }
}

/// What a program searches.
enum Wanted {
    /// Every stream of the session.
    All,
    Predicate(String),
    Property(String, String),
}

impl Wanted {
    /// # Safety
    ///
    /// - The strings are null or NUL-terminated.
    unsafe fn property(name: *const c_char, value: *const c_char) -> Self {
        // SAFETY: as the caller promises.
        match (unsafe { text(name) }, unsafe { text(value) }) {
            (Some(name), Some(value)) => Self::Property(name, value),
            (Some(name), None) => Self::Predicate(name),
            (None, _) => Self::All,
        }
    }

    /// # Safety
    ///
    /// - `predicate` is null or NUL-terminated.
    unsafe fn predicate(predicate: *const c_char) -> Self {
        // SAFETY: as the caller promises.
        unsafe { text(predicate) }.map_or(Self::All, Self::Predicate)
    }

    /// The condition, as the last error quotes it.
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::All => Cow::Borrowed(""),
            Self::Predicate(predicate) => Cow::Borrowed(predicate),
            Self::Property(name, value) => Cow::Owned(format!("{name}='{value}'")),
        }
    }

    fn search(&self, minimum: usize, timeout: Duration) -> Result<Vec<StreamInfo>, ResolveError> {
        let config = Context::get();
        match self {
            Self::All => resolver::resolve_session(config, minimum, timeout),
            Self::Predicate(predicate) => resolver::resolve_bypred(config, predicate, minimum, timeout),
            Self::Property(name, value) => resolver::resolve_byprop(config, name, value, minimum, timeout),
        }
    }

    fn watch(&self, forget_after: Duration) -> Result<ContinuousResolver, ResolveError> {
        let config = Arc::clone(Context::get());
        match self {
            Self::All => ContinuousResolver::all(config, forget_after),
            Self::Predicate(predicate) => ContinuousResolver::by_predicate(config, predicate, forget_after),
            Self::Property(name, value) => ContinuousResolver::by_property(config, name, value, forget_after),
        }
    }
}

fn start(wanted: &Wanted, forget_after: f64) -> *mut ContinuousResolver {
    guard(ptr::null_mut(), || match wanted.watch(timeout(forget_after)) {
        Ok(resolver) => Box::into_raw(Box::new(resolver)),
        Err(error) => {
            eprintln!("no continuous resolver: {error}");
            ptr::null_mut()
        }
    })
}

/// Runs a search for `query` and writes handles of what it finds; returns how many, or an error code.
///
/// # Safety
///
/// - `buffer` is null or points to `len` handles.
unsafe fn deliver(
    buffer: *mut *mut Info,
    len: usize,
    query: &str,
    search: impl FnOnce() -> Result<Vec<StreamInfo>, ResolveError>,
) -> i32 {
    guard(INTERNAL, || {
        let found = match search() {
            Ok(found) => found,
            Err(ResolveError::Query(error)) => {
                record(&error.describe(query));
                return ARGUMENT;
            }
            Err(ResolveError::Unsealed) => {
                record_error(Error::Unsealed);
                return INTERNAL;
            }
            Err(error) => {
                record(&error);
                return INTERNAL;
            }
        };
        // SAFETY: as the caller promises.
        let places = unsafe { chunk::write(buffer, len) };
        let count = found.len().min(places.len());
        for (place, info) in places.iter_mut().zip(found) {
            *place = Info::into_handle(info);
        }
        i32::try_from(count).unwrap_or(i32::MAX)
    })
}

/// # Safety
///
/// - `text` is null or NUL-terminated.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: as the caller promises.
    unsafe { strings::bytes(text) }.map(|text| String::from_utf8_lossy(text).into_owned())
}

fn count(minimum: i32) -> usize {
    usize::try_from(minimum).unwrap_or(0)
}

fn timeout(seconds: f64) -> Duration {
    time_limit(seconds).unwrap_or(resolver::FOREVER)
}

/// Most results that one call returns: `lsl_cpp.h` announces its array of 1,024 handles with its size in
/// bytes.
const RESULTS_LIMIT: usize = 1024;
