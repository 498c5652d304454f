//! What is asked on a connection of its own: one request, and all that the outlet says until it ends.

use std::io;
use std::time::Instant;

use super::handshake::HandshakeError;
use crate::net::link::Link;
use crate::security::link::{Flow, Opener};
use crate::sys::poll::Ready;

/// A connection that [`prepare`](super::handshake::prepare) has made.
pub(crate) struct Asking<'a> {
    pub(crate) link: &'a Link,
    pub(crate) opener: Opener,
    pub(crate) deadline: Instant,
    /// Longest answer that is read, in bytes.
    pub(crate) limit: usize,
}

impl Asking<'_> {
    /// Sends `request` and appends the outlet's words to `answer` until it ends.
    ///
    /// - Errors: [`HandshakeError`]; `answer` has what came before.
    pub(crate) fn ask(mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let left = || self.deadline.saturating_duration_since(Instant::now());
        if self.link.send_until(request, self.deadline).failed {
            let broken = || HandshakeError::Connection(io::ErrorKind::BrokenPipe.into());
            return Err(if left().is_zero() { HandshakeError::Slow } else { broken() });
        }
        let mut buffer = [0; READ_LEN];
        while answer.len() < self.limit {
            if left().is_zero() || !self.link.wait_until(Ready::ToReceive, left()) {
                return Err(HandshakeError::Slow);
            }
            match self.link.receive_now(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    let arrived = buffer.get(..count).unwrap_or_default();
                    match self.opener.open(self.link.layer(), arrived, answer) {
                        Ok(Flow::Goes) => {}
                        Ok(Flow::Ended) => return Ok(()),
                        Err(_) => {
                            // What the outlet says of us comes sealed as well.
                            let refusal = self.link.layer().refusal();
                            return Err(refusal.map_or(HandshakeError::Malformed, HandshakeError::Refused));
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(HandshakeError::Connection(error)),
            }
        }
        Err(HandshakeError::Malformed)
    }
}

/// Bytes of one read.
const READ_LEN: usize = 16 * 1024;
