//! Growing and shrinking blocks on one connection of the original's client: what the connection carried before must
//! not matter. The original stalls for up to 2 s here, which steady blocks do not show.

use core::time::Duration;
use std::net::TcpStream;
use std::time::Instant;

use schwann_fieldtrip::{Address, Policy, Server};

use super::cell::{Direction, Shape};
use super::{Figures, buffer, original, spread_us, tcp};
use crate::Reason;

/// The slowest write and the slowest read, over every size in both orders.
pub(super) fn run(_: Duration) -> Result<Figures, Reason> {
    let buffer = buffer(CHANNELS, 512.0)?;
    let server = Server::start(&tcp(), buffer.clone(), Policy::default())?;
    let Address::Tcp { port, .. } = *server.address() else { return Err("not TCP".into()) };
    let sizes: Vec<u32> = (0..12).map(|power| 1 << power).collect();
    let orders = [sizes.clone(), sizes.iter().rev().copied().collect(), vec![8, 2048, 1, 1024, 8, 512, 8]];
    let (mut writes, mut reads, mut total) = (Vec::new(), Vec::new(), 0);
    for order in orders {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        for samples in order {
            let shape = Shape { channels: CHANNELS, samples };
            let block = shape.block(3);
            for _ in 0..12 {
                let put = original::request(shape, Direction::Put, total, &block)?;
                let (took, reply) = timed(&mut stream, &put)?;
                if reply != [1, 0, 4, 1, 0, 0, 0, 0] {
                    return Err("refused".into());
                }
                writes.push(took);
                total += samples;
                let (took, reply) =
                    timed(&mut stream, &original::request(shape, Direction::Get, total, &[])?)?;
                if reply.get(24..) != Some(bytemuck::cast_slice(&block)) {
                    return Err("read something else".into());
                }
                reads.push(took);
            }
        }
    }
    if buffer.totals()?.samples != total {
        return Err("samples were lost".into());
    }
    let figures = [("write", writes), ("read", reads)].into_iter().flat_map(|(name, times)| {
        let names = ["p50", "p99", "max"].map(|part| format!("history old client {name} {part} us"));
        names.into_iter().zip(spread_us(&times))
    });
    Ok(figures.collect())
}

/// How long a request takes, and its reply.
fn timed(stream: &mut TcpStream, request: &[u8]) -> Result<(Duration, Vec<u8>), Reason> {
    let started = Instant::now();
    let reply = original::ask(stream, request)?;
    Ok((started.elapsed(), reply))
}

const CHANNELS: u32 = 64;
