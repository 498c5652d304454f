use std::io::IoSliceMut;
use std::time::Instant;

use super::ClientError;
use super::error::broken;
use crate::socket::Socket;
use crate::wire::{DEFINITION_BYTES, Definition, Family, SAMPLES_BYTES, SamplesDefinition};

/// What has arrived from the server and is not used yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    /// Receives the definition of the next reply.
    pub(super) fn definition(
        &mut self,
        socket: &Socket,
        deadline: Instant,
    ) -> Result<Definition, ClientError> {
        self.fetch(socket, DEFINITION_BYTES, deadline)?;
        let definition = self.available().first_chunk().copied().ok_or(ClientError::Confused)?;
        self.start += DEFINITION_BYTES;
        Definition::parse(definition).map_err(|_| ClientError::Confused)
    }

    /// Receives the payload of a reply.
    pub(super) fn payload(
        &mut self,
        socket: &Socket,
        length: u32,
        deadline: Instant,
    ) -> Result<Vec<u8>, ClientError> {
        let length = usize::try_from(length).map_err(|_| ClientError::Confused)?;
        let taken = self.available().len().min(length);
        let mut payload = self.available().get(..taken).unwrap_or_default().to_vec();
        self.start += taken;
        self.read_rest(socket, &mut payload, taken, length, deadline)?;
        Ok(payload)
    }

    /// Receives a reply with samples: with one system call if there are as many as expected. Without samples, that
    /// is on refusal, there is a definition only.
    pub(super) fn samples(
        &mut self,
        socket: &Socket,
        expected: usize,
        values: &mut Vec<u8>,
        limit: u32,
        deadline: Instant,
    ) -> Result<(Definition, Option<SamplesDefinition>), ClientError> {
        let mut front = [0; DEFINITION_BYTES + SAMPLES_BYTES];
        values.resize(expected, 0);
        let mut filled = 0;
        // A definition alone comes with a refusal; anything else has at least the definition of the samples.
        let definition = loop {
            if let Some(definition) = front.first_chunk().filter(|_| filled >= DEFINITION_BYTES) {
                let definition = Definition::parse(*definition).map_err(|_| ClientError::Confused)?;
                if filled >= front.len() || definition.code != Family::Get.ok() {
                    break definition;
                }
            }
            let rest = front.get_mut(filled..).unwrap_or_default();
            filled += read(socket, &mut [IoSliceMut::new(rest), IoSliceMut::new(values)], deadline)?;
        };
        if definition.code != Family::Get.ok() {
            return Ok((definition, None));
        }
        let block = definition_of_samples(definition, &front, limit)?;
        let length = usize::try_from(block.value_bytes).map_err(|_| ClientError::Confused)?;
        let arrived = filled - front.len();
        if arrived > length {
            return Err(ClientError::Confused);
        }
        values.truncate(length);
        self.read_rest(socket, values, arrived, length, deadline)?;
        Ok((definition, Some(block)))
    }

    /// Makes `bytes` as long as announced; the first `filled` of them are here. Memory grows with what arrives.
    fn read_rest(
        &mut self,
        socket: &Socket,
        bytes: &mut Vec<u8>,
        mut filled: usize,
        length: usize,
        deadline: Instant,
    ) -> Result<(), ClientError> {
        while filled < length {
            if filled == bytes.len() {
                bytes.resize(length.min(filled + filled.max(FIRST_STEP)), 0);
            }
            let room = bytes.get_mut(filled..).unwrap_or_default();
            filled += read(socket, &mut [IoSliceMut::new(room)], deadline)?;
        }
        Ok(())
    }

    fn available(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    fn fetch(&mut self, socket: &Socket, wanted: usize, deadline: Instant) -> Result<(), ClientError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        while self.end - self.start < wanted {
            if self.bytes.len() < self.start + wanted.max(ROOM) {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                self.bytes.resize(wanted.max(ROOM), 0);
            }
            let room = self.bytes.get_mut(self.end..).unwrap_or_default();
            self.end += read(socket, &mut [IoSliceMut::new(room)], deadline)?;
        }
        Ok(())
    }
}

/// The definition of samples in `front`, if it agrees with that of its message.
fn definition_of_samples(
    definition: Definition,
    front: &[u8],
    limit: u32,
) -> Result<SamplesDefinition, ClientError> {
    let payload = front.get(DEFINITION_BYTES..).unwrap_or_default();
    let block = SamplesDefinition::parse(definition.order, payload).map_err(|_| ClientError::Confused)?;
    let carried = definition.payload_bytes.checked_sub(SAMPLES_BYTES as u32);
    if carried != Some(block.value_bytes) || definition.payload_bytes > limit {
        return Err(ClientError::Confused);
    }
    Ok(block)
}

fn read(socket: &Socket, parts: &mut [IoSliceMut<'_>], deadline: Instant) -> Result<usize, ClientError> {
    let count = match parts {
        [one] => socket.read(one),
        parts => socket.read_parts(parts),
    };
    match count {
        Ok(0) => Err(ClientError::Disconnected(std::io::ErrorKind::UnexpectedEof)),
        // A server that sends byte by byte must not take for ever.
        Ok(_) if Instant::now() > deadline => Err(ClientError::TimedOut),
        Ok(count) => Ok(count),
        Err(error) => Err(broken(error)),
    }
}

/// Room for small replies.
const ROOM: usize = 4 << 10;

/// Memory taken at first for a reply of unexpected length.
const FIRST_STEP: usize = 1 << 20;
