//! The dashboard: what the streams of the lab do right now, in the browser.
//!
//! [`serve`] starts it in this process and returns where it is. A browser gets one page, all of which is in the program,
//! and then live data over one WebSocket.
//!
//! ```text
//!  lab ── one ── monitor ── follow     an inlet, while there is a sender
//!   │     per       ├─ gauge     rate, lag, gaps
//!   │     row       ├─ history   the last ten minutes, in one bound of memory for all rows
//!   │               └─ decimate  minimum and maximum per pixel column, after chain: montage and filters
//!   │                     ▲ asked for what is new
//!  server ── one ───── browser ── list, markers; view: columns of one stream
//!   │     per             └─ analysis: spectrum and bands of a stretch of the history; quality of channels
//!   │     page
//!   ├─ request, guard, role
//!   └─ link, tls     from other computers
//! ```
//!
//! It records as `schwann record` does, by the same recorder (`recording`). It never sends to a stream's sender anything but what every inlet sends. What pages send are streams of their own:
//! the markers of `pen`, and `outlets`. The protocol is in `docs/web.md`.

#![forbid(unsafe_code)]

mod analysis;
mod api;
mod batch;
mod browser;
mod chain;
mod chores;
mod control;
mod decimate;
mod filter;
mod follow;
mod foxglove;
mod gauge;
mod guard;
mod history;
mod hook;
mod lab;
mod labels;
mod link;
mod list;
mod live;
mod marker;
mod monitor;
mod open;
mod order;
mod outlets;
mod past;
mod pen;
mod quality;
mod reading;
mod recording;
mod remote;
mod request;
mod role;
mod server;
mod spectrum;
mod stretch;
mod sys;
mod tape;
mod tls;
mod view;
mod wish;

use core::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};
use std::{io, net::TcpListener, path::PathBuf, sync::Arc};

use schwann::{Context, ResolveError};
use schwann_xdf::{Location, ReadError};

pub use self::{
    control::{CONTROL_PORT, ControlOptions, Controlled, serve_control},
    hook::{HookError, WebHook},
    open::Opened,
    remote::RemoteSource,
    role::Role,
    tls::{Certificate, CertificateError},
};
use self::{
    guard::{Guard, Scheme},
    hook::{Hook, Poster},
    lab::Lab,
    server::{Server, Site},
    tape::Tape,
    tls::Identity,
};

/// How the dashboard is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is served: on loopback, unless other computers are let in.
    pub bind: IpAddr,
    /// Lets other computers in, by TLS with this certificate; nothing keeps it to this one.
    pub lan: Option<Certificate>,
    /// What links call this computer; nothing takes its address.
    pub host: Option<String>,
    /// Port; nothing takes the usual one, or any if that is taken.
    pub port: Option<u16>,
    /// Sessions that are shown; none shows that of the configuration.
    pub sessions: Vec<String>,
    /// Where recordings go that pages start; no recording leaves this folder.
    pub recordings: PathBuf,
    /// Where it is posted that a stream is lost or back.
    pub web_hook: Option<WebHook>,
    /// Where streams are looked for; nothing takes the process's.
    pub context: Option<Arc<Context>>,
    /// What looks at streams of other sites, if anything does.
    pub remote: Option<RemoteSource>,
}

impl Default for Options {
    /// On loopback, at the usual port, for the session of the configuration.
    fn default() -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            lan: None,
            host: None,
            port: None,
            sessions: Vec::new(),
            recordings: PathBuf::from("."),
            web_hook: None,
            context: None,
            remote: None,
        }
    }
}

/// A dashboard that is served until this is dropped.
#[derive(Debug)]
pub struct Dashboard {
    served: Served,
    _hook: Option<Hook>,
}

/// What is served, and how clients know it.
#[derive(Debug)]
struct Served {
    server: Server,
    fingerprint: Option<String>,
}

impl Dashboard {
    /// Where a browser finds it, for all that can be done. It holds a token, so it is for the person alone who started
    /// this program.
    pub fn url(&self) -> String {
        self.urls().pop().map_or_else(String::new, |(_, url)| url)
    }

    /// Where browsers find it for each role, from the one that may least; on loopback for [`Role::Record`] alone.
    pub fn urls(&self) -> Vec<(Role, String)> {
        self.served.server.urls()
    }

    /// SHA-256 of its certificate, as browsers show it; none on loopback.
    pub fn fingerprint(&self) -> Option<&str> {
        self.served.fingerprint.as_deref()
    }

    /// Shows the page in the usual browser, by an address that serves once. Does not wait for it.
    pub fn open_browser(&self) -> Opened {
        self.served.server.ticket_url().map_or(Opened::No, |url| open::open_browser(&url))
    }
}

