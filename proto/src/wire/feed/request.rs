//! What a client asks an outlet's TCP port for.

use core::{fmt, str};

use super::{
    DataProtocol,
    header::{end_of, headers, integer, truth},
};
use crate::{
    stream::{ChannelFormat, PROTOCOL_VERSION_ARCHIVE},
    wire::{
        NoRoom, Sink,
        number::{self, TrailingZeros},
        sample::ByteOrder,
        sink::put_text,
    },
};

/// A request to an outlet's TCP port.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command<'a> {
    /// Asks for samples.
    Feed(FeedRequest<'a>),
    /// Asks for the description with everything in `desc`.
    FullInfo,
    /// Asks for the description without `desc`, if it matches.
    ShortInfo {
        /// An XPath condition; empty matches everything.
        query: &'a str,
    },
    /// Asks what the program tells of itself ([`super::super::view`]); for members of the lab alone.
    View,
}

/// A request for samples, with the values that a silent client stands for as [`Default`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedRequest<'a> {
    /// Protocol version that the client speaks, times 100; below 110 there are no headers.
    pub version: i32,
    /// The requested stream; if empty, any stream of the outlet will do.
    pub uid: &'a str,
    /// The client's byte order; nothing if it is one that cannot be converted.
    pub byte_order: Option<ByteOrder>,
    /// How fast the client turns bytes around, in values per 10 ms.
    pub swap_performance: f64,
    /// Whether the client's floating-point numbers are IEEE 754.
    pub has_ieee754_floats: bool,
    /// Whether the client can compute with subnormal numbers.
    pub supports_subnormals: bool,
    /// Size of one value in the client's memory, in bytes; nothing if it did not say. Meaningless for strings.
    pub value_size: Option<i32>,
    /// Data protocol version wanted, times 100, if it differs from `version`. No known client sends it.
    pub data_version: Option<i32>,
    /// Samples that the outlet may hold for this client; 0 or less asks for the test pattern alone.
    pub max_buffer_length: i32,
    /// Samples per transmission; 0 or less leaves it to the outlet.
    pub max_chunk_length: i32,
    /// Whether the client sends [`Report`](super::Report)s to an outlet that takes them.
    pub sends_reports: bool,
    /// Host that the client believes the stream to be on; informative.
    pub hostname: &'a str,
    /// Source that the client believes the stream to come from; informative.
    pub source_id: &'a str,
    /// Session that the client believes the stream to be in; informative.
    pub session_id: &'a str,
}

impl Default for FeedRequest<'_> {
    fn default() -> Self {
        Self {
            version: PROTOCOL_VERSION_ARCHIVE,
            uid: "",
            byte_order: Some(ByteOrder::Little),
            swap_performance: 0.0,
            has_ieee754_floats: true,
            supports_subnormals: true,
            value_size: None,
            data_version: None,
            max_buffer_length: 0,
            max_chunk_length: 0,
            sends_reports: false,
            hostname: "",
            source_id: "",
            session_id: "",
        }
    }
}

impl<'a> FeedRequest<'a> {
    /// Describes this machine as a client for values of `format`.
    ///
    /// - Units: `version` is the lesser of our own and the stream's, times 100; `max_buffer_length` and
    ///   `max_chunk_length` in samples.
    pub fn new(
        version: i32,
        uid: &'a str,
        format: ChannelFormat,
        max_buffer_length: i32,
        max_chunk_length: i32,
    ) -> Self {
        Self {
            version,
            uid,
            byte_order: Some(ByteOrder::NATIVE),
            supports_subnormals: format.is_float(),
            value_size: Some(format.value_size().and_then(|size| i32::try_from(size).ok()).unwrap_or(0)),
            max_buffer_length,
            max_chunk_length,
            ..Self::default()
        }
    }

