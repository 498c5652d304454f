//! Functions of `lsl/inlet.h`.

use core::ffi::{c_char, c_ulong, c_void};
use core::ptr;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover};
use schwann::security::Explained;
use schwann::{Error, StreamInfo};

use crate::chunk;
use crate::guard::{
    ARGUMENT, INTERNAL, OK, TIMEOUT, code, guard, record, record_error, recorded_code as recorded, set_code,
    watch_forks,
};
use crate::outlet::buffer_unit;
use crate::streaminfo::Info;
use crate::strings;

/// Makes a receiver. Null, with a last error, if the description is not of a stream to be received.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_inlet(
    info: *mut Info,
    max_buflen: i32,
    max_chunklen: i32,
    recover: i32,
) -> *mut Inlet {
    // SAFETY: as this function's own contract.
    unsafe { lsl_create_inlet_ex(info, max_buflen, max_chunklen, recover, 0) }
}

/// Makes a receiver with transport options.
///
/// # Safety
///
/// - `info` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_create_inlet_ex(
    info: *mut Info,
    max_buflen: i32,
    max_chunklen: i32,
    recover: i32,
    flags: i32,
) -> *mut Inlet {
    // SAFETY: as this function's own contract.
    let info = unsafe { Info::of(info) };
    watch_forks();
    guard(ptr::null_mut(), || {
        let info = info.ok_or(Error::Argument("The stream info of an inlet must not be NULL."));
        match info.and_then(|info| create(&info.info, max_buflen, max_chunklen, recover, flags)) {
            Ok(inlet) => Arc::into_raw(Arc::new(inlet)).cast_mut(),
            Err(error) => {
                record_error(error);
                ptr::null_mut()
            }
        }
    })
}

fn create(
    info: &StreamInfo,
    max_buflen: i32,
    max_chunklen: i32,
    recover: i32,
    flags: i32,
) -> Result<Inlet, Error> {
    let chunk_samples =
        u32::try_from(max_chunklen).map_err(|_| Error::Argument("max_chunklen must be nonnegative."))?;
    let options = InletOptions {
        buffer_length: max_buflen,
        buffer_unit: buffer_unit(flags)?,
        chunk_samples,
        recover: if recover != 0 { Recover::BySourceId } else { Recover::No },
    };
    Inlet::new(info, &options)
}

/// Ends a receiver.
///
/// # Safety
///
/// - `inlet` is null or a handle that was not given back and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_destroy_inlet(inlet: *mut Inlet) {
    if !inlet.is_null() {
        // SAFETY: handles come from `Arc::into_raw`, and this one was not given back.
        let inlet = unsafe { Arc::from_raw(inlet) };
        guard((), || {
            // Another thread that waits in it shares it: it comes back now, and the last one out ends the inlet.
            inlet.end();
            drop(inlet);
        });
    }
}

/// Keeps an inlet for the length of a call, during which another thread may give the handle back.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
pub(crate) unsafe fn hold(inlet: *mut Inlet) -> Option<Arc<Inlet>> {
    if inlet.is_null() {
        return None;
    }
    // SAFETY: a live handle owns a count of its own, so the inlet is there.
    unsafe { Arc::increment_strong_count(inlet) };
    // SAFETY: the count that was just added belongs to the result.
    Some(unsafe { Arc::from_raw(inlet) })
}

/// Runs an operation; its error goes to `ec`, and `failure` to the caller.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
unsafe fn with<R: Copy>(
    inlet: *mut Inlet,
    ec: *mut i32,
    failure: R,
    operation: impl FnOnce(&Inlet) -> Result<R, i32>,
) -> R {
    // SAFETY: as the caller promises.
    let inlet = unsafe { hold(inlet) };
    let inlet = inlet.as_deref();
    let result = guard(Err(INTERNAL), || inlet.ok_or(ARGUMENT).and_then(operation));
    if let (Err(TIMEOUT), Some(refusal)) = (&result, inlet.and_then(Inlet::refusal)) {
        // The time was over because nothing can come.
        record(&format!("There is no session with the outlet: {}", Explained(refusal)));
    }
    // SAFETY: as the caller promises.
    unsafe { set_code(ec, result.err().unwrap_or(OK)) };
    result.unwrap_or(failure)
}

/// The C code of a failed pull of one sample: a wrong buffer is the argument's fault.
fn sample_code(error: Error) -> i32 {
    let code = recorded(error);
    if error == Error::ChunkShape { ARGUMENT } else { code }
}

