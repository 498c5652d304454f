//! Who may use the dashboard.
//!
//! A page from elsewhere in the same browser must not read a lab's streams. It could ask from its own origin, or make
//! a name point at this computer (DNS rebinding). So the `Host` must be ours, and an `Origin` must go with it. No
//! WebSocket opens without an `Origin`.
//!
//! Other users of this computer reach it as well. So every request needs the token: once in the address that is
//! printed, from then on in a cookie. The browser that this program opens gets a ticket instead, because all users see
//! the command line of a browser. A ticket serves once, a process of this user alone, and for a short time.
//!
//! Where other computers reach it, there is TLS and one token for each role. Then any name may lead here, because the
//! browser has compared it with the certificate. It has a cookie only under the name that its link had.

use core::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use std::{
    net::UdpSocket,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use super::{
    request::{Refusal, Request},
    role::Role,
};

/// Decides about requests.
#[derive(Debug)]
pub(super) struct Guard {
    address: SocketAddr,
    /// Host and port as a person is told.
    shown: String,
    scheme: Scheme,
    /// From the role that may least.
    tokens: Vec<(Role, Token)>,
    ticket: Mutex<Option<Ticket>>,
}

/// How browsers reach the dashboard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scheme {
    /// On this computer alone, where one token is for all that can be done.
    Http,
    /// From other computers, with TLS and a token for each role.
    Https,
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
    /// Answer what this role may ask.
    Granted(Role),
    /// Set the cookie of this role, and send the browser to the page without the token in its address.
    Welcome(Role),
}

impl Guard {
    /// Guards a server at this address, by tokens of its own. Links lead to `host`, or to an address of this computer.
    ///
    /// - Errors: the system has no random numbers.
    pub(super) fn new(
        address: SocketAddr,
        host: Option<&str>,
        scheme: Scheme,
    ) -> Result<Self, getrandom::Error> {
        let shown = match host {
            Some(host) => format!("{host}:{}", address.port()),
            None => SocketAddr::new(reachable(address.ip()), address.port()).to_string(),
        };
        let roles = match scheme {
            Scheme::Http => &[Role::Record][..],
            Scheme::Https => &Role::ALL,
        };
        let tokens = roles.iter().map(|&role| Ok((role, Token::random()?))).collect::<Result<_, _>>()?;
        Ok(Self { address, shown, scheme, tokens, ticket: Mutex::new(None) })
    }

    /// The addresses of the page, for a person, from the role that may least; they hold the tokens.
    pub(super) fn urls(&self) -> Vec<(Role, String)> {
        let url = |(role, token): &(Role, Token)| (*role, self.url_at(&self.shown, "token", token));
        self.tokens.iter().map(url).collect()
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
        let host = SocketAddr::new(loopback, self.address.port()).to_string();
        let url = self.url_at(&host, "ticket", &ticket.token);
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket);
        Some(url)
    }

    fn url_at(&self, host: &str, key: &str, token: &Token) -> String {
        format!("{}{host}/?{key}={}", self.scheme.prefix(), token.0)
    }

    /// Decides about a request. `is_own_users` says whether a process of this user sent it; it is
    /// asked only where that matters.
    pub(super) fn admit(
        &self,
        request: &Request,
        is_own_users: impl FnOnce() -> bool,
    ) -> Result<Admission, Refusal> {
        let in_query = |key: &str| request.query.split('&').find_map(|part| part.strip_prefix(key));
        let by_token = in_query("token=").or(request.bearer.as_deref()).and_then(|given| self.role_of(given));
        // A page of anybody who was given the token; no page sends it along by itself, as it would a cookie.
        let is_program = request.web_socket_key.is_some() || request.path.starts_with("/api/");
        if let Some(role) = by_token.filter(|_| is_program && self.is_own_host(&request.host)) {
            return Ok(Admission::Granted(role));
        }
        if !self.is_own_host(&request.host) || !self.has_own_origin(request) {
            return Err(Refusal::Forbidden);
        }
        if let Some(role) = by_token {
            return Ok(Admission::Welcome(role));
        }
        let name = self.cookie_name();
        let cookies = request.cookie.split(';').filter_map(|part| part.trim().strip_prefix(&*name));
        if let Some(role) = cookies.filter_map(|given| self.role_of(given)).next() {
            return Ok(Admission::Granted(role));
        }
        match in_query("ticket=") {
            Some(given) if self.take_ticket(given, is_own_users) => Ok(Admission::Welcome(Role::Record)),
            _ => Err(Refusal::Locked),
        }
    }

    /// Whether a page of this dashboard sent a request; one that opens a socket must say so.
    fn has_own_origin(&self, request: &Request) -> bool {
        match &request.origin {
            Some(origin) => origin.strip_prefix(self.scheme.prefix()) == Some(request.host.as_str()),
            None => request.web_socket_key.is_none(),
        }
    }

    /// Whose token this is; compared with each, so that the time tells nothing.
    fn role_of(&self, given: &str) -> Option<Role> {
        self.tokens
            .iter()
            .fold(None, |found, (role, token)| if token.is(given) { Some(*role) } else { found })
    }

    /// Whether this is the ticket, and in the right hands; then it is used up.
    fn take_ticket(&self, given: &str, is_own_users: impl FnOnce() -> bool) -> bool {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            ticket.as_ref().is_some_and(|ticket| Instant::now() < ticket.until && ticket.token.is(given));
        // Who reads it in the list of processes can neither use it nor use it up.
        is_it && is_own_users() && ticket.take().is_some()
    }

    /// The header that makes the browser remember the token of a role.
    pub(super) fn cookie(&self, role: Role) -> String {
        let token = self.tokens.iter().find(|(own, _)| *own == role).map_or("", |(_, token)| &token.0);
        let secure = if self.scheme == Scheme::Https { "; Secure" } else { "" };
        format!("Set-Cookie: {}{token}; HttpOnly; SameSite=Strict; Path=/{secure}\r\n", self.cookie_name())
    }

    /// Cookies are not kept apart by port, so the port is in the name.
    fn cookie_name(&self) -> String {
        format!("schwann-dash-{}=", self.address.port())
    }

    /// Whether a browser that was told this host meant us. On plain HTTP, a name that anybody can make point here is
    /// not enough.
    fn is_own_host(&self, host: &str) -> bool {
        if self.scheme == Scheme::Https {
            return !host.is_empty();
        }
        let port = format!(":{}", self.address.port());
        // Browsers leave out the port of HTTP itself.
        let name = host.strip_suffix(&port).or((self.address.port() == 80).then_some(host));
        let Some(name) = name else { return false };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl Scheme {
    fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }
}

