use std::collections::VecDeque;
use std::time::Instant;

use super::error::{broken, check_code};
use super::{Client, ClientError};
use crate::wire::{Command, Event, SamplesDefinition, Selection};

/// A row of requests that do not wait for each other's replies; see [`Client::pipeline`].
///
/// Requests leave when there are enough of them, and at [`Pipeline::finish`].
#[derive(Debug)]
pub struct Pipeline<'a> {
    client: &'a mut Client,
    queued: Vec<u8>,
    awaited: VecDeque<Command>,
    answers: Vec<Answer>,
}

/// What came back for one request of a row.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// The request.
    pub command: Command,
    /// The payload of its reply, in the byte order of the client's options; [`ClientError::Refused`] if it was
    /// refused.
    pub outcome: Result<Vec<u8>, ClientError>,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(client: &'a mut Client) -> Self {
        Self { client, queued: Vec::new(), awaited: VecDeque::new(), answers: Vec::new() }
    }

    /// Appends samples given as bytes in the machine's order.
    pub fn put_sample_bytes(&mut self, block: SamplesDefinition, values: &[u8]) -> Result<(), ClientError> {
        let definition = block.encode(self.client.options.order);
        let values = self.client.in_order(block, values);
        self.add(Command::PutSamples, &[&definition, &values])
    }

    /// Appends events.
    pub fn put_events(&mut self, events: &[Event]) -> Result<(), ClientError> {
        let payload = self.client.encode_events(events);
        self.add(Command::PutEvents, &[&payload])
    }

    /// Reads the header.
    pub fn header(&mut self) -> Result<(), ClientError> {
        self.add(Command::GetHeader, &[])
    }

    /// Reads samples.
    pub fn samples(&mut self, selection: Selection) -> Result<(), ClientError> {
        let selection = selection.encode(self.client.options.order);
        self.add(Command::GetSamples, &[&selection])
    }

    /// Reads events.
    pub fn events(&mut self, selection: Selection) -> Result<(), ClientError> {
        let selection = selection.encode(self.client.options.order);
        self.add(Command::GetEvents, &[&selection])
    }

    /// Sends what has not left yet and returns all answers, in the order of the requests.
    ///
    /// - Errors: those of the connection. After one, it is unknown which requests were
    ///   carried out.
    pub fn finish(mut self) -> Result<Vec<Answer>, ClientError> {
        self.flush()?;
        while !self.awaited.is_empty() {
            self.receive()?;
        }
        Ok(core::mem::take(&mut self.answers))
    }

    fn add(&mut self, command: Command, payload: &[&[u8]]) -> Result<(), ClientError> {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let payload_bytes = u32::try_from(length).map_err(|_| ClientError::Invalid)?;
        let order = self.client.options.order;
        let definition = crate::wire::Definition { code: command.code(), order, payload_bytes };
        self.queued.extend_from_slice(&definition.encode());
        payload.iter().for_each(|part| self.queued.extend_from_slice(part));
        self.awaited.push_back(command);
        if self.queued.len() >= QUEUED_BYTES {
            self.flush()?;
        }
        // The server stops reading when its replies are not read, so a limit applies to requests on the way.
        if self.awaited.len() > AWAITED_REPLIES {
            self.flush()?;
            while self.awaited.len() > AWAITED_REPLIES / 2 {
                self.receive()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ClientError> {
        let queued = core::mem::take(&mut self.queued);
        if queued.is_empty() {
            return Ok(());
        }
        self.settling(|client| {
            let socket = &client.connection()?.socket;
            socket.write_parts(&mut [std::io::IoSlice::new(&queued)]).map_err(broken)
        })
    }

    fn receive(&mut self) -> Result<(), ClientError> {
        let Some(command) = self.awaited.pop_front() else { return Ok(()) };
        let (definition, payload) = self.settling(|client| {
            let options = client.options;
            let deadline = Instant::now() + options.timeout;
            client.established()?.receive(options.order, options.reply_bytes, options.timeout, deadline)
        })?;
        let outcome = check_code(command.family(), definition.code).map(|()| payload);
        self.answers.push(Answer { command, outcome });
        Ok(())
    }

    /// Lets go of a broken connection, in both styles: the row shares it.
    fn settling<R>(
        &mut self,
        exchange: impl FnOnce(&mut Client) -> Result<R, ClientError>,
    ) -> Result<R, ClientError> {
        let outcome = exchange(self.client);
        if outcome.is_err() {
            self.client.connection = None;
        }
        outcome
    }
}

impl Drop for Pipeline<'_> {
    fn drop(&mut self) {
        // Replies left behind would pass for the next request's.
        if !self.awaited.is_empty() || self.client.options.style == super::Style::Stateless {
            self.client.connection = None;
        }
    }
}

/// Bytes of requests that leave together.
const QUEUED_BYTES: usize = 64 << 10;

/// Replies on the way at most.
const AWAITED_REPLIES: usize = 64;
