//! Whether handshakes succeed: real sockets, both roles, random keys, paddings, methods and fragments.

use std::io::{Read, Write};
use std::net::TcpStream;

use schwann_mse::{
    Accept, Draw, Established, Group, Handshake, Initiator, Method, Methods, Offer, Responder,
};

use super::handshake::drive;
use super::worker::{TORRENT, Task, Worker};
use super::{count as share_of, figure};
use crate::Reason;
use crate::record::Reading;
use crate::suite::Effort;

pub(super) fn run(effort: Effort) -> Result<Vec<Reading>, Reason> {
    let count = share_of(effort, 10_000);
    let worker = Worker::start(Task::Shake)?;
    let mut succeeded = 0;
    for n in 0..count {
        let socket = TcpStream::connect(worker.address)?;
        // The plan of one connection, known to both ends.
        let seed = n as u64 + 1;
        (&socket).write_all(&seed.to_le_bytes())?;
        let mut verdict = [0];
        let shaken = take_part(&socket, seed, n % 2 == 0);
        let theirs = (&socket).read_exact(&mut verdict);
        succeeded += usize::from(shaken.is_ok() && theirs.is_ok() && verdict == [1]);
        if let Err(error) = shaken {
            eprintln!("handshake {n}: {error}");
        }
    }
    let share = 100.0 * succeeded as f64 / count as f64;
    let success = figure(format!("success of {count} handshakes"), "%", vec![share]);
    Ok(vec![success.limited(">= 100 %")])
}

/// The worker's part of one connection.
pub(super) fn respond(mut socket: &TcpStream) -> Result<(), Reason> {
    let mut seed = [0; 8];
    socket.read_exact(&mut seed)?;
    let seed = u64::from_le_bytes(seed);
    let fine = take_part(socket, seed, seed % 2 == 0).is_ok();
    socket.write_all(&[u8::from(fine)])?;
    Ok(())
}

/// Shakes hands and exchanges payload, all in pieces.
fn take_part(socket: &TcpStream, seed: u64, initiates: bool) -> Result<(), Reason> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(core::time::Duration::from_secs(10)))?;
    let method = Method::ALL[seed as usize / 2 % 4];
    let group = if seed % 8 == 7 { Group::Oakley1024 } else { Group::Mse768 };
    let initial = vec![b'i'; [0, 1, 40, 68][seed as usize / 8 % 4]];
    let draw = Draw::system(group)?;
    let mut pieces = Pieces(seed.wrapping_mul(if initiates { 3 } else { 5 }));
    let (mut ends, rest_so_far) = if initiates {
        let offer = Offer::new(Methods::of(&Method::ALL), initial.clone());
        shake(socket, &mut Initiator::new(TORRENT, offer, draw)?, &mut pieces)?
    } else {
        let accept = Accept::new(Methods::of(&[method]), method);
        let ends = shake(socket, &mut Responder::new(TORRENT, accept, draw), &mut pieces)?;
        if ends.0.initial_payload != initial {
            return Err("the initial payload arrived changed".into());
        }
        ends
    };
    if ends.method != method {
        return Err(format!("{} instead of {method}", ends.method).into());
    }
    let [ours, theirs] = if initiates { [b'a', b'b'] } else { [b'b', b'a'] };
    let mut payload = [ours; PAYLOAD];
    ends.outgoing.apply(&mut payload);
    pieces.write(socket, &payload)?;
    let mut rest = [0; PAYLOAD];
    let early = rest_so_far.len().min(PAYLOAD);
    rest[..early].copy_from_slice(&rest_so_far[..early]);
    let mut socket = socket;
    socket.read_exact(&mut rest[early..])?;
    ends.incoming.apply(&mut rest);
    if rest != [theirs; PAYLOAD] { Err("the payload arrived changed".into()) } else { Ok(()) }
}

/// What a handshake left, and what came after it.
fn shake(
    mut socket: &TcpStream,
    side: &mut dyn Handshake,
    pieces: &mut Pieces,
) -> Result<(Established, Vec<u8>), Reason> {
    let mut buffer = [0; 700];
    let mut input: &[u8] = &[];
    loop {
        if let Some(agreed) = drive(side, &mut input, |step| pieces.write(socket, &step))? {
            return Ok((agreed, input.to_vec()));
        }
        let room = pieces.next(buffer.len());
        let len = socket.read(&mut buffer[..room])?;
        if len == 0 {
            return Err("closed".into());
        }
        input = &buffer[..len];
    }
}

/// A seeded source of lengths.
struct Pieces(u64);

impl Pieces {
    fn next(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1 + (self.0 >> 33) as usize % limit
    }

    fn write(&mut self, mut socket: &TcpStream, bytes: &[u8]) -> Result<(), Reason> {
        let mut left = bytes;
        while !left.is_empty() {
            let (piece, rest) = left.split_at(self.next(200).min(left.len()));
            socket.write_all(piece)?;
            left = rest;
        }
        Ok(())
    }
}

const PAYLOAD: usize = 500;
