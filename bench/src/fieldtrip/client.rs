//! The two clients, ours and the original's, at any server: ours, or one that runs already and that the user named.

use core::error::Error;
use core::time::Duration;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use schwann_fieldtrip::wire::{DataType, Header};
use schwann_fieldtrip::{Address, Client as OurClient, Options, Style as OurStyle};

use super::cell::{Cell, Direction, Shape, repeat};
use super::original::{Style, drive};

/// Which client asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Client {
    /// The original's.
    Original(Style),
    /// Ours.
    Ours(OurStyle),
}

/// Puts blocks to the server at `address`, or gets its newest one, for `time`; then checks what it holds.
pub(crate) fn exchange(
    address: &Address,
    client: Client,
    shape: Shape,
    direction: Direction,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    // Not connected meanwhile: the server has one client.
    let before = OurClient::connect(address.clone(), Options::default())?.header()?.1.samples;
    let cell = match (client, address) {
        (Client::Ours(style), _) => ours(address, style, shape, direction, before, time),
        (Client::Original(style), Address::Tcp { host, port }) => {
            // By name, as the original's programs do.
            let host = if host == "127.0.0.1" { "localhost" } else { host };
            drive(|| TcpStream::connect((host, *port)), style, shape, direction, before, time)
        }
        (Client::Original(style), Address::Unix(path)) => {
            drive(|| UnixStream::connect(path), style, shape, direction, before, time)
        }
    }?;
    if direction == Direction::Get {
        return Ok(cell);
    }
    let mut client = OurClient::connect(address.clone(), Options::default())?;
    let total = client.header()?.1.samples;
    let newest = client.samples(total.wrapping_sub(shape.samples), total.wrapping_sub(1))?;
    shape.judge(before, total, &cell, newest.numbers::<f32>().as_deref() == Some(&shape.block(1)))
}

fn ours(
    address: &Address,
    style: OurStyle,
    shape: Shape,
    direction: Direction,
    before: u32,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let mut client = OurClient::new(address.clone(), Options { style, ..Options::default() });
    if direction == Direction::Put {
        let block = shape.block(1);
        return repeat(time, || Ok(client.put_samples(shape.channels, &block)?));
    }
    let (first, last) = (before.wrapping_sub(shape.samples), before.wrapping_sub(1));
    let mut back = Vec::new();
    let cell = repeat(time, || Ok(client.samples_into(first, last, &mut back).map(drop)?))?;
    let is_right = back == bytemuck::cast_slice::<f32, u8>(&shape.block(7));
    if is_right { Ok(cell) } else { Err("read something else".into()) }
}

/// Gives a server that runs already a header and one block; it loses what it holds.
pub(crate) fn fill(address: &Address, shape: Shape) -> Result<(), Box<dyn Error>> {
    let mut client = OurClient::connect(address.clone(), Options::default())?;
    client.put_header(&Header::new(shape.channels, 512.0, DataType::Float32))?;
    Ok(client.put_samples(shape.channels, &shape.block(7))?)
}
