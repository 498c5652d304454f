//! Measurements between two real computers: an agent on one, the campaign on the other.
//!
//! The agent prints an address and a token. A holder of the token may let it start measuring processes, once,
//! until that connection ends. The token is the authority of a lab of two. Both certify themselves with it
//! and talk over the same sealed session as streams do. Sealed streams between the two belong to the same
//! lab.
//!
//! Two wall clocks are never subtracted. Latency is that of the way there and back. A sample goes to the agent's
//! computer, which sends it on at once, and it comes back. This computer's clock gives both times. Throughput is
//! counted by the receiver alone, on its own clock.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::record::{Machine, Subject};
use crate::worker::{Event, Order, Task};

mod channel;
mod client;
mod server;
mod token;

pub(crate) use client::Agent;
pub(crate) use server::serve;
pub(crate) use token::Token;

/// What the campaign asks the agent.
#[derive(Debug, Deserialize, Serialize)]
enum Request {
    /// What the next measuring process says, if it says something soon.
    Hear,
    /// Start a measuring process with the agent's subject of this label.
    Start {
        /// Which subject.
        label: String,
        /// What it is to do. Its library and its environment are the agent's own.
        task: Box<Task>,
        /// The transfer's private session.
        session: String,
        /// The first port of the transfer.
        base_port: u16,
    },
    /// End the measuring process.
    Stop,
    /// Tell the measuring process.
    Tell(Order),
}

/// What the agent answers.
#[derive(Debug, Deserialize, Serialize)]
enum Answer {
    /// It is done.
    Done,
    /// The measuring process said this.
    Heard(Event),
    /// It said nothing for a while.
    Nothing,
    /// It cannot be done, and why.
    Refused(String),
}

/// What the agent says first.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Hello {
    machine: Machine,
    /// That the agent's program was built from.
    commit: String,
    subjects: Vec<Subject>,
}

/// The port at which agents listen unless told otherwise.
pub(crate) const PORT: u16 = 16_580;
/// An answer to [`Request::Hear`] takes no longer.
const HEARING: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
