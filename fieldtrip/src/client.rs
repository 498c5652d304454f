//! The client: blocking, with time-outs, one request at a time or many in a row.

mod connection;
mod error;
mod exchange;
mod follow;
mod inbox;
mod options;
mod pipeline;

use core::time::Duration;
use std::time::Instant;

use connection::Connection;
pub use error::ClientError;
pub use follow::{Follower, Start, Update};
pub use options::{Options, Style};
pub use pipeline::{Answer, Pipeline};

use crate::address::Address;
use crate::block::Block;
use crate::buffer::Sample;
use crate::wire::{
    ByteOrder, Command, Event, EventIter, Header, SamplesDefinition, Selection, Totals, WaitRequest,
    swap_chunks,
};

/// Talks to a server.
#[derive(Debug)]
pub struct Client {
    address: Address,
    options: Options,
    connection: Option<Connection>,
    /// Bytes of one sample, as in the last samples: the room for the next ones before they arrive.
    stride: usize,
}

impl Client {
    /// A client of the server at `address`. It connects with the first request.
    pub fn new(address: Address, options: Options) -> Self {
        Self { address, options, connection: None, stride: 0 }
    }

    /// Connects now.
    ///
    /// - Errors: [`ClientError::Unreachable`] if there is no server within [`Options::patience`].
    pub fn connect(address: Address, options: Options) -> Result<Self, ClientError> {
        let mut client = Self::new(address, options);
        client.connection()?;
        Ok(client)
    }

    /// Where the server is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Replaces the header; drops all samples and events.
    pub fn put_header(&mut self, header: &Header) -> Result<(), ClientError> {
        let (fixed, chunks) = self.encode_header(header);
        self.request(Command::PutHeader, &[&fixed, &chunks]).map(drop)
    }

    /// Appends samples.
    ///
    /// - Shape: samples × channels, one row per sample.
    pub fn put_samples<T: Sample>(&mut self, channel_count: u32, values: &[T]) -> Result<(), ClientError> {
        let block =
            crate::buffer::definition::<T>(channel_count, values.len()).map_err(|_| ClientError::Invalid)?;
        self.put_sample_bytes(block, bytemuck::cast_slice(values))
    }

    /// Appends samples given as bytes in the machine's order, of any type.
    pub fn put_sample_bytes(&mut self, block: SamplesDefinition, values: &[u8]) -> Result<(), ClientError> {
        let values = self.in_order(block, values);
        self.request(Command::PutSamples, &[&block.encode(self.options.order), &values]).map(drop)
    }

    /// Appends events.
    pub fn put_events(&mut self, events: &[Event]) -> Result<(), ClientError> {
        let payload = self.encode_events(events);
        self.request(Command::PutEvents, &[&payload]).map(drop)
    }

    /// Reads the header and the totals.
    ///
    /// - Errors: [`ClientError::Refused`] if no acquisition is running.
    pub fn header(&mut self) -> Result<(Header, Totals), ClientError> {
        let payload = self.request(Command::GetHeader, &[])?;
        let (header, totals) =
            Header::parse(self.options.order, &payload).map_err(|_| ClientError::Confused)?;
        Ok((header, totals))
    }

    /// Reads samples `first..=last`.
    ///
    /// - Errors: [`ClientError::Refused`] if any is not in the ring, not yet or not any more.
    pub fn samples(&mut self, first: u32, last: u32) -> Result<Block, ClientError> {
        let mut values = Vec::new();
        let definition = self.samples_into(first, last, &mut values)?;
        Ok(Block { first, definition, values })
    }

    /// Reads samples `first..=last` into memory that is used again; see [`Client::samples`].
    pub fn samples_into(
        &mut self,
        first: u32,
        last: u32,
        values: &mut Vec<u8>,
    ) -> Result<SamplesDefinition, ClientError> {
        let order = self.options.order;
        let count = last.wrapping_sub(first).wrapping_add(1);
        let expected = usize::try_from(count).unwrap_or(0).saturating_mul(self.stride).min(MOST_EXPECTED);
        let selection = Selection { begin: first, end: last };
        let definition = self.retrying(|client| {
            client.send(Command::GetSamples, &[&selection.encode(order)])?;
            let limit = client.options.reply_bytes;
            let deadline = Instant::now() + client.options.timeout;
            client.established()?.receive_samples(order, expected, values, limit, deadline)
        })?;
        let data_type = crate::wire::DataType::parse(definition.data_type).ok_or(ClientError::Confused)?;
        self.stride = data_type.size().saturating_mul(definition.channel_count as usize);
        order.convert(data_type.size(), values);
        Ok(definition)
    }

