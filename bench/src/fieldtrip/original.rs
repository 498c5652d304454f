//! The original's client and server, as the reference describes them (fieldtrip §16).
//!
//! The programs themselves are in no package, so a measurement with them could not be repeated everywhere. This
//! reproduces what makes them slow, and nothing else of them. They send requests of more than 1460 bytes and
//! replies of more than 4096 in two writes, with Nagle's algorithm on. Their server looks for connections once a
//! millisecond and forces socket buffers to 16 KiB. It copies sample by sample under a global lock, and allocation
//! and copy build its requests and replies.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Instant;

use rustix::net::sockopt;
use schwann_fieldtrip::wire::{
    ByteOrder, Command, DataType, Definition, SAMPLES_BYTES, SamplesDefinition, Selection,
};

use super::cell::{Direction, Shape};
use crate::Reason;

/// A request to put `values`, or to get the block that ends before sample `before`.
pub(super) fn request(
    shape: Shape,
    direction: Direction,
    before: u32,
    values: &[f32],
) -> Result<Vec<u8>, Reason> {
    let (command, payload) = match direction {
        Direction::Put => {
            let block = SamplesDefinition::new(shape.channels, shape.samples, DataType::Float32);
            let block = block.ok_or("too large")?.encode(ORDER);
            (Command::PutSamples, [&block[..], bytemuck::cast_slice(values)].concat())
        }
        Direction::Get => {
            let (begin, end) = shape.newest(before);
            (Command::GetSamples, Selection { begin, end }.encode(ORDER).to_vec())
        }
    };
    Ok(message(command.code(), &payload))
}

fn message(code: u16, payload: &[u8]) -> Vec<u8> {
    let definition = Definition { code, order: ORDER, payload_bytes: payload.len() as u32 };
    [&definition.encode()[..], payload].concat()
}

/// Sends a request, as the client does, and takes the reply.
pub(super) fn ask(stream: &mut (impl Read + Write), request: &[u8]) -> Result<Vec<u8>, Reason> {
    let request = request.to_vec();
    write(stream, &request, CLIENT_JOINS)?;
    read(stream)?.ok_or_else(|| "the server closed".into())
}

fn write(stream: &mut impl Write, message: &[u8], joined: usize) -> io::Result<()> {
    if message.len() <= joined {
        return stream.write_all(message);
    }
    let (definition, payload) = message.split_at(8);
    stream.write_all(definition)?;
    stream.write_all(payload)
}

fn read(stream: &mut impl Read) -> Result<Option<Vec<u8>>, Reason> {
    let mut definition = [0; 8];
    if stream.read_exact(&mut definition).is_err() {
        return Ok(None);
    }
    let Definition { payload_bytes, .. } = Definition::parse(definition).map_err(|_| "bad version")?;
    let mut payload = vec![0; payload_bytes as usize];
    stream.read_exact(&mut payload)?;
    Ok(Some([&definition[..], &payload].concat()))
}

/// Forces the buffers of a connection that was looked for.
pub(super) fn take_in(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    sockopt::set_socket_recv_buffer_size(stream, FORCED_BUFFER)?;
    Ok(sockopt::set_socket_send_buffer_size(stream, FORCED_BUFFER)?)
}

/// What the server holds: a ring that is full, under one lock.
pub(super) struct Store(Mutex<Held>);

struct Held {
    ring: Vec<u8>,
    stride: usize,
    total: u32,
    /// For the sample numbers of events that leave them open (fieldtrip §8).
    last_block: Instant,
}

impl Store {
    pub(super) fn full(shape: Shape) -> Self {
        let (stride, capacity) = (shape.channels as usize * 4, shape.ring_samples());
        let ring = vec![1; capacity * stride];
        Self(Mutex::new(Held { ring, stride, total: capacity as u32, last_block: Instant::now() }))
    }

    /// Answers a connection until it ends.
    pub(super) fn serve(&self, mut stream: impl Read + Write) {
        while let Ok(Some(message)) = read(&mut stream) {
            if write(&mut stream, &self.answer(&message), SERVER_JOINS).is_err() {
                return;
            }
        }
    }

    /// Answers well-formed puts and gets of samples; nothing else is sent here.
    pub(super) fn answer(&self, request: &[u8]) -> Vec<u8> {
        let mut held = self.0.lock().expect("no thread panics with the lock");
        let payload = request[8..].to_vec();
        if request[2..4] == Command::PutSamples.code().to_le_bytes() {
            held.append(&payload[SAMPLES_BYTES..]);
            held.last_block = Instant::now();
            return message(PUT_OK, &[]);
        }
        let selection = Selection::parse(ORDER, &payload).ok().flatten();
        let values = held.copy(selection.unwrap_or(Selection { begin: 0, end: 0 }));
        let samples = values.len() / held.stride;
        let fields = [held.stride / 4, samples, 9, values.len()].map(|field| (field as u32).to_le_bytes());
        message(GOT, &[fields.as_flattened(), &values].concat())
    }
}

impl Held {
    fn append(&mut self, values: &[u8]) {
        let capacity = self.ring.len() / self.stride;
        for sample in values.chunks(self.stride) {
            let place = self.total as usize % capacity * self.stride;
            self.ring[place..place + self.stride].copy_from_slice(sample);
            self.total = self.total.wrapping_add(1);
        }
    }

    fn copy(&self, selection: Selection) -> Vec<u8> {
        let capacity = self.ring.len() / self.stride;
        let first = selection.begin as usize % capacity * self.stride;
        let length = (selection.end - selection.begin + 1) as usize * self.stride;
        let mut values = vec![0; length];
        let until_wrap = length.min(self.ring.len() - first);
        values[..until_wrap].copy_from_slice(&self.ring[first..first + until_wrap]);
        values[until_wrap..].copy_from_slice(&self.ring[..length - until_wrap]);
        values
    }
}

const ORDER: ByteOrder = ByteOrder::Little;
/// Codes of replies (fieldtrip §4).
const PUT_OK: u16 = 0x0104;
const GOT: u16 = 0x0204;
/// Requests up to this size leave in one write.
const CLIENT_JOINS: usize = 1460;
/// Replies up to this size leave in one write.
const SERVER_JOINS: usize = 4096;
const FORCED_BUFFER: usize = 16 << 10;
