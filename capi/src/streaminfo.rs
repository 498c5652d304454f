//! Functions of `lsl/streaminfo.h`.

use core::ffi::{CStr, c_char};
use core::ptr;

use schwann::{Context, StreamInfo};
use schwann_proto::stream::ChannelFormat;
use schwann_proto::wire::query::Query;

use crate::guard::{guard, record};
use crate::strings;
use crate::xml::{Node, Nodes};

/// What an `lsl_streaminfo` points to.
pub struct Info {
    pub(crate) info: StreamInfo,
    pub(crate) nodes: Nodes,
}

impl Info {
    /// A handle for the caller, who owns it from now on.
    pub(crate) fn into_handle(info: StreamInfo) -> *mut Self {
        Box::into_raw(Box::new(Self { info, nodes: Nodes::default() }))
    }

    /// What a handle stands for.
    ///
    /// # Safety
    ///
    /// - `handle` is null or a live handle that no other code changes meanwhile.
    pub(crate) unsafe fn of<'a>(handle: *const Self) -> Option<&'a Self> {
        // SAFETY: as the caller promises.
        unsafe { handle.as_ref() }
    }
}

/// Describes a stream; null if an argument is wrong, and `lsl_last_error` says which.
///
/// # Safety
///
/// - The strings are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_streaminfo(
    name: *const c_char,
    stream_type: *const c_char,
    channel_count: i32,
    nominal_srate: f64,
    channel_format: i32,
    source_id: *const c_char,
) -> *mut Info {
    // SAFETY: as this function's own contract.
    let name = unsafe { strings::bytes(name) };
    // SAFETY: as this function's own contract.
    let stream_type = unsafe { strings::bytes(stream_type) };
    // SAFETY: as this function's own contract.
    let source_id = unsafe { strings::bytes(source_id) };
    guard(ptr::null_mut(), || {
        let (Some(name), Some(stream_type), Some(source_id)) = (name, stream_type, source_id) else {
            record(&"The name, type and source id of a stream must not be NULL.");
            return ptr::null_mut();
        };
        let Some(format) = ChannelFormat::from_code(channel_format) else {
            record(&format_args!(
                "The stream info was created with an unknown channel format {channel_format}"
            ));
            return ptr::null_mut();
        };
        match StreamInfo::new(name, stream_type, channel_count, nominal_srate, format, source_id) {
            Ok(mut info) => {
                info.set_version(Context::get().tuning.protocol_version);
                Info::into_handle(info)
            }
            Err(error) => {
                record(&error);
                ptr::null_mut()
            }
        }
    })
}

/// Gives a description back, with all nodes of its tree.
///
/// # Safety
///
/// - `info` is null or a handle that was not given back yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_streaminfo(info: *mut Info) {
    if !info.is_null() {
        // SAFETY: handles come from `Info::into_handle`, and this one was not given back.
        let info = unsafe { Box::from_raw(info) };
        guard((), || drop(info));
    }
}

/// Copies a description.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_copy_streaminfo(info: *mut Info) -> *mut Info {
    // SAFETY: as this function's own contract.
    let Some(info) = (unsafe { Info::of(info) }) else { return ptr::null_mut() };
    guard(ptr::null_mut(), || Info::into_handle(info.info.clone()))
}

/// Stamps a function that reads one field; the result for a null handle is given first.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident -> $type:ty, $missing:expr, |$info:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// - `info` is null or a live handle.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(info: *mut Info) -> $type {
            // SAFETY: as this function's own contract.
            let Some(handle) = (unsafe { Info::of(info) }) else { return $missing };
            let $info = &handle.info;
            guard($missing, || $value)
        }
    )*};
}

