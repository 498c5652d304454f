//! Messages between campaign and agent: JSON, a line each, over a sealed session.

use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;

use schwann_session::{Opened, Secure, Suite};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Reason;
use crate::sealed::lab::Lab;
use crate::sealed::session::{initiate, respond, seal};

/// One end of the conversation.
pub(super) struct Channel {
    socket: TcpStream,
    session: Secure,
    /// Sealed bytes that are not opened yet.
    wire: Vec<u8>,
    /// Opened bytes that are not a whole line yet.
    heard: Vec<u8>,
}

impl Channel {
    /// The campaign's end.
    pub(super) fn initiate(mut socket: TcpStream, lab: &Lab) -> Result<Self, Reason> {
        prepare(&socket, HANDSHAKE)?;
        let (session, wire, last) = initiate(&mut socket, lab, Suite::Hybrid)?;
        socket.write_all(&last)?;
        prepare(&socket, ANSWER)?;
        Ok(Self { socket, session, wire, heard: Vec::new() })
    }

    /// The agent's end.
    pub(super) fn respond(mut socket: TcpStream, lab: &Lab) -> Result<Self, Reason> {
        prepare(&socket, HANDSHAKE)?;
        let (session, wire) = respond(&mut socket, lab)?;
        // The campaign may be busy for as long as it likes.
        socket.set_read_timeout(None)?;
        Ok(Self { socket, session, wire, heard: Vec::new() })
    }

    pub(super) fn send<T: Serialize>(&mut self, message: &T) -> Result<(), Reason> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        for part in line.chunks(PART) {
            let sealed = seal(&mut self.session, part)?;
            self.socket.write_all(&sealed)?;
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
            self.open_more()?;
        }
    }

    fn open_more(&mut self) -> Result<(), Reason> {
        match self.session.open(&mut self.wire)? {
            Opened::Data { consumed, plain } => {
                self.heard.extend_from_slice(self.wire.get(plain).unwrap_or_default());
                self.wire.drain(..consumed);
            }
            Opened::Incomplete => {
                let mut buffer = [0; 4096];
                let count = self.socket.read(&mut buffer)?;
                if count == 0 {
                    return Err("the other side has closed".into());
                }
                self.wire.extend_from_slice(buffer.get(..count).unwrap_or_default());
            }
            Opened::Control { consumed, .. } | Opened::End { consumed } => drop(self.wire.drain(..consumed)),
        }
        Ok(())
    }
}

fn prepare(socket: &TcpStream, patience: Duration) -> Result<(), Reason> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(patience))?;
    Ok(socket.set_write_timeout(Some(ANSWER))?)
}

/// Who does not finish a handshake in this time is no campaign.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// An agent answers every request in this time.
const ANSWER: Duration = Duration::from_secs(20);
const PART: usize = 8192;
/// No message is longer, bytes.
const LONGEST: usize = 16 << 20;
