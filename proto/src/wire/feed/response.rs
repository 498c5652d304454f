//! What an inlet accepts as an answer. lsl-wire §11.2, §11.4.

use core::{fmt, str};

use super::{
    DataProtocol,
    header::{end_of, headers, integer, truth},
};
use crate::{
    stream::{ChannelFormat, PROTOCOL_VERSION_ARCHIVE},
    wire::{
        number,
        sample::{ByteOrder, Layout, Subnormals},
    },
};

/// What an inlet can accept.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Protocol version that the inlet speaks, times 100.
    pub version: i32,
    /// The stream it asked for.
    pub uid: &'a str,
    /// Type of the values.
    pub format: ChannelFormat,
}

/// An accepted response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Response {
    /// How samples travel.
    pub data_protocol: DataProtocol,
    /// Order of the bytes in plain samples.
    pub byte_order: ByteOrder,
    /// What to do with subnormal numbers.
    pub subnormals: Subnormals,
    /// Whether the outlet takes [`Report`](super::Report)s.
    pub takes_reports: bool,
    /// Length of the response in bytes; the test pattern follows.
    pub len: usize,
}

impl Response {
    /// Returns the layout of plain samples.
    pub const fn layout(&self, format: ChannelFormat, channel_count: usize) -> Layout {
        let mut layout = Layout::new(format, channel_count, self.byte_order);
        layout.subnormals = self.subnormals;
        layout
    }
}

/// Why a response cannot be accepted; drop the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResponseError {
    /// A byte order that cannot be converted.
    ByteOrder,
    /// The connection ended before the response did.
    Ended,
    /// The stream is not there any more, or somewhere else (status 404 or 3xx): resolve again.
    Gone {
        /// The status code.
        status: i32,
    },
    /// Not an LSL response, or a header is no number.
    Malformed,
    /// The outlet turned us away.
    Refused {
        /// The status code, 400 or more.
        status: i32,
    },
    /// The response exceeds [`RESPONSE_LIMIT`].
    TooLong,
    /// The outlet speaks a version that we do not.
    Version,
    /// Another stream answered.
    WrongStream,
}

impl fmt::Display for ResponseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrder => out.write_str("the outlet's byte order cannot be converted"),
            Self::Ended => out.write_str("the outlet closed the connection before it answered"),
            Self::Gone { status } => write!(out, "the stream is not there any more (status {status})"),
            Self::Malformed => out.write_str("the outlet's response is malformed"),
            Self::Refused { status } => write!(out, "the outlet refused with status {status}"),
            Self::TooLong => out.write_str("the outlet's response is too long"),
            Self::Version => out.write_str("the outlet speaks another version of the protocol"),
            Self::WrongStream => out.write_str("another stream answered"),
        }
    }
}

impl core::error::Error for ResponseError {}

/// Finds the response in what an outlet sent so far.
#[derive(Clone, Copy, Debug)]
pub struct ResponseReader<'a> {
    expected: Expected<'a>,
    /// Everything before this was searched for the end of the headers.
    searched: usize,
}

impl<'a> ResponseReader<'a> {
    /// Waits for the first byte.
    pub fn new(expected: Expected<'a>) -> Self {
        Self { expected, searched: 0 }
    }

    /// Reads the response from everything `received` so far, or returns nothing while it is incomplete.
    ///
    /// A refusal is reported as soon as its line end arrives; one without a line end by [`Self::finish`].
    /// - Errors: [`ResponseError`].
    pub fn read(&mut self, received: &[u8]) -> Result<Option<Response>, ResponseError> {
        let Some(status_len) = end_of(b"\n", received, 0) else { return within_limit(received) };
        let Some((status, rest)) = received.split_at_checked(status_len) else { return Ok(None) };
        if self.searched == 0 {
            self.check_status(status)?;
        }
        let Some(headers_len) = self.find_end(rest) else { return within_limit(received) };
        let text = rest.get(..headers_len).unwrap_or_default();
        let text = str::from_utf8(text).map_err(|_| ResponseError::Malformed)?;
        self.read_headers(text, status_len + headers_len).map(Some)
    }

