//! Certificates, revocation lists, bundles and control messages: what was read is what was written.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{DISCOVERY_KEY, authority};
use libfuzzer_sys::fuzz_target;
use schwann_session::{
    Certificate, RevocationList,
    control::Piece,
    keystore::{self, Bundle},
};

fuzz_target!(|bytes: &[u8]| {
    let lab = authority().lab();
    if let Some(certificate) = bytes.first_chunk() {
        if let Ok(parsed) = Certificate::parse(certificate) {
            assert_eq!(parsed.encode(), *certificate);
            let _ = parsed.verify(&lab);
        }
    }
    if let Ok(list) = RevocationList::parse(bytes, &lab) {
        let _ = (list.contains(99), list.commits_to(&DISCOVERY_KEY));
        assert_eq!(list.as_bytes(), bytes);
    }
    if let Ok(bundle) = Bundle::parse(bytes) {
        assert_eq!(*bundle.encode(), bytes);
    }
    let _ = keystore::kind_of(bytes);
    if let Some(piece) = Piece::parse(bytes) {
        let mut again = vec![0; bytes.len()];
        assert_eq!(piece.encode(&mut again), Some(bytes.len()));
        assert_eq!(again, bytes);
    }
});
