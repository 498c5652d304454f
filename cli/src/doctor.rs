//! Finds out why a stream is not seen.
//!
//! [`look`] gathers facts by trying: it sends itself multicast through every interface, searches in several ways,
//! and knocks at ports. [`mod@judge`] makes findings of them, without touching the network, each one sentence and one
//! command. Nothing is changed.

mod facts;
mod firewall;
mod judge;
pub(crate) mod mend;
mod nft;
mod ports;
mod probe;
mod surroundings;

pub(crate) use self::{
    facts::look,
    judge::{judge, told, unread},
    surroundings::is_card,
};

/// Something that keeps streams from being seen, or may.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Finding {
    /// Short name for scripts; never changes.
    pub(crate) code: &'static str,
    /// How bad it is.
    pub(crate) weight: Weight,
    /// One sentence: what is wrong, and what follows.
    pub(crate) what: String,
    /// One command or line that makes it right.
    pub(crate) fix: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Weight {
    /// Streams are not seen, or not received, because of it.
    Fault,
    /// It may do harm, or will with other programs.
    Warning,
}
