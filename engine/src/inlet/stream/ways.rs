//! The ways to connect to an outlet, and the next one to try after a failure. They are by the local transport or
//! over TCP, in the hybrid or the classic suite, sealed or in the clear.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use schwann_proto::stream_info::StreamInfo;
use schwann_session::{Refusal, Suite};

use super::Stream;
use crate::config::Config;
use crate::log;
use crate::net::handshake::{HandshakeError, connect_tcp};
use crate::net::link::{Carrier, Link};
use crate::net::local;
use crate::security::{Member, Policy};

/// What is known of the ways to the outlet.
pub(super) struct Ways {
    /// It speaks plain LSL alone, where that is permitted.
    plain: Mark,
    /// It has refused the hybrid suite: it may be a device too small for it.
    classic: Mark,
    /// The local transport has failed with it.
    tcp: Mark,
    /// Whether the local transport is tried. Asked once, because the environment must not be read while others write it.
    tries_local: bool,
}

impl Ways {
    pub(super) fn new(config: &Config) -> Self {
        let [plain, classic, tcp] = Default::default();
        Self { plain, classic, tcp, tries_local: config.permits_local_socket() }
    }
}

/// The UID of the outlet that something was learned of; another outlet of the same stream may be different.
#[derive(Default)]
struct Mark(Mutex<String>);

impl Mark {
    fn is(&self, info: &StreamInfo) -> bool {
        *info.uid() == *self.0.lock().unwrap_or_else(PoisonError::into_inner).as_str()
    }

    fn set(&self, info: &StreamInfo) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = info.uid().to_string();
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Stream {
    /// With what to seal a connection to the outlet that `info` describes; nothing if it is plain.
    pub(super) fn member(&self, info: &StreamInfo) -> Option<&Arc<Member>> {
        let plain = self.ways.plain.is(info);
        self.terms.sealing.as_ref().filter(|_| self.terms.policy == Policy::Require || !plain)
    }

    /// With what and in which suite to seal a connection to the outlet that `info` describes.
    pub(crate) fn sealing(&self, info: &StreamInfo) -> Option<(&Arc<Member>, Suite)> {
        self.member(info).map(|member| (member, self.suite(info)))
    }

    /// The suite in which to seal a connection to the outlet in `info`.
    fn suite(&self, info: &StreamInfo) -> Suite {
        if self.ways.classic.is(info) { Suite::Classic } else { Suite::Hybrid }
    }

    /// Begins to connect to the outlet in `info`. Takes the local transport if the outlet is on this computer and
    /// listens there, else TCP.
    pub(crate) fn start_connecting(&self, info: &StreamInfo) -> Result<Link, HandshakeError> {
        let address = self.data_address(info).ok_or(HandshakeError::NoAddress)?;
        if self.ways.tries_local
            && !self.ways.tcp.is(info)
            && let Some(socket) = local::connect(&info.uid().to_string(), address)
        {
            return Ok(Link::local(socket));
        }
        connect_tcp(address)
    }

    /// Leaves an outlet to TCP if `error` came over the local transport and is no answer of the outlet's. The
    /// outcome over TCP then counts.
    pub(crate) fn blame_local(
        &self,
        link: &Link,
        info: &StreamInfo,
        error: HandshakeError,
    ) -> HandshakeError {
        let answered = matches!(error, HandshakeError::Cancelled | HandshakeError::Refused(_));
        if link.carrier() == Carrier::Tcp || answered {
            return error;
        }
        log::verbose!(1, "{} is received over TCP: locally there is {error}", info.name());
        self.ways.tcp.set(info);
        HandshakeError::Local
    }

    /// Whether the connection may be tried again at once in another way.
    pub(crate) fn permits_other(&self, error: &HandshakeError) -> bool {
        matches!(error, HandshakeError::Local) || self.permits_classic(error) || self.permits_plain(error)
    }

    /// Whether the connection may be tried again in the classic suite: the outlet has refused the hybrid one.
    ///
    /// Forging that refusal gains nothing: the classic suite is permitted by a certificate's flag alone
    /// (secure-session §3.7).
    fn permits_classic(&self, error: &HandshakeError) -> bool {
        if !matches!(error, HandshakeError::Refused(Refusal::RefusedByPeer)) {
            return false;
        }
        let info = self.info();
        let hybrid = self.suite(&info) == Suite::Hybrid;
        if hybrid {
            self.ways.classic.set(&info)
        } else {
            self.ways.classic.clear()
        }
        hybrid
    }

    /// Whether the connection may be tried again in the clear: the outlet does not seal, and need not.
    fn permits_plain(&self, error: &HandshakeError) -> bool {
        let plain = matches!(error, HandshakeError::Refused(Refusal::PlainPeer));
        if !plain || self.terms.policy != Policy::Prefer {
            return false;
        }
        let info = self.info();
        // It may have moved: what is admitted from one computer is not from another.
        if self.context.trust().is_ok_and(|trust| trust.policy_of_received(&info) == Policy::Require) {
            return false;
        }
        log::warning!("{} is received in the clear: its outlet does not seal", info.name());
        self.ways.plain.set(&info);
        self.clock.permit_plain();
        true
    }
}
