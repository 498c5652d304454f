//! A handshake over a blocking socket, either side.

use std::io::{Read, Write};
use std::net::TcpStream;

use schwann_session::{Initiator, Progress, Responder, Secure, Suite};

use super::lab::{End, Lab};
use crate::Reason;

/// The inlet's side: the session, bytes that came early, and the last message, which is not sent yet, so that a first
/// request can go with it.
pub(crate) fn initiate(
    socket: &mut TcpStream,
    lab: &Lab,
    suite: Suite,
) -> Result<(Secure, Vec<u8>, Vec<u8>), Reason> {
    let mut initiator = lab.with(End::Inlet, |context| Initiator::new(suite, context))?;
    let mut buffer = [0; 4096];
    let early = loop {
        let output = initiator.poll_output();
        let length = output.len();
        socket.write_all(output)?;
        initiator.sent(length);
        let count = socket.read(&mut buffer)?;
        let input = buffer.get(..count).filter(|input| !input.is_empty()).ok_or("the outlet has closed")?;
        if let Progress::Done { consumed } =
            lab.with(End::Inlet, |context| initiator.handle(input, context))?
        {
            break input.get(consumed..).unwrap_or_default().to_vec();
        }
    };
    let last = initiator.poll_output().to_vec();
    initiator.sent(last.len());
    Ok((initiator.finish().ok_or("the handshake is not done")?.session, early, last))
}

/// The outlet's side: the session, and bytes that came early.
pub(crate) fn respond(socket: &mut TcpStream, lab: &Lab) -> Result<(Secure, Vec<u8>), Reason> {
    let (mut responder, mut buffer) = (Responder::new(), [0; 4096]);
    loop {
        let length = socket.read(&mut buffer)?;
        let input = buffer.get(..length).filter(|input| !input.is_empty()).ok_or("the inlet has closed")?;
        let step = lab.with(End::Outlet, |context| responder.handle(input, context));
        let output = responder.poll_output();
        let length = output.len();
        // Also when the step was refused: the other side learns why.
        socket.write_all(output)?;
        responder.sent(length);
        if let Progress::Done { consumed } = step? {
            let early = input.get(consumed..).unwrap_or_default().to_vec();
            return Ok((responder.finish().ok_or("the handshake is not done")?.session, early));
        }
    }
}

/// Seals `plain` into bytes for the wire.
pub(crate) fn seal(session: &mut Secure, plain: &[u8]) -> Result<Vec<u8>, Reason> {
    let mut wire = vec![0; session.sealed_len(plain.len())];
    let length = session.seal(plain, &mut wire)?;
    wire.truncate(length);
    Ok(wire)
}
