//! Arrays of the caller as slices.

use core::ffi::c_char;
use core::slice;

use schwann::Error;

use crate::strings;

/// `len` values to read.
///
/// # Safety
///
/// - `data` is null or points to `len` values that stay unchanged as long as the result is used.
pub(crate) unsafe fn read<'a, T>(data: *const T, len: usize) -> Result<&'a [T], Error> {
    if data.is_null() {
        return if len == 0 { Ok(&[]) } else { Err(NULL_ARRAY) };
    }
    // SAFETY: not null, so the caller promises `len` values.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// `len` values to write; none at all for null.
///
/// # Safety
///
/// - `data` is null or points to `len` values that no other code uses as long as the result is used.
pub(crate) unsafe fn write<'a, T>(data: *mut T, len: usize) -> &'a mut [T] {
    if data.is_null() {
        return &mut [];
    }
    // SAFETY: not null, so the caller promises `len` values.
    unsafe { slice::from_raw_parts_mut(data, len) }
}

/// The strings of a push.
///
/// # Safety
///
/// - `texts` is null or points to `len` pointers; `lengths` is null or points to `len` lengths. Each
///   pointer is null or leads to as many bytes as its length says. Without lengths, it leads to a
///   NUL-terminated string. All stay unchanged as long as the result is used.
pub(crate) unsafe fn read_strings<'a>(
    texts: *const *const c_char,
    lengths: *const u32,
    len: usize,
) -> Result<Vec<&'a [u8]>, Error> {
    // SAFETY: as the caller promises.
    let texts = unsafe { read(texts, len) }?;
    if lengths.is_null() {
        // SAFETY: as the caller promises.
        return texts.iter().map(|text| unsafe { strings::bytes(*text) }.ok_or(NULL_ARRAY)).collect();
    }
    // SAFETY: as the caller promises.
    let lengths = unsafe { read(lengths, len) }?;
    let pairs = texts.iter().zip(lengths);
    // SAFETY: as the caller promises.
    pairs.map(|(text, length)| unsafe { read(text.cast::<u8>(), *length as usize) }).collect()
}

/// What stands for an array that should be there and is not.
pub(crate) const NULL_ARRAY: Error = Error::ChunkShape;
