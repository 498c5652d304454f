//! A stranger's bytes in place of records, before and after genuine ones: nothing of them is delivered. A member's
//! records with any content: only data of them are delivered.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{open_all, seal};
use libfuzzer_sys::fuzz_target;
use schwann_session::{Opened, RECORD_OVERHEAD, Secure, fuzzing};

fuzz_target!(|bytes: &[u8]| {
    let (mut inlet, mut outlet) = fuzzing::ends();
    let mut wire = seal_control(&mut outlet, &fuzzing::greeting());
    wire.extend(seal(&mut outlet, b"genuine"));
    wire.extend_from_slice(bytes);
    // Bytes that are no record end the session; what was opened before stands.
    if let Ok((plain, ended)) = open_all(&mut inlet, &wire) {
        assert!(plain == b"genuine" && !ended);
        assert!(inlet.end_of_input().is_err());
    }
    let (mut inlet, _) = fuzzing::ends();
    let opened = inlet.open(&mut bytes.to_vec());
    assert!(matches!(opened, Err(_) | Ok(Opened::Incomplete)), "a stranger's greeting was taken");
    from_a_member(bytes);
});

/// The first record, and one behind the greeting.
fn from_a_member(message: &[u8]) {
    let (mut inlet, mut outlet) = fuzzing::ends();
    let mut wire = seal_control(&mut outlet, message);
    if let Ok(opened) = inlet.open(&mut wire) {
        assert!(
            matches!(opened, Opened::Data { plain, .. } if plain.is_empty()),
            "a greeting delivers nothing"
        );
        assert!(inlet.take_datagrams().is_some(), "only a welcome lets the session begin");
    }
    let (mut inlet, mut outlet) = fuzzing::ends();
    let mut wire = seal_control(&mut outlet, &fuzzing::greeting());
    wire.extend(seal_control(&mut outlet, message));
    wire.extend(seal(&mut outlet, message));
    if let Ok((plain, _)) = open_all(&mut inlet, &wire) {
        assert_eq!(plain, message);
    }
}

fn seal_control(outlet: &mut Secure, message: &[u8]) -> Vec<u8> {
    let mut wire = vec![0; message.len() + RECORD_OVERHEAD];
    // One that is longer than a record cannot be sent.
    let len = outlet.seal_control(message, &mut wire).unwrap_or(0);
    wire.truncate(len);
    wire
}
