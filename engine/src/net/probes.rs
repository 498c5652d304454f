//! The sealed datagrams of one outlet: clock probes that an attacker cannot forge, delay into the past, or
//! repeat.
//!
//! Every sealed connection brings keys for datagrams with it; they are good for as long as it lasts.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schwann_session::{DATAGRAM_OVERHEAD, DatagramError, Datagrams, SessionId};

/// The keys of all sealed connections.
#[derive(Default)]
pub(crate) struct ProbeSessions(Mutex<HashMap<SessionId, Datagrams>>);

impl ProbeSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Datagrams>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts datagrams of a session from now on.
    pub(crate) fn insert(&self, datagrams: Datagrams) -> SessionId {
        let session = datagrams.session();
        self.lock().insert(session, datagrams);
        session
    }

    /// Accepts no more datagrams of a session.
    pub(crate) fn remove(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    /// Opens a datagram in place; nothing if it is not sealed, or not for us.
    ///
    /// - Errors: it was here before, or does not verify.
    pub(crate) fn open<'a>(
        &self,
        datagram: &'a mut [u8],
    ) -> Result<Option<(SessionId, &'a [u8])>, DatagramError> {
        let Some(session) = SessionId::of(datagram) else { return Ok(None) };
        let plain = match self.lock().get_mut(&session) {
            Some(datagrams) => datagrams.open(datagram)?,
            None => return Ok(None),
        };
        Ok(datagram.get(plain).map(|plain| (session, plain)))
    }

    /// Seals an answer into `sealed`; says whether that was possible.
    pub(crate) fn seal(&self, session: SessionId, plain: &[u8], sealed: &mut Vec<u8>) -> bool {
        let mut sessions = self.lock();
        sessions.get_mut(&session).is_some_and(|datagrams| seal(datagrams, plain, sealed))
    }
}

impl core::fmt::Debug for ProbeSessions {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("ProbeSessions")
    }
}

/// Seals `plain` into `sealed`; says whether that was possible.
pub(crate) fn seal(datagrams: &mut Datagrams, plain: &[u8], sealed: &mut Vec<u8>) -> bool {
    sealed.clear();
    sealed.resize(plain.len() + DATAGRAM_OVERHEAD, 0);
    datagrams.seal(plain, sealed).is_ok()
}
