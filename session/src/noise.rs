//! `Noise_XXpsk3_25519_ChaChaPoly_SHA256` by the `clatter` library, over this project's own cipher.
//!
//! Source: The Noise Protocol Framework, revision 34.

use core::hint::black_box;

use clatter::{
    Handshaker, KeyPair, NqHandshakeCore,
    bytearray::SensitiveByteArray,
    crypto::{dh::X25519, hash::Sha256},
    error::{CipherError, CipherResult},
    handshakepattern::noise_xx_psk3,
    rand_core::{self, CryptoRng, RngCore},
    traits::{Cipher, CryptoComponent, Dh, Hash},
};
use schwann_aead::{Key, Nonce, Tag, open_in_place, seal_in_place};
use zeroize::Zeroizing;

use crate::record::nonce;

/// A Noise static or ephemeral key pair, wiped when dropped.
pub(crate) struct NoiseKey(KeyPair<[u8; 32], SensitiveByteArray<[u8; 32]>>);

impl NoiseKey {
    pub(crate) fn new(secret: &Zeroizing<[u8; 32]>) -> Self {
        let secret = SensitiveByteArray::new(**secret);
        Self(KeyPair::new(X25519::pubkey(&secret), secret))
    }

    /// The same key for other credentials of this process.
    pub(crate) fn again(&self) -> Self {
        Self(self.0.clone())
    }

    pub(crate) fn public(&self) -> &[u8; 32] {
        &self.0.public
    }

    /// What this side and the owner of `other` alone know.
    ///
    /// - Errors: `other` is one of the few points that make the outcome public (RFC 7748 §6.1).
    pub(crate) fn agree(&self, other: &[u8; 32]) -> Result<Zeroizing<[u8; 32]>, Broken> {
        let shared = X25519::dh(&self.0.secret, other).map_err(|_| Broken)?;
        let shared = Zeroizing::new(*shared);
        let bits = shared.iter().fold(0, |bits, byte| bits | byte);
        if black_box(bits) == 0 { Err(Broken) } else { Ok(shared) }
    }
}

/// The first output of Noise's HKDF (Noise rev. 34 §4.3).
pub(crate) fn mix(chain: &[u8; 32], input: &[u8]) -> Zeroizing<[u8; 32]> {
    let (first, _) = Sha256::hkdf(chain, input);
    Zeroizing::new(*first)
}

/// Both outputs of Noise's HKDF (Noise rev. 34 §4.3).
#[cfg(feature = "pairing")]
pub(crate) fn mix_both(chain: &[u8; 32], input: &[u8]) -> (Zeroizing<[u8; 32]>, Zeroizing<[u8; 32]>) {
    let (first, second) = Sha256::hkdf(chain, input);
    (Zeroizing::new(*first), Zeroizing::new(*second))
}

/// A handshake in progress.
pub(crate) struct Noise(NqHandshakeCore<X25519, ChaChaPoly, Sha256, NoRandomness>);

/// The message does not verify, or the library was called out of turn.
pub(crate) struct Broken;

impl Noise {
    /// Begins; `initiator` tells which side this is, `ephemeral` is used once and never again.
    pub(crate) fn new(
        initiator: bool,
        prologue: &[u8],
        own: &NoiseKey,
        ephemeral: NoiseKey,
    ) -> Result<Self, Broken> {
        let (own, ephemeral) = (Some(own.0.clone()), Some(ephemeral.0));
        NqHandshakeCore::new(noise_xx_psk3(), prologue, initiator, own, ephemeral, None, None)
            .map(Self)
            .map_err(|_| Broken)
    }

    /// Supplies the secret of the `psk` token, before message 3.
    pub(crate) fn set_psk(&mut self, psk: &Zeroizing<[u8; 32]>) {
        self.0.push_psk(psk.as_slice());
    }

    /// The handshake hash `h` as it is now.
    pub(crate) fn hash(&self) -> [u8; 32] {
        *self.0.get_state().get_hash()
    }

    pub(crate) fn remote_static(&self) -> Result<[u8; 32], Broken> {
        self.0.get_remote_static().ok_or(Broken)
    }

    pub(crate) fn write(&mut self, payload: &[u8], out: &mut [u8]) -> Result<usize, Broken> {
        self.0.write_message(payload, out).map_err(|_| Broken)
    }

    pub(crate) fn read(&mut self, message: &[u8], out: &mut [u8]) -> Result<usize, Broken> {
        self.0.read_message(message, out).map_err(|_| Broken)
    }

