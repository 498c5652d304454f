//! Reads the head of one HTTP/1.1 request, within strict limits, and writes the answer.
//!
//! Just what a browser needs to load a page and to open a WebSocket: no bodies, one request per connection.

use core::time::Duration;
use std::{
    io::{self, Read, Write},
    time::Instant,
};

use super::link::Link;

/// What a browser asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Request {
    /// Whether it asks to change something; such a request has no body either.
    pub(super) is_post: bool,
    /// Path without the query.
    pub(super) path: String,
    /// What follows the question mark.
    pub(super) query: String,
    /// Header `Host`.
    pub(super) host: String,
    /// Header `Origin`, if there is one.
    pub(super) origin: Option<String>,
    /// The token of a header `Authorization: Bearer …` (RFC 6750 §2.1).
    pub(super) bearer: Option<String>,
    /// Header `Cookie`.
    pub(super) cookie: String,
    /// Header `Sec-WebSocket-Key` of a request to open a WebSocket.
    pub(super) web_socket_key: Option<String>,
    /// Header `Sec-WebSocket-Protocol`: what the client would speak.
    pub(super) web_socket_protocol: String,
    /// What came after the head.
    pub(super) rest: Vec<u8>,
}

/// Why a request is not answered as it hoped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    /// It is no HTTP, or not the part of it that we speak.
    BadRequest,
    /// It does not come from a page of ours.
    Forbidden,
    /// It lacks the token.
    Locked,
    /// It is neither GET nor HEAD.
    Method,
    /// There is no such page.
    NotFound,
    /// Its head is longer than [`HEAD_LIMIT`].
    TooLarge,
    /// It did not come in time, or the connection broke.
    Unread,
    /// It came as plain HTTP where TLS is spoken.
    Unsealed,
}

/// The outcome of looking at the bytes that have come.
#[derive(Debug, PartialEq)]
enum Parsed {
    Complete(Box<Request>),
    Partial,
}

/// Reads the head of the request.
pub(super) fn read(link: &mut Link) -> Result<Request, Refusal> {
    // Counted over handshake and head: a peer cannot hold a thread by a byte now and then.
    link.read_until(Some(Instant::now() + HEAD_TIME));
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let count = link.read(&mut part).map_err(|_| Refusal::Unread)?;
        if count == 0 {
            return Err(Refusal::Unread);
        }
        head.extend_from_slice(part.get(..count).unwrap_or_default());
        match parse(&head)? {
            Parsed::Complete(request) => {
                link.read_until(None);
                return Ok(*request);
            }
            Parsed::Partial if head.len() > HEAD_LIMIT => return Err(Refusal::TooLarge),
            Parsed::Partial => {}
        }
    }
}

fn parse(head: &[u8]) -> Result<Parsed, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(head) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(Parsed::Partial),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::BadRequest),
    };
    let is_post = parsed.method == Some("POST");
    if !is_post && !matches!(parsed.method, Some("GET" | "HEAD")) {
        return Err(Refusal::Method);
    }
    let mut request =
        Request { is_post, rest: head.get(length..).unwrap_or_default().to_vec(), ..Request::default() };
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (request.path, request.query) = (path.to_owned(), query.to_owned());
    let hosts = take_headers(parsed.headers, &mut request)?;
    if request.is_post && !request.path.starts_with("/api/") {
        return Err(Refusal::Method);
    }
    if hosts == 1 { Ok(Parsed::Complete(Box::new(request))) } else { Err(Refusal::BadRequest) }
}

