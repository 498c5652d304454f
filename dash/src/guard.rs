//! Who may use the dashboard.
//!
//! A page from elsewhere that is open in the same browser must not read a lab's streams: not by a request from its own
//! origin, and not by a name that it makes point at this computer (DNS rebinding). So the `Host` must be ours, and an
//! `Origin`, without which no WebSocket is opened, must be the one that goes with it.
//!
//! Other users of this computer reach it as well. So every request needs the token: once in the address that is
//! printed, from then on in a cookie. The browser that this program opens gets a ticket instead, because all users see
//! the command line of a browser. A ticket serves once, a process of this user alone, and for a short time.

use core::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use std::{
    net::UdpSocket,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use super::request::{Refusal, Request};

/// Decides about requests.
#[derive(Debug)]
pub(super) struct Guard {
    address: SocketAddr,
    /// What a person is told instead of an address that stands for all.
    shown: IpAddr,
    token: Token,
    ticket: Mutex<Option<Ticket>>,
}

/// A secret that is part of an address.
struct Token(String);

/// The way in for the browser that this program opens.
#[derive(Debug)]
struct Ticket {
    token: Token,
    until: Instant,
}

/// What may be done with a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Admission {
    /// Answer it.
    Granted,
    /// Set the cookie, and send the browser to the page without the token in its address.
    Welcome,
}

impl Guard {
    /// Guards a server at this address, by a token of its own.
    ///
    /// - Errors: the system has no random numbers.
    pub(super) fn new(address: SocketAddr) -> Result<Self, getrandom::Error> {
        let shown = if address.ip().is_unspecified() { own_address(address.ip()) } else { address.ip() };
        Ok(Self { address, shown, token: Token::random()?, ticket: Mutex::new(None) })
    }

    /// The address of the page, for a person; it holds the token.
    pub(super) fn url(&self) -> String {
        self.url_at(self.shown, "token", &self.token)
    }

    /// An address that opens the page once, soon, and for a process of this user; it replaces one that was not used.
    ///
    /// None without random numbers, and none where the page is not on loopback: there the system tells no user.
    pub(super) fn ticket_url(&self) -> Option<String> {
        let loopback = match self.address.ip() {
            ip if ip.is_loopback() => ip,
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            _ => return None,
        };
        let ticket = Ticket { token: Token::random().ok()?, until: Instant::now() + TICKET_TIME };
        let url = self.url_at(loopback, "ticket", &ticket.token);
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket);
        Some(url)
    }

    fn url_at(&self, ip: IpAddr, key: &str, token: &Token) -> String {
        format!("http://{}/?{key}={}", SocketAddr::new(ip, self.address.port()), token.0)
    }

    /// Decides about a request. `is_own_users` says whether a process of this user sent it; it is
    /// asked only where that matters.
    pub(super) fn admit(
        &self,
        request: &Request,
        is_own_users: impl FnOnce() -> bool,
    ) -> Result<Admission, Refusal> {
        let in_query = |key: &str| request.query.split('&').find_map(|part| part.strip_prefix(key));
        let has_token = in_query("token=").is_some_and(|given| self.token.is(given));
        // A page of anybody who was given the token; no page sends it along by itself, as it would a cookie.
        let is_program = request.web_socket_key.is_some() || request.path.starts_with("/api/");
        if has_token && is_program && self.is_own_host(&request.host) {
            return Ok(Admission::Granted);
        }
        let is_own_origin = |origin: &String| origin.strip_prefix("http://") == Some(request.host.as_str());
        let origin_is_good = match &request.origin {
            Some(origin) => is_own_origin(origin),
            None => request.web_socket_key.is_none(),
        };
        if !self.is_own_host(&request.host) || !origin_is_good {
            return Err(Refusal::Forbidden);
        }
        if has_token {
            return Ok(Admission::Welcome);
        }
        let in_cookie = |part: &str| {
            part.trim().strip_prefix(&self.cookie_name()).is_some_and(|given| self.token.is(given))
        };
        if request.cookie.split(';').any(in_cookie) {
            return Ok(Admission::Granted);
        }
        match in_query("ticket=") {
            Some(given) if self.take_ticket(given, is_own_users) => Ok(Admission::Welcome),
            _ => Err(Refusal::Locked),
        }
    }

    /// Whether this is the ticket, and in the right hands; then it is used up.
    fn take_ticket(&self, given: &str, is_own_users: impl FnOnce() -> bool) -> bool {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            ticket.as_ref().is_some_and(|ticket| Instant::now() < ticket.until && ticket.token.is(given));
        // Who reads it in the list of processes can neither use it nor use it up.
        is_it && is_own_users() && ticket.take().is_some()
    }

    /// The header that makes the browser remember the token.
    pub(super) fn cookie(&self) -> String {
        format!("Set-Cookie: {}{}; HttpOnly; SameSite=Strict; Path=/\r\n", self.cookie_name(), self.token.0)
    }

    /// Cookies are not kept apart by port, so the port is in the name.
    fn cookie_name(&self) -> String {
        format!("schwann-dash-{}=", self.address.port())
    }

    /// Whether a browser that was told this host meant us. A name that anybody can make point here is not enough.
    fn is_own_host(&self, host: &str) -> bool {
        let port = format!(":{}", self.address.port());
        // Browsers leave out the port of HTTP itself.
        let name = host.strip_suffix(&port).or((self.address.port() == 80).then_some(host));
        let Some(name) = name else { return false };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let ip = bare.parse::<IpAddr>().ok();
        if self.address.ip().is_loopback() {
            return name == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
        }
        name == "localhost" || ip.is_some()
    }
}

