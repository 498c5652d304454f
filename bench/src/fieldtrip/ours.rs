//! Our client and server.

use core::error::Error;
use core::time::Duration;
use std::path::PathBuf;

use schwann_fieldtrip::wire::{DataType, Header, SamplesDefinition};
use schwann_fieldtrip::{Address, Buffer, Policy, Server};

use super::cell::{Cell, Direction, Shape, repeat};

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
            let total = buffer.totals()?.samples;
            let mut back = vec![0.0; block.len()];
            buffer.read_samples(total.wrapping_sub(shape.samples), &mut back)?;
            shape.judge(before, total, &cell, back == block)
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

pub(crate) fn socket_path() -> PathBuf {
    std::env::temp_dir().join(format!("schwann-ft-bench-{}", std::process::id()))
}

/// Runs `client` against our server at `address`, whose ring is full.
pub(crate) fn served(
    address: &Address,
    shape: Shape,
    client: impl FnOnce(&Address) -> Result<Cell, Box<dyn Error>>,
) -> Result<Cell, Box<dyn Error>> {
    let server = Server::start(address, full_buffer(shape)?, Policy::default())?;
    client(server.address())
}
