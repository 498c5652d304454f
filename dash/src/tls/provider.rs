//! The cryptography of a server that speaks `TLS_CHACHA20_POLY1305_SHA256` with X25519 and ECDSA on P-256: what all
//! browsers of the last years speak.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use p256::{
    SecretKey,
    ecdsa::{DerSignature, SigningKey, signature::Signer as _},
    pkcs8::EncodePublicKey,
};
use rustls::{
    CipherSuite, CipherSuiteCommon, Error, NamedGroup, PeerMisbehaved, SignatureAlgorithm, SignatureScheme,
    SupportedCipherSuite, Tls13CipherSuite,
    crypto::{
        ActiveKeyExchange, CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, SharedSecret,
        SupportedKxGroup, WebPkiSupportedAlgorithms,
        hash::{self, HashAlgorithm},
        hmac as rustls_hmac,
        tls13::HkdfUsingHmac,
    },
    pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer},
    sign,
};
use sha2::{Digest, Sha256};
use x25519_dalek::{PublicKey, StaticSecret};

mod records;

/// All that `rustls` needs of cryptography here. No peer has a certificate, so no signature is checked.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![SupportedCipherSuite::Tls13(&SUITE)],
        kx_groups: vec![&Agreement],
        signature_verification_algorithms: WebPkiSupportedAlgorithms { all: &[], mapping: &[] },
        secure_random: &Random,
        key_provider: &Keys,
    }
}

static SUITE: Tls13CipherSuite = Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        hash_provider: &Sha256Hash,
        // More records than a connection can have (RFC 8446 §5.5).
        confidentiality_limit: u64::MAX,
    },
    hkdf_provider: &HkdfUsingHmac(&HmacSha256),
    aead_alg: &records::ChaCha20Poly1305,
    quic: None,
};

#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        getrandom::fill(bytes).map_err(|_| GetRandomFailed)
    }
}

struct Sha256Hash;

impl hash::Hash for Sha256Hash {
    fn start(&self) -> Box<dyn hash::Context> {
        Box::new(Hashing(Sha256::new()))
    }

    fn hash(&self, data: &[u8]) -> hash::Output {
        hash::Output::new(&Sha256::digest(data))
    }

    fn output_len(&self) -> usize {
        HASH_LEN
    }

    fn algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }
}

struct Hashing(Sha256);

impl hash::Context for Hashing {
    fn fork_finish(&self) -> hash::Output {
        hash::Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn hash::Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> hash::Output {
        hash::Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

struct HmacSha256;

impl rustls_hmac::Hmac for HmacSha256 {
    fn with_key(&self, key: &[u8]) -> Box<dyn rustls_hmac::Key> {
        Box::new(HmacKey(Hmac::new_from_slice(key).expect("HMAC takes keys of any length (RFC 2104 §2)")))
    }

    fn hash_output_len(&self) -> usize {
        HASH_LEN
    }
}

struct HmacKey(Hmac<Sha256>);

impl rustls_hmac::Key for HmacKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> rustls_hmac::Tag {
        let mut mac = self.0.clone();
        mac.update(first);
        middle.iter().for_each(|part| mac.update(part));
        mac.update(last);
        rustls_hmac::Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        HASH_LEN
    }
}

/// X25519 (RFC 7748 §5).
#[derive(Debug)]
struct Agreement;

impl SupportedKxGroup for Agreement {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| Error::FailedToGetRandomBytes)?;
        let secret = StaticSecret::from(bytes);
        let public = PublicKey::from(&secret);
        Ok(Box::new(Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    secret: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        // A point of small order would make a secret that everybody knows (RFC 8446 §7.4.2).
        if !shared.was_contributory() {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn sign::SigningKey>, Error> {
        let secret = SecretKey::from_der(key.secret_der())
            .map_err(|_| Error::General(String::from("it is no key for ECDSA on P-256")))?;
        let public = secret.public_key().to_public_key_der();
        let public = public.map_err(|error| Error::General(error.to_string()))?.into_vec();
        Ok(Arc::new(ServerKey { key: Arc::new(SigningKey::from(secret)), public }))
    }
}

struct ServerKey {
    key: Arc<SigningKey>,
    /// `SubjectPublicKeyInfo` (RFC 5280 §4.1).
    public: Vec<u8>,
}

impl core::fmt::Debug for ServerKey {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("ServerKey")
    }
}

impl sign::SigningKey for ServerKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn sign::Signer>> {
        let is_offered = offered.contains(&SignatureScheme::ECDSA_NISTP256_SHA256);
        is_offered.then(|| Box::new(ServerSigner(Arc::clone(&self.key))) as Box<dyn sign::Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(SubjectPublicKeyInfoDer::from(&*self.public))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

struct ServerSigner(Arc<SigningKey>);

impl core::fmt::Debug for ServerSigner {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("ServerSigner")
    }
}

impl sign::Signer for ServerSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature: DerSignature = self.0.sign(message);
        Ok(signature.as_bytes().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP256_SHA256
    }
}

const HASH_LEN: usize = 32;
