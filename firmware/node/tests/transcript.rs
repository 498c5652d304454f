//! The recorded conversation, replayed on this computer; the image for QEMU replays the same.

mod common;
#[path = "common/transcript.rs"]
mod transcript;

use common::Lab;

#[test]
fn the_recorded_keys_are_those_of_the_test_lab() {
    for (serial, keys) in (1..).zip(transcript::KEYS) {
        // To make them anew: SCHWANN_RECORD=1 cargo test -p schwann-node --test transcript
        let made = Lab::new().content(serial, |_| {});
        record(&format!("transcript-keys-{serial}.bin"), &made);
        assert!(made == keys || recording());
    }
}

#[test]
fn a_conversation_is_the_recorded_one_byte_for_byte() {
    let mut sent = Vec::new();
    transcript::converse(&mut |bytes| sent.extend_from_slice(bytes)).expect("the nodes talk");
    record("transcript.bin", &sent);
    assert!(recording() || transcript::first_difference() == Ok(None));
}

fn recording() -> bool {
    std::env::var_os("SCHWANN_RECORD").is_some()
}

fn record(name: &str, bytes: &[u8]) {
    if recording() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common").join(name);
        std::fs::write(path, bytes).expect("written");
    }
}
