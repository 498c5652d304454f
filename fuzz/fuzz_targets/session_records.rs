//! A stranger's bytes in place of records, before and after genuine ones: nothing is ever delivered of them.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{open_all, seal, twins};
use libfuzzer_sys::fuzz_target;
use schwann_session::Layer;

fuzz_target!(|bytes: &[u8]| {
    let (mut inlet, mut outlet) = twins(1);
    let mut wire = seal(&mut outlet.session, b"genuine");
    wire.extend_from_slice(bytes);
    // Bytes that are no record end the session; what was opened before stands.
    let mut buffer = wire.clone();
    if let Ok((plain, ended)) = open_all(&mut inlet.session, &wire) {
        assert!(plain == b"genuine" && !ended);
        assert!(inlet.session.end_of_input().is_err());
    }
    let (mut inlet, _) = twins(1);
    let _ = inlet.session.open(&mut buffer);
});
