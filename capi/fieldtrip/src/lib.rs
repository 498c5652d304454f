//! The FieldTrip buffer in a C program's own process: `include/schwann_fieldtrip.h`, which also documents each
//! function.
//!
//! A crate of its own, because it is a shared library of its own, and must believe its caller's pointers.
//! Each block says which promise of the header it rests on. A panic never leaves it.

mod pointer;
mod server;

use core::ffi::{c_char, c_int, c_void};
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;

use pointer::{bytes, bytes_mut, text};
use schwann_fieldtrip::wire::{ByteOrder, DataType, Event, Header, SamplesDefinition, Selection, Totals};
use schwann_fieldtrip::{Buffer, Capacity, Refused};
pub use server::{schwann_ft_serve, schwann_ft_stop};

/// The header's `schwann_ft_header`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FtHeader {
    /// Number of channels.
    pub channels: u32,
    /// Samples written.
    pub samples: u32,
    /// Events written.
    pub events: u32,
    /// Sampling rate in Hz.
    pub rate: f32,
    /// Code of the data type.
    pub data_type: u32,
    /// Size of the chunks.
    pub chunk_bytes: u32,
}

/// Makes an empty buffer.
#[unsafe(no_mangle)]
pub extern "C" fn schwann_ft_new(samples: u32, events: u32) -> *mut Buffer {
    let usual = Capacity::default();
    let capacity = Capacity {
        samples: if samples == 0 { usual.samples } else { samples },
        events: if events == 0 { usual.events } else { events as usize },
        ..usual
    };
    Box::into_raw(Box::new(Buffer::new(capacity)))
}

/// Gives a buffer back.
///
/// # Safety
/// - `buffer` is null or from [`schwann_ft_new`], and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_free(buffer: *mut Buffer) {
    if !buffer.is_null() {
        // SAFETY: the caller gives back what `schwann_ft_new` made, once.
        drop(unsafe { Box::from_raw(buffer) });
    }
}

/// Replaces the header.
///
/// # Safety
/// - `buffer` is null or live; `chunks` is null or has `chunk_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_put_header(
    buffer: *const Buffer,
    channels: u32,
    rate: f32,
    data_type: u32,
    chunks: *const c_void,
    chunk_bytes: u32,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller promises so many bytes.
    let chunks = unsafe { bytes(chunks, chunk_bytes as usize) };
    guard(|| {
        let data_type = DataType::parse(data_type).ok_or(Refused::Malformed)?;
        let header = Header::new(channels, rate, data_type);
        let chunk_bytes = chunks.ok_or(Refused::Malformed)?.into();
        buffer.ok_or(Refused::Malformed)?.put_header(Header { chunk_bytes, ..header })
    })
}

/// Appends samples.
///
/// # Safety
/// - `buffer` is null or live; `values` is null or has `channels` × `samples` values of the type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_put_samples(
    buffer: *const Buffer,
    channels: u32,
    samples: u32,
    data_type: u32,
    values: *const c_void,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    guard(|| {
        let data_type = DataType::parse(data_type).ok_or(Refused::Malformed)?;
        let block = SamplesDefinition::new(channels, samples, data_type).ok_or(Refused::TooLarge)?;
        // SAFETY: the caller promises values for this definition.
        let values = unsafe { bytes(values, block.value_bytes as usize) };
        buffer.ok_or(Refused::Malformed)?.put_sample_bytes(block, values.ok_or(Refused::Malformed)?)
    })
}

/// Appends events.
///
/// # Safety
/// - `buffer` is null or live; `events` is null or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_put_events(
    buffer: *const Buffer,
    events: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller promises so many bytes.
    let events = unsafe { bytes(events, length) };
    guard(|| {
        let events = events.ok_or(Refused::Malformed)?;
        buffer.ok_or(Refused::Malformed)?.put_encoded_events(ByteOrder::NATIVE, events)
    })
}

/// Appends one event of text.
///
/// # Safety
/// - `buffer` is null or live; `kind` and `value` are null or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_put_text_event(
    buffer: *const Buffer,
    kind: *const c_char,
    value: *const c_char,
    sample: i32,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller passes null or a string.
    let kind = unsafe { text(kind) };
    // SAFETY: as above.
    let value = unsafe { text(value) };
    guard(|| {
        let mut event = Event::text(sample, "", "");
        event.kind = kind.ok_or(Refused::Malformed)?.to_vec();
        event.value = value.ok_or(Refused::Malformed)?.to_vec();
        buffer.ok_or(Refused::Malformed)?.put_events(&[event])
    })
}

/// Reads the header.
///
/// # Safety
/// - `buffer` is null or live; `header` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_get_header(buffer: *const Buffer, header: *mut FtHeader) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller passes null or room for a header.
    let out = unsafe { header.as_mut() };
    guard(|| {
        let out = out.ok_or(Refused::Malformed)?;
        let (header, totals) = buffer.ok_or(Refused::Malformed)?.header()?;
        *out = FtHeader {
            channels: header.channel_count,
            samples: totals.samples,
            events: totals.events,
            rate: header.rate,
            data_type: header.data_type.code(),
            chunk_bytes: u32::try_from(header.chunk_bytes.len()).unwrap_or(u32::MAX),
        };
        Ok(())
    })
}

