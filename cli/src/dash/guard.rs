//! Who may use the dashboard.
//!
//! A page from elsewhere that is open in the same browser must not read a lab's streams: not by a request from its own
//! origin, and not by a name that it makes point at this computer (DNS rebinding). So the `Host` must be ours, and an
//! `Origin`, without which no WebSocket is opened, must be the one that goes with it. Beyond loopback a token is
//! needed as well.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::net::UdpSocket;

use super::request::{Refusal, Request};

/// Decides about requests.
#[derive(Debug)]
pub(super) struct Guard {
    address: SocketAddr,
    /// What a person is told instead of an address that stands for all.
    shown: IpAddr,
    token: Option<Token>,
}

/// What whoever is not on this computer must know.
pub(super) struct Token(String);

/// What may be done with a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Admission {
    /// Answer it.
    Granted,
    /// Set the cookie, and send the browser to the page without the token in its address.
    Welcome,
}

impl Guard {
    /// Guards a server at this address; beyond loopback it makes a token.
    ///
    /// - Errors: the system has no random numbers.
    pub(super) fn new(address: SocketAddr) -> Result<Self, getrandom::Error> {
        let token = if address.ip().is_loopback() { None } else { Some(Token::random()?) };
        let shown = if address.ip().is_unspecified() { own_address(address.ip()) } else { address.ip() };
        Ok(Self { address, shown, token })
    }

    /// The address of the page, for a person.
    pub(super) fn url(&self) -> String {
        let address = SocketAddr::new(self.shown, self.address.port());
        let token = self.token.as_ref().map_or(String::new(), |token| format!("?token={}", token.0));
        format!("http://{address}/{token}")
    }

    /// Decides about a request.
    pub(super) fn admit(&self, request: &Request) -> Result<Admission, Refusal> {
        let is_own_origin = |origin: &String| origin.strip_prefix("http://") == Some(request.host.as_str());
        let origin_is_good = match &request.origin {
            Some(origin) => is_own_origin(origin),
            None => request.web_socket_key.is_none(),
        };
        if !self.is_own_host(&request.host) || !origin_is_good {
            return Err(Refusal::Forbidden);
        }
        let Some(token) = &self.token else { return Ok(Admission::Granted) };
        let in_query = |part: &str| part.strip_prefix("token=").is_some_and(|given| token.is(given));
        if request.query.split('&').any(in_query) {
            return Ok(Admission::Welcome);
        }
        let in_cookie =
            |part: &str| part.trim().strip_prefix(&self.cookie_name()).is_some_and(|given| token.is(given));
        if request.cookie.split(';').any(in_cookie) {
            Ok(Admission::Granted)
        } else {
            Err(Refusal::Forbidden)
        }
    }

    /// The header that makes the browser remember the token, if there is one.
    pub(super) fn cookie(&self) -> String {
        self.token.as_ref().map_or(String::new(), |token| {
            format!("Set-Cookie: {}{}; HttpOnly; SameSite=Strict; Path=/\r\n", self.cookie_name(), token.0)
        })
    }

    /// Cookies are not kept apart by port, so its name has it.
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

    #[test]
    fn on_loopback_only_our_own_page_is_answered() {
        let guard = guard("127.0.0.1:16570");
        assert_eq!(guard.url(), "http://127.0.0.1:16570/");
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
            // Pages of others, of another port, of another scheme, of nobody.
            ("127.0.0.1:16570", Some("http://evil.example"), None, no),
            ("127.0.0.1:16570", Some("http://evil.example"), Some("k"), no),
            ("127.0.0.1:16570", Some("http://127.0.0.1:8000"), Some("k"), no),
            ("127.0.0.1:16570", Some("https://127.0.0.1:16570"), Some("k"), no),
            ("127.0.0.1:16570", Some("http://localhost:16570"), Some("k"), no),
            ("127.0.0.1:16570", Some("null"), Some("k"), no),
            ("127.0.0.1:16570", None, Some("k"), no),
        ] {
            assert_eq!(
                guard.admit(&request(host, origin, web_socket)),
                expected,
                "{host} {origin:?} {web_socket:?}"
            );
        }
    }

    #[test]
    fn beyond_loopback_the_token_is_needed_and_remembered() {
        let guard = guard("0.0.0.0:16570");
        let url = guard.url();
        let (_, token) = url.split_once(":16570/?token=").expect("a port and a token");
        assert_eq!(token.len(), 32);
        let mut request = request("192.168.1.7:16570", None, None);
        assert_eq!(guard.admit(&request), Err(Refusal::Forbidden));
        request.query = format!("token={}", &token[1..]);
        assert_eq!(guard.admit(&request), Err(Refusal::Forbidden));
        request.query = format!("x=1&token={token}");
        assert_eq!(guard.admit(&request), Ok(Admission::Welcome));
        request.query = String::new();
        let cookie = guard.cookie();
        let cookie = cookie.strip_prefix("Set-Cookie: ").and_then(|rest| rest.split(';').next());
        request.cookie = format!("other=1; {}", cookie.expect("a cookie"));
        assert_eq!(guard.admit(&request), Ok(Admission::Granted));
        request.host = "evil.example:16570".to_owned();
        assert_eq!(guard.admit(&request), Err(Refusal::Forbidden));
    }
}
