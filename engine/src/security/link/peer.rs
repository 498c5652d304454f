//! The member at the other end of a session. It tells whether the member still belongs to the lab, and what the
//! member should learn of it.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use schwann_session::{PeerIdentity, Refusal};

use super::update::pieces;
use crate::security::{journal, keys::Member};
use crate::time::wall_clock;

/// The member at the other end of a session, as the one at this end knows it.
///
/// A session asks two things whenever a newer revocation list is in force. One is whether the peer is
/// [dismissed](Self::dismissal), which time alone can cause, too. The other is whether there is something to [hand
/// on](Self::news) to it.
/// - Source: secure-session §4.6.
pub struct Peer {
    identity: PeerIdentity,
    member: Arc<Member>,
    /// The newest revocation list that the peer is known to have, or was sent.
    list: AtomicU64,
}

impl Peer {
    /// Joins what the handshake proved about the peer to this end's membership.
    pub fn new(identity: PeerIdentity, member: Arc<Member>) -> Self {
        Self { identity, member, list: AtomicU64::new(identity.revocation_number) }
    }

    /// Its identity.
    pub fn identity(&self) -> &PeerIdentity {
        &self.identity
    }

    /// Why it would not be let in any more: its certificate has been revoked, or has expired, since it was.
    pub fn dismissal(&self) -> Option<Refusal> {
        let statement = &self.identity.statement;
        if self.member.standing().puts_out(statement) {
            return Some(Refusal::Revoked);
        }
        (wall_clock() > statement.not_after).then_some(Refusal::Expired)
    }

    /// The newest revocation list as messages of the session's own, if the peer's is older; the same list once.
    ///
    /// - Shape: each message has `most` bytes at most, which is what the session says.
    pub fn news(&self, most: usize) -> Option<Vec<Vec<u8>>> {
        let standing = self.member.standing();
        let is_known = self.list.fetch_max(standing.number(), Ordering::Relaxed) >= standing.number();
        (!is_known).then(|| pieces(standing.number(), &standing.update(), most))
    }

    /// Takes in an update of the lab that the peer handed on; the log says what is wrong with it.
    pub fn take_in(&self, update: &[u8]) {
        match self.member.take_in(update) {
            Ok(_) => drop(self.list.fetch_max(self.member.standing().number(), Ordering::Relaxed)),
            Err(error) => journal::disloyal(&self.identity, &error),
        }
    }
}