    /// Appends the request: with headers from version 1.10 on, else the older form.
    pub fn encode(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        if DataProtocol::from_version(self.version) == DataProtocol::Archive {
            let (buffer, chunk) = (self.max_buffer_length, self.max_chunk_length);
            return put_text(out, format_args!("LSL:streamfeed\r\n{buffer} {chunk}\r\n"));
        }
        put_text(
            out,
            format_args!(
                "LSL:streamfeed/{version} {uid}\r\n\
                 Native-Byte-Order: {order}\r\n\
                 Endian-Performance: {performance}\r\n\
                 Has-IEEE754-Floats: {floats}\r\n\
                 Supports-Subnormals: {subnormals}\r\n\
                 Value-Size: {value_size}\r\n\
                 Data-Protocol-Version: {version}\r\n\
                 Max-Buffer-Length: {buffer}\r\n\
                 Max-Chunk-Length: {chunk}\r\n\
                 Hostname: {hostname}\r\n\
                 Source-Id: {source_id}\r\n\
                 Session-Id: {session_id}\r\n\
                 {reports}\r\n",
                version = self.version,
                uid = HeaderText(self.uid),
                order = self.byte_order.unwrap_or(ByteOrder::NATIVE).code(),
                performance = number::general(self.swap_performance, 6, TrailingZeros::Drop),
                floats = u8::from(self.has_ieee754_floats),
                subnormals = u8::from(self.supports_subnormals),
                value_size = self.value_size.unwrap_or(0),
                buffer = self.max_buffer_length,
                chunk = self.max_chunk_length,
                hostname = HeaderText(self.hostname),
                source_id = HeaderText(self.source_id),
                session_id = HeaderText(self.session_id),
                reports = if self.sends_reports { "Sends-Reports: 1\r\n" } else { "" },
            ),
        )
    }

    /// Reads the older form's two numbers; what is missing or no number is 0.
    fn read_lengths(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace();
        let Some(buffer) = words.next().and_then(integer) else { return };
        self.max_buffer_length = buffer;
        self.max_chunk_length = words.next().and_then(integer).unwrap_or(0);
    }

    fn read_headers(&mut self, text: &'a str) -> Result<(), RequestError> {
        for (name, value) in headers(text) {
            let number = || integer(value).ok_or(RequestError::Header);
            let is = |expected: &str| name.eq_ignore_ascii_case(expected);
            if is("native-byte-order") {
                self.byte_order = ByteOrder::from_code(number()?);
            } else if is("endian-performance") {
                self.swap_performance = number::extract_f64(value.as_bytes()).ok_or(RequestError::Header)?;
            } else if is("has-ieee754-floats") {
                self.has_ieee754_floats = truth(value);
            } else if is("supports-subnormals") {
                self.supports_subnormals = truth(value);
            } else if is("value-size") {
                self.value_size = Some(number()?);
            } else if is("protocol-version") {
                self.data_version = Some(number()?);
            } else if is("max-buffer-length") {
                self.max_buffer_length = number()?;
            } else if is("max-chunk-length") {
                self.max_chunk_length = number()?;
            } else if is("sends-reports") {
                self.sends_reports = truth(value);
            } else if is("hostname") {
                self.hostname = value;
            } else if is("source-id") {
                self.source_id = value;
            } else if is("session-id") {
                self.session_id = value;
            }
        }
        Ok(())
    }
}

/// Why a request is not answered; close the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RequestError {
    /// A header or the version is no number.
    Header,
    /// The request exceeds [`REQUEST_LIMIT`].
    TooLong,
    /// No such command, or bytes that are not text.
    Unknown,
}

impl fmt::Display for RequestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Header => "a header of the request is no number",
            Self::TooLong => "the request is too long",
            Self::Unknown => "the request is not understood",
        })
    }
}

impl core::error::Error for RequestError {}

/// Finds the request in what a client sent so far.
///
/// Remembers where it stopped searching: a client that sends byte by byte costs no more than others.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestReader {
    /// Everything before this was searched for the terminator in question.
    searched: usize,
    /// Length of the command line, once the outlet may look at it.
    command_len: Option<usize>,
}