getters! {
    /// Name of the stream.
    lsl_get_name -> *const c_char, EMPTY.as_ptr(), |info| info.name().as_c_str().as_ptr();
    /// Content type of the stream.
    lsl_get_type -> *const c_char, EMPTY.as_ptr(), |info| info.stream_type().as_c_str().as_ptr();
    /// Number of values per sample.
    lsl_get_channel_count -> i32, 0, |info| i32::try_from(info.channel_count()).unwrap_or(i32::MAX);
    /// Samples per second; 0 for a stream without a rate.
    lsl_get_nominal_srate -> f64, 0.0, |info| info.nominal_rate();
    /// Type of the values.
    lsl_get_channel_format -> i32, 0, |info| info.channel_format().code();
    /// The source that the stream comes from, by which it is found again.
    lsl_get_source_id -> *const c_char, EMPTY.as_ptr(), |info| info.source_id().as_c_str().as_ptr();
    /// Protocol version of the stream, times 100.
    lsl_get_version -> i32, 0, |info| info.version();
    /// When the outlet was made, in seconds of its clock.
    lsl_get_created_at -> f64, 0.0, |info| info.created_at();
    /// Identity of the outlet.
    lsl_get_uid -> *const c_char, EMPTY.as_ptr(), |info| info.uid().as_c_str().as_ptr();
    /// Session of the outlet.
    lsl_get_session_id -> *const c_char, EMPTY.as_ptr(), |info| info.session_id().as_c_str().as_ptr();
    /// Computer of the outlet.
    lsl_get_hostname -> *const c_char, EMPTY.as_ptr(), |info| info.hostname().as_c_str().as_ptr();
    /// The whole description as a document, which the caller frees.
    lsl_get_xml -> *mut c_char, ptr::null_mut(), |info| strings::malloc_copy(&info.fullinfo());
    /// Bytes of one value; 0 for strings.
    lsl_get_channel_bytes -> i32, 0, |info| channel_bytes(info);
    /// Bytes of one sample; 0 for strings.
    lsl_get_sample_bytes -> i32, 0, |info| {
        channel_bytes(info).saturating_mul(i32::try_from(info.channel_count()).unwrap_or(i32::MAX))
    };
}

fn channel_bytes(info: &StreamInfo) -> i32 {
    info.channel_format().value_size().map_or(0, |size| size as i32)
}

/// The `desc` element, below which applications keep their metadata.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_get_desc(info: *mut Info) -> *mut Node {
    // SAFETY: as this function's own contract.
    let Some(handle) = (unsafe { Info::of(info) }) else { return ptr::null_mut() };
    guard(ptr::null_mut(), || handle.nodes.handle(info, handle.info.desc()))
}

/// Whether the description fulfils an XPath condition; a malformed one is not fulfilled.
///
/// # Safety
///
/// - `info` is null or a live handle, `query` null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_stream_info_matches_query(info: *mut Info, query: *const c_char) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(handle) = (unsafe { Info::of(info) }) else { return 0 };
    // SAFETY: as this function's own contract.
    let Some(query) = (unsafe { strings::bytes(query) }) else { return 0 };
    guard(0, || {
        let matches = Query::parse(query).is_ok_and(|query| handle.info.matches(&query));
        i32::from(matches)
    })
}

/// Reads a description; an invalid one gives a handle whose name says why.
///
/// # Safety
///
/// - `xml` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_streaminfo_from_xml(xml: *const c_char) -> *mut Info {
    // SAFETY: as this function's own contract.
    let Some(xml) = (unsafe { strings::bytes(xml) }) else { return ptr::null_mut() };
    guard(ptr::null_mut(), || Info::into_handle(StreamInfo::parse_or_blank(xml)))
}

/// Gives the description a new identity and returns it.
///
/// # Safety
///
/// - `info` is null or a live handle that no other code uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_reset_uid(info: *mut Info) -> *const c_char {
    // SAFETY: as this function's own contract.
    let Some(handle) = (unsafe { info.as_mut() }) else { return EMPTY.as_ptr() };
    guard(EMPTY.as_ptr(), || {
        let mut random = [0; 16];
        if getrandom::fill(&mut random).is_err() {
            record(&"The operating system has no random numbers.");
            return EMPTY.as_ptr();
        }
        handle.info.reset_uid(random).as_c_str().as_ptr()
    })
}

/// The text that stands for none; never null, because wrappers decode it.
const EMPTY: &CStr = c"";
