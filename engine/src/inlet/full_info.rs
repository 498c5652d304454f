//! Fetches a stream's whole description from its outlet.

use core::time::Duration;
use std::time::Instant;

use schwann_proto::stream_info::{IpVersion, StreamInfo};

use super::receiver::Wait;
use super::stream::{Recovery, Stream};
use crate::Error;
use crate::net::handshake::{HandshakeError, prepare};
use crate::net::request::Asking;

/// Returns the description; asks the network only the first time.
///
/// - Errors: [`Error::Timeout`]; [`Error::Lost`] if the outlet is gone and must not be looked for; [`Error::Undescribed`].
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
            Err(Failure::Unreadable) => return Err(Error::Undescribed),
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
    /// It came whole, and is nothing to be read.
    Unreadable,
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

/// Asks the outlet, in every way that is permitted.
fn attempt(stream: &Stream, present: &StreamInfo, wait: Wait) -> Result<StreamInfo, Failure> {
    loop {
        match ask(stream, present, wait) {
            Ok(document) => return read(&document, present),
            Err(error) if stream.permits_other(&error) => {}
            Err(error) => {
                if let HandshakeError::Refused(refusal) = &error {
                    stream.note_refusal(*refusal);
                }
                return Err(error.into());
            }
        }
    }
}

/// Asks the outlet once.
fn ask(stream: &Stream, present: &StreamInfo, wait: Wait) -> Result<Vec<u8>, HandshakeError> {
    let deadline = Instant::now() + wait.left().unwrap_or(ATTEMPT_TIMEOUT).min(ATTEMPT_TIMEOUT);
    let link = stream.start_connecting(present)?;
    let blame = |error| match error {
        // The caller may have left little time.
        HandshakeError::Slow => HandshakeError::Slow,
        error => stream.blame_local(&link, present, error),
    };
    let opener = prepare(&link, present, stream.sealing(present), deadline).map_err(blame)?;
    stream.check_device(&link, present)?;
    let mut document = Vec::new();
    let asking = Asking { link: &link, opener, deadline, limit: LIMIT };
    asking.ask(b"LSL:fullinfo\r\n", &mut document).map_err(blame)?;
    Ok(document)
}

/// The description, if it is the stream's own. Callers take memory for the shape that it names.
fn read(document: &[u8], present: &StreamInfo) -> Result<StreamInfo, Failure> {
    // An outlet that ends meanwhile sends a part.
    let is_whole = document.trim_ascii_end().ends_with(b"</info>");
    let failure = if is_whole { Failure::Unreadable } else { Failure::Outlet };
    let info = StreamInfo::parse(document).map_err(|_| failure)?;
    let same_shape =
        info.channel_count() == present.channel_count() && info.channel_format() == present.channel_format();
    if info.uid() == present.uid() && same_shape { Ok(info) } else { Err(Failure::Outlet) }
}

/// Largest description accepted, in bytes.
const LIMIT: usize = 64 << 20;
/// How long one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an outlet is looked for after a failed attempt, before the next one.
const SEARCH: Duration = Duration::from_secs(2);
/// Pause after the system refused something.
const RETRY: Duration = Duration::from_millis(100);
