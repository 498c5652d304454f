//! The functions that push.

use core::ffi::{c_char, c_ulong, c_void};
use core::ptr;

use schwann::Error;
use schwann::outlet::{Flush, Outlet};

use super::NO_HANDLE;
use crate::chunk;
use crate::guard::{INTERNAL, guard, outcome, record};

/// Runs a push; `push` gets the outlet and its channel count.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
unsafe fn pushed(outlet: *mut Outlet, push: impl FnOnce(&Outlet, usize) -> Result<(), Error>) -> i32 {
    // SAFETY: as the caller promises.
    let outlet = unsafe { outlet.as_ref() };
    guard(INTERNAL, || {
        outcome(
            outlet.ok_or(NO_HANDLE).and_then(|outlet| push(outlet, outlet.info().channel_count() as usize)),
        )
    })
}

/// Keeps the error of a push for `lsl_last_error`, as the original does for strings and raw values.
fn recorded(result: Result<(), Error>) -> Result<(), Error> {
    result.inspect_err(|error| record(error))
}

fn when(pushthrough: i32) -> Flush {
    if pushthrough != 0 { Flush::Now } else { Flush::Later }
}

/// Stamps of a chunk: as many as there are samples.
///
/// # Safety
///
/// - `stamps` is null or points to a stamp for each of the rows.
unsafe fn stamps<'a>(stamps: *const f64, value_count: usize, channels: usize) -> Result<&'a [f64], Error> {
    match value_count.checked_rem(channels) {
        // SAFETY: as the caller promises.
        Some(0) => unsafe { chunk::read(stamps, value_count / channels) },
        None if value_count == 0 => Ok(&[]),
        _ => Err(Error::ChunkShape),
    }
}

/// Stamps the eight push functions of one numeric type.
macro_rules! numeric_pushes {
    ($($t:ty: $sample:ident $sample_t:ident $sample_tp:ident $chunk:ident $chunk_t:ident $chunk_tp:ident $chunk_tn:ident $chunk_tnp:ident;)*) => {$(
        /// Pushes one sample, stamped now.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to one value per channel.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sample(outlet: *mut Outlet, data: *const $t) -> i32 {
            // SAFETY: as this function's own contract.
            unsafe { $sample_tp(outlet, data, 0.0, 1) }
        }

        /// Pushes one sample with a stamp.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to one value per channel.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sample_t(outlet: *mut Outlet, data: *const $t, timestamp: f64) -> i32 {
            // SAFETY: as this function's own contract.
            unsafe { $sample_tp(outlet, data, timestamp, 1) }
        }

        /// Pushes one sample with a stamp, now or with a later push.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to one value per channel.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sample_tp(
            outlet: *mut Outlet,
            data: *const $t,
            timestamp: f64,
            pushthrough: i32,
        ) -> i32 {
            let push = |outlet: &Outlet, channels| {
                // SAFETY: as this function's own contract.
                let values = unsafe { chunk::read(data, channels) }?;
                outlet.push_sample(values, timestamp, when(pushthrough))
            };
            // SAFETY: as this function's own contract.
            unsafe { pushed(outlet, push) }
        }

        /// Pushes samples, the last stamped now.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to `len` values.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $chunk(outlet: *mut Outlet, data: *const $t, len: c_ulong) -> i32 {
            // SAFETY: as this function's own contract.
            unsafe { $chunk_tp(outlet, data, len, 0.0, 1) }
        }

        /// Pushes samples with the stamp of the last.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to `len` values.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $chunk_t(
            outlet: *mut Outlet,
            data: *const $t,
            len: c_ulong,
            timestamp: f64,
        ) -> i32 {
            // SAFETY: as this function's own contract.
            unsafe { $chunk_tp(outlet, data, len, timestamp, 1) }
        }

        /// Pushes samples with the stamp of the last, now or with a later push.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to `len` values.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $chunk_tp(
            outlet: *mut Outlet,
            data: *const $t,
            len: c_ulong,
            timestamp: f64,
            pushthrough: i32,
        ) -> i32 {
            let push = |outlet: &Outlet, _| {
                // SAFETY: as this function's own contract.
                let values = unsafe { chunk::read(data, len as usize) }?;
                outlet.push_chunk(values, timestamp, when(pushthrough))
            };
            // SAFETY: as this function's own contract.
            unsafe { pushed(outlet, push) }
        }

        /// Pushes samples with a stamp each.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle. `data` is null or points to `len` values, `timestamps` to
        ///   one stamp per sample.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $chunk_tn(
            outlet: *mut Outlet,
            data: *const $t,
            len: c_ulong,
            timestamps: *const f64,
        ) -> i32 {
            // SAFETY: as this function's own contract.
            unsafe { $chunk_tnp(outlet, data, len, timestamps, 1) }
        }

        /// Pushes samples with a stamp each, now or with a later push.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle. `data` is null or points to `len` values, `timestamps` to
        ///   one stamp per sample.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $chunk_tnp(
            outlet: *mut Outlet,
            data: *const $t,
            len: c_ulong,
            timestamps: *const f64,
            pushthrough: i32,
        ) -> i32 {
            let push = |outlet: &Outlet, channels| {
                // SAFETY: as this function's own contract.
                let values = unsafe { chunk::read(data, len as usize) }?;
                // SAFETY: as this function's own contract.
                let stamps = unsafe { stamps(timestamps, values.len(), channels) }?;
                outlet.push_chunk_stamped(values, stamps, when(pushthrough))
            };
            // SAFETY: as this function's own contract.
            unsafe { pushed(outlet, push) }
        }
    )*};
}

