//! The certificate of a recording: what is accepted is encoded again to the same bytes, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_recorder::certificate::Certificate;

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = Certificate::parse(bytes, None) else { return };
    let pieces: u64 = read.proof.pieces.iter().map(|piece| piece.bytes).sum();
    assert_eq!(pieces, read.proof.bytes, "its pieces make up the file");
    if read.signer.is_none() && read.endorsements.is_empty() {
        assert_eq!(Certificate::encode(&read.statement, None), bytes, "a certificate has one form");
    }
});
