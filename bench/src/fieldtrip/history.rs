//! Growing and shrinking blocks on one connection of the original's client: what the connection carried before must
//! not matter. The original stalls for up to 2 s here, which steady blocks do not show.

use core::error::Error;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Header};
use schwann_fieldtrip::{Address, Buffer, Policy, Server};

use super::cell::Shape;
use super::ours::definition;

/// The slowest write and the slowest read, over every size in both orders.
pub(crate) fn run(_: Duration) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(64, 512.0, DataType::Float32))?;
    let address = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let server = Server::start(&address, buffer.clone(), Policy::default())?;
    let Address::Tcp { port, .. } = *server.address() else { return Err("not TCP".into()) };
    let sizes: Vec<u32> = (0..12).map(|power| 1 << power).collect();
    let orders = [sizes.clone(), sizes.iter().rev().copied().collect(), vec![8, 2048, 1, 1024, 8, 512, 8]];
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    let mut total = 0;
    for order in orders {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        for samples in order {
            let shape = Shape { channels: 64, samples };
            for _ in 0..12 {
                writes.push(write(&mut stream, shape)?);
                total += samples;
                reads.push(read(&mut stream, shape, total)?);
            }
        }
    }
    if buffer.totals()?.samples != total {
        return Err("samples were lost".into());
    }
    Ok([("write", writes), ("read", reads)]
        .into_iter()
        .flat_map(|(name, times)| lines(name, times))
        .collect())
}

fn lines(name: &str, mut times: Vec<Duration>) -> [(String, f64); 3] {
    times.sort_unstable();
    let at = |part: usize| times.get((times.len() - 1) * part / 100).map_or(0.0, Duration::as_secs_f64) * 1e6;
    [
        (format!("history old client {name} p50 us"), at(50)),
        (format!("history old client {name} p99 us"), at(99)),
        (format!("history old client {name} max us"), at(100)),
    ]
}

fn write(stream: &mut TcpStream, shape: Shape) -> Result<Duration, Box<dyn Error>> {
    let block = shape.block(3);
    let values: &[u8] = bytemuck::cast_slice(&block);
    let mut rest = definition(shape)?.encode(schwann_fieldtrip::wire::ByteOrder::Little).to_vec();
    rest.extend_from_slice(values);
    let mut message = vec![1, 0, 2, 1];
    message.extend_from_slice(&u32::try_from(rest.len())?.to_le_bytes());
    let started = Instant::now();
    if message.len() + rest.len() <= 1460 {
        stream.write_all(&[message, rest].concat())?;
    } else {
        stream.write_all(&message)?;
        stream.write_all(&rest)?;
    }
    let mut reply = [0; 8];
    stream.read_exact(&mut reply)?;
    if reply == [1, 0, 4, 1, 0, 0, 0, 0] { Ok(started.elapsed()) } else { Err("refused".into()) }
}

fn read(stream: &mut TcpStream, shape: Shape, total: u32) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    let mut message = vec![1, 0, 2, 2, 8, 0, 0, 0];
    message.extend_from_slice(&(total - shape.samples).to_le_bytes());
    message.extend_from_slice(&(total - 1).to_le_bytes());
    stream.write_all(&message)?;
    let mut reply = vec![0; 24 + shape.bytes()];
    stream.read_exact(&mut reply)?;
    if reply.get(24..) == Some(bytemuck::cast_slice(&shape.block(3))) {
        Ok(started.elapsed())
    } else {
        Err("read something else".into())
    }
}
