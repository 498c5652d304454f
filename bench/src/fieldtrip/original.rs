//! The original's client and server, as the reference describes them (fieldtrip §16).
//!
//! The programs themselves are in no package, so they cannot be part of a measurement that everybody can repeat.
//! This reproduces what makes them slow, and nothing else of them: two writes with Nagle's algorithm on for requests
//! of more than 1460 bytes and replies of more than 4096; a server that looks for connections once a
//! millisecond and forces socket buffers to 16 KiB; a copy sample by sample under a global lock, behind requests
//! and replies built by allocation and copy.

use core::error::Error;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use rustix::net::sockopt;
use schwann_fieldtrip::wire::{ByteOrder, Command, Definition, SAMPLES_BYTES, Selection};

use super::cell::{Cell, Direction, Shape, repeat};
use super::ours::{definition, socket_path};

/// Whether the client keeps its connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Style {
    Stateful,
    Stateless,
}

/// The original's client and server over TCP.
pub(crate) fn tcp(
    shape: Shape,
    direction: Direction,
    style: Style,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    listener.set_nonblocking(true)?;
    let store = Arc::new(Mutex::new(OldStore::full(shape)));
    let before = OldStore::samples(&store);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| poll_for_connections(&listener, &store, &is_over));
        let connect = || TcpStream::connect(("localhost", port));
        let outcome = drive(connect, style, shape, direction, before, time);
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// The original's client and its second server, over a UNIX socket.
pub(crate) fn unix(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    let path = socket_path();
    let _left_over = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let store = Arc::new(Mutex::new(OldStore::full(shape)));
    let before = OldStore::samples(&store);
    thread::scope(|scope| {
        scope.spawn(|| {
            if let Ok((stream, _)) = listener.accept() {
                serve(stream, &store);
            }
        });
        let connect = || UnixStream::connect(&path);
        let outcome = drive(connect, Style::Stateful, shape, direction, before, time);
        let _gone = std::fs::remove_file(&path);
        outcome
    })
}

/// The original's calls within a program: a request and its reply, built and taken apart, without a socket.
pub(crate) fn memory(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    let store = Mutex::new(OldStore::full(shape));
    let before = OldStore::samples(&store);
    let block = shape.block(1);
    repeat(time, || {
        let request = request(shape, direction, before, bytemuck::cast_slice(&block))?;
        let reply = answer(core::hint::black_box(&request), &store);
        if matches!(core::hint::black_box(reply).get(2), Some(4)) { Ok(()) } else { Err("refused".into()) }
    })
}

type Connected<S> = std::io::Result<S>;

/// Sends requests as the C client does, block after block.
pub(crate) fn drive<S: Read + Write>(
    connect: impl Fn() -> Connected<S>,
    style: Style,
    shape: Shape,
    direction: Direction,
    before: u32,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let block = shape.block(1);
    let bytes: &[u8] = bytemuck::cast_slice(&block);
    let request = request(shape, direction, before, bytes)?;
    let mut kept = None;
    repeat(time, || {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => connect()?,
        };
        let message = request.clone();
        write_as_original(&mut stream, &message, CLIENT_JOINS)?;
        let reply = read_message(&mut stream)?.ok_or("the server closed")?;
        if !matches!(reply.get(2), Some(4)) {
            return Err("the server refused".into());
        }
        if style == Style::Stateful {
            kept = Some(stream);
        }
        Ok(())
    })
}

fn request(
    shape: Shape,
    direction: Direction,
    before: u32,
    values: &[u8],
) -> Result<Vec<u8>, Box<dyn Error>> {
    let order = ByteOrder::Little;
    let (command, payload) = match direction {
        Direction::Put => (Command::PutSamples, [&definition(shape)?.encode(order)[..], values].concat()),
        Direction::Get => {
            let selection =
                Selection { begin: before.wrapping_sub(shape.samples), end: before.wrapping_sub(1) };
            (Command::GetSamples, selection.encode(order).to_vec())
        }
    };
    let payload_bytes = u32::try_from(payload.len())?;
    let definition = Definition { code: command.code(), order, payload_bytes };
    Ok([&definition.encode()[..], &payload].concat())
}

