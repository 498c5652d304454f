//! Whom an edge wraps its keys for (relay §6).

use std::collections::{BTreeMap, BTreeSet};

use schwann_relay::{MAX_MEMBERS, MemberKeyId, WrappingPublic};

use super::Edge;
use super::keep::Unkept;
use crate::access::now;
use crate::history::History;

/// Wrapping keys that members made known, and for which the present epoch's key is wrapped already.
#[derive(Default)]
pub(super) struct Members {
    known: BTreeMap<MemberKeyId, WrappingPublic>,
    served: BTreeSet<MemberKeyId>,
    /// When each epoch of the run began, in seconds since 1970.
    epochs: Vec<u64>,
}

impl Members {
    /// Takes note of a member's key.
    pub(super) fn know(&mut self, member: WrappingPublic) {
        if self.known.len() >= MAX_KNOWN {
            // The one that is over first goes first.
            let oldest = self.known.iter().min_by_key(|(_, member)| member.not_after).map(|(id, _)| *id);
            oldest.map(|id| self.known.remove(&id));
        }
        self.known.insert(member.id, member);
    }

    /// A run begins, without epochs.
    pub(super) fn begin_run(&mut self) {
        self.epochs.clear();
    }

    pub(super) fn begin_epoch(&mut self, served: &[WrappingPublic]) {
        self.served = served.iter().map(|member| member.id).collect();
        self.epochs.push(now().0);
    }
}

impl Edge {
    /// The members that may have the keys now.
    pub(super) fn admitted(&self) -> Vec<WrappingPublic> {
        let known = self.members.known.values();
        self.access.checking(|_, now, revoked| {
            known.filter(|member| member.admitted(now, revoked)).take(MAX_MEMBERS).cloned().collect()
        })
    }

    /// Wraps for members that are new since the epoch began, as much of the past as the policy gives them.
    pub(super) fn wrap_for_new_members(&mut self) {
        if self.live.is_none() {
            return;
        }
        let mut fresh = self.admitted();
        fresh.retain(|member| !self.members.served.contains(&member.id));
        if fresh.is_empty() {
            return;
        }
        let fresh_ones: Vec<_> = fresh.iter().collect();
        for epoch in self.epochs_for_new() {
            let Some(live) = &self.live else { return };
            match self.access.sealing(|moment| live.run.wrapped_of(epoch, &fresh_ones, moment)) {
                Ok(keys) => self.unkept.push_back(Unkept::Word(keys)),
                Err(error) => self.tell(format!("keys cannot be wrapped: {error}")),
            }
        }
        self.members.served.extend(fresh.iter().map(|member| member.id));
        self.keep_unkept();
    }

    /// The present epoch, and those before that the policy hands on.
    fn epochs_for_new(&self) -> Vec<u32> {
        let count = self.members.epochs.len();
        let present = count.saturating_sub(1);
        let oldest = match self.settings.history {
            History::All => 0,
            other => now().0.saturating_sub(other.seconds().unwrap_or_default()),
        };
        // An epoch ends when the next one begins.
        let ends = self.members.epochs.iter().skip(1);
        let past =
            ends.enumerate().filter(|(_, end)| self.settings.history != History::None && **end >= oldest);
        past.map(|(at, _)| at).chain([present]).filter_map(|at| u32::try_from(at).ok()).collect()
    }
}

const MAX_KNOWN: usize = 4096;
