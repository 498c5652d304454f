//! One request inside a secure session, over a socket that never blocks.

use std::io::{self, Read, Write};
use std::sync::Arc;

use mio::net::TcpStream;
use schwann_session::{Initiator, Opened, Refusal, Secure, Suite};

use super::tcp::{MAX_ANSWER, Progress};
use crate::security::Member;

/// A request on its way, and the answer as far as it has come.
pub(super) struct SealedRequest {
    member: Arc<Member>,
    request: Vec<u8>,
    phase: Phase,
    /// Bytes that the socket has yet to take.
    out: Vec<u8>,
    /// Bytes that have not been opened yet.
    raw: Vec<u8>,
}

enum Phase {
    ShakingHands(Box<Initiator>),
    Talking(Box<Secure>),
    Over,
}

impl SealedRequest {
    /// Begins a handshake in `suite`.
    ///
    /// - Errors: why this side cannot.
    pub(super) fn new(member: Arc<Member>, suite: Suite, request: Vec<u8>) -> Result<Self, Refusal> {
        let initiator = member.with_context(|context| Initiator::new(suite, context))?;
        let phase = Phase::ShakingHands(Box::new(initiator));
        Ok(Self { member, request, phase, out: Vec::new(), raw: Vec::new() })
    }

    /// Goes on as far as the socket permits now; the opened answer is appended to `answer`.
    pub(super) fn advance(&mut self, stream: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<Progress> {
        loop {
            self.take_output();
            while !self.out.is_empty() {
                let written = stream.write(&self.out)?;
                if written == 0 {
                    return Ok(Progress::Closed);
                }
                self.out.drain(..written);
            }
            if matches!(self.phase, Phase::Over) {
                return Ok(Progress::Complete);
            }
            let mut part = [0; 4096];
            let length = stream.read(&mut part)?;
            if length == 0 {
                return Ok(Progress::Closed);
            }
            self.raw.extend_from_slice(part.get(..length).unwrap_or_default());
            self.handle(answer)?;
            if answer.len() > MAX_ANSWER {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }

    fn take_output(&mut self) {
        if let Phase::ShakingHands(initiator) = &mut self.phase {
            self.out.extend_from_slice(initiator.poll_output());
            initiator.sent(initiator.poll_output().len());
        }
    }

    fn handle(&mut self, answer: &mut Vec<u8>) -> io::Result<()> {
        if let Phase::ShakingHands(initiator) = &mut self.phase {
            let input = core::mem::take(&mut self.raw);
            let step = self.member.with_context(|context| initiator.handle(&input, context));
            match step {
                Ok(schwann_session::Progress::NeedsMore) => return Ok(()),
                Ok(schwann_session::Progress::Done { consumed }) => {
                    self.raw.extend_from_slice(input.get(consumed..).unwrap_or_default());
                    self.begin()?;
                }
                Err(refusal) => return Err(io::Error::other(refusal)),
            }
        }
        self.open(answer)
    }

    /// Seals the request behind the last message of the handshake.
    fn begin(&mut self) -> io::Result<()> {
        self.take_output();
        let Phase::ShakingHands(initiator) = core::mem::replace(&mut self.phase, Phase::Over) else {
            return Ok(());
        };
        let established = initiator.finish().ok_or(io::ErrorKind::InvalidData)?;
        let mut session = Box::new(established.session);
        let mut sealed = vec![0; session.sealed_len(self.request.len())];
        let length = session.seal(&self.request, &mut sealed).map_err(io::Error::other)?;
        self.out.extend_from_slice(sealed.get(..length).unwrap_or_default());
        self.phase = Phase::Talking(session);
        Ok(())
    }

    fn open(&mut self, answer: &mut Vec<u8>) -> io::Result<()> {
        let Phase::Talking(session) = &mut self.phase else { return Ok(()) };
        let mut done = 0;
        loop {
            let wire = self.raw.get_mut(done..).unwrap_or_default();
            match session.open(wire).map_err(io::Error::other)? {
                Opened::Data { consumed, plain } => {
                    answer.extend_from_slice(wire.get(plain).unwrap_or_default());
                    done += consumed;
                }
                Opened::Control { consumed, .. } => done += consumed,
                Opened::Incomplete => break,
                Opened::End { .. } => {
                    self.phase = Phase::Over;
                    break;
                }
            }
        }
        self.raw.drain(..done);
        Ok(())
    }
}

impl core::fmt::Debug for SealedRequest {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("SealedRequest")
    }
}
