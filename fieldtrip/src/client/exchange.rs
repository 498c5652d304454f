//! One request and its reply, over a connection that may have to be made first or again.

use core::time::Duration;
use std::io::{self, IoSlice};
use std::time::Instant;

use super::connection::{Connection, Payload};
use super::error::{broken, check_code};
use super::{Client, ClientError, Style};
use crate::wire::{Command, Definition};

impl Client {
    pub(super) fn request(&mut self, command: Command, payload: &[&[u8]]) -> Result<Payload, ClientError> {
        let exchange = |client: &mut Self| {
            client.send(command, payload)?;
            client.receive(command, client.options.timeout)
        };
        if command.is_writing() { self.settling(exchange) } else { self.retrying(exchange) }
    }

    /// Runs an exchange that may run again if a kept connection turns out to be closed: it only reads.
    pub(super) fn retrying<R>(
        &mut self,
        mut exchange: impl FnMut(&mut Self) -> Result<R, ClientError>,
    ) -> Result<R, ClientError> {
        let was_connected = self.connection.is_some();
        match self.settling(&mut exchange) {
            Err(ClientError::Disconnected(_)) if was_connected => self.settling(exchange),
            outcome => outcome,
        }
    }

    /// Runs an exchange and lets go of the connection if it cannot be used again.
    pub(super) fn settling<R>(
        &mut self,
        exchange: impl FnOnce(&mut Self) -> Result<R, ClientError>,
    ) -> Result<R, ClientError> {
        let outcome = exchange(self);
        let is_usable = matches!(outcome, Ok(_) | Err(ClientError::Refused(_) | ClientError::Invalid));
        if !is_usable || self.options.style == Style::Stateless {
            self.connection = None;
        }
        outcome
    }

    pub(super) fn send(&mut self, command: Command, payload: &[&[u8]]) -> Result<(), ClientError> {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let payload_bytes = u32::try_from(length).map_err(|_| ClientError::Invalid)?;
        let definition =
            Definition { code: command.code(), order: self.options.order, payload_bytes }.encode();
        let mut parts = [IoSlice::new(&definition), IoSlice::new(&[]), IoSlice::new(&[])];
        for (part, bytes) in parts.iter_mut().skip(1).zip(payload) {
            *part = IoSlice::new(bytes);
        }
        let count = parts.iter().position(|part| part.is_empty()).unwrap_or(parts.len());
        self.connection()?;
        let connection = self.connection.as_ref();
        let socket = &connection.ok_or(ClientError::Disconnected(io::ErrorKind::NotConnected))?.socket;
        socket.write_parts(parts.get_mut(..count).unwrap_or_default()).map_err(broken)
    }

    pub(super) fn receive(&mut self, command: Command, timeout: Duration) -> Result<Payload, ClientError> {
        let (order, limit) = (self.options.order, self.options.reply_bytes);
        let deadline = Instant::now() + timeout;
        let (definition, payload) = self.established()?.receive(order, limit, timeout, deadline)?;
        check_code(command.family(), definition.code)?;
        Ok(payload)
    }

    pub(super) fn connection(&mut self) -> Result<&mut Connection, ClientError> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open(&self.address, self.options)?);
        }
        self.established()
    }

    pub(super) fn established(&mut self) -> Result<&mut Connection, ClientError> {
        self.connection.as_mut().ok_or(ClientError::Disconnected(io::ErrorKind::NotConnected))
    }
}
