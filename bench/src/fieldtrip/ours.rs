//! Our client and server.

use core::error::Error;
use core::time::Duration;
use std::path::PathBuf;

use schwann_fieldtrip::wire::{DataType, Header, SamplesDefinition};
use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server, Style};

use super::cell::{Cell, Direction, Shape, UNCOUNTED, repeat};

/// A buffer whose ring is full, so that no page is taken while the clock runs, with a known newest block.
pub(crate) fn full_buffer(shape: Shape) -> Result<Buffer, Box<dyn Error>> {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(shape.channels, 512.0, DataType::Float32))?;
    let block = shape.block(7);
    for _ in 0..shape.ring_samples() / shape.samples as usize + 2 {
        buffer.put_samples(shape.channels, &block)?;
    }
    Ok(buffer)
}

/// Checks that the buffer counted every block and holds the last one.
pub(crate) fn check(
    buffer: &Buffer,
    shape: Shape,
    before: u32,
    blocks: u64,
    block: &[f32],
) -> Result<(), Box<dyn Error>> {
    let total = buffer.totals()?.samples;
    let want = (blocks + UNCOUNTED) * u64::from(shape.samples);
    if u64::from(total.wrapping_sub(before)) != want & u64::from(u32::MAX) {
        return Err(format!("{total} samples after {before}, not {want} more").into());
    }
    let mut back = vec![0.0; block.len()];
    buffer.read_samples(total.wrapping_sub(shape.samples), &mut back)?;
    if back == block { Ok(()) } else { Err("the last block is not what was sent".into()) }
}

pub(crate) fn definition(shape: Shape) -> Result<SamplesDefinition, Box<dyn Error>> {
    SamplesDefinition::new(shape.channels, shape.samples, DataType::Float32).ok_or_else(|| "too large".into())
}

pub(crate) fn memory(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    let buffer = full_buffer(shape)?;
    let block = shape.block(1);
    let before = buffer.totals()?.samples;
    match direction {
        Direction::Put => {
            let cell = repeat(time, || Ok(buffer.put_samples(shape.channels, &block)?))?;
            check(&buffer, shape, before, cell.blocks, &block)?;
            Ok(cell)
        }
        Direction::Get => {
            let mut back = vec![0.0_f32; shape.values()];
            let first = before.wrapping_sub(shape.samples);
            let cell = repeat(time, || {
                buffer.read_samples(first, &mut back)?;
                core::hint::black_box(&mut back);
                Ok(())
            })?;
            if back == shape.block(7) { Ok(cell) } else { Err("read something else".into()) }
        }
    }
}

pub(crate) fn tcp(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    over(&Address::Tcp { host: "127.0.0.1".into(), port: 0 }, Style::Stateful, shape, direction, time)
}

pub(crate) fn tcp_stateless(
    shape: Shape,
    direction: Direction,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    over(&Address::Tcp { host: "127.0.0.1".into(), port: 0 }, Style::Stateless, shape, direction, time)
}

pub(crate) fn unix(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    over(&Address::Unix(socket_path()), Style::Stateful, shape, direction, time)
}

pub(crate) fn socket_path() -> PathBuf {
    std::env::temp_dir().join(format!("schwann-ft-bench-{}", std::process::id()))
}

fn over(
    address: &Address,
    style: Style,
    shape: Shape,
    direction: Direction,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let buffer = full_buffer(shape)?;
    let before = buffer.totals()?.samples;
    let server = Server::start(address, buffer.clone(), Policy::default())?;
    let mut client = Client::new(server.address().clone(), Options { style, ..Options::default() });
    let block = shape.block(1);
    match direction {
        Direction::Put => {
            let cell = repeat(time, || Ok(client.put_samples(shape.channels, &block)?))?;
            check(&buffer, shape, before, cell.blocks, &block)?;
            Ok(cell)
        }
        Direction::Get => {
            let mut back = Vec::new();
            let first = before.wrapping_sub(shape.samples);
            let cell = repeat(time, || {
                client.samples_into(first, before.wrapping_sub(1), &mut back)?;
                Ok(())
            })?;
            let want = shape.block(7);
            if back == bytemuck::cast_slice::<f32, u8>(&want) {
                Ok(cell)
            } else {
                Err("read something else".into())
            }
        }
    }
}
