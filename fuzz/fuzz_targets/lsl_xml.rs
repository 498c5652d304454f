//! A document that was understood is understood again after it has been written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::wire::xml::Document;

fuzz_target!(|bytes: &[u8]| {
    // Written once, a carriage return that came as a reference becomes a line feed; after that nothing changes.
    let first = Document::parse(bytes).document.to_bytes();
    let second = Document::parse(&first).document.to_bytes();
    let third = Document::parse(&second).document.to_bytes();
    assert_eq!(String::from_utf8_lossy(&second), String::from_utf8_lossy(&third));
});
