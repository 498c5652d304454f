//! The application's functions: one sample each.

use core::{
    ffi::{CStr, c_char},
    slice,
};

use schwann_node::PushError;
use schwann_proto::wire::sample::Value;

use crate::node::{Node, application};

/// # Safety
///
/// - As for `application`; `values` is null or has `count` values.
unsafe fn push<T: Value>(node: *mut Node, values: *const T, count: usize, stamp: f64) -> i32 {
    // SAFETY: the caller's promise.
    let Some(producer) = (unsafe { application(node) }) else { return ARGUMENT };
    if values.is_null() {
        return ARGUMENT;
    }
    // SAFETY: the caller's promise.
    let values = unsafe { slice::from_raw_parts(values, count) };
    code(producer.push(values, stamp))
}

fn code(pushed: Result<(), PushError>) -> i32 {
    match pushed {
        Ok(()) => 0,
        Err(PushError::Full) => FULL,
        Err(_) => ARGUMENT,
    }
}

macro_rules! push_functions {
    ($($name:ident: $type:ty),*) => {$(
        /// Hands one sample to the network; never waits.
        ///
        /// # Safety
        ///
        /// - `node` is null or comes from `schwann_node_create`; one thread at a time pushes.
        /// - `values` is null or has `count` values.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(node: *mut Node, values: *const $type, count: usize, stamp: f64) -> i32 {
            // SAFETY: the caller's promise.
            unsafe { push(node, values, count, stamp) }
        }
    )*};
}

push_functions! {
    schwann_node_push_f32: f32,
    schwann_node_push_f64: f64,
    schwann_node_push_i8: i8,
    schwann_node_push_i16: i16,
    schwann_node_push_i32: i32,
    schwann_node_push_i64: i64
}

/// Hands one sample of strings to the network; never waits.
///
/// # Safety
///
/// - `node` is null or comes from `schwann_node_create`; one thread at a time pushes.
/// - `strings` is null or has `count` pointers, each null or to a terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_push_strings(
    node: *mut Node,
    strings: *const *const c_char,
    count: usize,
    stamp: f64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(producer) = (unsafe { application(node) }) else { return ARGUMENT };
    if strings.is_null() {
        return ARGUMENT;
    }
    // SAFETY: the caller's promise.
    let strings = unsafe { slice::from_raw_parts(strings, count) };
    if strings.iter().any(|text| text.is_null()) {
        return ARGUMENT;
    }
    // SAFETY: none is null, so the caller promises that each is terminated.
    let texts = strings.iter().map(|text| unsafe { CStr::from_ptr(*text) }.to_bytes());
    code(producer.push_strings(texts, stamp))
}

/// A null pointer, a sample of another shape than the stream's, or strings that are too long.
const ARGUMENT: i32 = -1;
/// The ring is full, and keeps the oldest.
const FULL: i32 = -2;
