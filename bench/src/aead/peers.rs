//! The other libraries, each called the fastest way it offers: in place, key set up once.

#![allow(unsafe_code, reason = "calls libsodium, whose C interface is its only one")]

use chacha20poly1305::{AeadInOut as _, KeyInit as _};
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;

use super::contender::{Contender, OneByOne, text_and_tag};
use super::goals::{RING_AGAIN, RUSTCRYPTO_PORTABLE};
use super::workload::KEY;

/// Every peer that was compiled in.
pub(crate) fn peers() -> Vec<Box<dyn Contender>> {
    vec![
        Box::new(AwsLc::new()),
        Box::new(Ring::new()),
        Box::new(OpenSsl::new()),
        Box::new(Sodium::new()),
        Box::new(RustCrypto(chacha20poly1305::ChaCha20Poly1305::new(&KEY.into()))),
        Box::new(Graviola(graviola::aead::ChaCha20Poly1305::new(KEY))),
    ]
}

/// Ring once more, under another name.
pub(crate) fn ring_again() -> Box<dyn Contender> {
    Box::new(Ring { name: RING_AGAIN, ..Ring::new() })
}

/// Stamps a contender around a library with ring's interface.
macro_rules! like_ring {
    ($type:ident, $name:literal, $krate:ident) => {
        struct $type {
            key: $krate::aead::LessSafeKey,
            name: &'static str,
        }

        impl $type {
            fn new() -> Self {
                let key = $krate::aead::UnboundKey::new(&$krate::aead::CHACHA20_POLY1305, &KEY);
                let key = $krate::aead::LessSafeKey::new(key.expect("the key has 32 bytes"));
                Self { key, name: $name }
            }
        }

        impl OneByOne for $type {
            fn name(&self) -> String {
                self.name.into()
            }

            fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) {
                let nonce = $krate::aead::Nonce::assume_unique_for_key(nonce);
                let (text, tag) = text_and_tag(message);
                let made = self.key.seal_in_place_separate_tag(nonce, $krate::aead::Aad::from(aad), text);
                tag.copy_from_slice(made.expect("short").as_ref());
            }

            fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool {
                let nonce = $krate::aead::Nonce::assume_unique_for_key(nonce);
                self.key.open_in_place(nonce, $krate::aead::Aad::from(aad), message).is_ok()
            }
        }
    };
}

like_ring!(AwsLc, "aws-lc-rs", aws_lc_rs);
like_ring!(Ring, "ring", ring);

/// OpenSSL through EVP: contexts reused, only the nonce set per message.
struct OpenSsl {
    seal: CipherCtx,
    open: CipherCtx,
}

impl OpenSsl {
    fn new() -> Self {
        let mut seal = CipherCtx::new().expect("memory");
        let mut open = CipherCtx::new().expect("memory");
        let cipher = Some(Cipher::chacha20_poly1305());
        seal.encrypt_init(cipher, Some(&KEY), None).expect("the key has 32 bytes");
        open.decrypt_init(cipher, Some(&KEY), None).expect("the key has 32 bytes");
        Self { seal, open }
    }
}

impl OneByOne for OpenSsl {
    fn name(&self) -> String {
        format!("openssl {}", openssl::version::version().split(' ').nth(1).unwrap_or_default())
    }

    fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) {
        let (text, tag) = text_and_tag(message);
        self.seal.encrypt_init(None, None, Some(&nonce)).expect("12 bytes");
        if !aad.is_empty() {
            self.seal.cipher_update(aad, None).expect("started");
        }
        self.seal.cipher_update_inplace(text, text.len()).expect("started");
        self.seal.cipher_final(&mut []).expect("started");
        self.seal.tag(tag).expect("finished");
    }

    fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool {
        let (text, tag) = text_and_tag(message);
        self.open.decrypt_init(None, None, Some(&nonce)).expect("12 bytes");
        self.open.set_tag(tag).expect("16 bytes");
        if !aad.is_empty() {
            self.open.cipher_update(aad, None).expect("started");
        }
        self.open.cipher_update_inplace(text, text.len()).expect("started");
        self.open.cipher_final(&mut []).is_ok()
    }
}