/// Takes in what the headers say; returns how many hosts they name.
fn take_headers(headers: &[httparse::Header<'_>], request: &mut Request) -> Result<usize, Refusal> {
    let (mut hosts, mut upgrade) = (0, false);
    for header in headers {
        let value = || core::str::from_utf8(header.value).map(str::to_owned).map_err(|_| Refusal::BadRequest);
        match header.name.to_ascii_lowercase().as_str() {
            "host" => (request.host, hosts) = (value()?.to_ascii_lowercase(), hosts + 1),
            "origin" => request.origin = Some(value()?.to_ascii_lowercase()),
            "authorization" => {
                request.bearer = value()?.strip_prefix("Bearer ").map(|token| token.trim().to_owned());
            }
            "cookie" => request.cookie = value()?,
            "upgrade" => upgrade = value()?.eq_ignore_ascii_case("websocket"),
            "sec-websocket-protocol" => request.web_socket_protocol = value()?,
            "sec-websocket-key" => request.web_socket_key = Some(value()?),
            // Nothing that we answer has a body.
            "content-length" if header.value == b"0" => {}
            "content-length" | "transfer-encoding" => return Err(Refusal::BadRequest),
            _ => {}
        }
    }
    if !upgrade {
        request.web_socket_key = None;
    }
    Ok(hosts)
}

/// Answers with a document, and with the headers that keep it from doing anything but what it should.
pub(super) fn respond(
    stream: &mut impl Write,
    status: &str,
    content_type: &str,
    more_headers: &str,
    body: &[u8],
) -> io::Result<()> {
    respond_under(PAGE_POLICY, stream, status, content_type, more_headers, body)
}

fn respond_under(
    policy: &str,
    stream: &mut impl Write,
    status: &str,
    content_type: &str,
    more_headers: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: {policy}\r\n{SAFETY}{more_headers}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Says that a request is refused, and closes.
pub(super) fn refuse(stream: &mut impl Write, refusal: Refusal) -> io::Result<()> {
    if refusal == Refusal::Locked {
        let html = "text/html; charset=utf-8";
        return respond_under(DOOR_POLICY, stream, "403 Forbidden", html, "", DOOR.as_bytes());
    }
    let (status, text) = match refusal {
        Refusal::BadRequest => ("400 Bad Request", "This is not a request that is understood here.\n"),
        Refusal::Forbidden => (
            "403 Forbidden",
            "Only the page and programs are answered that have the address that schwann printed.\n",
        ),
        Refusal::Unsealed => (
            "400 Bad Request",
            "TLS is spoken here: the address begins with https://, as schwann printed it.\n",
        ),
        Refusal::Method => ("405 Method Not Allowed", "This address takes no such request.\n"),
        Refusal::NotFound => ("404 Not Found", "There is no such page.\n"),
        Refusal::TooLarge => ("431 Request Header Fields Too Large", "The request is too large.\n"),
        Refusal::Locked | Refusal::Unread => return Ok(()),
    };
    respond(stream, status, "text/plain; charset=utf-8", "", text.as_bytes())
}

/// What a person finds who opens the address without the token.
const DOOR: &str = include_str!("page/door.html");
/// The door loads nothing; its few styles are in it.
const DOOR_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
frame-ancestors 'none'";
/// The page may load its own parts and talk to its own server; no other page may frame it.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const SAFETY: &str = "\
Cache-Control: no-store\r\n\
Connection: close\r\n\
Cross-Origin-Embedder-Policy: require-corp\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Referrer-Policy: no-referrer\r\n\
X-Content-Type-Options: nosniff\r\n";

const HEAD_LIMIT: usize = 16 << 10;
pub(super) const HEAD_TIME: Duration = Duration::from_secs(5);
const MAX_HEADERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Ok(Parsed::Complete(request)) => *request,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_request_of_a_browser_is_read() {
        let request = complete(
            "GET /live?a=1 HTTP/1.1\r\nHost: LocalHost:16570\r\nOrigin: http://localhost:16570\r\n\
             Authorization: Bearer 0\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: abc\r\nCookie: x=y\r\n\r\nmore",
        );
        let expected = Request {
            path: "/live".to_owned(),
            query: "a=1".to_owned(),
            host: "localhost:16570".to_owned(),
            origin: Some("http://localhost:16570".to_owned()),
            bearer: Some("0".to_owned()),
            cookie: "x=y".to_owned(),
            web_socket_key: Some("abc".to_owned()),
            web_socket_protocol: String::new(),
            is_post: false,
            rest: b"more".to_vec(),
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn what_is_no_such_request_is_refused() {
        for (text, refusal) in [
            ("\x16\x03\x01\x02\x00", Refusal::BadRequest),
            ("GET / HTTP/1.1\r\n\r\n", Refusal::BadRequest),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refusal::BadRequest),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", Refusal::BadRequest),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::BadRequest),
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
            (&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65)), Refusal::TooLarge),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(refusal), "{text:?}");
        }
    }

    #[test]
    fn changed_and_cut_requests_never_panic() {
        let valid = b"GET /live?token=0 HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://a\r\nCookie: a=b; c=d\r\n\r\n";
        for end in 0..valid.len() {
            assert_eq!(parse(&valid[..end]), Ok(Parsed::Partial));
        }
        for place in 0..valid.len() {
            for byte in 0..=u8::MAX {
                let mut changed = valid.to_vec();
                changed[place] = byte;
                let _ = parse(&changed);
            }
        }
    }
}