/// The whole description of the stream, which the caller gives back.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_get_fullinfo(inlet: *mut Inlet, timeout: f64, ec: *mut i32) -> *mut Info {
    let fetch = |inlet: &Inlet| inlet.full_info(timeout).map(Info::into_handle).map_err(recorded);
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, ptr::null_mut(), fetch) }
}

/// Connects to the stream.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_open_stream(inlet: *mut Inlet, timeout: f64, ec: *mut i32) {
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, (), |inlet| inlet.open_stream(timeout).map_err(recorded)) };
}

/// Disconnects from the stream.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_close_stream(inlet: *mut Inlet) {
    let close = |inlet: &Inlet| {
        inlet.close_stream();
        Ok(())
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), (), close) };
}

/// What to add to the sender's stamps to have them on the local clock.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `ec` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_time_correction(inlet: *mut Inlet, timeout: f64, ec: *mut i32) -> f64 {
    // SAFETY: as this function's own contract; null pointers are permitted.
    unsafe { lsl_time_correction_ex(inlet, ptr::null_mut(), ptr::null_mut(), timeout, ec) }
}

/// Like [`lsl_time_correction`], with the sender's time at the measurement and the uncertainty.
///
/// # Safety
///
/// - `inlet` is null or a live handle; the other pointers are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_time_correction_ex(
    inlet: *mut Inlet,
    remote_time: *mut f64,
    uncertainty: *mut f64,
    timeout: f64,
    ec: *mut i32,
) -> f64 {
    let measure = |inlet: &Inlet| inlet.clock_offset(timeout).map(Some).map_err(recorded);
    // SAFETY: as this function's own contract.
    let Some(estimate) = (unsafe { with(inlet, ec, None, measure) }) else { return 0.0 };
    for (place, value) in [(remote_time, estimate.remote_time), (uncertainty, estimate.uncertainty)] {
        if !place.is_null() {
            // SAFETY: not null, so the caller promises that it can be written.
            unsafe { place.write(value) };
        }
    }
    estimate.offset
}

/// Chooses how stamps are processed.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_set_postprocessing(inlet: *mut Inlet, flags: u32) -> i32 {
    let set = |inlet: &Inlet| {
        inlet.set_post_processing(flags);
        Ok(OK)
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), OK, set) }
}

/// Number of samples that can be pulled.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_samples_available(inlet: *mut Inlet) -> u32 {
    let count = |inlet: &Inlet| Ok(u32::try_from(inlet.samples_available()).unwrap_or(u32::MAX));
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), 0, count) }
}

/// Drops what was not pulled, and says how many samples that were.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_inlet_flush(inlet: *mut Inlet) -> u32 {
    let flush = |inlet: &Inlet| Ok(u32::try_from(inlet.flush()).unwrap_or(u32::MAX));
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), 0, flush) }
}

/// Whether the sender's clock may have changed since the last call.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_was_clock_reset(inlet: *mut Inlet) -> u32 {
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), 0, |inlet| Ok(u32::from(inlet.was_clock_reset()))) }
}

/// Sets the half-time of the de-jittering filter, in seconds.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_smoothing_halftime(inlet: *mut Inlet, halftime: f32) -> i32 {
    let set = |inlet: &Inlet| {
        inlet.set_smoothing_halftime(halftime);
        Ok(OK)
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ptr::null_mut(), OK, set) }
}