/// Why there is no dashboard.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// Other computers would reach it, and read what it says.
    Open(IpAddr),
    /// There is no certificate to show to other computers.
    Certificate(CertificateError),
    /// The certificate and the key do not belong together.
    Mismatch(String),
    /// The port is taken, or the address is none of this computer's.
    Listen {
        /// What was to be served.
        what: &'static str,
        /// Where it was to be served.
        bind: IpAddr,
        /// At which port.
        port: u16,
        /// What the system says.
        error: io::Error,
    },
    /// The web-hook cannot be posted to, and why.
    WebHook(String, HookError),
    /// The recording cannot be shown.
    Recording(PathBuf, ReadError),
    /// Streams cannot be looked for.
    Search(ResolveError),
    /// The system refuses a thread or random numbers.
    System(io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(bind) => write!(
                out,
                "at {bind} other computers reach the dashboard; `schwann dash --lan` lets them in by TLS, with a link for each role"
            ),
            Self::Certificate(error) => write!(out, "{error}"),
            Self::Mismatch(why) => write!(out, "the certificate and the key cannot be used together: {why}"),
            Self::Listen { what, bind, port, error } => {
                write!(out, "{what} cannot be served at {bind} port {port}: {error}")
            }
            Self::WebHook(url, why) => write!(out, "{url}: {why}"),
            Self::Recording(path, error) => write!(out, "{}: {error}", path.display()),
            Self::Search(error) => write!(out, "search: {error}"),
            Self::System(error) => write!(out, "server: {error}"),
        }
    }
}

impl core::error::Error for ServeError {}

/// Starts the dashboard.
///
/// - Errors: [`ServeError`].
pub fn serve(options: &Options) -> Result<Dashboard, ServeError> {
    if options.lan.is_none() && !options.bind.is_loopback() {
        return Err(ServeError::Open(options.bind));
    }
    let poster = options
        .web_hook
        .as_ref()
        .map(|hook| Poster::new(hook).map_err(|why| ServeError::WebHook(hook.url.clone(), why)));
    let poster = poster.transpose()?;
    let listener = listen(options)?;
    let context = options.context.as_ref().unwrap_or_else(|| Context::get());
    let mut hook = None;
    let site = || {
        let lab = Lab::open(context, &options.sessions, &options.recordings).map_err(ServeError::Search)?;
        let lab = Arc::new(lab.beside(options.remote.clone()));
        let started = poster.map(|poster| Hook::start(poster, &lab));
        hook = started.transpose().map_err(ServeError::System)?;
        Ok(Site::Dashboard(lab))
    };
    let served = serve_site(listener, options.lan.as_ref(), options.host.as_deref(), site)?;
    Ok(Dashboard { served, _hook: hook })
}

/// Shows a recording on the same page. One without an index is read through first, and `progress` is told bytes read and
/// bytes in all.
///
/// - Errors: [`ServeError`].
pub fn serve_recording(
    options: &Options,
    recording: &Location,
    progress: impl FnMut(u64, u64),
) -> Result<Dashboard, ServeError> {
    if options.lan.is_none() && !options.bind.is_loopback() {
        return Err(ServeError::Open(options.bind));
    }
    let tape = Tape::open(recording, progress);
    let tape = tape.map_err(|error| ServeError::Recording(recording.path().to_owned(), error))?;
    let site = || Ok(Site::Recording(Arc::new(tape)));
    let served = serve_site(listen(options)?, options.lan.as_ref(), options.host.as_deref(), site)?;
    Ok(Dashboard { served, _hook: None })
}

/// Serves a site that is opened once it can be: by TLS if there is a certificate. Links lead to `host`.
fn serve_site(
    listener: TcpListener,
    certificate: Option<&Certificate>,
    host: Option<&str>,
    site: impl FnOnce() -> Result<Site, ServeError>,
) -> Result<Served, ServeError> {
    let address = listener.local_addr().map_err(ServeError::System)?;
    let identity = |certificate| Identity::load(certificate, guard::reachable(address.ip()));
    let identity = certificate.map(identity).transpose().map_err(ServeError::Certificate)?;
    let fingerprint = identity.as_ref().map(|identity| identity.fingerprint.clone());
    let tls =
        identity.map(tls::settings).transpose().map_err(|error| ServeError::Mismatch(error.to_string()))?;
    let scheme = if tls.is_some() { Scheme::Https } else { Scheme::Http };
    let guard = Guard::new(address, host, scheme);
    let guard = guard.map_err(|error| ServeError::System(io::Error::other(error)))?;
    let server = Server::start(listener, guard, tls, site()?).map_err(ServeError::System)?;
    Ok(Served { server, fingerprint })
}

fn listen(options: &Options) -> Result<TcpListener, ServeError> {
    let listener = match options.port {
        Some(port) => TcpListener::bind((options.bind, port)),
        None => TcpListener::bind((options.bind, USUAL_PORT)).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse => TcpListener::bind((options.bind, 0)),
            _ => Err(error),
        }),
    };
    listener.map_err(|error| {
        let port = options.port.unwrap_or(USUAL_PORT);
        ServeError::Listen { what: "the dashboard", bind: options.bind, port, error }
    })
}

/// Below the ports of LSL, which begin at 16571.
const USUAL_PORT: u16 = 16570;
