use core::time::Duration;
use std::thread;
use std::time::Instant;

use super::error::{broken, check_code};
use super::inbox::Inbox;
use super::{ClientError, Options};
use crate::address::Address;
use crate::socket::{ConnectError, Socket};
use crate::wire::{ByteOrder, Definition, Family, SamplesDefinition};

/// A connection, and what has arrived on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    inbox: Inbox,
    read_timeout: Duration,
}

/// A reply without its definition.
pub(super) type Payload = Vec<u8>;

impl Connection {
    pub(super) fn open(address: &Address, options: Options) -> Result<Self, ClientError> {
        let deadline = Instant::now() + options.patience;
        loop {
            match Socket::connect(address, options.timeout) {
                Ok(socket) => {
                    let timeouts = socket.set_timeouts(Some(options.timeout), Some(options.timeout));
                    timeouts.map_err(|error| ClientError::Unreachable(error.kind()))?;
                    return Ok(Self { socket, inbox: Inbox::default(), read_timeout: options.timeout });
                }
                Err(ConnectError::UnknownHost) => return Err(ClientError::UnknownHost),
                Err(ConnectError::Failed(error)) if Instant::now() >= deadline => {
                    return Err(ClientError::Unreachable(error.kind()));
                }
                Err(_) => thread::sleep(BETWEEN_TRIES),
            }
        }
    }

    /// Receives a reply of any kind.
    pub(super) fn receive(
        &mut self,
        order: ByteOrder,
        limit: u32,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<(Definition, Payload), ClientError> {
        if self.read_timeout != timeout {
            self.socket.set_timeouts(Some(timeout), Some(timeout)).map_err(broken)?;
            self.read_timeout = timeout;
        }
        let definition = self.inbox.definition(&self.socket, deadline)?;
        if definition.order != order || definition.payload_bytes > limit {
            return Err(ClientError::Confused);
        }
        let payload = self.inbox.payload(&self.socket, definition.payload_bytes, deadline)?;
        Ok((definition, payload))
    }

    /// Receives samples, straight into `values` as far as `expected` was right.
    pub(super) fn receive_samples(
        &mut self,
        order: ByteOrder,
        expected: usize,
        values: &mut Vec<u8>,
        limit: u32,
        deadline: Instant,
    ) -> Result<SamplesDefinition, ClientError> {
        let (definition, block) = self.inbox.samples(&self.socket, expected, values, limit, deadline)?;
        check_code(Family::Get, definition.code)?;
        if definition.order != order {
            return Err(ClientError::Confused);
        }
        block.ok_or(ClientError::Confused)
    }
}

/// Between two tries to connect.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