numeric_pushes! {
    f32: lsl_push_sample_f lsl_push_sample_ft lsl_push_sample_ftp lsl_push_chunk_f lsl_push_chunk_ft lsl_push_chunk_ftp lsl_push_chunk_ftn lsl_push_chunk_ftnp;
    f64: lsl_push_sample_d lsl_push_sample_dt lsl_push_sample_dtp lsl_push_chunk_d lsl_push_chunk_dt lsl_push_chunk_dtp lsl_push_chunk_dtn lsl_push_chunk_dtnp;
    i64: lsl_push_sample_l lsl_push_sample_lt lsl_push_sample_ltp lsl_push_chunk_l lsl_push_chunk_lt lsl_push_chunk_ltp lsl_push_chunk_ltn lsl_push_chunk_ltnp;
    i32: lsl_push_sample_i lsl_push_sample_it lsl_push_sample_itp lsl_push_chunk_i lsl_push_chunk_it lsl_push_chunk_itp lsl_push_chunk_itn lsl_push_chunk_itnp;
    i16: lsl_push_sample_s lsl_push_sample_st lsl_push_sample_stp lsl_push_chunk_s lsl_push_chunk_st lsl_push_chunk_stp lsl_push_chunk_stn lsl_push_chunk_stnp;
    i8: lsl_push_sample_c lsl_push_sample_ct lsl_push_sample_ctp lsl_push_chunk_c lsl_push_chunk_ct lsl_push_chunk_ctp lsl_push_chunk_ctn lsl_push_chunk_ctnp;
}

/// Stamps one push of raw values.
macro_rules! raw_pushes {
    ($($name:ident($($argument:ident: $type:ty),*) => $timestamp:expr, $pushthrough:expr;)*) => {$(
        /// Pushes one sample as this machine stores it.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle; `data` is null or points to the bytes of one sample.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(outlet: *mut Outlet, data: *const c_void $(, $argument: $type)*) -> i32 {
            // SAFETY: as this function's own contract.
            unsafe { push_raw(outlet, data, $timestamp, $pushthrough) }
        }
    )*};
}

raw_pushes! {
    lsl_push_sample_v() => 0.0, 1;
    lsl_push_sample_vt(timestamp: f64) => timestamp, 1;
    lsl_push_sample_vtp(timestamp: f64, pushthrough: i32) => timestamp, pushthrough;
}

/// # Safety
///
/// - `outlet` is null or a live handle; `data` is null or points to the bytes of one sample.
unsafe fn push_raw(outlet: *mut Outlet, data: *const c_void, timestamp: f64, pushthrough: i32) -> i32 {
    let push = |outlet: &Outlet, channels| {
        let size = outlet.info().channel_format().value_size().unwrap_or(0);
        // SAFETY: as the caller promises.
        let bytes = unsafe { chunk::read(data.cast::<u8>(), size * channels) }?;
        recorded(outlet.push_raw_sample(bytes, timestamp, when(pushthrough)))
    };
    // SAFETY: as the caller promises.
    unsafe { pushed(outlet, push) }
}

/// Strings of a sample or a chunk as the caller gives them.
#[derive(Clone, Copy)]
struct Texts {
    data: *const *const c_char,
    /// Null for NUL-terminated strings.
    lengths: *const u32,
    /// Number of strings; nothing for one sample.
    len: Option<usize>,
}

