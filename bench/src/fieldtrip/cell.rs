//! One cell of the tables: a path, a direction and a block shape, run for a while and checked.

pub(super) mod socket;

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Header};
use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server, Style};

use self::socket::{Listener, Stream, connect, socket_path};
use super::original::{self, Store};
use super::{buffer, tcp};
use crate::Reason;

/// The peer whose client asks, or whose server answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Peer {
    /// As many bytes and nothing more: what the machine permits.
    Bare,
    /// The server that the user named.
    Named,
    /// As [`original`] reproduces it.
    Original,
    Ours,
}

/// What is between the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Link {
    /// Calls within this process.
    Memory,
    /// A TCP connection for each request.
    Stateless,
    /// One TCP connection.
    Tcp,
    /// One connection of a UNIX socket.
    Unix,
}

/// What a cell runs over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Path {
    pub(super) name: &'static str,
    client: Peer,
    pub(super) server: Peer,
    link: Link,
}

impl Path {
    const fn of(name: &'static str, client: Peer, server: Peer, link: Link) -> Self {
        Self { name, client, server, link }
    }

    /// The path that does the least that one to our server has to do.
    pub(super) fn bare(&self) -> Option<&'static Self> {
        let is_bare = |other: &&Self| (other.server, other.link) == (Bare, self.link);
        PATHS.iter().filter(|_| self.server == Ours).find(is_bare)
    }
}

use Link::{Memory, Stateless, Tcp, Unix};
use Peer::{Bare, Named, Original, Ours};

/// Which way the samples go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Direction {
    Get,
    Put,
}

/// Channels × samples of a block of float32.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Shape {
    pub(super) channels: u32,
    pub(super) samples: u32,
}

impl Shape {
    pub(super) fn values(self) -> usize {
        self.channels as usize * self.samples as usize
    }

    /// Samples that the ring of the original holds.
    pub(super) fn ring_samples(self) -> usize {
        if self.channels <= 256 { 600_000 } else { (512 << 20) / (self.channels as usize * 4) }
    }

    /// Values of a block that can be recognised.
    pub(super) fn block(self, seed: u32) -> Vec<f32> {
        (0..self.values() as u32).map(|n| (n.wrapping_mul(31).wrapping_add(seed) % 65_521) as f32).collect()
    }

    /// The first and the last sample of the newest block, where there are `total` samples.
    pub(super) fn newest(self, total: u32) -> (u32, u32) {
        (total.wrapping_sub(self.samples), total.wrapping_sub(1))
    }

    /// A buffer with a full ring and a known newest block. No page is taken while the clock runs.
    fn full_buffer(self) -> Result<Buffer, Reason> {
        let buffer = buffer(self.channels, RATE)?;
        let block = self.block(OLD);
        for _ in 0..self.ring_samples() / self.samples as usize + 2 {
            buffer.put_samples(self.channels, &block)?;
        }
        Ok(buffer)
    }
}

/// A cell to run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Plan {
    pub(super) path: Path,
    pub(super) direction: Direction,
    pub(super) shape: Shape,
}

/// What a cell measured.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    blocks: u64,
    /// What a block takes: a busy machine disturbs the median less than the mean.
    pub(super) median: Duration,
}

impl Plan {
    /// Whether the promise of the page is about it.
    pub(super) fn is_headline(&self) -> bool {
        (self.direction, self.shape) == (Direction::Put, Shape { channels: 32, samples: 16 })
    }

    /// Measures; `named` is the server that the user named.
    pub(super) fn run(&self, time: Duration, named: Option<&Address>) -> Result<Cell, Reason> {
        let shape = self.shape;
        match (self.path.server, self.path.link) {
            (Bare, Memory) => self.copy(time),
            (Ours, Memory) => self.call_ours(time),
            (Original, Memory) => {
                let (store, block) = (Store::full(shape), shape.block(NEW));
                let ask = || original::request(shape, self.direction, shape.ring_samples() as u32, &block);
                repeat(time, || is_answered(black_box(&store.answer(black_box(&ask()?)))))
            }
            (Bare, _) => {
                let (request, reply) = self.lengths();
                // A client that keeps no connection has one request for each.
                let requests = if self.path.link == Stateless { 1 } else { usize::MAX };
                let serve = move |mut stream: Box<dyn Stream>| {
                    let (mut input, mut output) = (vec![0; request], vec![0; reply]);
                    output[2] = OK;
                    // The client notices if this fails, and ends it.
                    (0..requests)
                        .all(|_| stream.read_exact(&mut input).is_ok() && stream.write_all(&output).is_ok());
                };
                self.served(serve, time)
            }
            (Original, _) => {
                let store = Store::full(shape);
                self.served(|stream| store.serve(stream), time)
            }
            (Ours, _) => {
                let server = Server::start(&self.address(), shape.full_buffer()?, Policy::default())?;
                self.ask_and_check(server.address(), time)
            }
            (Named, _) => {
                let address = named.ok_or("no other server is named")?;
                let mut client = Client::connect(address.clone(), Options::default())?;
                client.put_header(&Header::new(shape.channels, RATE, DataType::Float32))?;
                client.put_samples(shape.channels, &shape.block(OLD))?;
                drop(client);
                self.ask_and_check(address, time)
            }
        }
    }

