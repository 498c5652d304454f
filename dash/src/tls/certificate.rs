//! The dashboard's certificate: read from files, or made here once.

use core::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};
use std::{
    fs,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
    SerialNumber,
};
use rustls::{
    crypto::ring::sign::any_supported_type,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use schwann::security::keys::store::write_private;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{Certificate, CertificateError};

/// By what this dashboard is known.
pub(crate) struct Identity {
    /// The certificate first, then those that vouch for it.
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// SHA-256 of the certificate, as browsers write it: `AB:CD:…`.
    pub(crate) fingerprint: String,
}

impl Identity {
    /// Reads the certificate; makes one where none is kept, or where the kept one ends soon. `shown` is an address of
    /// this computer that others use.
    ///
    /// - Errors: [`CertificateError`].
    pub(crate) fn load(certificate: &Certificate, shown: IpAddr) -> Result<Self, CertificateError> {
        match certificate {
            Certificate::Given { certificate, key } => Self::read(certificate, key),
            Certificate::Kept(folder) => {
                let path = folder.join(FILE);
                match fs::read_to_string(&path).map(Zeroizing::new) {
                    Ok(text) if lasts(&text) => {}
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(CertificateError::Read(path, error));
                    }
                    Ok(_) | Err(_) => {
                        let text = make(shown).map_err(CertificateError::Make)?;
                        write_private(&path, text.as_bytes())
                            .map_err(|error| CertificateError::Make(error.to_string()))?;
                    }
                }
                Self::read(&path, &path)
            }
        }
    }

    fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let read = |path: &Path| {
            let bytes = fs::read(path).map(Zeroizing::new);
            bytes.map_err(|error| CertificateError::Read(path.to_owned(), error))
        };
        let content = |path: &Path, why: &str| CertificateError::Content(path.to_owned(), why.to_owned());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
        let chain = chain.map_err(|_| content(certificate, "its PEM is damaged"))?;
        let Some(first) = chain.first() else {
            return Err(content(certificate, "it holds no certificate in PEM"));
        };
        let fingerprint = fingerprint(first);
        let key_der = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|_| content(key, "it holds no private key in PEM"))?;
        any_supported_type(&key_der).map_err(|_| content(key, KEY_ADVICE))?;
        Ok(Self { chain, key: key_der, fingerprint })
    }
}

impl core::fmt::Debug for Identity {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Identity").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate);
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// Whether the kept certificate is good for a while; its file says so in its first line.
fn lasts(text: &str) -> bool {
    let until = text.lines().find_map(|line| line.strip_prefix(UNTIL)?.trim().parse().ok());
    until.is_some_and(|until: u64| now() + Duration::from_hours(24 * LEAST_DAYS) < Duration::from_secs(until))
}

/// Makes a certificate that vouches for itself; certificate and key as PEM.
fn make(shown: IpAddr) -> Result<Zeroizing<String>, String> {
    let key = KeyPair::generate().map_err(|error| error.to_string())?;
    let until = now() + Duration::from_hours(24 * DAYS);
    let certificate = params(shown, until)?.self_signed(&key).map_err(|error| error.to_string())?;
    let (certificate, key) = (certificate.pem(), Zeroizing::new(key.serialize_pem()));
    Ok(Zeroizing::new(format!(
        "The certificate of schwann dash --lan and its private key. It is replaced before it ends; delete it for a new one.\n\
         {UNTIL}{}\n{certificate}{}",
        until.as_secs(),
        key.as_str()
    )))
}

fn params(shown: IpAddr, until: Duration) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "Schwann dashboard");
    params.distinguished_name = name;
    let mut serial = [0; 16];
    getrandom::fill(&mut serial).map_err(|error| error.to_string())?;
    // A positive number (RFC 5280 §4.1.2.2).
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    // A clock that is a day behind still accepts it.
    params.not_before = time::OffsetDateTime::from(SystemTime::now() - Duration::from_hours(24));
    params.not_after = time::OffsetDateTime::from(UNIX_EPOCH + until);
    let localhost = "localhost".try_into().map_err(|error: rcgen::Error| error.to_string())?;
    params.subject_alt_names =
        [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), shown].map(SanType::IpAddress).to_vec();
    params.subject_alt_names.push(SanType::DnsName(localhost));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// As long as Apple's systems take one for (support article HT210176).
const DAYS: u64 = 820;
const FILE: &str = "dash.pem";
const KEY_ADVICE: &str = "its key is none that serves: RSA, ECDSA on P-256 or P-384, or Ed25519";
/// A kept certificate is replaced this many days before its end.
const LEAST_DAYS: u64 = 30;
/// What is before the moment at which it ends, in seconds since 1970.
const UNTIL: &str = "Until: ";

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("schwann-dash-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn a_kept_certificate_stays_until_it_ends() {
        let folder = folder("kept");
        let kept = Certificate::Kept(folder.clone());
        let load = || Identity::load(&kept, SHOWN).expect("a certificate").fingerprint;
        let (first, again) = (load(), load());
        assert_eq!(first, again);
        assert_eq!(first.split(':').filter(|byte| byte.len() == 2).count(), 32, "{first}");
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).expect("it is kept");
        let until = text.lines().find(|line| line.starts_with(UNTIL)).expect("it says until when");
        fs::write(&path, text.replace(until, &format!("{UNTIL}{}", now().as_secs() + 3600)))
            .expect("written");
        assert_ne!(load(), first, "one that ends within the hour is replaced");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn certificate_and_key_serve_a_handshake() {
        let folder = folder("handshake");
        let identity = Identity::load(&Certificate::Kept(folder.clone()), SHOWN).expect("a certificate");
        crate::tls::settings(identity).expect("they belong together");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_without_what_it_should_hold_is_named() {
        let folder = folder("wrong");
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let load = || {
            let given = Certificate::Given { certificate: certificate.clone(), key: key.clone() };
            Identity::load(&given, SHOWN).expect_err("there is none").to_string()
        };
        assert!(load().contains("certificate.pem cannot be read"), "{}", load());
        fs::write(&certificate, "nothing").expect("written");
        assert!(load().contains("holds no certificate"), "{}", load());
        fs::write(&certificate, make(SHOWN).expect("a certificate").as_bytes()).expect("written");
        fs::write(&key, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").expect("written");
        assert!(load().contains("none that serves"), "{}", load());
        fs::remove_dir_all(folder).expect("removed");
    }
}