    /// Ends the handshake: the key from the initiator to the responder, and the one back.
    pub(crate) fn split(mut self) -> Result<(Key, Key), Broken> {
        // The library leaves the spent psk in its queue's memory: overwrite it before that is given back.
        self.0.push_psk(&[0; 32]);
        black_box(&mut self.0);
        let states = self.0.finalize().map_err(|_| Broken)?.take();
        let (forth, _) = states.initiator_to_responder.take();
        let (back, _) = states.responder_to_initiator.take();
        Ok((Key::new(&forth), Key::new(&back)))
    }
}

/// ChaCha20-Poly1305 for the Noise library.
#[derive(Clone)]
pub(crate) struct ChaChaPoly;

impl CryptoComponent for ChaChaPoly {
    fn name() -> &'static str {
        "ChaChaPoly"
    }
}

impl Cipher for ChaChaPoly {
    type Key = SensitiveByteArray<[u8; 32]>;

    fn tag_len() -> usize {
        Tag::LEN
    }

    fn encrypt(key: &Self::Key, n: u64, ad: &[u8], plain: &[u8], out: &mut [u8]) -> CipherResult<()> {
        out.get_mut(..plain.len()).ok_or(CipherError::Encrypt)?.copy_from_slice(plain);
        Self::encrypt_in_place(key, n, ad, out, plain.len()).map(drop)
    }

    fn encrypt_in_place(
        key: &Self::Key,
        n: u64,
        ad: &[u8],
        in_out: &mut [u8],
        plain_len: usize,
    ) -> CipherResult<usize> {
        let (plain, rest) = in_out.split_at_mut_checked(plain_len).ok_or(CipherError::Encrypt)?;
        let tag_out: &mut [u8; Tag::LEN] = rest.first_chunk_mut().ok_or(CipherError::Encrypt)?;
        let tag = seal_in_place(&Key::new(key), &nonce(n), ad, plain).map_err(|_| CipherError::Encrypt)?;
        *tag_out = tag.0;
        Ok(plain_len.saturating_add(Tag::LEN))
    }

    fn decrypt(key: &Self::Key, n: u64, ad: &[u8], sealed: &[u8], out: &mut [u8]) -> CipherResult<()> {
        let (body, tag) = sealed.split_last_chunk().ok_or(CipherError::Decrypt)?;
        let out = out.get_mut(..body.len()).ok_or(CipherError::Decrypt)?;
        out.copy_from_slice(body);
        open(key, &nonce(n), ad, out, *tag)
    }

    fn decrypt_in_place(
        key: &Self::Key,
        n: u64,
        ad: &[u8],
        in_out: &mut [u8],
        sealed_len: usize,
    ) -> CipherResult<usize> {
        let sealed = in_out.get_mut(..sealed_len).ok_or(CipherError::Decrypt)?;
        let (body, tag) = sealed.split_last_chunk_mut().ok_or(CipherError::Decrypt)?;
        open(key, &nonce(n), ad, body, *tag)?;
        Ok(body.len())
    }
}

fn open(
    key: &SensitiveByteArray<[u8; 32]>,
    nonce: &Nonce,
    ad: &[u8],
    body: &mut [u8],
    tag: [u8; Tag::LEN],
) -> CipherResult<()> {
    open_in_place(&Key::new(key), nonce, ad, body, &Tag(tag)).map_err(|_| CipherError::Decrypt)
}

/// The library asks for a generator in case that it must make the ephemeral key. It never must: the key
/// is always handed in, so this one refuses to pretend.
#[derive(Clone, Default)]
struct NoRandomness;

impl CryptoRng for NoRandomness {}

impl RngCore for NoRandomness {
    fn next_u32(&mut self) -> u32 {
        unreachable!("ephemeral keys are handed in")
    }

    fn next_u64(&mut self) -> u64 {
        unreachable!("ephemeral keys are handed in")
    }

    fn fill_bytes(&mut self, _: &mut [u8]) {
        unreachable!("ephemeral keys are handed in")
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), rand_core::Error> {
        unreachable!("ephemeral keys are handed in")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_is_the_one_specified() {
        let name = NqHandshakeCore::<X25519, ChaChaPoly, Sha256, NoRandomness>::build_name(&noise_xx_psk3());
        assert_eq!(name.as_str(), "Noise_XXpsk3_25519_ChaChaPoly_SHA256");
    }

    #[test]
    fn a_public_key_is_that_of_rfc_7748() {
        // RFC 7748 §6.1, Alice's key pair.
        let secret = [
            0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
            0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
        ];
        let public = [
            0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7, 0x5a,
            0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a,
        ];
        assert_eq!(NoiseKey::new(&Zeroizing::new(secret)).public(), &public);
    }
}
