//! Messages between campaign and agent: JSON, a line each, over a sealed session.

use core::time::Duration;
use std::net::TcpStream;

use schwann_session::Suite;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Reason;
use crate::sealed::lab::Lab;
use crate::sealed::session::Conversation;

/// One end of the conversation.
pub(super) struct Channel {
    conversation: Conversation,
    /// Opened bytes that are not a whole line yet.
    heard: Vec<u8>,
}

impl Channel {
    /// The campaign's end.
    pub(super) fn initiate(socket: TcpStream, lab: &Lab) -> Result<Self, Reason> {
        prepare(&socket, HANDSHAKE)?;
        let mut conversation = Conversation::initiate(socket, lab, Suite::Hybrid)?;
        conversation.flush()?;
        prepare(&conversation.socket, ANSWER)?;
        Ok(Self { conversation, heard: Vec::new() })
    }

    /// The agent's end.
    pub(super) fn respond(socket: TcpStream, lab: &Lab) -> Result<Self, Reason> {
        prepare(&socket, HANDSHAKE)?;
        let conversation = Conversation::respond(socket, lab)?;
        // The campaign may be busy for as long as it likes.
        conversation.socket.set_read_timeout(None)?;
        Ok(Self { conversation, heard: Vec::new() })
    }

    pub(super) fn send<T: Serialize>(&mut self, message: &T) -> Result<(), Reason> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        for part in line.chunks(PART) {
            self.conversation.send(part)?;
        }
        Ok(())
    }

    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<T, Reason> {
        loop {
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                return Ok(serde_json::from_slice(&line)?);
            }
            if self.heard.len() > LONGEST {
                return Err("the other side sends a message that does not end".into());
            }
            self.conversation.receive(&mut self.heard)?;
        }
    }
}

fn prepare(socket: &TcpStream, patience: Duration) -> Result<(), Reason> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(patience))?;
    Ok(socket.set_write_timeout(Some(ANSWER))?)
}

/// A peer that does not finish a handshake in this time is no campaign.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// An agent answers every request in this time.
const ANSWER: Duration = Duration::from_secs(20);
const PART: usize = 8192;
/// No message is longer, bytes.
const LONGEST: usize = 16 << 20;
