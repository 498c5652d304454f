//! A connection to a hub, in a thread of its own. Threads of streams put commands in and get events out.
//!
//! Each connection begins from nothing: it makes sure that the hub keeps the lab's messages, and subscribes. When it is gone, it is
//! tried again until the [`Link`] is dropped. Nothing here is trusted: what a message says is for `schwann_relay` to judge.

mod keeper;
mod pinned;
mod problem;
mod questions;

use core::cell::Cell;
use core::time::Duration;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use schwann_relay::Subject;
use tokio::sync::mpsc::{Sender, channel, error::TrySendError};

pub use self::problem::Problem;
pub(crate) use self::questions::Questions;
use crate::access::Access;
use crate::address::Address;

/// What reaches a hub and comes from it.
pub struct Link {
    commands: Sender<Command>,
    events: Receiver<Event>,
    /// It was said that the thread has ended by itself.
    is_end_told: Cell<bool>,
}

/// What the hub is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Command {
    /// Keep this message. An answer comes to what has a ticket.
    Publish { subject: String, message: Vec<u8>, ticket: Option<u64> },
    /// The last message on this subject.
    Last(String),
    /// Hand this message to those who listen now; it is not kept.
    Send { subject: String, message: Vec<u8> },
    /// What is kept on these subjects, oldest first.
    History(Vec<String>, Since),
}

/// How far back a history goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Since {
    /// To the beginning.
    Beginning,
    /// To the last message of each subject.
    LastOfEach,
    /// So many seconds.
    Seconds(u64),
}

/// What happened at the hub.
#[derive(Debug)]
pub(crate) enum Event {
    /// The hub says that it keeps the message with this ticket, and at which place of its log; it proves nothing.
    Acknowledged(u64, u64),
    /// All messages of this [`Command::History`] have come.
    Answered(Command),
    /// A connection stands.
    Connected,
    /// A connection is gone, or did not come about.
    Disconnected(Problem),
    /// The answer to [`Command::Last`].
    Last(Option<Last>),
    /// A message on a subscribed subject, or of the past, and when it came, in seconds on the local clock.
    Message(Vec<u8>, f64),
    /// The hub does not keep the message with this ticket, or did not answer.
    Refused(u64, Problem),
    /// The hub did not answer this question.
    Unanswered(Command, Problem),
}

/// The last message on a subject.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) message: Vec<u8>,
    /// When the hub says it came, in seconds since 1970.
    pub(crate) came: i64,
    /// Its place in the hub's log. Places rise.
    pub(crate) place: u64,
}

impl Link {
    /// Connects in the background, and subscribes to `subjects` each time.
    ///
    /// - Errors: the system gives no thread.
    pub fn open(address: &Address, access: &Access, subjects: Vec<String>) -> std::io::Result<Self> {
        let (commands, commanded) = channel(COMMANDS);
        let (tell, events) = sync_channel(EVENTS);
        let (address, access) = (address.clone(), access.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name(String::from("hub")).spawn(move || {
            let link = keeper::Keeper { address, access, subjects, tell: Tell(tell) };
            runtime.block_on(link.keep(commanded));
        })?;
        Ok(Self { commands, events, is_end_told: Cell::new(false) })
    }

    /// Publishes a message; says whether there was room for it on the way.
    pub(crate) fn publish(&self, subject: Subject, message: Vec<u8>, ticket: Option<u64>) -> bool {
        let subject = subject.to_string();
        self.commands.try_send(Command::Publish { subject, message, ticket }).is_ok()
    }

    /// Hands a message to those who listen now.
    pub(crate) fn send(&self, subject: Subject, message: Vec<u8>) {
        // It is worth nothing later.
        let _ = self.commands.try_send(Command::Send { subject: subject.to_string(), message });
    }

    /// Whether the next [`publish`](Self::publish) finds room.
    pub(crate) fn has_room(&self) -> bool {
        // What is not a block needs some, too.
        self.commands.capacity() > COMMANDS / 2
    }

    /// Asks for something; gives the question back if there is no room for it now.
    pub(crate) fn ask(&self, command: Command) -> Result<(), Command> {
        self.commands.try_send(command).map_err(TrySendError::into_inner)
    }

    /// What happened, waiting up to `patience` for it.
    pub(crate) fn event(&self, patience: Duration) -> Option<Event> {
        match self.events.recv_timeout(patience) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // Only a fault in it ends the thread while this is here.
            Err(RecvTimeoutError::Disconnected) if !self.is_end_told.replace(true) => {
                Some(Event::Disconnected(Problem::Ended))
            }
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(patience);
                None
            }
        }
    }

    /// A link to the test itself, with room for so many commands.
    #[cfg(test)]
    pub(crate) fn of_a_test(room: usize) -> (Self, tokio::sync::mpsc::Receiver<Command>, SyncSender<Event>) {
        let ((commands, commanded), (tell, events)) = (channel(room), sync_channel(room));
        (Self { commands, events, is_end_told: Cell::new(false) }, commanded, tell)
    }
}

/// Where events go. It waits for a thread that is behind, without holding up the runtime.
#[derive(Clone)]
pub(crate) struct Tell(SyncSender<Event>);

impl Tell {
    pub(crate) async fn tell(&self, event: Event) {
        let mut event = event;
        while let Err(std::sync::mpsc::TrySendError::Full(back)) = self.0.try_send(event) {
            event = back;
            tokio::time::sleep(FULL_PAUSE).await;
        }
    }
}

/// Commands that wait at most; a block has at most 1 MiB.
const COMMANDS: usize = 64;
/// Events that wait at most.
const EVENTS: usize = 256;
/// Events that are taken in before other work has a turn: a hub may send without end.
pub(crate) const EVENTS_AT_ONCE: usize = EVENTS;
const FULL_PAUSE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_broke_off_is_told_once_and_takes_nothing() {
        let (link, commands, events) = Link::of_a_test(4);
        drop((commands, events));
        let told = link.event(Duration::ZERO);
        assert!(matches!(told, Some(Event::Disconnected(Problem::Ended))), "{told:?}");
        assert!(link.event(Duration::ZERO).is_none());
        assert!(link.ask(Command::Last(String::new())).is_err());
    }
}
