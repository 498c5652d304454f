//! The campaign's side of the conversation.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Instant;

use super::channel::Channel;
use super::token::Token;
use super::{Answer, Hello, Request};
use crate::Reason;
use crate::record::{Machine, Subject};
use crate::sealed::lab::{self, Lab};
use crate::transfer::{End, TransferError, interrupted};
use crate::worker::{Event, Order, Task};

/// An agent on another computer, connected.
pub(crate) struct Agent {
    channel: Channel,
    /// What it said of itself.
    hello: Hello,
    token: Token,
    here: Ipv4Addr,
    there: Ipv4Addr,
}

impl Agent {
    /// Connects to the agent at `address` (host and port), which printed `token`.
    ///
    /// # Errors
    ///
    /// In words: it says what to do.
    pub(crate) fn connect(address: &str, token: Token) -> Result<Self, Reason> {
        let fail = |error: &dyn fmt::Display| {
            format!(
                "no agent at {address}: {error}; start `schwann-bench agent` there and copy the line that it prints"
            )
        };
        let socket = reach(address).map_err(|error| fail(&error))?;
        let ends = socket.local_addr().and_then(|here| Ok((here.ip(), socket.peer_addr()?.ip())));
        let (IpAddr::V4(here), IpAddr::V4(there)) = ends.map_err(|error| fail(&error))? else {
            return Err(format!("{address} is reached over IPv6; give the agent's IPv4 address").into());
        };
        let lab = Lab::of(token.authority()).map_err(|error| fail(&error))?;
        let mut channel = Channel::initiate(socket, &lab).map_err(|error| {
            format!(
                "the agent at {address} does not take this token ({error}); an agent prints a new one each time it \
                 starts, and takes it once"
            )
        })?;
        let hello = channel.receive().map_err(|error| fail(&error))?;
        Ok(Self { channel, hello, token, here, there })
    }

    /// The other computer, and the commit of the agent's tree.
    pub(crate) fn machine(&self) -> (&Machine, &str) {
        (&self.hello.machine, &self.hello.commit)
    }

    /// This computer's address as the agent's computer knows it, and the agent's.
    pub(crate) fn addresses(&self) -> (Ipv4Addr, Ipv4Addr) {
        (self.here, self.there)
    }

    /// Checks that the agent has the same libraries.
    ///
    /// # Errors
    ///
    /// In words, with the first that differs.
    pub(crate) fn check(&self, subjects: &[Subject]) -> Result<(), Reason> {
        for subject in subjects {
            let theirs = self.hello.subjects.iter().find(|other| other.label == subject.label);
            match theirs {
                Some(theirs) if theirs.version == subject.version => {}
                Some(theirs) => {
                    return Err(format!(
                        "{} is {:?} here and {:?} at the agent; install the same on both",
                        subject.label, subject.version, theirs.version
                    )
                    .into());
                }
                None => {
                    return Err(format!(
                        "the agent has no {}; start it with the same options as this campaign",
                        subject.label
                    )
                    .into());
                }
            }
        }
        Ok(())
    }

    /// Installs this computer's keys of the agent's lab.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(crate) fn install_keys(&self, folder: &Path) -> Result<(), Reason> {
        lab::install_keys_of(&self.token.authority(), folder)
    }

    /// Starts a measuring process on the agent's computer.
    ///
    /// # Errors
    ///
    /// [`TransferError`].
    pub(crate) fn start(
        &mut self,
        subject: &Subject,
        task: Task,
        (session, base_port): (&str, u16),
        patience: Duration,
    ) -> Result<Remote<'_>, TransferError> {
        let (label, session) = (subject.label.clone(), session.to_owned());
        match self.ask(&Request::Start { label, task: Box::new(task), session, base_port })? {
            Answer::Done => Ok(Remote { agent: self, patience }),
            other => Err(unexpected(other)),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, TransferError> {
        let gone = |error: Reason| TransferError::Agent(error.to_string());
        self.channel.send(request).map_err(gone)?;
        self.channel.receive().map_err(gone)
    }
}

/// A measuring process on the agent's computer; ended when dropped.
pub(crate) struct Remote<'a> {
    agent: &'a mut Agent,
    patience: Duration,
}

impl End for Remote<'_> {
    fn say(&mut self, order: Order) -> Result<(), TransferError> {
        match self.agent.ask(&Request::Tell(order))? {
            Answer::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    fn hear(&mut self) -> Result<Event, TransferError> {
        let begun = Instant::now();
        while begun.elapsed() < self.patience {
            match self.agent.ask(&Request::Hear)? {
                Answer::Heard(Event::Failed { reason }) => return Err(TransferError::Worker(reason)),
                Answer::Heard(event) => return Ok(event),
                Answer::Nothing if interrupted() => return Err(TransferError::Interrupted),
                Answer::Nothing => {}
                other => return Err(unexpected(other)),
            }
        }
        Err(TransferError::Silent)
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        // An agent that is gone has ended its processes.
        let _ = self.agent.ask(&Request::Stop);
    }
}

fn reach(address: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn unexpected(answer: Answer) -> TransferError {
    TransferError::Agent(match answer {
        Answer::Refused(reason) => reason,
        other => format!("it answers {other:?}, which is none"),
    })
}
