//! Whom an edge wraps its keys for (relay §6).

use std::collections::{BTreeMap, BTreeSet};

use schwann_relay::{MAX_MEMBERS, MemberKeyId, WrappingPublic};
use schwann_session::{RevocationList, UnixSeconds};

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

    /// Those that may have keys now.
    fn admitted<'a, B: AsRef<[u8]>>(
        &'a self,
        now: UnixSeconds,
        revoked: &'a RevocationList<B>,
    ) -> impl Iterator<Item = &'a WrappingPublic> {
        self.known.values().filter(move |member| member.admitted(now, revoked))
    }

    /// The present epoch, and those before that the policy hands on at `now`, in seconds since 1970.
    fn handed_on(&self, history: History, now: u64) -> Vec<u32> {
        let present = self.epochs.len().saturating_sub(1);
        let oldest = history.seconds().map_or(0, |seconds| now.saturating_sub(seconds));
        // An epoch ends when the next one begins.
        let ends = self.epochs.iter().skip(1).enumerate();
        let past = ends.filter(|(_, end)| history != History::None && **end >= oldest);
        past.map(|(at, _)| at).chain([present]).filter_map(|at| u32::try_from(at).ok()).collect()
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
        self.access.checking(|_, now, revoked| {
            self.members.admitted(now, revoked).take(MAX_MEMBERS).cloned().collect()
        })
    }

    /// How many members more there are than one message of wrapped keys serves.
    pub(super) fn unserved_members(&self) -> usize {
        self.access.checking(|_, now, revoked| {
            self.members.admitted(now, revoked).count().saturating_sub(MAX_MEMBERS)
        })
    }

    /// Wipes keys that no member gets any more.
    pub(super) fn forget_past_epochs(&mut self) {
        let oldest = self.members.handed_on(self.settings.history, now().0).first().copied();
        if let (Some(live), Some(oldest)) = (&mut self.live, oldest) {
            live.run.forget_epochs_before(oldest);
        }
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
        for epoch in self.members.handed_on(self.settings.history, now().0) {
            let Some(live) = &self.live else { return };
            match self.access.sealing(|moment| live.run.wrapped_of(epoch, &fresh_ones, moment)) {
                Ok(keys) => self.unkept.push_back(Unkept::Word(keys)),
                Err(error) => self.tell(format!("keys cannot be wrapped: {error}")),
            }
        }
        self.members.served.extend(fresh.iter().map(|member| member.id));
        self.keep_unkept();
    }
}

const MAX_KNOWN: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_says_which_epochs_are_handed_on_and_so_which_keys_stay() {
        let day = 86_400;
        let members = Members { epochs: vec![0, 10 * day, 20 * day], ..Members::default() };
        let handed_on = |history| members.handed_on(history, 21 * day);
        assert_eq!(handed_on(History::None), [2]);
        assert_eq!(handed_on(History::SevenDays), [1, 2], "epoch 1 ended a day ago");
        assert_eq!(handed_on(History::All), [0, 1, 2]);
    }
}
