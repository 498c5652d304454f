//! The bytes of the protocol, as pure functions: message definitions, headers, samples, events, waits.
//!
//! Spec: `docs/spec/fieldtrip.md`. Everything here works on slices. Nothing opens a socket, reads a clock or
//! takes memory in proportion to a number that a peer announced.

mod command;
mod data_type;
mod definition;
mod event;
mod header;
mod order;
mod samples;
mod text;

pub use command::{Command, Family};
pub use data_type::DataType;
pub use definition::{BadVersion, DEFINITION_BYTES, Definition};
pub use event::{EVENT_BYTES, Event, EventIter, NOW, RawEvent, normalise_events};
pub use header::{
    CHUNK_BYTES, Chunk, ChunkKind, Chunks, HEADER_BYTES, Header, channel_names_chunk, swap_chunks,
};
pub use order::ByteOrder;
pub use samples::{LAST, NEVER, SAMPLES_BYTES, SamplesDefinition, Selection, Totals, WaitRequest};

/// The payload does not have the form that its command needs.
///
/// A server answers it with the command's error reply; a client closes the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed;

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the payload does not have the form that its command needs")
    }
}

impl core::error::Error for Malformed {}

/// Reads the 32-bit fields of a packed structure, one after the other.
pub(crate) struct Fields<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(order: ByteOrder, bytes: &'a [u8]) -> Self {
        Self { order, rest: bytes }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        let (word, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(self.order.u32(*word))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.u32().map(u32::cast_signed)
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }
}
