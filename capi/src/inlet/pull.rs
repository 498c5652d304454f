//! The functions of `lsl/inlet.h` that take samples.

use core::ffi::{c_char, c_ulong, c_void};
use core::ptr;

use schwann::Error;
use schwann::inlet::Inlet;

use super::with;
use crate::chunk;
use crate::guard::{INTERNAL, code, record, recorded_code as recorded};
use crate::strings;

/// Stamps the two pull functions of one numeric type.
macro_rules! numeric_pulls {
    ($($t:ty: $sample:ident $chunk:ident;)*) => {$(
        /// Pulls one sample and returns its stamp, or 0.0 if none came in time.
        ///
        /// # Safety
        ///
        /// - `inlet` is null or a live handle. `buffer` is null or points to `buffer_elements` values. `ec`
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
                let len = usize::try_from(buffer_elements).map_err(|_| wrong_size())?;
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
        /// - `inlet` is null or a live handle. `data_buffer` is null or points to `data_elements` values,
        ///   `timestamp_buffer` to `timestamp_elements` stamps. `ec` is null or valid for a write.
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
/// - `inlet` is null or a live handle. `buffer` is null or points to `buffer_bytes` bytes. `ec` is null or
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
        let len = usize::try_from(buffer_bytes).map_err(|_| wrong_size())?;
        // SAFETY: as this function's own contract.
        let out = unsafe { chunk::write(buffer.cast::<u8>(), len) };
        inlet.pull_raw_sample(out, timeout).map(Option::unwrap_or_default).map_err(sample_code)
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
    /// - The arrays are null or have `len` places that no other code uses.
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
/// - `inlet` is null or a live handle. `buffer` is null or points to `buffer_elements` pointers. `ec` is
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
/// - `inlet` is null or a live handle. `buffer` is null or points to `buffer_elements` pointers,
///   `buffer_lengths` to as many lengths. `ec` is null or valid for a write.
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
        if len < inlet.channel_count() || (buffer.is_null() && inlet.channel_count() > 0) {
            let why = "The provided buffer has fewer elements than the stream's number of channels.";
            return Err(recorded(Error::Argument(why)));
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
/// - `inlet` is null or a live handle. `data_buffer` is null or points to `data_elements` pointers,
///   `lengths_buffer` to as many lengths. `timestamp_buffer` is null or points to `timestamp_elements`
///   stamps. `ec` is null or valid for a write.
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

/// The C code of a failed pull of one sample: a wrong buffer is the argument's fault.
fn sample_code(error: Error) -> i32 {
    if error == Error::ChunkShape { wrong_size() } else { recorded(error) }
}

/// Says that a buffer for one sample is not of its size.
fn wrong_size() -> i32 {
    recorded(Error::Argument(
        "The size of the provided buffer does not match the number of bytes in the sample.",
    ))
}
