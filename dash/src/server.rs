//! Accepts browsers: hands out the page, and gives each page its live connection.

use core::{
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};
use std::{
    io::{self, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread::{self, JoinHandle},
};

use rustls::ServerConfig;
use schwann_fieldtrip::door::{self, Stranger};
use tungstenite::handshake::derive_accept_key;

use super::{
    api, browser, control, foxglove,
    guard::{Admission, Guard},
    lab::Lab,
    link::{self, Link, Opening},
    recording::Desk,
    request::{self, HEAD_TIME, Refusal, Request},
    role::Role,
    tape::{self, Tape},
};

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Service>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Service {
    guard: Guard,
    /// What TLS is spoken with, if it is.
    tls: Option<Arc<ServerConfig>>,
    site: Site,
    connections: AtomicUsize,
    stopping: AtomicBool,
}

/// What is served.
#[derive(Clone, Debug)]
pub(super) enum Site {
    /// The page, and what it shows.
    Dashboard(Arc<Lab>),
    /// A recorder for programs, which has no page.
    Recorder(Arc<Desk>),
    /// The page, with a recording in place of the lab.
    Recording(Arc<Tape>),
}

impl Server {
    /// Serves what comes to `listener` and what the guard admits, by TLS or, on this computer alone, without.
    ///
    /// - Errors: those of the system: no thread.
    pub(super) fn start(
        listener: TcpListener,
        guard: Guard,
        tls: Option<Arc<ServerConfig>>,
        site: Site,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (connections, stopping) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(Service { guard, tls, site, connections, stopping });
        let for_thread = Arc::clone(&shared);
        let run = move || for_thread.accept(&listener);
        let thread = thread::Builder::new().name("dash-server".to_owned()).spawn(run)?;
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// The addresses of the page, for a person; they hold the tokens.
    pub(super) fn urls(&self) -> Vec<(Role, String)> {
        self.shared.guard.urls()
    }

    /// An address that opens the page once, for a browser whose command line others see; see [`Guard::ticket_url`].
    pub(super) fn ticket_url(&self) -> Option<String> {
        self.shared.guard.ticket_url()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Accepting cannot be ended, but answered.
        let ip =
            if self.address.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { self.address.ip() };
        let woken = TcpStream::connect_timeout(&SocketAddr::new(ip, self.address.port()), WAKE_TIME);
        if let (Some(thread), Ok(_)) = (self.thread.take(), woken) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// A place for one connection, until it is dropped.
struct Seat {
    service: Arc<Service>,
    /// How many others had one when it was taken.
    number: usize,
}

impl Seat {
    fn take(service: &Arc<Service>) -> Self {
        let number = service.connections.fetch_add(1, Ordering::Relaxed);
        Self { service: Arc::clone(service), number }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.service.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.stopping.load(Ordering::Relaxed) {
            let Ok((stream, _)) = listener.accept() else {
                // Out of descriptors, most likely; others will close theirs.
                thread::sleep(RETRY_TIME);
                continue;
            };
            let seat = Seat::take(self);
            if seat.number >= MAX_CONNECTIONS || (seat.number >= OTHERS_MOST && !is_own_users(&stream)) {
                continue;
            }
            let serve = move || {
                // The end that broke the connection knows, and no other needs to.
                let _ = seat.service.serve(stream);
            };
            // Without a thread the connection ends, and the browser asks again.
            let _ = thread::Builder::new().name("dash-browser".to_owned()).spawn(serve);
        }
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(WRITE_TIME))?;
        stream.set_nodelay(true)?;
        let mut link = self.link(stream)?;
        let outcome = request::read(&mut link).and_then(|request| {
            if self.tls.is_some() && matches!(link, Link::Plain(_)) {
                return Err(Refusal::Unsealed);
            }
            let admission = self.guard.admit(&request, || is_own_users(link.socket()))?;
            Ok((request, admission))
        });
        match outcome {
            Err(refusal) => self.refuse(&mut link, refusal),
            Ok((_, Admission::Welcome(_))) if matches!(self.site, Site::Recorder(_)) => {
                request::respond(&mut link, "200 OK", TEXT, "", NO_PAGE.as_bytes())
            }
            Ok((_, Admission::Welcome(role))) => {
                let headers = format!("{}Location: /\r\n", self.guard.cookie(role));
                request::respond(&mut link, "303 See Other", TEXT, &headers, b"")
            }
            Ok((request, Admission::Granted(role))) => match &self.site {
                Site::Dashboard(lab) => self.answer(link, request, role, lab),
                Site::Recorder(desk) => control::answer(link, request, desk, role, &self.stopping),
                Site::Recording(tape) => self.answer_of_recording(link, request, tape),
            },
        }
    }

    fn refuse(&self, link: &mut Link, refusal: Refusal) -> io::Result<()> {
        match (&self.site, refusal) {
            (Site::Recorder(_), Refusal::Locked) => {
                request::respond(link, "403 Forbidden", TEXT, "", LOCKED.as_bytes())
            }
            _ => request::refuse(link, refusal),
        }
    }

    /// What is read and written through. Who speaks plain HTTP where TLS is spoken hears so in plain HTTP.
    fn link(&self, stream: TcpStream) -> io::Result<Link> {
        match &self.tls {
            Some(settings) if link::opening(&stream, HEAD_TIME)? == Opening::Handshake => {
                Link::sealed(stream, Arc::clone(settings)).map_err(io::Error::other)
            }
            _ => Ok(Link::plain(stream)),
        }
    }

    fn answer(&self, mut link: Link, request: Request, role: Role, lab: &Lab) -> io::Result<()> {
        match (request.path.as_str(), &request.web_socket_key) {
            ("/live", Some(key)) => {
                switch(&mut link, key, "")?;
                return browser::attend(link, request.rest, lab, role, &self.stopping);
            }
            ("/foxglove", Some(key)) => {
                let Some(protocol) = foxglove::agreed(&request.web_socket_protocol) else {
                    return request::refuse(&mut link, Refusal::BadRequest);
                };
                switch(&mut link, key, &format!("Sec-WebSocket-Protocol: {protocol}\r\n"))?;
                return foxglove::attend(link, request.rest, lab, &self.stopping);
            }
            _ => {}
        }
        if let Some(asked) = request.path.strip_prefix("/api/") {
            return api::answer(&mut link, asked, &request, lab, role);
        }
        answer_with_part(&mut link, &request)
    }

    fn answer_of_recording(&self, mut link: Link, request: Request, tape: &Tape) -> io::Result<()> {
        match (request.path.as_str(), &request.web_socket_key) {
            ("/live", Some(key)) => {
                switch(&mut link, key, "")?;
                tape::attend(link, request.rest, tape, &self.stopping)
            }
            _ => answer_with_part(&mut link, &request),
        }
    }
}

fn answer_with_part(link: &mut Link, request: &Request) -> io::Result<()> {
    match PARTS.iter().find(|(path, _, _)| *path == request.path) {
        Some((_, content_type, body)) => request::respond(link, "200 OK", content_type, "", body.as_bytes()),
        None => request::refuse(link, Refusal::NotFound),
    }
}

/// Goes on by WebSocket (RFC 6455 §4.2.2).
pub(super) fn switch(link: &mut Link, key: &str, more_headers: &str) -> io::Result<()> {
    let accept = derive_accept_key(key.as_bytes());
    write!(
        link,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{more_headers}\r\n"
    )?;
    link.flush()
}

/// Whether a process of this user is at the other end, as far as the system tells.
fn is_own_users(stream: &TcpStream) -> bool {
    match door::check_tcp(stream) {
        Ok(()) => true,
        // Other systems tell nothing; there a ticket is worth what its being used up is.
        Err(Stranger::Unknown) => !door::TELLS_USERS,
        Err(_) => false,
    }
}

/// The page, as it is in the program.
const PARTS: [(&str, &str, &str); 34] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", STYLE, include_str!("page/style.css")),
    ("/plot.css", STYLE, include_str!("page/plot.css")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("/app.js", SCRIPT, include_str!("page/app.js")),
    ("/channels.js", SCRIPT, include_str!("page/channels.js")),
    ("/colors.js", SCRIPT, include_str!("page/colors.js")),
    ("/details.js", SCRIPT, include_str!("page/details.js")),
    ("/events.js", SCRIPT, include_str!("page/events.js")),
    ("/filters.js", SCRIPT, include_str!("page/filters.js")),
    ("/format.js", SCRIPT, include_str!("page/format.js")),
    ("/hands.js", SCRIPT, include_str!("page/hands.js")),
    ("/health.js", SCRIPT, include_str!("page/health.js")),
    ("/layouts.js", SCRIPT, include_str!("page/layouts.js")),
    ("/marks.js", SCRIPT, include_str!("page/marks.js")),
    ("/menu.js", SCRIPT, include_str!("page/menu.js")),
    ("/panel.js", SCRIPT, include_str!("page/panel.js")),
    ("/plot.js", SCRIPT, include_str!("page/plot.js")),
    ("/positions.js", SCRIPT, include_str!("page/positions.js")),
    ("/pulse.js", SCRIPT, include_str!("page/pulse.js")),
    ("/rail.js", SCRIPT, include_str!("page/rail.js")),
    ("/record.js", SCRIPT, include_str!("page/record.js")),
    ("/remote.js", SCRIPT, include_str!("page/remote.js")),
    ("/ring.js", SCRIPT, include_str!("page/ring.js")),
    ("/schwann.js", SCRIPT, include_str!("../npm/schwann.js")),
    ("/shelf.js", SCRIPT, include_str!("page/shelf.js")),
    ("/signal.js", SCRIPT, include_str!("page/signal.js")),
    ("/spark.js", SCRIPT, include_str!("page/spark.js")),
    ("/start.js", SCRIPT, include_str!("page/start.js")),
    ("/status.js", SCRIPT, include_str!("page/status.js")),
    ("/tape.css", STYLE, include_str!("page/tape.css")),
    ("/tape.js", SCRIPT, include_str!("page/tape.js")),
    ("/topography.js", SCRIPT, include_str!("page/topography.js")),
    ("/views.js", SCRIPT, include_str!("page/views.js")),
];

const LOCKED: &str = "The address lacks the token: schwann record --control printed it whole.\n";
const MAX_CONNECTIONS: usize = 64;
/// Connections of others: one who holds all of these keeps no program of this user out.
const OTHERS_MOST: usize = 32;
const NO_PAGE: &str = "This recorder is for programs; docs/record-control.md says what they ask for.\n";
const RETRY_TIME: Duration = Duration::from_millis(100);
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const WAKE_TIME: Duration = Duration::from_secs(1);
/// A browser that takes nothing for this long is gone.
const WRITE_TIME: Duration = Duration::from_secs(5);