/// The address of this computer that others are likely to reach; loopback if it has no network.
fn own_address(unspecified: IpAddr) -> IpAddr {
    let (loopback, beyond): (IpAddr, IpAddr) = match unspecified {
        IpAddr::V4(_) => (Ipv4Addr::LOCALHOST.into(), OUTSIDE_V4.into()),
        IpAddr::V6(_) => (Ipv6Addr::LOCALHOST.into(), OUTSIDE_V6.into()),
    };
    // Connecting a datagram socket sends nothing; the system says which address it would send from.
    let socket = UdpSocket::bind((unspecified, 0)).and_then(|socket| {
        socket.connect((beyond, 9))?;
        socket.local_addr()
    });
    socket.map_or(loopback, |address| address.ip())
}

impl Token {
    fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Compares in a time that does not depend on where the difference is.
    fn is(&self, given: &str) -> bool {
        let differences = self.0.bytes().zip(given.bytes()).fold(0, |all, (own, given)| all | (own ^ given));
        self.0.len() == given.len() && differences == 0
    }
}

impl core::fmt::Debug for Token {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Token")
    }
}

/// Addresses of no computer (RFC 5737 §3, RFC 3849 §2), in the direction of every other network.
const OUTSIDE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OUTSIDE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// A browser that is just being started asks within this time.
const TICKET_TIME: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().expect("an address")).expect("random numbers")
    }

    fn request(host: &str, origin: Option<&str>, web_socket: Option<&str>) -> Request {
        Request {
            host: host.to_owned(),
            origin: origin.map(str::to_owned),
            web_socket_key: web_socket.map(str::to_owned),
            ..Request::default()
        }
    }

    fn cookie(guard: &Guard) -> String {
        let header = guard.cookie();
        let cookie = header.strip_prefix("Set-Cookie: ").and_then(|rest| rest.split(';').next());
        cookie.expect("a cookie").to_owned()
    }

    fn secret<'a>(url: &'a str, key: &str) -> &'a str {
        let (_, secret) = url.split_once(key).expect("a secret");
        assert_eq!(secret.len(), 32);
        secret
    }

    #[test]
    fn with_the_token_only_our_own_page_is_answered() {
        let guard = guard("127.0.0.1:16570");
        let yes = Ok(Admission::Granted);
        let no = Err(Refusal::Forbidden);
        for (host, origin, web_socket, expected) in [
            ("127.0.0.1:16570", None, None, yes),
            ("localhost:16570", None, None, yes),
            ("[::1]:16570", None, None, yes),
            ("127.0.0.1:16570", Some("http://127.0.0.1:16570"), Some("k"), yes),
            // A name made to point here, another port, the bare name, an address of this computer, nonsense.
            ("evil.example:16570", None, None, no),
            ("localhost.evil.example:16570", None, None, no),
            ("127.0.0.1:80", None, None, no),
            ("127.0.0.1", None, None, no),
            ("192.168.1.7:16570", None, None, no),
            ("0.0.0.0:16570", None, None, no),
            ("", None, None, no),
            // Pages of others, of another port, of another scheme, of no origin.
            ("127.0.0.1:16570", Some("http://evil.example"), None, no),
            ("127.0.0.1:16570", Some("http://evil.example"), Some("k"), no),
            ("127.0.0.1:16570", Some("http://127.0.0.1:8000"), Some("k"), no),
            ("127.0.0.1:16570", Some("https://127.0.0.1:16570"), Some("k"), no),
            ("127.0.0.1:16570", Some("http://localhost:16570"), Some("k"), no),
            ("127.0.0.1:16570", Some("null"), Some("k"), no),
            ("127.0.0.1:16570", None, Some("k"), no),
        ] {
            let mut request = request(host, origin, web_socket);
            request.cookie = cookie(&guard);
            let admission = guard.admit(&request, || true);
            assert_eq!(admission, expected, "{host} {origin:?} {web_socket:?}");
            request.cookie = String::new();
            assert!(guard.admit(&request, || true).is_err(), "without the token: {host}");
        }
    }

    #[test]
    fn the_token_is_needed_everywhere_and_remembered() {
        for (address, host) in
            [("127.0.0.1:16570", "localhost:16570"), ("0.0.0.0:16570", "192.168.1.7:16570")]
        {
            let guard = guard(address);
            let url = guard.url();
            let token = secret(&url, ":16570/?token=");
            let mut request = request(host, None, None);
            let admission = |request: &Request| guard.admit(request, || true);
            assert_eq!(admission(&request), Err(Refusal::Locked));
            request.query = format!("token={}", &token[1..]);
            assert_eq!(admission(&request), Err(Refusal::Locked));
            request.query = format!("x=1&token={token}");
            assert_eq!(admission(&request), Ok(Admission::Welcome));
            request.query = String::new();
            request.cookie = format!("other=1; {}", cookie(&guard));
            assert_eq!(admission(&request), Ok(Admission::Granted));
            request.host = "evil.example:16570".to_owned();
            assert_eq!(admission(&request), Err(Refusal::Forbidden));
        }
    }

    #[test]
    fn a_ticket_serves_once_and_no_other_user() {
        let guard = guard("127.0.0.1:16570");
        let url = guard.ticket_url().expect("on loopback");
        assert!(!url.contains(&guard.token.0), "the token stays off the command line");
        let mut request = request("127.0.0.1:16570", None, None);
        request.query = format!("ticket={}", secret(&url, "/?ticket="));
        assert_eq!(guard.admit(&request, || false), Err(Refusal::Locked));
        assert_eq!(guard.admit(&request, || true), Ok(Admission::Welcome));
        assert_eq!(guard.admit(&request, || true), Err(Refusal::Locked));
    }

    #[test]
    fn a_ticket_leads_over_loopback_or_is_not_given() {
        let url = guard("0.0.0.0:16570").ticket_url().expect("loopback is served as well");
        assert!(url.starts_with("http://127.0.0.1:16570/?ticket="), "{url}");
        assert_eq!(guard("192.168.1.7:16570").ticket_url(), None);
    }
}
