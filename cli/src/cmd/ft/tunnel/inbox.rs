//! Sealed bytes that have arrived.

use core::time::Duration;
use std::io::{self, Read as _};
use std::net::TcpStream;
use std::time::Instant;

use schwann_session::{MAX_RECORD, RECORD_OVERHEAD, Refusal};

use super::sealed::SealError;

/// What has arrived and is not opened yet.
pub(super) struct Inbox {
    wire: Vec<u8>,
    opened: usize,
    filled: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { wire: vec![0; INBOX_BYTES], opened: 0, filled: 0 }
    }

    /// The bytes to open next.
    pub(super) fn unopened(&mut self) -> &mut [u8] {
        self.wire.get_mut(self.opened..self.filled).unwrap_or_default()
    }

    /// Notes that so many bytes of it were opened; returns where they begin.
    pub(super) fn note_opened(&mut self, count: usize) -> usize {
        let start = self.opened;
        self.opened += count;
        start
    }

    /// Drops what is not opened.
    pub(super) fn clear(&mut self) {
        self.opened = self.filled;
    }

    /// Opened bytes, until the next are received.
    pub(super) fn opened(&self, place: core::ops::Range<usize>) -> &[u8] {
        self.wire.get(place).unwrap_or_default()
    }

    /// Reads what has arrived; returns how many bytes, 0 at the end.
    pub(super) fn receive(&mut self, mut socket: &TcpStream) -> Result<usize, SealError> {
        self.wire.copy_within(self.opened..self.filled, 0);
        self.filled -= self.opened;
        self.opened = 0;
        // A record is shorter than the inbox, so there is room.
        let count = loop {
            match socket.read(self.wire.get_mut(self.filled..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        self.filled += count;
        Ok(count)
    }

    /// The same, before `deadline`.
    pub(super) fn receive_until(
        &mut self,
        socket: &TcpStream,
        deadline: Instant,
    ) -> Result<usize, SealError> {
        let left = deadline.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match self.receive(socket) {
            Err(SealError::Connection(error)) if is_timeout(&error) => {
                Err(SealError::Refused(Refusal::TimedOut))
            }
            // A peer that closes before it has read everything resets the connection.
            Err(SealError::Connection(error)) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            outcome if left.is_zero() => outcome.and(Err(SealError::Refused(Refusal::TimedOut))),
            outcome => outcome,
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Room for several records, which are opened side by side.
const INBOX_BYTES: usize = 256 << 10;
const _: () = assert!(INBOX_BYTES > 2 * (MAX_RECORD + RECORD_OVERHEAD), "a record always fits");
