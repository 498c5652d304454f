//! A WebSocket with a page or a program, for as long as both ends want it.

use core::time::Duration;
use std::io;

use tungstenite::{
    Error, Message, WebSocket,
    protocol::{Role, WebSocketConfig},
};

use super::link::Link;

/// This end of it.
pub(super) struct Live(WebSocket<Link>);

impl Live {
    /// Goes on with a connection that was switched to WebSocket; `rest` is what came behind the request. Messages longer than
    /// `limit` bytes end it.
    ///
    /// - Errors: those of the socket.
    pub(super) fn new(mut link: Link, rest: Vec<u8>, limit: usize) -> io::Result<Self> {
        link.set_patience(TICK)?;
        let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
        Ok(Self(WebSocket::from_partially_read(link, rest, Role::Server, Some(config))))
    }

    /// The next message; nothing if none comes within a tick, which is the usual case.
    ///
    /// - Errors: those of the connection and of the protocol.
    pub(super) fn hear(&mut self) -> Result<Option<Message>, Error> {
        match self.0.read() {
            Ok(message) => Ok(Some(message)),
            Err(Error::Io(error))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a message.
    ///
    /// - Errors: as [`hear`](Self::hear).
    pub(super) fn send(&mut self, message: Message) -> Result<(), Error> {
        self.0.send(message)
    }

    /// Says goodbye.
    ///
    /// - Errors: as [`hear`](Self::hear).
    pub(super) fn close(&mut self) -> Result<(), Error> {
        self.0.close(None)?;
        self.0.flush()
    }
}

/// What the end of a conversation means for its connection. A peer that leaves or breaks the protocol is no error of it.
pub(super) fn ended(outcome: Result<(), Error>) -> io::Result<()> {
    match outcome {
        Err(Error::Io(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Shorter than a frame of the screen twice over, so that traces scroll and do not hop.
const TICK: Duration = Duration::from_millis(25);
