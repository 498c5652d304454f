//! What goes to one device by mail: bytes that its private key alone opens.
//!
//! ```text
//!   0  magic "SCE" | version 1
//!   4  sender's key (32), X25519, for this envelope alone
//!  36  content: sealed | tag (16)
//! ```
//!
//! The device's Ed25519 key stands for its X25519 key (RFC 7748 §4.1). Content is sealed by ChaCha20-Poly1305 with a
//! nonce of zeros under a key that seals nothing else.
//!
//! This keeps readers on the way out. It does not say who wrote the content: that is the signature's inside. A recording
//! of it stays shut until there is a quantum computer.
//!
//! - Source: pairing §6.

use alloc::vec::Vec;

use schwann_aead::{Key, Tag, open_in_place, seal_in_place};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::{
    DeviceKey, Entropy, PublicKey,
    bytes::{Reader, concat},
    identity::random,
    noise::{NoiseKey, mix},
    record::nonce,
};

/// Tells whether bytes are an envelope.
#[must_use]
pub fn is_envelope(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Seals `content` for `device`.
///
/// Returns nothing if `device` is no key, or the system gives no random bytes.
#[must_use]
pub fn seal(device: &PublicKey, content: &[u8], entropy: &mut dyn Entropy) -> Option<Vec<u8>> {
    let theirs = device.agreement_key()?;
    let own = NoiseKey::new(&random(entropy).ok()?);
    let key = key(&own, &theirs, own.public(), &theirs)?;
    let head: [u8; HEAD] = concat(&[MAGIC, own.public()]);
    let mut body = Zeroizing::new(content.to_vec());
    let tag = seal_in_place(&key, &nonce(0), &head, &mut body).ok()?;
    Some([head.as_slice(), &body, &tag.0].concat())
}

/// Opens an envelope; nothing if it is for another device, or damaged.
#[must_use]
pub fn open(device: &DeviceKey, envelope: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (head, sealed) = envelope.split_first_chunk::<HEAD>()?;
    let mut reader = Reader::new(head);
    if reader.array().as_ref() != Some(MAGIC) {
        return None;
    }
    let theirs = reader.array()?;
    let own = device.agreement_key();
    let key = key(&own, &theirs, &theirs, own.public())?;
    let (body, tag) = sealed.split_last_chunk()?;
    let mut content = Zeroizing::new(body.to_vec());
    open_in_place(&key, &nonce(0), head, &mut content, &Tag(*tag)).ok()?;
    Some(content)
}

fn key(own: &NoiseKey, other: &[u8; 32], sender: &[u8; 32], receiver: &[u8; 32]) -> Option<Key> {
    let shared = own.agree(other).ok()?;
    let input: Zeroizing<[u8; 96]> = Zeroizing::new(concat(&[shared.as_slice(), sender, receiver]));
    let chain: [u8; 32] = Sha256::digest(LABEL).into();
    Some(Key::new(&mix(&chain, input.as_slice())))
}

/// Bytes that an envelope adds.
pub const OVERHEAD: usize = HEAD + Tag::LEN;

const MAGIC: &[u8; 4] = b"SCE\x01";
const HEAD: usize = MAGIC.len() + 32;
const LABEL: &[u8] = b"schwann/1 envelope";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;

    #[test]
    fn the_device_it_is_for_opens_it_and_no_other() {
        let [mine, other] = [(); 2].map(|()| DeviceKey::generate(&mut SystemEntropy).unwrap());
        let sealed = seal(&mine.public(), b"a certificate", &mut SystemEntropy).unwrap();
        assert!(is_envelope(&sealed));
        assert!(!sealed.windows(13).any(|window| window == b"a certificate"));
        assert_eq!(open(&mine, &sealed).unwrap().as_slice(), b"a certificate");
        assert!(open(&other, &sealed).is_none());
        for offset in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[offset] ^= 1;
            // The topmost bit of an X25519 key is ignored (RFC 7748 §5), but the associated data cover it.
            assert!(open(&mine, &changed).is_none(), "byte {offset}");
        }
        assert!(open(&mine, &sealed[..20]).is_none());
    }

    #[test]
    fn what_is_no_key_gets_no_envelope() {
        // y = 2 belongs to no point of the curve.
        let mut bytes = [0; 32];
        bytes[0] = 2;
        assert!(seal(&PublicKey(bytes), b"", &mut SystemEntropy).is_none());
    }
}