    /// An address of this computer where a server can listen.
    fn address(&self) -> Address {
        match self.path.link {
            Unix => Address::Unix(socket_path()),
            Memory | Stateless | Tcp => tcp(),
        }
    }

    /// Bytes of a request and of its reply.
    fn lengths(&self) -> (usize, usize) {
        let block = self.shape.values() * 4 + 24;
        match self.direction {
            Direction::Put => (block, 8),
            Direction::Get => (16, block),
        }
    }

    /// Copies blocks into a ring of the original's size, or out of it, the newest block each time.
    fn copy(&self, time: Duration) -> Result<Cell, Reason> {
        let shape = self.shape;
        // Touched, so that no page is taken while the clock runs.
        let mut ring = vec![1.0_f32; shape.ring_samples() / shape.samples as usize * shape.values()];
        let (mut block, mut place) = (shape.block(NEW), 0);
        repeat(time, || {
            let there = ring.get_mut(place..place + block.len()).ok_or("outside the ring")?;
            match self.direction {
                Direction::Put => {
                    there.copy_from_slice(&block);
                    place += block.len();
                    place = if place + block.len() > ring.len() { 0 } else { place };
                }
                Direction::Get => block.copy_from_slice(there),
            }
            black_box(&mut block);
            Ok(())
        })
    }

    /// Calls our buffer in this process.
    fn call_ours(&self, time: Duration) -> Result<Cell, Reason> {
        let (shape, buffer) = (self.shape, self.shape.full_buffer()?);
        let before = buffer.totals()?.samples;
        let mut back = vec![0.0_f32; shape.values()];
        if self.direction == Direction::Get {
            let cell = repeat(time, || {
                buffer.read_samples(shape.newest(before).0, &mut back)?;
                black_box(&mut back);
                Ok(())
            })?;
            return same(&back, &shape.block(OLD)).map(|()| cell);
        }
        let block = shape.block(NEW);
        let cell = repeat(time, || Ok(buffer.put_samples(shape.channels, &block)?))?;
        let total = buffer.totals()?.samples;
        buffer.read_samples(shape.newest(total).0, &mut back)?;
        self.judge(cell, (before, total), &back)
    }

    /// Asks a server of a few lines, which calls `serve` with each connection.
    fn served(&self, serve: impl Fn(Box<dyn Stream>) + Sync, time: Duration) -> Result<Cell, Reason> {
        let (listener, address) = Listener::bind(&self.address(), self.path.server)?;
        let (is_over, serve) = (AtomicBool::new(false), &serve);
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    let connection = listener.accept();
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    match connection {
                        Ok(stream) if self.path.server == Bare => serve(stream),
                        Ok(stream) => drop(scope.spawn(move || serve(stream))),
                        Err(_) => thread::sleep(Duration::from_millis(1)),
                    }
                }
            });
            let cell = self.ask(&address, self.shape.ring_samples() as u32, time);
            is_over.store(true, Ordering::Relaxed);
            let _ends_the_thread = connect(&address, Bare);
            cell
        })
    }

    /// Asks a server that knows the whole protocol; then checks what it holds.
    fn ask_and_check(&self, address: &Address, time: Duration) -> Result<Cell, Reason> {
        // Not connected meanwhile: the server has one client.
        let before = Client::connect(address.clone(), Options::default())?.header()?.1.samples;
        let cell = self.ask(address, before, time)?;
        if self.direction == Direction::Get {
            return Ok(cell);
        }
        let mut client = Client::connect(address.clone(), Options::default())?;
        let total = client.header()?.1.samples;
        let (first, last) = self.shape.newest(total);
        let newest = client.samples(first, last)?;
        self.judge(cell, (before, total), &newest.numbers::<f32>().unwrap_or_default())
    }

    /// Puts blocks to the server at `address`, or gets its newest one, for `time`. It held `before` samples.
    fn ask(&self, address: &Address, before: u32, time: Duration) -> Result<Cell, Reason> {
        let Self { path, direction, shape } = *self;
        if path.client == Ours {
            return self.ask_by_ours(address, before, time);
        }
        let request = original::request(shape, direction, before, &shape.block(NEW))?;
        let mut reply = vec![0; self.lengths().1];
        let mut kept = None;
        repeat(time, || {
            let mut stream = match kept.take() {
                Some(stream) => stream,
                None => connect(address, path.client)?,
            };
            if path.client == Bare {
                stream.write_all(&request)?;
                stream.read_exact(&mut reply)?;
            } else {
                reply = original::ask(&mut stream, &request)?;
            }
            kept = (path.link != Stateless).then_some(stream);
            is_answered(&reply)
        })
    }

    fn ask_by_ours(&self, address: &Address, before: u32, time: Duration) -> Result<Cell, Reason> {
        let shape = self.shape;
        let style = if self.path.link == Stateless { Style::Stateless } else { Style::Stateful };
        let mut client = Client::new(address.clone(), Options { style, ..Options::default() });
        if self.direction == Direction::Put {
            let block = shape.block(NEW);
            return repeat(time, || Ok(client.put_samples(shape.channels, &block)?));
        }
        let (first, last) = shape.newest(before);
        let mut back = Vec::new();
        let cell = repeat(time, || Ok(client.samples_into(first, last, &mut back).map(drop)?))?;
        same(&back, bytemuck::cast_slice(&shape.block(OLD))).map(|()| cell)
    }

    /// The cell, if a server that held `before` samples holds `total` after its blocks, and the newest came back right.
    fn judge(&self, cell: Cell, (before, total): (u32, u32), newest: &[f32]) -> Result<Cell, Reason> {
        let want = (cell.blocks + UNCOUNTED) * u64::from(self.shape.samples);
        if u64::from(total.wrapping_sub(before)) != want & u64::from(u32::MAX) {
            return Err(format!("{total} samples after {before}, not {want} more").into());
        }
        same(newest, &self.shape.block(NEW)).map(|()| cell)
    }
}