    /// Says why the connection ended, given everything `received`: error lines have no line end.
    pub fn finish(&self, received: &[u8]) -> ResponseError {
        if received.is_empty() {
            return ResponseError::Ended;
        }
        let (status, _) = received.split_at(end_of(b"\n", received, 0).unwrap_or(received.len()));
        self.check_status(status).err().unwrap_or(ResponseError::Ended)
    }

    fn check_status(&self, line: &[u8]) -> Result<(), ResponseError> {
        let line = str::from_utf8(line).map_err(|_| ResponseError::Malformed)?;
        let mut words = line.trim_ascii().split(' ');
        let (Some(version), Some(status), Some(_)) = (words.next(), words.next(), words.next()) else {
            return Err(ResponseError::Malformed);
        };
        let version = version.strip_prefix("LSL/").and_then(integer).ok_or(ResponseError::Malformed)?;
        let status = integer(status).ok_or(ResponseError::Malformed)?;
        if version / 100 > self.expected.version / 100 {
            return Err(ResponseError::Version);
        }
        match status {
            404 | 300..=399 => Err(ResponseError::Gone { status }),
            400.. => Err(ResponseError::Refused { status }),
            _ => Ok(()),
        }
    }

    /// Length of the headers with the blank line after them: the first line that begins with CR.
    fn find_end(&mut self, rest: &[u8]) -> Option<usize> {
        while let Some(end) = end_of(b"\n", rest, self.searched) {
            let line = rest.get(self.searched..end)?;
            if line.starts_with(b"\r") {
                return Some(end);
            }
            self.searched = end;
        }
        None
    }

    fn read_headers(&self, text: &str, len: usize) -> Result<Response, ResponseError> {
        let mut response = Response {
            data_protocol: DataProtocol::Archive,
            byte_order: ByteOrder::NATIVE,
            subnormals: Subnormals::Keep,
            takes_reports: false,
            len,
        };
        let mut uid = "";
        let mut data_version = PROTOCOL_VERSION_ARCHIVE;
        for (name, value) in headers(text) {
            let number = || number::extract_i32(value.as_bytes()).ok_or(ResponseError::Malformed);
            let is = |expected: &str| name.eq_ignore_ascii_case(expected);
            if is("uid") {
                uid = value;
            } else if is("byte-order") {
                response.byte_order = self.byte_order(number()?)?;
            } else if is("suppress-subnormals") && truth(value) {
                response.subnormals = Subnormals::Suppress;
            } else if is("takes-reports") {
                response.takes_reports = truth(value);
            } else if is("data-protocol-version") {
                data_version = number()?;
            }
        }
        // The original compares in lower case, so an upper-case UID never matches. There is no reason to
        // copy that.
        if !uid.eq_ignore_ascii_case(self.expected.uid) {
            return Err(ResponseError::WrongStream);
        }
        if data_version > self.expected.version {
            return Err(ResponseError::Version);
        }
        response.data_protocol = DataProtocol::from_version(data_version);
        Ok(response)
    }

    fn byte_order(&self, code: i32) -> Result<ByteOrder, ResponseError> {
        match ByteOrder::from_code(code) {
            Some(order) => Ok(order),
            // One byte has no order. The order of such a machine's stamps is unknown; the original takes
            // ours.
            None if self.expected.format.value_size() == Some(1) => Ok(ByteOrder::NATIVE),
            None => Err(ResponseError::ByteOrder),
        }
    }
}

fn within_limit(received: &[u8]) -> Result<Option<Response>, ResponseError> {
    if received.len() > RESPONSE_LIMIT { Err(ResponseError::TooLong) } else { Ok(None) }
}

/// Most bytes that a response may have.
pub const RESPONSE_LIMIT: usize = 64 << 10;
