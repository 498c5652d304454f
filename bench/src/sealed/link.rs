//! A handshake over a real socket, and a line that takes its time.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use schwann_session::Suite;

use super::lab::Lab;
use super::session::Conversation;
use crate::Reason;

/// From the connection's begin to the outlet's answer to the first request.
pub(super) fn inlet(to: SocketAddr, lab: &Lab, suite: Option<Suite>) -> Result<Duration, Reason> {
    let begun = Instant::now();
    let mut socket = TcpStream::connect(to)?;
    socket.set_nodelay(true)?;
    let Some(suite) = suite else {
        socket.write_all(REQUEST)?;
        socket.read_exact(&mut [0; ANSWER.len()])?;
        return Ok(begun.elapsed());
    };
    let mut conversation = Conversation::initiate(socket, lab, suite)?;
    conversation.send(REQUEST)?;
    hear(&mut conversation, ANSWER.len())?;
    Ok(begun.elapsed())
}

/// Serves one connection after the other until the listener's other end says so.
pub(super) fn outlet(
    listener: &TcpListener,
    lab: &Lab,
    suite: Option<Suite>,
    count: usize,
) -> Result<(), Reason> {
    for _ in 0..count {
        let (mut socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        if suite.is_none() {
            socket.read_exact(&mut [0; REQUEST.len()])?;
            socket.write_all(ANSWER)?;
            continue;
        }
        let mut conversation = Conversation::respond(socket, lab)?;
        hear(&mut conversation, REQUEST.len())?;
        conversation.send(ANSWER)?;
    }
    Ok(())
}

/// Reads until `length` plain bytes have come.
fn hear(conversation: &mut Conversation, length: usize) -> Result<(), Reason> {
    let mut heard = Vec::new();
    while heard.len() < length {
        conversation.receive(&mut heard)?;
    }
    Ok(())
}

/// A line on which every byte takes `delay`, either way; the connection itself stands at once.
pub(super) fn slow_line(to: SocketAddr, delay: Duration, connections: usize) -> Result<SocketAddr, Reason> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || -> Result<(), std::io::Error> {
        for _ in 0..connections {
            let (near, far) = (listener.accept()?.0, TcpStream::connect(to)?);
            for (from, into) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
                into.set_nodelay(true)?;
                carry(from, into, delay);
            }
        }
        Ok(())
    });
    Ok(address)
}

fn carry(mut from: TcpStream, mut into: TcpStream, delay: Duration) {
    let (sender, due) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let bytes = buffer.get(..count).unwrap_or_default().to_vec();
            if sender.send((Instant::now() + delay, bytes)).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (at, bytes) in due {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if into.write_all(&bytes).is_err() {
                break;
            }
        }
        // The other end may be gone already.
        let _ = into.shutdown(Shutdown::Write);
    });
}

/// What an inlet says first once it may.
const REQUEST: &[u8] = b"LSL:streamfeed/110 uid\r\n\r\n";
const ANSWER: &[u8] = b"LSL/110 200 OK\r\n\r\n";
