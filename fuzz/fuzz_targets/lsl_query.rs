//! A query ends, whatever it is asked of; the document comes after the first line end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::wire::{query::Query, xml::Document};

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (text, document) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if let Ok(query) = Query::parse(text) {
        let _ = query.evaluate(&Document::parse(document).document);
    }
});
