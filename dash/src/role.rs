//! What a link to the dashboard lets its holder do.

use serde::Serialize;

/// What a link lets its holder do; each role may do what those before it may.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// See streams, and have them analysed.
    Look,
    /// Write markers, and send streams.
    Mark,
    /// Drive the recorder, and dismiss streams that are gone.
    Record,
}

impl Role {
    /// All roles, from the one that may least.
    pub const ALL: [Self; 3] = [Self::Look, Self::Mark, Self::Record];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Mark => "mark",
            Self::Record => "record",
        }
    }

    /// Why a holder of a link of this role does not get what needs another one.
    pub(super) fn refusal(self, needed: Self) -> String {
        format!(
            "This link is for role {}; this needs role {}. schwann dash --lan printed a link for each.",
            self.name(),
            needed.name()
        )
    }
}