/// Copies the header's chunks.
///
/// # Safety
/// - `buffer` is null or live; `out` is null or has `room` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_get_chunks(
    buffer: *const Buffer,
    out: *mut c_void,
    room: usize,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller promises so much room.
    let out = unsafe { bytes_mut(out, room) };
    guard(|| {
        let (header, _) = buffer.ok_or(Refused::Malformed)?.header()?;
        copy_all(out, &header.chunk_bytes)
    })
}

/// Copies samples.
///
/// # Safety
/// - `buffer` is null or live; `out` is null or has `room` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_get_samples(
    buffer: *const Buffer,
    first: u32,
    last: u32,
    out: *mut c_void,
    room: usize,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller promises so much room.
    let out = unsafe { bytes_mut(out, room) };
    guard(|| {
        let selection = Selection { begin: first, end: last };
        let out = out.ok_or(Refused::Malformed)?;
        buffer.ok_or(Refused::Malformed)?.read_sample_bytes(selection, out).map(drop)
    })
}

/// Copies events.
///
/// # Safety
/// - `buffer` is null or live. `out` is null or has `room` bytes that may be written. `length` is null or may be
///   written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_get_events(
    buffer: *const Buffer,
    first: u32,
    last: u32,
    out: *mut c_void,
    room: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    // SAFETY: the caller promises so much room.
    let out = unsafe { bytes_mut(out, room) };
    // SAFETY: the caller passes null or a place for a number.
    let length = unsafe { length.as_mut() };
    guard(|| {
        let selection = Selection { begin: first, end: last };
        let encoded = buffer.ok_or(Refused::Malformed)?.encoded_events(Some(selection))?.concat();
        if let Some(length) = length {
            *length = encoded.len();
        }
        copy_all(out, &encoded)
    })
}

macro_rules! waits {
    ($($(#[$about:meta])* $name:ident as $manner:path;)+) => {$(
        $(#[$about])*
        ///
        /// # Safety
        /// - `buffer` is null or live; `samples` and `events` are null or may be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: *const Buffer,
            more_than_samples: u32,
            more_than_events: u32,
            milliseconds: u32,
            samples: *mut u32,
            events: *mut u32,
        ) -> c_int {
            // SAFETY: the caller passes null or a live buffer.
            let buffer = unsafe { buffer.as_ref() };
            // SAFETY: the caller passes null or a place for a number.
            let samples = unsafe { samples.as_mut() };
            // SAFETY: as above.
            let events = unsafe { events.as_mut() };
            guard(|| {
                let threshold = Totals { samples: more_than_samples, events: more_than_events };
                let timeout = Duration::from_millis(milliseconds.into());
                let totals = $manner(buffer.ok_or(Refused::Malformed)?, threshold, timeout)?;
                for (place, count) in [(samples, totals.samples), (events, totals.events)] {
                    if let Some(place) = place {
                        *place = count;
                    }
                }
                Ok(())
            })
        }
    )+};
}

waits! {
    /// Waits for samples or events, asleep.
    schwann_ft_wait as Buffer::wait;
    /// Waits for samples or events, awake.
    schwann_ft_wait_awake as Buffer::wait_awake;
}

/// Removes header, samples and events.
///
/// # Safety
/// - `buffer` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_flush_header(buffer: *const Buffer) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    guard(|| buffer.ok_or(Refused::Malformed)?.flush_header())
}

/// Removes the samples.
///
/// # Safety
/// - `buffer` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_flush_samples(buffer: *const Buffer) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    guard(|| buffer.ok_or(Refused::Malformed)?.flush_samples())
}

/// Removes the events.
///
/// # Safety
/// - `buffer` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_ft_flush_events(buffer: *const Buffer) -> c_int {
    // SAFETY: the caller passes null or a live buffer.
    let buffer = unsafe { buffer.as_ref() };
    guard(|| buffer.ok_or(Refused::Malformed)?.flush_events())
}

/// Runs `body` and turns its outcome, also a panic, into a code of the header.
fn guard(body: impl FnOnce() -> Result<(), Refused>) -> c_int {
    // The buffer's lock recovers from a panic, and nothing else is used again.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(Refused::Malformed)) => -1,
        Ok(Err(Refused::NoHeader)) => -2,
        Ok(Err(Refused::Mismatch)) => -3,
        Ok(Err(Refused::TooLarge)) => -4,
        Ok(Err(Refused::OutOfRange)) => -5,
        Ok(Err(_)) | Err(_) => -6,
    }
}

fn copy_all(out: Option<&mut [u8]>, content: &[u8]) -> Result<(), Refused> {
    let out = out.ok_or(Refused::Malformed)?;
    out.get_mut(..content.len()).ok_or(Refused::TooLarge)?.copy_from_slice(content);
    Ok(())
}