    /// Reads events `first..=last`.
    ///
    /// - Errors: [`ClientError::Refused`] if any is not kept, not yet or not any more.
    pub fn events(&mut self, first: u32, last: u32) -> Result<Vec<Event>, ClientError> {
        let selection = Selection { begin: first, end: last }.encode(self.options.order);
        let payload = self.request(Command::GetEvents, &[&selection])?;
        self.decode_events(&payload)
    }

    /// Reads all events that the server keeps. Returns none if it has none, or no header.
    pub fn all_events(&mut self) -> Result<Vec<Event>, ClientError> {
        match self.request(Command::GetEvents, &[]) {
            Ok(payload) => self.decode_events(&payload),
            Err(ClientError::Refused(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Removes header, samples and events.
    pub fn flush_header(&mut self) -> Result<(), ClientError> {
        self.request(Command::FlushHeader, &[]).map(drop)
    }

    /// Removes the samples; their numbering starts again at 0.
    pub fn flush_samples(&mut self) -> Result<(), ClientError> {
        self.request(Command::FlushSamples, &[]).map(drop)
    }

    /// Removes the events; their numbering starts again at 0.
    pub fn flush_events(&mut self) -> Result<(), ClientError> {
        self.request(Command::FlushEvents, &[]).map(drop)
    }

    /// Waits until there are more samples or more events than `threshold`, or the time is over; returns the
    /// totals then. No time asks for the totals.
    ///
    /// - Errors: [`ClientError::Refused`] if there is no header.
    pub fn wait(&mut self, threshold: Totals, timeout: Duration) -> Result<Totals, ClientError> {
        let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let wait = WaitRequest { threshold, timeout_ms }.encode(self.options.order);
        let patience = self.options.timeout + Duration::from_millis(timeout_ms.into());
        let outcome = self.retrying(|client| {
            client.send(Command::Wait, &[&wait])?;
            client.receive(Command::Wait, patience)
        });
        match outcome {
            Ok(payload) => Totals::parse(self.options.order, &payload).map_err(|_| ClientError::Confused),
            // One server says this at every time-out; with a header it means no more than that.
            Err(refused @ ClientError::Refused(_)) => {
                self.header().map(|(_, totals)| totals).map_err(|_| refused)
            }
            Err(error) => Err(error),
        }
    }

    /// Begins a row of requests that do not wait for each other's replies.
    pub fn pipeline(&mut self) -> Pipeline<'_> {
        Pipeline::new(self)
    }

    fn encode_header(&self, header: &Header) -> ([u8; crate::wire::HEADER_BYTES], Vec<u8>) {
        let order = self.options.order;
        let mut chunks = header.chunk_bytes.to_vec();
        swap_chunks(header.channel_count, ByteOrder::NATIVE, order, &mut chunks);
        // Some servers take the totals of a request for the values to start from.
        (header.encode(order, Totals::default()), chunks)
    }

    fn encode_events(&self, events: &[Event]) -> Vec<u8> {
        let mut payload = Vec::new();
        events.iter().for_each(|event| event.encode(self.options.order, &mut payload));
        payload
    }

    fn decode_events(&self, payload: &[u8]) -> Result<Vec<Event>, ClientError> {
        EventIter::new(self.options.order, payload)
            .map(|event| event.map(|event| event.to_event()).map_err(|_| ClientError::Confused))
            .collect()
    }

    fn in_order<'a>(&self, block: SamplesDefinition, values: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
        if self.options.order.is_native() {
            return values.into();
        }
        let mut values = values.to_vec();
        let word = crate::wire::DataType::parse(block.data_type).map_or(1, crate::wire::DataType::size);
        self.options.order.convert(word, &mut values);
        values.into()
    }
}

/// Largest block for which memory is made ready before its reply begins.
const MOST_EXPECTED: usize = 64 << 20;

#[cfg(test)]
mod tests;
