//! How much of the past a member that joins later gets: `history` in section `[relay]` of the configuration.

use core::fmt;

use schwann::Config;

/// The policy.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum History {
    /// The present epoch alone, which is an hour old at most.
    #[default]
    None,
    /// The epochs of the last 7 days.
    SevenDays,
    /// All that the edge still has.
    All,
}

impl History {
    /// The policy of a configuration.
    ///
    /// - Errors: another word than `none`, `7d` or `all`.
    pub fn of(config: &Config) -> Result<Self, UnknownHistory> {
        match config.raw("relay", "history") {
            None | Some("none" | "") => Ok(Self::None),
            Some("7d") => Ok(Self::SevenDays),
            Some("all") => Ok(Self::All),
            Some(other) => Err(UnknownHistory(other.to_owned())),
        }
    }

    /// For how many seconds an epoch is handed on after its end; without limit if there is none.
    #[must_use]
    pub fn seconds(self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::SevenDays => Some(7 * 86_400),
            Self::All => None,
        }
    }
}

/// The word is no policy.
#[derive(Clone, Debug)]
pub struct UnknownHistory(String);

impl fmt::Display for UnknownHistory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "history={} in [relay] of lsl_api.cfg means nothing: write none, 7d or all", self.0)
    }
}

impl core::error::Error for UnknownHistory {}
