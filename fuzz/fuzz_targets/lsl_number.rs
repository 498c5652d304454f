//! Numbers as text: reading is total and agrees with the standard library, and 17 digits survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::wire::number::{
    TrailingZeros, extract_f32, extract_f64, extract_i32, extract_i64, general, parse_f64,
};

fuzz_target!(|bytes: &[u8]| {
    let _ = (extract_f32(bytes), extract_i32(bytes), extract_i64(bytes));
    if let Some(value) = extract_f64(bytes) {
        assert!(value.is_finite());
        let text = general(value, 17, TrailingZeros::Drop);
        assert_eq!(extract_f64(text.as_bytes()), Some(value), "{text}");
    }
    let is_plain = bytes.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
    if let (true, Ok(text)) = (is_plain, core::str::from_utf8(bytes)) {
        assert_eq!(parse_f64(text), text.parse().ok(), "{text}");
    }
    if let Some((bits, [digits, ..])) = bytes.split_first_chunk() {
        let value = f64::from_le_bytes(*bits);
        let text = general(value, *digits, TrailingZeros::Keep);
        assert!(!text.is_empty() && (!value.is_finite() || text.contains('.')), "{text}");
    }
});
