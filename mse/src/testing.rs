//! The golden vectors, for unit tests.

use alloc::vec::Vec;
use serde_json::Value;

pub(crate) fn kat() -> Value {
    serde_json::from_str(include_str!("../tests/vectors/kat.json")).expect("the vectors are JSON")
}

pub(crate) fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().expect("a string of digits");
    (0..digits.len())
        .step_by(2)
        .map(|n| u8::from_str_radix(&digits[n..n + 2], 16).expect("hexadecimal"))
        .collect()
}

pub(crate) fn array<const N: usize>(value: &Value) -> [u8; N] {
    hex(value).try_into().expect("the right length")
}
