//! Sessions without a handshake, for the fuzz targets: a handshake costs a thousand times what an input does.
//!
//! Only in builds with `--cfg fuzzing`, which `cargo fuzz` and `checks/37-fuzz-corpus.sh` make and no release
//! ships.

use schwann_aead::Key;

use crate::{MAX_RECORD, Secure, control::Welcome};

/// Both ends of a session under known keys, the inlet's first; the outlet has yet to send the [`greeting`].
#[must_use]
pub fn ends() -> (Secure, Secure) {
    let key = |byte| Key::new(&[byte; 32]);
    (Secure::inlet(key(1), key(2), MAX_RECORD), Secure::outlet(key(2), key(1), MAX_RECORD))
}

/// What the outlet says first, to be sealed as a control message.
#[must_use]
pub fn greeting() -> [u8; Welcome::LEN] {
    let welcome =
        Welcome { session: [3; 8], outlet_to_inlet: [4; 32].into(), inlet_to_outlet: [5; 32].into() };
    *welcome.encode()
}
