//! The other libraries, each called the fastest way it offers: in place, key set up once.

#![allow(unsafe_code, reason = "calls libsodium, whose C interface is its only one")]

use chacha20poly1305::{AeadInOut as _, KeyInit as _};
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;

use super::Contender;
use super::goals::{RING_AGAIN, RUSTCRYPTO_PORTABLE};
use super::workload::{KEY, Workload};

/// Every peer that was compiled in.
pub(crate) fn peers() -> Vec<Box<dyn Contender>> {
    let mut peers: Vec<Box<dyn Contender>> = vec![
        Box::new(AwsLc::new()),
        Box::new(Ring::new()),
        Box::new(OpenSsl::new()),
        Box::new(Sodium::new()),
        Box::new(RustCrypto::new()),
        Box::new(Graviola(graviola::aead::ChaCha20Poly1305::new(KEY))),
    ];
    #[cfg(all(target_arch = "x86_64", unix))]
    match super::ipsec::IpsecMb::load() {
        Ok(peer) => peers.push(Box::new(peer)),
        Err(reason) => eprintln!("without ipsec-mb: {reason}"),
    }
    peers
}

/// Ring once more, under another name.
pub(crate) fn ring_again() -> Box<dyn Contender> {
    Box::new(Ring { name: RING_AGAIN, ..Ring::new() })
}

/// Compares as a user must.
#[cfg(all(target_arch = "x86_64", unix))]
pub(super) fn ct_equal(a: &[u8; 16], b: &[u8]) -> bool {
    openssl::memcmp::eq(a, b)
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

        impl Contender for $type {
            fn name(&self) -> String {
                self.name.into()
            }

            fn seal(&mut self, work: &mut Workload) {
                let Workload { data, places, aad, .. } = work;
                for (index, place) in places.iter().enumerate() {
                    let nonce = $krate::aead::Nonce::assume_unique_for_key(Workload::nonce(index));
                    let aad = $krate::aead::Aad::from(&*aad);
                    let tag = self.key.seal_in_place_separate_tag(nonce, aad, &mut data[place.clone()]);
                    data[place.end..place.end + 16].copy_from_slice(tag.expect("short").as_ref());
                }
            }

            fn open(&mut self, work: &mut Workload) -> bool {
                let Workload { data, places, aad, .. } = work;
                places.iter().enumerate().all(|(index, place)| {
                    let nonce = $krate::aead::Nonce::assume_unique_for_key(Workload::nonce(index));
                    let aad = $krate::aead::Aad::from(&*aad);
                    self.key.open_in_place(nonce, aad, &mut data[place.start..place.end + 16]).is_ok()
                })
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

impl Contender for OpenSsl {
    fn name(&self) -> String {
        format!("openssl {}", openssl::version::version().split(' ').nth(1).unwrap_or_default())
    }

    fn seal(&mut self, work: &mut Workload) {
        let Workload { data, places, aad, .. } = work;
        for (index, place) in places.iter().enumerate() {
            self.seal.encrypt_init(None, None, Some(&Workload::nonce(index))).expect("12 bytes");
            if !aad.is_empty() {
                self.seal.cipher_update(aad, None).expect("started");
            }
            self.seal.cipher_update_inplace(&mut data[place.clone()], place.len()).expect("started");
            self.seal.cipher_final(&mut []).expect("started");
            self.seal.tag(&mut data[place.end..place.end + 16]).expect("finished");
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let Workload { data, places, aad, .. } = work;
        places.iter().enumerate().all(|(index, place)| {
            self.open.decrypt_init(None, None, Some(&Workload::nonce(index))).expect("12 bytes");
            self.open.set_tag(&data[place.end..place.end + 16]).expect("16 bytes");
            if !aad.is_empty() {
                self.open.cipher_update(aad, None).expect("started");
            }
            self.open.cipher_update_inplace(&mut data[place.clone()], place.len()).expect("started");
            self.open.cipher_final(&mut []).is_ok()
        })
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

impl Contender for Sodium {
    fn name(&self) -> String {
        "libsodium".into()
    }

    fn seal(&mut self, work: &mut Workload) {
        for (index, place) in work.places.iter().enumerate() {
            let message = work.data[place.start..place.end + 16].as_mut_ptr();
            // SAFETY: `message` is `place.len()` bytes and 16 more, all in `data`; the key has 32 bytes, the
            // nonce 12; libsodium permits encryption in place.
            unsafe {
                crypto_aead_chacha20poly1305_ietf_encrypt_detached(
                    message,
                    message.wrapping_add(place.len()),
                    core::ptr::null_mut(),
                    message,
                    place.len() as u64,
                    work.aad.as_ptr(),
                    work.aad.len() as u64,
                    core::ptr::null(),
                    Workload::nonce(index).as_ptr(),
                    KEY.as_ptr(),
                );
            }
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        work.places.iter().enumerate().all(|(index, place)| {
            let message = work.data[place.start..place.end + 16].as_mut_ptr();
            // SAFETY: as for sealing.
            let code = unsafe {
                crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                    message,
                    core::ptr::null_mut(),
                    message,
                    place.len() as u64,
                    message.wrapping_add(place.len()),
                    work.aad.as_ptr(),
                    work.aad.len() as u64,
                    Workload::nonce(index).as_ptr(),
                    KEY.as_ptr(),
                )
            };
            code == 0
        })
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

impl RustCrypto {
    fn new() -> Self {
        Self(chacha20poly1305::ChaCha20Poly1305::new(&KEY.into()))
    }
}

impl Contender for RustCrypto {
    fn name(&self) -> String {
        if is_portable() { RUSTCRYPTO_PORTABLE.into() } else { "rustcrypto".into() }
    }

    fn seal(&mut self, work: &mut Workload) {
        let Workload { data, places, aad, .. } = work;
        for (index, place) in places.iter().enumerate() {
            let nonce = Workload::nonce(index).into();
            let message = (&mut data[place.clone()]).into();
            let tag = self.0.encrypt_inout_detached(&nonce, aad, message).expect("short");
            data[place.end..place.end + 16].copy_from_slice(&tag);
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let Workload { data, places, aad, .. } = work;
        places.iter().enumerate().all(|(index, place)| {
            let nonce = Workload::nonce(index).into();
            let (message, rest) = data[place.start..].split_at_mut(place.len());
            let tag = rest[..16].try_into().expect("16 bytes");
            self.0.decrypt_inout_detached(&nonce, aad, message.into(), tag).is_ok()
        })
    }
}

/// The crate graviola.
struct Graviola(graviola::aead::ChaCha20Poly1305);

impl Contender for Graviola {
    fn name(&self) -> String {
        "graviola".into()
    }

    fn seal(&mut self, work: &mut Workload) {
        let Workload { data, places, aad, .. } = work;
        for (index, place) in places.iter().enumerate() {
            let (message, rest) = data[place.start..].split_at_mut(place.len());
            let tag = rest.first_chunk_mut().expect("room for a tag");
            self.0.encrypt(&Workload::nonce(index), aad, message, tag);
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let Workload { data, places, aad, .. } = work;
        places.iter().enumerate().all(|(index, place)| {
            let (message, rest) = data[place.start..].split_at_mut(place.len());
            self.0.decrypt(&Workload::nonce(index), aad, message, &rest[..16]).is_ok()
        })
    }
}
