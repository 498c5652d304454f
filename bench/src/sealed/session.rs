//! A sealed conversation over a blocking socket, either side, and a handshake in memory.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::time::{ClockId, clock_gettime};
use schwann_session::{Initiator, Opened, Progress, Responder, Secure, Suite};

use super::lab::{End, Lab};
use crate::Reason;

/// One end of a conversation.
pub(crate) struct Conversation {
    pub(crate) socket: TcpStream,
    session: Secure,
    /// Sealed bytes that are not opened yet.
    wire: Vec<u8>,
    /// Sealed bytes that are not sent yet: the last message of the handshake, with room for a first request.
    unsent: Vec<u8>,
}

impl Conversation {
    /// The inlet's side.
    pub(crate) fn initiate(mut socket: TcpStream, lab: &Lab, suite: Suite) -> Result<Self, Reason> {
        let mut initiator = lab.with(End::Inlet, |context| Initiator::new(suite, context))?;
        let mut buffer = [0; 4096];
        let wire = loop {
            let output = initiator.poll_output();
            let length = output.len();
            socket.write_all(output)?;
            initiator.sent(length);
            let input = read(&mut socket, &mut buffer)?;
            let step = lab.with(End::Inlet, |context| initiator.handle(input, context))?;
            if let Progress::Done { consumed } = step {
                break input.get(consumed..).unwrap_or_default().to_vec();
            }
        };
        let unsent = initiator.poll_output().to_vec();
        initiator.sent(unsent.len());
        let session = initiator.finish().ok_or("the handshake is not done")?.session;
        Ok(Self { socket, session, wire, unsent })
    }

    /// The outlet's side.
    pub(crate) fn respond(mut socket: TcpStream, lab: &Lab) -> Result<Self, Reason> {
        let (mut responder, mut buffer) = (Responder::new(), [0; 4096]);
        loop {
            let input = read(&mut socket, &mut buffer)?;
            let step = lab.with(End::Outlet, |context| responder.handle(input, context));
            let output = responder.poll_output();
            let length = output.len();
            // Also when the step was refused: the other side learns why.
            socket.write_all(output)?;
            responder.sent(length);
            if let Progress::Done { consumed } = step? {
                let wire = input.get(consumed..).unwrap_or_default().to_vec();
                let session = responder.finish().ok_or("the handshake is not done")?.session;
                return Ok(Self { socket, session, wire, unsent: Vec::new() });
            }
        }
    }

    /// Seals and sends.
    pub(crate) fn send(&mut self, plain: &[u8]) -> Result<(), Reason> {
        let mut bytes = core::mem::take(&mut self.unsent);
        let begin = bytes.len();
        bytes.resize(begin + self.session.sealed_len(plain.len()), 0);
        let length = self.session.seal(plain, &mut bytes[begin..])?;
        Ok(self.socket.write_all(&bytes[..begin + length])?)
    }

    /// Appends what comes next to `heard`.
    pub(crate) fn receive(&mut self, heard: &mut Vec<u8>) -> Result<(), Reason> {
        loop {
            match self.session.open(&mut self.wire)? {
                Opened::Data { consumed, plain } => {
                    heard.extend_from_slice(self.wire.get(plain).unwrap_or_default());
                    self.wire.drain(..consumed);
                    return Ok(());
                }
                Opened::Incomplete => {
                    let mut buffer = [0; 4096];
                    self.wire.extend_from_slice(read(&mut self.socket, &mut buffer)?);
                }
                Opened::Control { consumed, .. } | Opened::End { consumed } => {
                    self.wire.drain(..consumed);
                }
            }
        }
    }
}

fn read<'a>(socket: &mut TcpStream, buffer: &'a mut [u8]) -> Result<&'a [u8], Reason> {
    let count = socket.read(buffer)?;
    buffer.get(..count).filter(|input| !input.is_empty()).ok_or_else(|| "the other side has closed".into())
}

/// Both ends of a handshake in memory.
pub(super) struct Shaken {
    pub(super) inlet: Secure,
    pub(super) outlet: Secure,
    /// What the outlet says first.
    pub(super) greeting: Vec<u8>,
    /// Processor time of the inlet's and of the outlet's steps, us.
    pub(super) spent_us: [f64; 2],
}

/// Shakes hands in memory, with fresh keys.
pub(super) fn shake(lab: &Lab, suite: Suite) -> Result<Shaken, Reason> {
    let mut spent_us = [0.0; 2];
    let mut timed = |end: End, begun: f64| spent_us[end as usize] += processor_us() - begun;
    let begun = processor_us();
    let mut initiator = lab.with(End::Inlet, |context| Initiator::new(suite, context))?;
    let mut forth = initiator.poll_output().to_vec();
    initiator.sent(forth.len());
    timed(End::Inlet, begun);
    let mut responder = Responder::new();
    loop {
        let begun = processor_us();
        let step = lab.with(End::Outlet, |context| responder.handle(&forth, context))?;
        let back = responder.poll_output().to_vec();
        responder.sent(back.len());
        timed(End::Outlet, begun);
        if let Progress::Done { .. } = step {
            let ends = initiator.finish().zip(responder.finish()).ok_or("the handshake is not done")?;
            let (inlet, outlet) = (ends.0.session, ends.1.session);
            return Ok(Shaken { inlet, outlet, greeting: back, spent_us });
        }
        let begun = processor_us();
        let _ = lab.with(End::Inlet, |context| initiator.handle(&back, context))?;
        forth = initiator.poll_output().to_vec();
        initiator.sent(forth.len());
        timed(End::Inlet, begun);
    }
}

/// Processor time of this thread, us: what other processes take does not count.
fn processor_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