/// Stamps the two pull functions of one numeric type.
macro_rules! numeric_pulls {
    ($($t:ty: $sample:ident $chunk:ident;)*) => {$(
        /// Pulls one sample and returns its stamp, or 0.0 if none came in time.
        ///
        /// # Safety
        ///
        /// - `inlet` is null or a live handle; `buffer` is null or points to `buffer_elements` values; `ec`
        ///   is null or valid for a write.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sample(
            inlet: *mut Inlet,
            buffer: *mut $t,
            buffer_elements: i32,
            timeout: f64,
            ec: *mut i32,
        ) -> f64 {
            let pull = |inlet: &Inlet| {
                let len = usize::try_from(buffer_elements).map_err(|_| ARGUMENT)?;
                // SAFETY: as this function's own contract.
                let out = unsafe { chunk::write(buffer, len) };
                inlet.pull_sample(out, timeout).map(Option::unwrap_or_default).map_err(sample_code)
            };
            // SAFETY: as this function's own contract.
            unsafe { with(inlet, ec, 0.0, pull) }
        }

        /// Pulls samples, and returns the number of values.
        ///
        /// # Safety
        ///
        /// - `inlet` is null or a live handle; `data_buffer` is null or points to `data_elements` values,
        ///   `timestamp_buffer` to `timestamp_elements` stamps; `ec` is null or valid for a write.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $chunk(
            inlet: *mut Inlet,
            data_buffer: *mut $t,
            timestamp_buffer: *mut f64,
            data_elements: c_ulong,
            timestamp_elements: c_ulong,
            timeout: f64,
            ec: *mut i32,
        ) -> c_ulong {
            let pull = |inlet: &Inlet| {
                if data_buffer.is_null() && data_elements > 0 {
                    return Err(INTERNAL);
                }
                // SAFETY: as this function's own contract.
                let out = unsafe { chunk::write(data_buffer, data_elements as usize) };
                // SAFETY: as this function's own contract.
                let stamps = unsafe { chunk::write(timestamp_buffer, timestamp_elements as usize) };
                if !timestamp_buffer.is_null() && stamps.is_empty() && !out.is_empty() {
                    return Err(INTERNAL);
                }
                let rows = inlet.pull_chunk(out, stamps, timeout).map_err(code)?;
                Ok((rows * inlet.channel_count()) as c_ulong)
            };
            // SAFETY: as this function's own contract.
            unsafe { with(inlet, ec, 0, pull) }
        }
    )*};
}

numeric_pulls! {
    f32: lsl_pull_sample_f lsl_pull_chunk_f;
    f64: lsl_pull_sample_d lsl_pull_chunk_d;
    i64: lsl_pull_sample_l lsl_pull_chunk_l;
    i32: lsl_pull_sample_i lsl_pull_chunk_i;
    i16: lsl_pull_sample_s lsl_pull_chunk_s;
    i8: lsl_pull_sample_c lsl_pull_chunk_c;
}

/// Pulls one sample as this machine stores it.
///
/// # Safety
///
/// - `inlet` is null or a live handle; `buffer` is null or points to `buffer_bytes` bytes; `ec` is null or
///   valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_pull_sample_v(
    inlet: *mut Inlet,
    buffer: *mut c_void,
    buffer_bytes: i32,
    timeout: f64,
    ec: *mut i32,
) -> f64 {
    let pull = |inlet: &Inlet| {
        let len = usize::try_from(buffer_bytes).map_err(|_| ARGUMENT)?;
        // SAFETY: as this function's own contract.
        let out = unsafe { chunk::write(buffer.cast::<u8>(), len) };
        let pulled = inlet.pull_raw_sample(out, timeout).inspect_err(|error| record(error));
        pulled.map(Option::unwrap_or_default).map_err(sample_code)
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, 0.0, pull) }
}

/// Where pulled strings go.
struct Slots<'a> {
    texts: &'a mut [*mut c_char],
    lengths: &'a mut [u32],
    used: usize,
    failed: bool,
}

impl<'a> Slots<'a> {
    /// Slots that are empty: null, with length 0.
    ///
    /// # Safety
    ///
    /// - The arrays are null or have `len` places that nobody else uses.
    unsafe fn empty(texts: *mut *mut c_char, lengths: *mut u32, len: usize) -> Self {
        // SAFETY: as the caller promises.
        let texts = unsafe { chunk::write(texts, len) };
        // SAFETY: as the caller promises.
        let lengths = unsafe { chunk::write(lengths, len) };
        texts.fill(ptr::null_mut());
        lengths.fill(0);
        Self { texts, lengths, used: 0, failed: false }
    }

    fn add(&mut self, text: &[u8]) {
        let Some(slot) = self.texts.get_mut(self.used) else { return };
        *slot = strings::malloc_copy(text);
        self.failed |= slot.is_null();
        if let Some(length) = self.lengths.get_mut(self.used) {
            *length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        }
        self.used += 1;
    }

    /// Gives everything back if some string found no memory.
    fn finish(self) -> Result<(), i32> {
        if !self.failed {
            return Ok(());
        }
        for text in self.texts {
            // SAFETY: null or from `malloc_copy`, and given back only here.
            unsafe { strings::free(*text) };
            *text = ptr::null_mut();
        }
        self.lengths.fill(0);
        record(&"There is no memory for the strings of a sample.");
        Err(INTERNAL)
    }
}

