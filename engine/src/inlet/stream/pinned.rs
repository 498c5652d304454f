//! Whether the device at the other end may send the stream.

use std::sync::{Mutex, PoisonError};

use schwann_proto::stream_info::StreamInfo;
use schwann_session::Refusal;

use super::Stream;
use crate::log;
use crate::net::handshake::HandshakeError;
use crate::net::link::Link;
use crate::security::journal::advice;

/// UIDs of outlets that the stream may not come from; a search passes them over.
#[derive(Default)]
pub(super) struct Shunned(Mutex<Vec<String>>);

impl Stream {
    /// Checks that the stream may come from the device at the other end of a connection.
    ///
    /// - Errors: [`Refusal::WrongDevice`]; a search for the stream passes this outlet over.
    pub(crate) fn check_device(&self, link: &Link, info: &StreamInfo) -> Result<(), HandshakeError> {
        let peer = link.layer().peer();
        let device = peer.map(|peer| peer.statement.device);
        if self.context.trust().is_ok_and(|trust| trust.pins().permit(info, device.as_ref())) {
            return Ok(());
        }
        let uid = info.uid().to_string();
        let mut shunned = self.shunned.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !shunned.contains(&uid) {
            let who = peer.map_or("a device that does not seal", |peer| peer.statement.name.as_str());
            let serial =
                peer.map_or_else(String::new, |peer| format!(" (certificate {})", peer.statement.serial));
            log::warning!(
                "{} is pinned to another device than {who}{serial}, and not received from it; {}",
                info.name(),
                advice(Refusal::WrongDevice)
            );
            // A member that makes outlets without end does not fill the memory.
            if shunned.len() == SHUNNED_MOST {
                shunned.remove(0);
            }
            shunned.push(uid);
        }
        Err(HandshakeError::Refused(Refusal::WrongDevice))
    }

    /// Whether an outlet belongs to a device that may not send the stream.
    pub(super) fn shuns(&self, info: &StreamInfo) -> bool {
        let shunned = self.shunned.0.lock().unwrap_or_else(PoisonError::into_inner);
        shunned.iter().any(|uid| *info.uid() == *uid.as_str())
    }
}

const SHUNNED_MOST: usize = 64;
