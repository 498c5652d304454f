//! One request over a socket that never blocks, in the clear or inside a secure session.

use core::convert::Infallible;
use std::io::{self, Read, Write};
use std::sync::Arc;

use mio::net::TcpStream;
use schwann_session::{Refusal, Suite};

use super::tcp::{MAX_ANSWER, Progress};
use crate::security::Member;
use crate::security::link::{Flow, Handshake, Layer, Opener, Step};

/// A request on its way, and what has come of its answer.
pub(super) struct Request {
    request: Vec<u8>,
    /// Until it has made a session, if one is wanted.
    handshake: Option<Handshake>,
    layer: Layer,
    opener: Opener,
    /// Bytes that the socket has yet to take.
    out: Vec<u8>,
}

impl Request {
    /// Prepares a request, sealed as this member in this suite if they are given.
    ///
    /// - Errors: why this device cannot begin a session.
    pub(super) fn new(sealing: Option<(&Arc<Member>, Suite)>, request: Vec<u8>) -> Result<Self, Refusal> {
        let handshake = sealing.map(|(member, suite)| Handshake::inlet(member, suite)).transpose()?;
        let (layer, opener) = (Layer::default(), Opener::default());
        let mut this = Self { request, handshake, layer, opener, out: Vec::new() };
        match this.shake_hands(&[]) {
            None => this.out.clone_from(&this.request),
            Some(Step::Refused(refusal)) => return Err(refusal),
            Some(Step::Done { .. } | Step::NeedsMore) => {}
        }
        Ok(this)
    }

    /// Goes on as far as the socket permits now; the opened answer is appended to `answer`.
    pub(super) fn advance(&mut self, stream: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<Progress> {
        let mut part = [0; 4096];
        loop {
            while !self.out.is_empty() {
                let written = stream.write(&self.out)?;
                if written == 0 {
                    return Ok(Progress::Closed);
                }
                self.out.drain(..written);
            }
            let length = stream.read(&mut part)?;
            if length == 0 {
                // In the clear nothing else marks the end of an answer.
                let is_whole = self.handshake.is_none() && self.layer.truncation().is_none();
                return Ok(if is_whole { Progress::Complete } else { Progress::Closed });
            }
            if self.handle(part.get(..length).unwrap_or_default(), answer)? == Flow::Ended {
                return Ok(Progress::Complete);
            }
            if answer.len() > MAX_ANSWER {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }

    fn handle(&mut self, received: &[u8], answer: &mut Vec<u8>) -> io::Result<Flow> {
        let rest = match self.shake_hands(received) {
            None => received,
            Some(Step::NeedsMore) => return Ok(Flow::Goes),
            Some(Step::Refused(refusal)) => return Err(io::Error::other(refusal)),
            Some(Step::Done { consumed }) => {
                self.seal_request()?;
                received.get(consumed..).unwrap_or_default()
            }
        };
        self.opener.open(&self.layer, rest, answer).map_err(io::Error::other)
    }

    /// A step of the handshake, if it is not over.
    fn shake_hands(&mut self, received: &[u8]) -> Option<Step> {
        let out = &mut self.out;
        let Ok(step) = self.handshake.as_mut()?.step(received, |output| {
            out.extend_from_slice(output);
            Ok::<(), Infallible>(())
        });
        Some(step)
    }

    /// Seals the request behind the last message of the handshake.
    fn seal_request(&mut self) -> io::Result<()> {
        let session = self.handshake.take().and_then(Handshake::finish);
        let (session, _) = session.ok_or(io::ErrorKind::InvalidData)?;
        // Without its peer: what a search asks is too short to hand revocation lists on.
        self.layer.begin(session, None);
        let mut wire = Vec::new();
        let sealed = self.layer.seal(&self.request, &mut wire).ok_or(io::ErrorKind::InvalidData)?;
        self.out.extend_from_slice(sealed);
        Ok(())
    }
}

impl core::fmt::Debug for Request {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("Request")
    }
}