/// Pulls one sample as NUL-terminated strings, which the caller gives back.
///
/// # Safety
///
/// - `inlet` is null or a live handle; `buffer` is null or points to `buffer_elements` pointers; `ec` is
///   null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_pull_sample_str(
    inlet: *mut Inlet,
    buffer: *mut *mut c_char,
    buffer_elements: i32,
    timeout: f64,
    ec: *mut i32,
) -> f64 {
    // SAFETY: as this function's own contract; without lengths.
    unsafe { lsl_pull_sample_buf(inlet, buffer, ptr::null_mut(), buffer_elements, timeout, ec) }
}

/// Pulls one sample as strings with lengths, which the caller gives back; each has a NUL behind it, too.
///
/// # Safety
///
/// - `inlet` is null or a live handle; `buffer` is null or points to `buffer_elements` pointers,
///   `buffer_lengths` to as many lengths; `ec` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_pull_sample_buf(
    inlet: *mut Inlet,
    buffer: *mut *mut c_char,
    buffer_lengths: *mut u32,
    buffer_elements: i32,
    timeout: f64,
    ec: *mut i32,
) -> f64 {
    let pull = |inlet: &Inlet| {
        let len = usize::try_from(buffer_elements).unwrap_or(0);
        if buffer.is_null() || len < inlet.channel_count() {
            return Err(recorded(Error::Argument("The buffer must have one element per channel.")));
        }
        // SAFETY: as this function's own contract.
        let mut slots = unsafe { Slots::empty(buffer, buffer_lengths, len) };
        let stamp = inlet.pull_strings(timeout, |text| slots.add(text)).map_err(recorded)?;
        slots.finish()?;
        Ok(stamp.unwrap_or_default())
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, 0.0, pull) }
}

/// Pulls samples as NUL-terminated strings, which the caller gives back; unused places become null.
///
/// # Safety
///
/// - As [`lsl_pull_chunk_buf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_pull_chunk_str(
    inlet: *mut Inlet,
    data_buffer: *mut *mut c_char,
    timestamp_buffer: *mut f64,
    data_elements: c_ulong,
    timestamp_elements: c_ulong,
    timeout: f64,
    ec: *mut i32,
) -> c_ulong {
    let (texts, lengths) = (data_buffer, ptr::null_mut());
    // SAFETY: as this function's own contract; without lengths.
    unsafe {
        lsl_pull_chunk_buf(
            inlet,
            texts,
            lengths,
            timestamp_buffer,
            data_elements,
            timestamp_elements,
            timeout,
            ec,
        )
    }
}

/// Pulls samples as strings with lengths, which the caller gives back; unused places become null.
///
/// # Safety
///
/// - `inlet` is null or a live handle; `data_buffer` is null or points to `data_elements` pointers,
///   `lengths_buffer` to as many lengths, `timestamp_buffer` to `timestamp_elements` stamps; `ec` is null or
///   valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsl_pull_chunk_buf(
    inlet: *mut Inlet,
    data_buffer: *mut *mut c_char,
    lengths_buffer: *mut u32,
    timestamp_buffer: *mut f64,
    data_elements: c_ulong,
    timestamp_elements: c_ulong,
    timeout: f64,
    ec: *mut i32,
) -> c_ulong {
    let pull = |inlet: &Inlet| {
        let (len, channels) = (data_elements as usize, inlet.channel_count().max(1));
        let rows = len / channels;
        let stamps_fit = timestamp_buffer.is_null() || timestamp_elements as usize == rows;
        if !len.is_multiple_of(channels) || !stamps_fit || (data_buffer.is_null() && len > 0) {
            return Err(recorded(Error::ChunkShape));
        }
        // SAFETY: as this function's own contract.
        let mut slots = unsafe { Slots::empty(data_buffer, lengths_buffer, len) };
        let stamps = inlet.pull_string_chunk(rows, timeout, |_, text| slots.add(text)).map_err(recorded)?;
        slots.finish()?;
        // SAFETY: as this function's own contract.
        let places = unsafe { chunk::write(timestamp_buffer, timestamp_elements as usize) };
        places.iter_mut().zip(&stamps).for_each(|(place, stamp)| *place = *stamp);
        Ok((stamps.len() * inlet.channel_count()) as c_ulong)
    };
    // SAFETY: as this function's own contract.
    unsafe { with(inlet, ec, 0, pull) }
}