/// The address to which a link leads for a server at this one.
pub(super) fn reachable(ip: IpAddr) -> IpAddr {
    if ip.is_unspecified() { own_address(ip) } else { ip }
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
        Guard::new(address.parse().expect("an address"), None, Scheme::Http).expect("random numbers")
    }

    fn lan() -> Guard {
        let address = "0.0.0.0:16570".parse().expect("an address");
        Guard::new(address, Some("lab-pc.example"), Scheme::Https).expect("random numbers")
    }

    fn url(guard: &Guard, role: Role) -> String {
        guard.urls().into_iter().find(|(of, _)| *of == role).expect("there is a link").1
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
        let header = guard.cookie(Role::Record);
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
        let yes = Ok(Admission::Granted(Role::Record));
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
        let guard = guard("127.0.0.1:16570");
        let url = url(&guard, Role::Record);
        let token = secret(&url, "http://127.0.0.1:16570/?token=");
        let mut request = request("localhost:16570", None, None);
        let admission = |request: &Request| guard.admit(request, || true);
        assert_eq!(admission(&request), Err(Refusal::Locked));
        request.query = format!("token={}", &token[1..]);
        assert_eq!(admission(&request), Err(Refusal::Locked));
        request.query = format!("x=1&token={token}");
        assert_eq!(admission(&request), Ok(Admission::Welcome(Role::Record)));
        request.query = String::new();
        request.cookie = format!("other=1; {}", cookie(&guard));
        assert_eq!(admission(&request), Ok(Admission::Granted(Role::Record)));
        request.cookie = String::new();
        request.bearer = Some(token.to_owned());
        request.path = "/api/streams".to_owned();
        assert_eq!(admission(&request), Ok(Admission::Granted(Role::Record)));
        request.host = "evil.example:16570".to_owned();
        assert_eq!(admission(&request), Err(Refusal::Forbidden));
    }

    #[test]
    fn each_role_has_a_link_of_its_own_and_keeps_to_it() {
        let guard = lan();
        for role in Role::ALL {
            let url = url(&guard, role);
            let token = secret(&url, "https://lab-pc.example:16570/?token=").to_owned();
            let mut asked = request("lab-pc.example:16570", None, None);
            asked.query = format!("token={token}");
            assert_eq!(guard.admit(&asked, || false), Ok(Admission::Welcome(role)));
            asked.path = "/api/streams".to_owned();
            assert_eq!(guard.admit(&asked, || false), Ok(Admission::Granted(role)));
            let header = guard.cookie(role);
            assert!(header.contains("; Secure"), "{header}");
            let mut live = request("lab-pc.example:16570", Some("https://lab-pc.example:16570"), Some("k"));
            live.cookie = header.trim_start_matches("Set-Cookie: ").to_owned();
            assert_eq!(guard.admit(&live, || false), Ok(Admission::Granted(role)));
            for other in ["https://evil.example:16570", "http://lab-pc.example:16570", "null"] {
                live.origin = Some(other.to_owned());
                assert_eq!(guard.admit(&live, || false), Err(Refusal::Forbidden), "{other}");
            }
        }
        let mut wrong = request("lab-pc.example:16570", None, None);
        wrong.query = format!("token={}", "0".repeat(32));
        assert_eq!(guard.admit(&wrong, || false), Err(Refusal::Locked));
    }

    #[test]
    fn a_ticket_serves_once_and_no_other_user() {
        let guard = guard("127.0.0.1:16570");
        let url = guard.ticket_url().expect("on loopback");
        assert!(!url.contains(&guard.tokens[0].1.0), "the token stays off the command line");
        let mut request = request("127.0.0.1:16570", None, None);
        request.query = format!("ticket={}", secret(&url, "/?ticket="));
        assert_eq!(guard.admit(&request, || false), Err(Refusal::Locked));
        assert_eq!(guard.admit(&request, || true), Ok(Admission::Welcome(Role::Record)));
        assert_eq!(guard.admit(&request, || true), Err(Refusal::Locked));
    }

    #[test]
    fn a_ticket_leads_over_loopback_or_is_not_given() {
        let url = lan().ticket_url().expect("loopback is served as well");
        assert!(url.starts_with("https://127.0.0.1:16570/?ticket="), "{url}");
        assert_eq!(guard("192.168.1.7:16570").ticket_url(), None);
    }
}