/// Debian's libsodium.
struct Sodium(());

impl Sodium {
    fn new() -> Self {
        // SAFETY: may be called at any time, from any thread. It chooses the implementation for this CPU.
        let code = unsafe { sodium_init() };
        assert!(code >= 0, "libsodium initialises");
        Self(())
    }
}

impl OneByOne for Sodium {
    fn name(&self) -> String {
        "libsodium".into()
    }

    fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) {
        let (text, tag) = text_and_tag(message);
        let (to, len) = (text.as_mut_ptr(), text.len() as u64);
        // SAFETY: text and tag are as long as stated. The key has 32 bytes, the nonce 12. libsodium permits
        // encryption in place.
        unsafe {
            crypto_aead_chacha20poly1305_ietf_encrypt_detached(
                to,
                tag.as_mut_ptr(),
                core::ptr::null_mut(),
                to,
                len,
                aad.as_ptr(),
                aad.len() as u64,
                core::ptr::null(),
                nonce.as_ptr(),
                KEY.as_ptr(),
            );
        }
    }

    fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool {
        let (text, tag) = text_and_tag(message);
        let (to, len) = (text.as_mut_ptr(), text.len() as u64);
        // SAFETY: as for sealing.
        let code = unsafe {
            crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                to,
                core::ptr::null_mut(),
                to,
                len,
                tag.as_ptr(),
                aad.as_ptr(),
                aad.len() as u64,
                nonce.as_ptr(),
                KEY.as_ptr(),
            )
        };
        code == 0
    }
}

#[link(name = "sodium")]
unsafe extern "C" {
    fn sodium_init() -> i32;
    fn crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        sealed: *mut u8,
        tag: *mut u8,
        tag_len: *mut u64,
        plain: *const u8,
        plain_len: u64,
        aad: *const u8,
        aad_len: u64,
        unused: *const u8,
        nonce: *const u8,
        key: *const u8,
    ) -> i32;
    fn crypto_aead_chacha20poly1305_ietf_decrypt_detached(
        plain: *mut u8,
        unused: *mut u8,
        sealed: *const u8,
        sealed_len: u64,
        tag: *const u8,
        aad: *const u8,
        aad_len: u64,
        nonce: *const u8,
        key: *const u8,
    ) -> i32;
}

/// Whether RustCrypto's crates were compiled without their vector code: they have no other switch for it.
fn is_portable() -> bool {
    let flags = option_env!("RUSTFLAGS").unwrap_or_default();
    ["chacha20_backend=\"soft\"", "poly1305_backend=\"soft\""].iter().all(|flag| flags.contains(flag))
}

/// RustCrypto's crate.
struct RustCrypto(chacha20poly1305::ChaCha20Poly1305);

impl OneByOne for RustCrypto {
    fn name(&self) -> String {
        if is_portable() { RUSTCRYPTO_PORTABLE.into() } else { "rustcrypto".into() }
    }

    fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) {
        let (text, tag) = text_and_tag(message);
        let made = self.0.encrypt_inout_detached(&nonce.into(), aad, text.into());
        tag.copy_from_slice(&made.expect("short"));
    }

    fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool {
        let (text, tag) = text_and_tag(message);
        self.0.decrypt_inout_detached(&nonce.into(), aad, text.into(), (&*tag).into()).is_ok()
    }
}

/// The crate graviola.
struct Graviola(graviola::aead::ChaCha20Poly1305);

impl OneByOne for Graviola {
    fn name(&self) -> String {
        "graviola".into()
    }

    fn seal(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) {
        let (text, tag) = text_and_tag(message);
        self.0.encrypt(&nonce, aad, text, tag);
    }

    fn open(&mut self, nonce: [u8; 12], aad: &[u8], message: &mut [u8]) -> bool {
        let (text, tag) = text_and_tag(message);
        self.0.decrypt(&nonce, aad, text, &tag[..]).is_ok()
    }
}
