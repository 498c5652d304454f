//! Fetches a stream's whole description from its outlet.

use core::time::Duration;
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use schwann_proto::stream_info::{IpVersion, StreamInfo};

use super::handshake::{HandshakeError, prepare, start_connecting};
use super::receiver::Wait;
use super::stream::{Recovery, Stream};
use crate::Error;
use crate::net::link::Link;
use crate::net::sealing::{Flow, Sealing};

/// Largest description accepted, in bytes.
const LIMIT: usize = 64 << 20;
/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an outlet is looked for after a failed attempt, before the next one.
const SEARCH: Duration = Duration::from_secs(2);
/// Pause after the system refused something.
const RETRY: Duration = Duration::from_millis(100);

/// Returns the description; asks the network only the first time.
///
/// - Errors: [`Error::Timeout`]; [`Error::Lost`] if the outlet is gone and must not be looked for.
pub(super) fn fetch(stream: &Stream, wait: Wait) -> Result<StreamInfo, Error> {
    if let Some(info) = stream.known_full_info() {
        return Ok(info);
    }
    loop {
        if stream.is_lost() {
            return Err(Error::Lost);
        }
        if wait.is_over() {
            return Err(Error::Timeout);
        }
        let (present, closings) = (stream.info(), stream.closings());
        let failure = match attempt(stream, &present, wait) {
            Ok(mut info) => {
                for version in [IpVersion::V4, IpVersion::V6] {
                    info.set_address(version, &present.endpoint(version).address);
                }
                stream.remember_full_info(&info);
                return Ok(info);
            }
            Err(failure) => failure,
        };
        let until =
            |longest: Duration| Wait::Until(Instant::now() + wait.left().unwrap_or(longest).min(longest));
        if failure == Failure::Here {
            stream.pause(closings, until(RETRY));
            continue;
        }
        match stream.find_again(closings, until(SEARCH)) {
            // An outlet that is slow is not gone.
            Recovery::Impossible if failure == Failure::Outlet => stream.lose(),
            Recovery::Failed => stream.pause(closings, until(RETRY)),
            _ => {}
        }
    }
}

/// Why an attempt brought no description.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Failure {
    /// This computer has no descriptors left.
    Here,
    /// There is no outlet, or another one.
    Outlet,
    /// The time was over.
    Slow,
}

impl From<HandshakeError> for Failure {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::Slow => Self::Slow,
            error if error.is_shortage() => Self::Here,
            _ => Self::Outlet,
        }
    }
}

fn attempt(stream: &Stream, present: &StreamInfo, wait: Wait) -> Result<StreamInfo, Failure> {
    let deadline = Instant::now() + wait.left().unwrap_or(PATIENCE).min(PATIENCE);
    let left = || deadline.saturating_duration_since(Instant::now());
    let address = stream.data_address(present).ok_or(Failure::Outlet)?;
    let link = Link::plain(start_connecting(address)?);
    let mut opener = match prepare(&link, present, stream.sealing(present), deadline) {
        Ok(opener) => opener,
        Err(error) if stream.permits_other(&error) => return attempt(stream, present, wait),
        Err(error) => {
            if let HandshakeError::Refused(refusal) = &error {
                stream.note_refusal(*refusal);
            }
            return Err(error.into());
        }
    };
    if link.send_until(b"LSL:fullinfo\r\n", deadline).failed {
        return Err(if left().is_zero() { Failure::Slow } else { Failure::Outlet });
    }
    let mut document = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while document.len() < LIMIT {
        if left().is_zero() || !link.wait_ready(PollFlags::IN, left()) {
            return Err(Failure::Slow);
        }
        match rustix::net::recv(link.socket(), &mut buffer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return read(&document, present),
            Ok((_, count)) => {
                match opener.open(&link, buffer.get(..count).unwrap_or_default(), &mut document) {
                    Ok(Flow::Goes) => {}
                    Ok(Flow::Ended) => return read(&document, present),
                    Err(_) => {
                        let refusal = link.sealing().and_then(Sealing::refusal);
                        refusal.into_iter().for_each(|refusal| stream.note_refusal(refusal));
                        return Err(Failure::Outlet);
                    }
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Err(Failure::Outlet),
        }
    }
    Err(Failure::Outlet)
}

/// The description, if it is that of the stream.
fn read(document: &[u8], present: &StreamInfo) -> Result<StreamInfo, Failure> {
    let info = StreamInfo::parse(document).map_err(|_| Failure::Outlet)?;
    if info.uid() == present.uid() { Ok(info) } else { Err(Failure::Outlet) }
}
