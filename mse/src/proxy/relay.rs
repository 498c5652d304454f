//! Carrying bytes between a plain client and a peer, both ways, without a copy.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use alloc::vec;

use crate::stream::{Reader, Stream, Writer};

/// Carries until both sides have closed. Returns the bytes to the peer and from it.
pub(super) fn relay(client: TcpStream, peer: Stream<TcpStream>) -> io::Result<(u64, u64)> {
    client.set_nodelay(true)?;
    let (reader, writer) = peer.split()?;
    let from_client = client.try_clone()?;
    let up = thread::Builder::new().spawn(move || to_peer(from_client, writer))?;
    let from = to_client(reader, client);
    // A thread that panicked carried nothing that can be counted.
    let to = up.join().unwrap_or(0);
    Ok((to, from))
}

fn to_peer(mut client: TcpStream, mut peer: Writer<TcpStream>) -> u64 {
    let mut buffer = vec![0; BUFFER];
    let mut carried = 0;
    while let Some(bytes) = next(&mut client, &mut buffer) {
        carried += bytes.len() as u64;
        if peer.write_in_place(bytes).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Read);
    let _ = peer.transport().shutdown(Shutdown::Write);
    carried
}

fn to_client(mut peer: Reader<TcpStream>, mut client: TcpStream) -> u64 {
    let mut buffer = vec![0; BUFFER];
    let mut carried = 0;
    while let Some(bytes) = next(&mut peer, &mut buffer) {
        carried += bytes.len() as u64;
        if client.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = peer.transport().shutdown(Shutdown::Read);
    let _ = client.shutdown(Shutdown::Write);
    carried
}

/// The next bytes; `None` once there will be no more.
fn next<'b>(from: &mut impl Read, buffer: &'b mut [u8]) -> Option<&'b mut [u8]> {
    loop {
        match from.read(buffer) {
            Ok(0) => return None,
            Ok(len) => return buffer.get_mut(..len),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Bytes carried at a time: enough that system calls do not count.
const BUFFER: usize = 64 * 1024;
