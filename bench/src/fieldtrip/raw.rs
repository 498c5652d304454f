//! What this machine can do at best: a copy, and a request with its reply on a socket.

use core::error::Error;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use super::cell::{Cell, Direction, Shape, repeat};

/// Copies blocks into a ring of the original's size, or out of it, the newest block each time.
pub(crate) fn memory(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    let samples = shape.ring_samples() / shape.samples as usize;
    // Touched, so that no page is taken while the clock runs.
    let mut ring = vec![1.0_f32; samples * shape.values()];
    let mut block = shape.block(1);
    let mut place = 0;
    repeat(time, || {
        let there = ring.get_mut(place..place + block.len()).ok_or("outside the ring")?;
        match direction {
            Direction::Put => {
                there.copy_from_slice(&block);
                place += block.len();
                if place + block.len() > ring.len() {
                    place = 0;
                }
            }
            Direction::Get => block.copy_from_slice(there),
        }
        core::hint::black_box(&mut block);
        Ok(())
    })
}

pub(crate) fn tcp(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    let (here, there) = pair()?;
    request_reply(here, there, shape, direction, time)
}

/// Two connected TCP sockets of this machine that send at once what they are given.
pub(crate) fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    Ok((here, there))
}

/// A connection for each request, as a client without state makes them.
pub(crate) fn tcp_stateless(
    shape: Shape,
    direction: Direction,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (request, reply) = lengths(shape, direction);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut input, output) = (vec![0; request], vec![0; reply]);
            while let Ok((mut there, _)) = listener.accept() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // The client notices if this fails.
                let _answered = there
                    .set_nodelay(true)
                    .and_then(|()| there.read_exact(&mut input))
                    .and_then(|()| there.write_all(&output));
            }
        });
        let (output, mut input) = (vec![0; request], vec![0; reply]);
        let cell = repeat(time, || {
            let mut here = TcpStream::connect(address)?;
            here.set_nodelay(true)?;
            here.write_all(&output)?;
            here.read_exact(&mut input)?;
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        let _ends_the_thread = TcpStream::connect(address);
        cell
    })
}

pub(crate) fn unix(shape: Shape, direction: Direction, time: Duration) -> Result<Cell, Box<dyn Error>> {
    let (here, there) = UnixStream::pair()?;
    request_reply(here, there, shape, direction, time)
}

/// One write with the block and one small answer, or one small request and one write with the block.
fn request_reply<S: Read + Write + Send>(
    mut here: S,
    mut there: S,
    shape: Shape,
    direction: Direction,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let (request, reply) = lengths(shape, direction);
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut input, output) = (vec![0; request], vec![0; reply]);
            // Ends when the other side goes.
            while there.read_exact(&mut input).is_ok() && there.write_all(&output).is_ok() {}
        });
        let (output, mut input) = (vec![0; request], vec![0; reply]);
        let cell = repeat(time, || {
            here.write_all(&output)?;
            here.read_exact(&mut input)?;
            Ok(())
        });
        drop(here);
        cell
    })
}

/// Bytes of a request and of its reply.
fn lengths(shape: Shape, direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Put => (shape.bytes() + 24, 8),
        Direction::Get => (16, shape.bytes() + 24),
    }
}
