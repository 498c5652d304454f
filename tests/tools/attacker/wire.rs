//! What the attacker sees of a connection: the units of the sealed protocol (secure-session §3, §4).

use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// How long a unit is.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Line,
    Message,
    Record,
}

/// One end's connection, cut into units.
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(UNIT_TIMEOUT))?;
        stream.set_write_timeout(Some(UNIT_TIMEOUT))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// The next unit; nothing if the peer has closed.
    ///
    /// - Errors: the peer says nothing for too long.
    pub(crate) fn next(&mut self, unit: Unit) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(len) = unit.len(&self.buffer).filter(|len| *len <= self.buffer.len()) {
                let rest = self.buffer.split_off(len);
                return Ok(Some(core::mem::replace(&mut self.buffer, rest)));
            }
            // An end that writes twice before it reads waits otherwise until the acknowledgement is overdue: 40 ms.
            let _ = socket2::SockRef::from(&self.stream).set_tcp_quickack(true);
            let mut more = [0; 4096];
            match self.stream.read(&mut more) {
                Ok(0) => return Ok(None),
                Ok(count) => self.buffer.extend_from_slice(&more[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(error);
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Sends; says whether the peer still listens.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Whether the peer has closed.
    pub(crate) fn has_closed(&mut self) -> bool {
        self.stream.set_nonblocking(true).expect("a socket");
        let seen = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).expect("a socket");
        match seen {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

impl Unit {
    /// How long the unit at the front of `bytes` is, once that can be told.
    fn len(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Line => bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
            Self::Message => bytes.first_chunk().map(|len| 2 + usize::from(u16::from_be_bytes(*len))),
            Self::Record => (bytes.len() >= HEADER_LEN).then(|| HEADER_LEN + text_len(bytes) + TAG_LEN),
        }
    }
}

/// Bytes of the protocol in a record, by its header; none if it carries something else.
pub(crate) fn data_len(record: &[u8]) -> usize {
    if record[0] == DATA { text_len(record) } else { 0 }
}

fn text_len(record: &[u8]) -> usize {
    u32::from_le_bytes([record[1], record[2], record[3], 0]) as usize
}

/// How long a unit may take to come.
const UNIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Of a record: type and length before its text, and the tag behind.
pub(crate) const HEADER_LEN: usize = 4;
pub(crate) const TAG_LEN: usize = 16;
/// The type of a record that carries the protocol's bytes.
const DATA: u8 = 0;