fn same<T: PartialEq>(came: &[T], sent: &[T]) -> Result<(), Reason> {
    if came == sent { Ok(()) } else { Err("the newest block is not what was sent".into()) }
}

fn is_answered(reply: &[u8]) -> Result<(), Reason> {
    if reply.get(2) == Some(&OK) { Ok(()) } else { Err("the server refused".into()) }
}

/// Runs `block` for a while, after a few times that do not count, and keeps how long each took.
///
/// Blocks that take no longer than reading the clock does are timed several at a time.
fn repeat(time: Duration, mut block: impl FnMut() -> Result<(), Reason>) -> Result<Cell, Reason> {
    let mut quickest = Duration::MAX;
    for _ in 0..UNCOUNTED {
        let begun = Instant::now();
        block()?;
        quickest = quickest.min(begun.elapsed());
    }
    let batch = (WORTH_TIMING.as_nanos() / quickest.as_nanos().max(1)).clamp(1, LARGEST_BATCH) as u32;
    let mut each = Vec::with_capacity(1 << 20);
    let started = Instant::now();
    let mut last = started;
    while last - started < time && each.len() < MOST_TIMES {
        for _ in 0..batch {
            block()?;
        }
        let now = Instant::now();
        each.push((now - last) / batch);
        last = now;
    }
    let blocks = each.len() as u64 * u64::from(batch);
    each.sort_unstable();
    let median = each.get(each.len() / 2).copied().ok_or("no block in time")?;
    Ok(Cell { blocks, median })
}

/// The rate of a header, Hz.
const RATE: f32 = 512.0;
/// What is in a buffer first, and what is put into it: seeds of blocks.
const OLD: u32 = 7;
const NEW: u32 = 1;
/// The low byte of a reply's code where the request is granted.
const OK: u8 = 4;
/// Blocks that come before the timed ones.
const UNCOUNTED: u64 = 3;
/// What takes this long is timed alone: reading the clock is a hundredth of it.
const WORTH_TIMING: Duration = Duration::from_micros(5);
const LARGEST_BATCH: u128 = 64;
const MOST_TIMES: usize = 20_000_000;

pub(super) const PATHS: [Path; 18] = [
    Path::of("RawMemory", Bare, Bare, Memory),
    Path::of("RawTcp", Bare, Bare, Tcp),
    Path::of("RawStateless", Bare, Bare, Stateless),
    Path::of("RawUnix", Bare, Bare, Unix),
    Path::of("Tcp", Ours, Ours, Tcp),
    Path::of("TcpStateless", Ours, Ours, Stateless),
    Path::of("Unix", Ours, Ours, Unix),
    Path::of("Memory", Ours, Ours, Memory),
    Path::of("OldClientTcp", Original, Ours, Tcp),
    Path::of("OldClientStateless", Original, Ours, Stateless),
    Path::of("OldClientUnix", Original, Ours, Unix),
    Path::of("OriginalTcp", Original, Original, Tcp),
    Path::of("OriginalStateless", Original, Original, Stateless),
    Path::of("OriginalUnix", Original, Original, Unix),
    Path::of("OriginalMemory", Original, Original, Memory),
    Path::of("OtherServer", Original, Named, Tcp),
    Path::of("OtherServerStateless", Original, Named, Stateless),
    Path::of("OtherServerOurClient", Ours, Named, Tcp),
];