fn write_as_original<S: Write>(stream: &mut S, message: &[u8], joined: usize) -> std::io::Result<()> {
    if message.len() <= joined {
        return stream.write_all(message);
    }
    let (definition, payload) = message.split_at(8);
    stream.write_all(definition)?;
    stream.write_all(payload)
}

fn read_message<S: Read>(stream: &mut S) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    let mut definition = [0; 8];
    if stream.read_exact(&mut definition).is_err() {
        return Ok(None);
    }
    let Definition { payload_bytes, .. } = Definition::parse(definition).map_err(|_| "bad version")?;
    let mut message = definition.to_vec();
    let mut payload = vec![0; payload_bytes as usize];
    stream.read_exact(&mut payload)?;
    message.extend_from_slice(&payload);
    Ok(Some(message))
}

fn poll_for_connections(listener: &TcpListener, store: &Arc<Mutex<OldStore>>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let forced = stream
            .set_nonblocking(false)
            .and_then(|()| Ok(sockopt::set_socket_recv_buffer_size(&stream, FORCED_BUFFER)?))
            .and_then(|()| Ok(sockopt::set_socket_send_buffer_size(&stream, FORCED_BUFFER)?));
        if forced.is_ok() {
            let store = Arc::clone(store);
            thread::spawn(move || serve(stream, &store));
        }
    }
}

fn serve<S: Read + Write>(mut stream: S, store: &Mutex<OldStore>) {
    while let Ok(Some(message)) = read_message(&mut stream) {
        if write_as_original(&mut stream, &answer(&message, store), SERVER_JOINS).is_err() {
            return;
        }
    }
}

/// Answers well-formed puts and gets of samples; nothing else is sent here.
fn answer(message: &[u8], store: &Mutex<OldStore>) -> Vec<u8> {
    let order = ByteOrder::Little;
    let mut store = store.lock().expect("no thread panics with the lock");
    let payload = message[8..].to_vec();
    if message[2..4] == Command::PutSamples.code().to_le_bytes() {
        store.append(&payload[SAMPLES_BYTES..]);
        store.last_block = Instant::now();
        return Definition { code: 0x0104, order, payload_bytes: 0 }.encode().to_vec();
    }
    let selection =
        Selection::parse(order, &payload).ok().flatten().unwrap_or(Selection { begin: 0, end: 0 });
    let values = store.copy(selection);
    let payload_bytes = (SAMPLES_BYTES + values.len()) as u32;
    let mut reply = Definition { code: 0x0204, order, payload_bytes }.encode().to_vec();
    for field in [store.stride as u32 / 4, selection.end - selection.begin + 1, 9, values.len() as u32] {
        reply.extend_from_slice(&field.to_le_bytes());
    }
    reply.extend_from_slice(&values);
    reply
}

struct OldStore {
    ring: Vec<u8>,
    stride: usize,
    total: u32,
    /// For the sample numbers of events that leave them open (fieldtrip §8).
    last_block: Instant,
}

impl OldStore {
    fn full(shape: Shape) -> Self {
        let stride = shape.channels as usize * 4;
        let capacity = shape.ring_samples();
        Self { ring: vec![1; capacity * stride], stride, total: capacity as u32, last_block: Instant::now() }
    }

    fn samples(store: &Mutex<Self>) -> u32 {
        store.lock().expect("no thread panics with the lock").total
    }

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

/// Requests up to this size leave in one write.
const CLIENT_JOINS: usize = 1460;

/// Replies up to this size leave in one write.
const SERVER_JOINS: usize = 4096;

const FORCED_BUFFER: usize = 16 << 10;
