//! OpenSSL's ciphers from the library that the system has, loaded when they are wanted.
//!
//! Unsafe as [`crate::ffi`] is: it turns the few C functions that a measurement needs into safe calls on values that
//! own their handle. Loading at run time keeps OpenSSL out of what is built, and its rows in every run. It does not
//! wrap block modes: what it encrypts keeps its length.
#![allow(unsafe_code, reason = "calls into the system's OpenSSL")]

use core::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use core::ptr;
use std::sync::Arc;

use libloading::Library;

use crate::ffi::functions;

/// A loaded libcrypto of OpenSSL 3, with the provider that holds its broken ciphers if there is one.
#[derive(Clone)]
pub(crate) struct Libcrypto(Arc<Functions>);

/// A cipher that makes as many bytes as it is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StreamCipher {
    /// AES-128 in counter mode.
    Aes128Ctr,
    /// AES-256 in counter mode.
    Aes256Ctr,
    /// RC4 with a key of 128 bits, from the legacy provider.
    Rc4,
}

impl StreamCipher {
    fn name(self) -> &'static CStr {
        match self {
            Self::Aes128Ctr => c"AES-128-CTR",
            Self::Aes256Ctr => c"AES-256-CTR",
            Self::Rc4 => c"RC4",
        }
    }
}

impl Libcrypto {
    /// Loads the system's library.
    ///
    /// # Errors
    ///
    /// The loader's reason, when there is none of OpenSSL 3 (Debian: libssl3).
    pub(crate) fn load() -> Result<Self, libloading::Error> {
        // SAFETY: loading runs the initialisers of the system's own OpenSSL.
        let library = unsafe { Library::new(FILE) }?;
        let functions = Functions::look_up(library)?;
        // The default provider is loaded by itself only while no other is.
        for provider in [c"legacy", c"default"] {
            // SAFETY: the library's default context, and a NUL-terminated name; a provider that is missing gives
            // null, and its ciphers are not found later.
            unsafe { (functions.provider_load)(ptr::null_mut(), provider.as_ptr()) };
        }
        Ok(Self(Arc::new(functions)))
    }

    /// Returns the library's version, for the record. Source: `OpenSSL_version`.
    pub(crate) fn version(&self) -> String {
        // SAFETY: takes a number and returns a static NUL-terminated string.
        let text = unsafe { (self.0.version)(0) };
        // SAFETY: as above; never null.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Starts a cipher with an arbitrary key and counter: for its speed. `None` if the library has no such cipher.
    pub(crate) fn encrypter(&self, wanted: StreamCipher) -> Option<Encrypter> {
        // SAFETY: the default context, a NUL-terminated name, no properties.
        let cipher = unsafe { (self.0.cipher_fetch)(ptr::null_mut(), wanted.name().as_ptr(), ptr::null()) };
        if cipher.is_null() {
            return None;
        }
        // SAFETY: takes nothing; gives a new context or null.
        let context = unsafe { (self.0.context_new)() };
        let encrypter = Encrypter { context, cipher, library: self.clone() };
        // Longer than the longest key and counter of `StreamCipher`.
        let (key, counter) = ([0x5a; 64], [0x5b; 64]);
        // SAFETY: a context of ours (null is refused with 0), a fetched cipher, and buffers that are long enough.
        let ready =
            unsafe { (self.0.encrypt_init)(context, cipher, key.as_ptr(), counter.as_ptr(), ptr::null()) };
        (ready == 1).then_some(encrypter)
    }
}

/// One running cipher.
pub(crate) struct Encrypter {
    context: *mut c_void,
    cipher: *mut c_void,
    library: Libcrypto,
}

impl Encrypter {
    /// Encrypts in place.
    pub(crate) fn apply(&mut self, data: &mut [u8]) {
        let len = c_int::try_from(data.len()).expect("a buffer of less than 2 GiB");
        let mut written = 0;
        let bytes = data.as_mut_ptr();
        // SAFETY: a live context; a stream cipher writes as many bytes as it reads, and may do so in place.
        let done =
            unsafe { (self.library.0.encrypt_update)(self.context, bytes, &raw mut written, bytes, len) };
        assert_eq!((done, written), (1, len), "a stream cipher cannot fail once it is set up");
    }
}

impl Drop for Encrypter {
    fn drop(&mut self) {
        // SAFETY: made by EVP_CIPHER_CTX_new, freed once; null is allowed.
        unsafe { (self.library.0.context_free)(self.context) };
        // SAFETY: made by EVP_CIPHER_fetch, freed once.
        unsafe { (self.library.0.cipher_free)(self.cipher) };
    }
}

functions!(Functions {
    version: "OpenSSL_version" as unsafe extern "C" fn(c_int) -> *const c_char,
    provider_load: "OSSL_PROVIDER_load" as unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void,
    cipher_fetch: "EVP_CIPHER_fetch"
        as unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void,
    cipher_free: "EVP_CIPHER_free" as unsafe extern "C" fn(*mut c_void),
    context_new: "EVP_CIPHER_CTX_new" as unsafe extern "C" fn() -> *mut c_void,
    context_free: "EVP_CIPHER_CTX_free" as unsafe extern "C" fn(*mut c_void),
    encrypt_init: "EVP_EncryptInit_ex2" as EncryptInit,
    encrypt_update: "EVP_EncryptUpdate"
        as unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int,
});

type EncryptInit =
    unsafe extern "C" fn(*mut c_void, *const c_void, *const c_uchar, *const c_uchar, *const c_void) -> c_int;

const FILE: &str = if cfg!(target_os = "macos") {
    "libcrypto.3.dylib"
} else if cfg!(windows) {
    "libcrypto-3-x64.dll"
} else {
    "libcrypto.so.3"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_mode_is_an_involution_and_changes_its_input() {
        let Ok(library) = Libcrypto::load() else {
            eprintln!("no OpenSSL 3 here: nothing to test");
            return;
        };
        for wanted in [StreamCipher::Aes128Ctr, StreamCipher::Aes256Ctr] {
            let mut data = *b"sixteen bytes, and a tail";
            let mut there = library.encrypter(wanted).expect("every OpenSSL has it");
            there.apply(&mut data);
            assert_ne!(&data, b"sixteen bytes, and a tail");
            library.encrypter(wanted).expect("as above").apply(&mut data);
            assert_eq!(&data, b"sixteen bytes, and a tail");
        }
        assert!(library.version().contains("OpenSSL 3"), "{}", library.version());
    }
}
