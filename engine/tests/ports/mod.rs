//! Ports for one test. Tests of several programs run side by side, so each takes a block and keeps it.

use core::net::Ipv4Addr;
use std::net::{TcpListener, UdpSocket};
use std::{io, process, sync::Mutex};

/// Returns the first of [`BLOCK`] ports that no other test uses, in this process or another.
///
/// The last port of the block stays bound until the process ends, and that keeps other tests away. A program that a test
/// started may outlive it for a moment, so the other ports are tried, too.
pub(crate) fn ports() -> u16 {
    static HELD: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let mut held = HELD.lock().expect("no test panics in here");
    // A new process starts elsewhere, because the system may still hold ports of one that just ended.
    let first = process::id() * 7 % BLOCKS;
    let (base, guard) = (0..BLOCKS)
        .map(|number| FIRST + BLOCK * ((first + number) % BLOCKS) as u16)
        .find_map(|base| Some((base, hold(base).ok()?)))
        .expect("a free block of ports");
    held.push(guard);
    base
}

fn hold(base: u16) -> io::Result<UdpSocket> {
    let guard = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, base + BLOCK - 1))?;
    for port in base..base + BLOCK - 1 {
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    }
    Ok(guard)
}

/// Ports in a block.
const BLOCK: u16 = 40;
/// Above LSL's own ports, so that a program with the default settings disturbs no test.
const FIRST: u16 = 17_000;
/// They end below the ports that systems give away by themselves.
const BLOCKS: u32 = 370;
