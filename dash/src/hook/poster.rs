//! What posts: HTTP, or HTTPS to a receiver whose certificate an authority vouches for.

use core::{fmt, time::Duration};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use schwann::log::{self, level};
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Where it is posted that a stream is lost or back.
#[derive(Clone, Debug)]
pub struct WebHook {
    /// An address with `http://` or `https://`.
    pub url: String,
    /// Who vouches for a receiver with `https://`: certificates of authorities, in a file of PEM. Nothing takes those that
    /// the system trusts.
    pub authority: Option<PathBuf>,
}

/// Why nothing can be posted.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookError {
    /// The address is none.
    Address,
    /// An authority vouches for addresses with `https://` alone.
    Needless,
    /// The file of the authority cannot be read.
    Read(PathBuf, io::Error),
    /// The file of the authority holds no certificate.
    Content(PathBuf),
    /// The system names no authority that it trusts.
    Roots(String),
}

impl fmt::Display for HookError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => out.write_str("a web-hook begins with http:// or https:// and names a host"),
            Self::Needless => out.write_str(
                "an authority vouches for a web-hook with https:// alone; leave out --web-hook-ca",
            ),
            Self::Read(path, error) => write!(out, "{} cannot be read: {error}", path.display()),
            Self::Content(path) => {
                write!(out, "{} holds no certificate in PEM of an authority", path.display())
            }
            Self::Roots(why) => {
                write!(out, "this system trusts no authority ({why}); name one by --web-hook-ca FILE")
            }
        }
    }
}

impl core::error::Error for HookError {}

/// Posts to one address.
#[derive(Debug)]
pub(crate) struct Poster {
    agent: ureq::Agent,
    url: String,
    is_failing: bool,
}

/// What came of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// The receiver has it, or does not want it.
    Done,
    /// It may succeed later.
    Later,
}

impl Poster {
    /// Prepares to post; asks for nothing yet.
    ///
    /// - Errors: [`HookError`].
    pub(crate) fn new(hook: &WebHook) -> Result<Self, HookError> {
        let trusted = match (scheme(&hook.url).ok_or(HookError::Address)?, &hook.authority) {
            (Scheme::Plain, Some(_)) => return Err(HookError::Needless),
            (Scheme::Plain, None) => Vec::new(),
            (Scheme::Sealed, Some(path)) => read(path)?,
            (Scheme::Sealed, None) => system()?,
        };
        let roots: Vec<_> = trusted.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        let settings = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(POST_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Ok(Self { agent: ureq::Agent::new_with_config(settings), url: hook.url.clone(), is_failing: false })
    }

    /// Posts once. The log tells when posts begin to fail, and why.
    pub(crate) fn post(&mut self, body: &str) -> Posted {
        let answer = self.agent.post(&self.url).header("Content-Type", "application/json").send(body);
        let (posted, failure) = match answer {
            Ok(answer) if answer.status().is_success() => (Posted::Done, None),
            // What a receiver does not want it will not want later.
            Ok(answer) => match answer.status().as_u16() {
                408 | 429 | 500.. => (Posted::Later, Some(format!("it answers {}", answer.status()))),
                _ => (Posted::Done, Some(format!("it answers {} and gets no post again", answer.status()))),
            },
            Err(error) => (Posted::Later, Some(sentence(&error))),
        };
        if let Some(why) = &failure
            && !self.is_failing
        {
            self.warn(format_args!("{why}"));
        }
        self.is_failing = failure.is_some();
        posted
    }

    /// Tells the log that the post of this number is not tried again.
    pub(crate) fn give_up(&self, number: &Value) {
        self.warn(format_args!("it never took post {number}, which is given up"));
    }

    fn warn(&self, what: fmt::Arguments<'_>) {
        if log::enabled(level::WARNING) {
            log::write(
                level::WARNING,
                file!(),
                line!(),
                format_args!("web-hook {}: {what}", host(&self.url)),
            );
        }
    }
}

/// How a receiver is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Plain,
    Sealed,
}

/// That of an address; none if it is no address.
fn scheme(url: &str) -> Option<Scheme> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme {
        "http" => Scheme::Plain,
        "https" => Scheme::Sealed,
        _ => return None,
    };
    (!rest.is_empty() && !rest.starts_with(['/', '?', '#'])).then_some(scheme)
}

/// The host and port of an address: what follows may be a secret.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// The authorities of a file.
fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, HookError> {
    let content = fs::read(path).map_err(|error| HookError::Read(path.to_owned(), error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content).collect();
    found.ok().filter(|found| is_usable(found)).ok_or_else(|| HookError::Content(path.to_owned()))
}

/// The authorities that the system trusts.
fn system() -> Result<Vec<CertificateDer<'static>>, HookError> {
    let found = rustls_native_certs::load_native_certs();
    if is_usable(&found.certs) {
        return Ok(found.certs);
    }
    let why = found.errors.first().map_or_else(|| "it names none".to_owned(), ToString::to_string);
    Err(HookError::Roots(why))
}

/// Whether one of them can vouch for anything.
fn is_usable(found: &[CertificateDer<'static>]) -> bool {
    RootCertStore::empty().add_parsable_certificates(found.iter().cloned()).0 > 0
}

fn sentence(error: &ureq::Error) -> String {
    let said = error.to_string();
    if said.contains("invalid peer certificate") {
        return format!("{said}; --web-hook-ca FILE names an authority that vouches for it");
    }
    said
}

/// What a receiver may take for one post.
const POST_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_can_be_posted_to_are_taken() {
        for (url, expected) in [
            ("http://127.0.0.1:8000/hook", Some(Scheme::Plain)),
            ("http://lab-pc/hook?key=1", Some(Scheme::Plain)),
            ("https://example.org/hook", Some(Scheme::Sealed)),
            ("https://", None),
            ("http:///hook", None),
            ("ftp://lab-pc/hook", None),
            ("lab-pc/hook", None),
            ("", None),
        ] {
            assert_eq!(scheme(url), expected, "{url}");
        }
    }

    #[test]
    fn the_log_names_no_secret_of_an_address() {
        for url in
            ["https://key@lab-pc:8000/secret", "https://lab-pc:8000?key=secret", "http://lab-pc:8000#secret"]
        {
            assert_eq!(host(url), "lab-pc:8000", "{url}");
        }
    }
}
