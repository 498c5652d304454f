//! A server that runs already and that the user named: the original itself, where it is installed, or any other.

use core::error::Error;
use core::time::Duration;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use schwann_fieldtrip::wire::{DataType, Header};
use schwann_fieldtrip::{Address, Client, Options};

use super::cell::{Cell, Direction, Shape, UNCOUNTED, repeat};
use super::original::{Style, drive};

/// The original's client.
pub(crate) fn old_client(
    address: &Address,
    shape: Shape,
    direction: Direction,
    style: Style,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let mut client = begin(address, shape)?;
    let before = client.header()?.1.samples;
    let (cell, block) = match address {
        Address::Tcp { host, port } => {
            let connect = || TcpStream::connect((host.as_str(), *port));
            drive(connect, style, shape, direction, before, time)?
        }
        Address::Unix(path) => drive(|| UnixStream::connect(path), style, shape, direction, before, time)?,
    };
    if direction == Direction::Put {
        check(&mut client, shape, before, cell.blocks, &block)?;
    }
    Ok(cell)
}

/// Our client.
pub(crate) fn our_client(
    address: &Address,
    shape: Shape,
    direction: Direction,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let mut client = begin(address, shape)?;
    let before = client.header()?.1.samples;
    let block = shape.block(1);
    match direction {
        Direction::Put => {
            let cell = repeat(time, || Ok(client.put_samples(shape.channels, &block)?))?;
            check(&mut client, shape, before, cell.blocks, &block)?;
            Ok(cell)
        }
        Direction::Get => {
            let (first, last) = (before - shape.samples, before - 1);
            let mut back = Vec::new();
            let cell = repeat(time, || Ok(client.samples_into(first, last, &mut back).map(drop)?))?;
            let is_right = back == bytemuck::cast_slice::<f32, u8>(&shape.block(7));
            if is_right { Ok(cell) } else { Err("read something else".into()) }
        }
    }
}

/// Begins an acquisition with a known newest block.
fn begin(address: &Address, shape: Shape) -> Result<Client, Box<dyn Error>> {
    let mut client = Client::connect(address.clone(), Options::default())?;
    client.put_header(&Header::new(shape.channels, 512.0, DataType::Float32))?;
    client.put_samples(shape.channels, &shape.block(7))?;
    Ok(client)
}

fn check(
    client: &mut Client,
    shape: Shape,
    before: u32,
    blocks: u64,
    block: &[f32],
) -> Result<(), Box<dyn Error>> {
    let total = client.header()?.1.samples;
    let want = (blocks + UNCOUNTED) * u64::from(shape.samples);
    if u64::from(total.wrapping_sub(before)) != want & u64::from(u32::MAX) {
        return Err(format!("{total} samples after {before}, not {want} more").into());
    }
    let newest = client.samples(total.wrapping_sub(shape.samples), total.wrapping_sub(1))?;
    if newest.numbers::<f32>().as_deref() == Some(block) {
        Ok(())
    } else {
        Err("the last block is not what was sent".into())
    }
}
