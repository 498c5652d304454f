//! One cell of the tables: a path, a direction and a block shape, run for a while and checked.

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use schwann_fieldtrip::{Address, Style as OurStyle};

use super::client::{Client, exchange};
use super::original::Style;
use super::{client, original, ours, raw};

/// What a cell runs over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Path {
    /// A copy into, or out of, a ring that was touched before.
    RawMemory,
    /// One write, one small answer (or the reverse), over TCP on this machine.
    RawTcp,
    /// The same with a connection for each request.
    RawStateless,
    /// One write, one small answer (or the reverse), over a UNIX socket.
    RawUnix,
    /// Our client, our server, one connection.
    Tcp,
    /// Our client, our server, a connection for each request.
    TcpStateless,
    /// Our client, our server.
    Unix,
    /// Our buffer in this process.
    Memory,
    /// The original's client, our server, one connection.
    OldClientTcp,
    /// The original's client, our server, a connection for each request.
    OldClientStateless,
    /// The original's client, our server, over a UNIX socket.
    OldClientUnix,
    /// The original's client and server, one connection.
    OriginalTcp,
    /// The original's client and server, a connection for each request.
    OriginalStateless,
    /// The original's client and second server, which waits in accept.
    OriginalUnix,
    /// The original's calls within a program.
    OriginalMemory,
    /// The original's client, the server that the user named, one connection.
    OtherServer,
    /// The original's client, the server that the user named, a connection for each request.
    OtherServerStateless,
    /// Our client, the server that the user named, one connection.
    OtherServerOurClient,
}

impl Path {
    /// Whether it is that of the server that the user named.
    pub(crate) fn is_other(self) -> bool {
        matches!(self, Self::OtherServer | Self::OtherServerStateless | Self::OtherServerOurClient)
    }

    /// The path that does the least that this one has to do.
    pub(crate) fn bare(self) -> Option<Self> {
        Some(match self {
            Self::Tcp | Self::OldClientTcp => Self::RawTcp,
            Self::TcpStateless | Self::OldClientStateless => Self::RawStateless,
            Self::Unix | Self::OldClientUnix => Self::RawUnix,
            Self::Memory => Self::RawMemory,
            _ => return None,
        })
    }
}

pub(crate) const PATHS: [Path; 18] = [
    Path::RawMemory,
    Path::RawTcp,
    Path::RawStateless,
    Path::RawUnix,
    Path::Tcp,
    Path::TcpStateless,
    Path::Unix,
    Path::Memory,
    Path::OldClientTcp,
    Path::OldClientStateless,
    Path::OldClientUnix,
    Path::OriginalTcp,
    Path::OriginalStateless,
    Path::OriginalUnix,
    Path::OriginalMemory,
    Path::OtherServer,
    Path::OtherServerStateless,
    Path::OtherServerOurClient,
];

/// Which way the samples go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Direction {
    Put,
    Get,
}

pub(crate) const DIRECTIONS: [Direction; 2] = [Direction::Put, Direction::Get];

/// Channels × samples of a block of float32.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Shape {
    pub(crate) channels: u32,
    pub(crate) samples: u32,
}

impl Shape {
    pub(crate) fn values(self) -> usize {
        self.channels as usize * self.samples as usize
    }

    pub(crate) fn bytes(self) -> usize {
        self.values() * 4
    }

    /// Samples that the ring of the original holds.
    pub(crate) fn ring_samples(self) -> usize {
        if self.channels <= 256 { 600_000 } else { (512 << 20) / (self.channels as usize * 4) }
    }

    /// The cell, if a server that held `before` samples holds `total` after its blocks, and the newest came back right.
    pub(crate) fn judge(
        self,
        before: u32,
        total: u32,
        cell: &Cell,
        is_right: bool,
    ) -> Result<Cell, Box<dyn Error>> {
        let want = (cell.blocks + UNCOUNTED) * u64::from(self.samples);
        if u64::from(total.wrapping_sub(before)) != want & u64::from(u32::MAX) {
            return Err(format!("{total} samples after {before}, not {want} more").into());
        }
        if is_right { Ok(cell.clone()) } else { Err("the last block is not what was sent".into()) }
    }

    /// Values of a block that can be recognised.
    pub(crate) fn block(self, seed: u32) -> Vec<f32> {
        (0..self.values() as u32).map(|n| (n.wrapping_mul(31).wrapping_add(seed) % 65_521) as f32).collect()
    }
}

/// A cell to run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Plan {
    pub(crate) path: Path,
    pub(crate) direction: Direction,
    pub(crate) shape: Shape,
}

/// What a cell measured.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) blocks: u64,
    /// What a block takes: a busy machine disturbs the median less than the mean.
    pub(crate) median: Duration,
}

impl Plan {
    pub(crate) fn name(&self) -> String {
        format!("{:?}-{:?}-{}x{}", self.direction, self.path, self.shape.channels, self.shape.samples)
    }

    /// Measures; `other` is the server that the user named.
    pub(crate) fn run(&self, time: Duration, other: Option<&Address>) -> Result<Cell, Box<dyn Error>> {
        let (shape, direction) = (self.shape, self.direction);
        let tcp = &Address::Tcp { host: "127.0.0.1".into(), port: 0 };
        let unix = &Address::Unix(ours::socket_path());
        let ask_ours = |address: &Address, client: Client| {
            ours::served(address, shape, |address| exchange(address, client, shape, direction, time))
        };
        let ask_other = |client: Client| {
            let address = other.ok_or("no other server is named")?;
            client::fill(address, shape)?;
            exchange(address, client, shape, direction, time)
        };
        match self.path {
            Path::RawMemory => raw::memory(shape, direction, time),
            Path::RawTcp => raw::tcp(shape, direction, time),
            Path::RawStateless => raw::tcp_stateless(shape, direction, time),
            Path::RawUnix => raw::unix(shape, direction, time),
            Path::Tcp => ask_ours(tcp, Client::Ours(OurStyle::Stateful)),
            Path::TcpStateless => ask_ours(tcp, Client::Ours(OurStyle::Stateless)),
            Path::Unix => ask_ours(unix, Client::Ours(OurStyle::Stateful)),
            Path::Memory => ours::memory(shape, direction, time),
            Path::OldClientTcp => ask_ours(tcp, Client::Original(Style::Stateful)),
            Path::OldClientStateless => ask_ours(tcp, Client::Original(Style::Stateless)),
            Path::OldClientUnix => ask_ours(unix, Client::Original(Style::Stateful)),
            Path::OriginalTcp => original::tcp(shape, direction, Style::Stateful, time),
            Path::OriginalStateless => original::tcp(shape, direction, Style::Stateless, time),
            Path::OriginalUnix => original::unix(shape, direction, time),
            Path::OriginalMemory => original::memory(shape, direction, time),
            Path::OtherServer => ask_other(Client::Original(Style::Stateful)),
            Path::OtherServerStateless => ask_other(Client::Original(Style::Stateless)),
            Path::OtherServerOurClient => ask_other(Client::Ours(OurStyle::Stateful)),
        }
    }
}

/// Runs `block` for a while, after a few times that do not count, and keeps how long each took.
///
/// Blocks that take no longer than reading the clock does are timed several at a time.
pub(crate) fn repeat(
    time: Duration,
    mut block: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Cell, Box<dyn Error>> {
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

/// Blocks that come before those that are timed.
pub(crate) const UNCOUNTED: u64 = 3;

/// What takes this long is timed alone: reading the clock is a hundredth of it.
const WORTH_TIMING: Duration = Duration::from_micros(5);

const LARGEST_BATCH: u128 = 64;

const MOST_TIMES: usize = 20_000_000;