/// Stamps as the caller gives them.
#[derive(Clone, Copy)]
enum Times {
    Last(f64),
    Each(*const f64),
}

/// # Safety
///
/// - `outlet` is null or a live handle; the arrays are null or as long as the C interface says.
unsafe fn push_texts(outlet: *mut Outlet, texts: Texts, times: Times, pushthrough: i32) -> i32 {
    let push = |outlet: &Outlet, channels| {
        let len = texts.len.unwrap_or(channels);
        // SAFETY: as the caller promises.
        let strings = unsafe { chunk::read_strings(texts.data, texts.lengths, len) }?;
        match times {
            Times::Last(stamp) if texts.len.is_none() => {
                outlet.push_strings(&strings, stamp, when(pushthrough))
            }
            Times::Last(stamp) => recorded(outlet.push_string_chunk(&strings, stamp, when(pushthrough))),
            Times::Each(times) => {
                // SAFETY: as the caller promises.
                let stamps = unsafe { stamps(times, len, channels) }?;
                recorded(outlet.push_string_chunk_stamped(&strings, stamps, when(pushthrough)))
            }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { pushed(outlet, push) }
}

/// Stamps one push of strings.
macro_rules! text_pushes {
    ($($name:ident($($argument:ident: $type:ty),*) => $lengths:expr, $len:expr, $times:expr, $pushthrough:expr;)*) => {$(
        /// Pushes strings; a numeric stream reads them as numbers.
        ///
        /// # Safety
        ///
        /// - `outlet` is null or a live handle. The arrays are null or as long as the C interface says.
        ///   Their strings are null, NUL-terminated, or as long as `lengths` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(outlet: *mut Outlet, data: *const *const c_char $(, $argument: $type)*) -> i32 {
            let texts = Texts { data, lengths: $lengths, len: $len };
            // SAFETY: as this function's own contract.
            unsafe { push_texts(outlet, texts, $times, $pushthrough) }
        }
    )*};
}

text_pushes! {
    lsl_push_sample_str() => ptr::null(), None, Times::Last(0.0), 1;
    lsl_push_sample_strt(timestamp: f64) => ptr::null(), None, Times::Last(timestamp), 1;
    lsl_push_sample_strtp(timestamp: f64, pushthrough: i32) => ptr::null(), None, Times::Last(timestamp), pushthrough;
    lsl_push_sample_buf(lengths: *const u32) => lengths, None, Times::Last(0.0), 1;
    lsl_push_sample_buft(lengths: *const u32, timestamp: f64) => lengths, None, Times::Last(timestamp), 1;
    lsl_push_sample_buftp(lengths: *const u32, timestamp: f64, pushthrough: i32) => lengths, None, Times::Last(timestamp), pushthrough;
    lsl_push_chunk_str(len: c_ulong) => ptr::null(), Some(len as usize), Times::Last(0.0), 1;
    lsl_push_chunk_strt(len: c_ulong, timestamp: f64) => ptr::null(), Some(len as usize), Times::Last(timestamp), 1;
    lsl_push_chunk_strtp(len: c_ulong, timestamp: f64, pushthrough: i32) => ptr::null(), Some(len as usize), Times::Last(timestamp), pushthrough;
    lsl_push_chunk_strtn(len: c_ulong, timestamps: *const f64) => ptr::null(), Some(len as usize), Times::Each(timestamps), 1;
    lsl_push_chunk_strtnp(len: c_ulong, timestamps: *const f64, pushthrough: i32) => ptr::null(), Some(len as usize), Times::Each(timestamps), pushthrough;
    lsl_push_chunk_buf(lengths: *const u32, len: c_ulong) => lengths, Some(len as usize), Times::Last(0.0), 1;
    lsl_push_chunk_buft(lengths: *const u32, len: c_ulong, timestamp: f64) => lengths, Some(len as usize), Times::Last(timestamp), 1;
    lsl_push_chunk_buftp(lengths: *const u32, len: c_ulong, timestamp: f64, pushthrough: i32) => lengths, Some(len as usize), Times::Last(timestamp), pushthrough;
    lsl_push_chunk_buftn(lengths: *const u32, len: c_ulong, timestamps: *const f64) => lengths, Some(len as usize), Times::Each(timestamps), 1;
    lsl_push_chunk_buftnp(lengths: *const u32, len: c_ulong, timestamps: *const f64, pushthrough: i32) => lengths, Some(len as usize), Times::Each(timestamps), pushthrough;
}