impl RequestReader {
    /// Waits for the first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the request from everything `received` so far, or returns nothing while it is incomplete.
    ///
    /// - Errors: [`RequestError`]: close the connection without an answer.
    /// - Source: lsl-wire §10.1. In particular the blank line is searched only *behind* the command line, so
    ///   `LSL:streamfeed/110 CRLF CRLF` is incomplete.
    pub fn read<'a>(&mut self, received: &'a [u8]) -> Result<Option<Command<'a>>, RequestError> {
        let command = self.find(received)?;
        if command.is_none() && received.len() > REQUEST_LIMIT {
            return Err(RequestError::TooLong);
        }
        Ok(command)
    }

    fn find<'a>(&mut self, received: &'a [u8]) -> Result<Option<Command<'a>>, RequestError> {
        let Some(command_len) = self.find_command(received) else { return Ok(None) };
        let Some((line, rest)) = received.split_at_checked(command_len) else { return Ok(None) };
        let line = str::from_utf8(line).map_err(|_| RequestError::Unknown)?.trim_ascii();
        match line {
            "LSL:fullinfo" => Ok(Some(Command::FullInfo)),
            "LSL:view" => Ok(Some(Command::View)),
            "LSL:shortinfo" => {
                let Some(query) = self.find_text(rest, b"\r\n")? else { return Ok(None) };
                let (query, _) = query.split_once('\n').unwrap_or((query, ""));
                Ok(Some(Command::ShortInfo { query: query.trim_ascii() }))
            }
            "LSL:streamfeed" => {
                let Some(lengths) = self.find_text(rest, b"\r\n")? else { return Ok(None) };
                let mut request = FeedRequest::default();
                request.read_lengths(lengths);
                Ok(Some(Command::Feed(request)))
            }
            _ => {
                let line = line.strip_prefix("LSL:streamfeed/").ok_or(RequestError::Unknown)?;
                let (version, uid) = line.split_once(' ').unwrap_or((line, ""));
                let version = integer(version).ok_or(RequestError::Header)?;
                let Some(text) = self.find_text(rest, b"\r\n\r\n")? else { return Ok(None) };
                let mut request = FeedRequest { version, uid: uid.trim_ascii(), ..FeedRequest::default() };
                match DataProtocol::from_version(version) {
                    DataProtocol::Archive => request.read_lengths(text),
                    DataProtocol::Plain => request.read_headers(text)?,
                }
                Ok(Some(Command::Feed(request)))
            }
        }
    }

    /// Length of the command line with its LF; known only once a CRLF arrived, which may be a later one.
    fn find_command(&mut self, received: &[u8]) -> Option<usize> {
        if self.command_len.is_none() {
            let Some(_) = end_of(b"\r\n", received, self.searched) else {
                self.searched = received.len().saturating_sub(1);
                return None;
            };
            self.command_len = end_of(b"\n", received, 0);
            self.searched = 0;
        }
        self.command_len
    }

    /// The text up to and with `terminator`, behind the command line.
    fn find_text<'a>(&mut self, rest: &'a [u8], terminator: &[u8]) -> Result<Option<&'a str>, RequestError> {
        let Some(end) = end_of(terminator, rest, self.searched) else {
            self.searched = rest.len().saturating_sub(terminator.len() - 1);
            return Ok(None);
        };
        let text = rest.get(..end).unwrap_or_default();
        str::from_utf8(text).map(Some).map_err(|_| RequestError::Unknown)
    }
}

/// A value in a header: line ends and `;` would change what the other side reads, so they become spaces.
struct HeaderText<'a>(&'a str);

impl fmt::Display for HeaderText<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.split(['\r', '\n', ';']);
        out.write_str(parts.next().unwrap_or_default())?;
        parts.try_for_each(|part| write!(out, " {part}"))
    }
}

/// Most bytes that a request may have.
pub const REQUEST_LIMIT: usize = 64 << 10;
