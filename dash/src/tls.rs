//! What other computers reach the dashboard through: TLS 1.3 (RFC 8446), with a certificate that was made here or given.
//!
//! `rustls` speaks the protocol, with the cryptography of `ring`, as the client of the hub does.

mod certificate;

use std::{fmt, io, path::PathBuf, sync::Arc};

use rustls::{ServerConfig, crypto::ring, version::TLS13};

pub(super) use self::certificate::Identity;

/// By what the dashboard proves to a browser that it is this one.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// One of an authority that the browsers trust, in files of PEM.
    Given {
        /// The certificate, and those that vouch for it.
        certificate: PathBuf,
        /// Its private key: RSA, ECDSA or Ed25519.
        key: PathBuf,
    },
    /// One that is made here once and kept in a folder; a person compares its fingerprint.
    Kept(PathBuf),
}

/// Why there is no certificate.
#[derive(Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// The kept one cannot be made or written.
    Make(String),
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The file holds something else.
    Content(PathBuf, String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Make(why) => write!(out, "the dashboard's certificate cannot be made: {why}"),
            Self::Read(path, error) => write!(out, "{} cannot be read: {error}", path.display()),
            Self::Content(path, why) => write!(out, "{}: {why}", path.display()),
        }
    }
}

impl core::error::Error for CertificateError {}

/// What connections are opened with.
///
/// - Errors: certificate and key do not belong together.
pub(super) fn settings(identity: Identity) -> Result<Arc<ServerConfig>, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13])?.with_no_client_auth();
    let mut settings = builder.with_single_cert(identity.chain, identity.key)?;
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A new handshake costs less than a millisecond, and needs no memory of the last one.
    settings.send_tls13_tickets = 0;
    Ok(Arc::new(settings))
}
