//! The two ends of a transfer over a library, over iceoryx2 or over a raw socket, with the same calls.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::{Ports, Side, Task};
use crate::Reason;
use crate::ffi::iceoryx2::{Iceoryx2, Publisher, Subscriber};
use crate::ffi::{Inlet, Lsl, Outlet, StreamShape};
use crate::sealed::paired::bare;
use crate::workload::{Transport, Workload};

/// The sending end.
pub(crate) trait Sending {
    /// Where receivers connect, if they have to be told.
    fn port(&self) -> Result<Option<u16>, Reason> {
        Ok(None)
    }

    /// Waits until the receivers, who say that they are connected, are.
    fn connected(&mut self, consumers: usize) -> Result<(), Reason>;

    /// Sends whole samples, pushed together.
    fn push(&mut self, values: &[u8]) -> Result<(), Reason>;

    /// Tells receivers that nothing more comes, where the transport can.
    fn end(&self) -> Result<(), Reason> {
        Ok(())
    }
}

/// The receiving end.
pub(crate) trait Receiving {
    /// Pulls up to as many samples as `out` has room for, or waits a while.
    fn pull(&mut self, out: &mut [u8]) -> Result<Pulled, Reason>;
}

/// What a pull gave.
pub(crate) enum Pulled {
    /// The sender has closed.
    End,
    /// So many samples, none if the time ran out.
    Samples(usize),
}

/// Starts the sending end.
pub(super) fn listen(task: &Task) -> Result<Box<dyn Sending>, Reason> {
    let sample_bytes = task.workload.sample_bytes();
    Ok(match &task.transport {
        Transport::Bare { cipher } => {
            Box::new(bare::Outlet::new(cipher.as_deref(), &task.workload, &task.source_id)?)
        }
        Transport::Lsl { library, pushes } => {
            let (library, source_id) = (load(task, library)?, outgoing(task));
            let shape = shape(task, &source_id);
            Box::new(Outlet::create(&library, &shape, task.workload.buffer, *pushes)?)
        }
        Transport::Tcp => {
            let listener = TcpListener::bind((task.listen, 0))?;
            Box::new(TcpSending { listener, streams: Vec::new(), message: Vec::new(), sample_bytes })
        }
        Transport::Iceoryx2 { library } => {
            let publisher = Publisher::new(Iceoryx2::load(library)?, queue(task))?;
            Box::new(MemorySending { publisher, message: Vec::new(), sample_bytes })
        }
    })
}

/// Connects the receiving end.
pub(super) fn open(task: &Task, ports: Ports) -> Result<Box<dyn Receiving>, Reason> {
    let Workload { buffer, chunk, .. } = task.workload;
    let port = || ports.data.ok_or("the sender named no port");
    let message_bytes = chunk * task.workload.sample_bytes();
    Ok(match &task.transport {
        Transport::Bare { cipher } => {
            Box::new(bare::Inlet::new(cipher.as_deref(), &task.workload, &task.source_id)?)
        }
        Transport::Lsl { library, .. } => {
            let (library, source_id) = (load(task, library)?, incoming(task));
            Box::new(Inlet::open(&library, &shape(task, &source_id), buffer, CONNECT_SECONDS)?)
        }
        Transport::Tcp => {
            let stream = TcpStream::connect((task.sender, port()?))?;
            stream.set_nodelay(true)?;
            let stream = BufReader::with_capacity(1 << 16, stream);
            Box::new(TcpReceiving { stream, overhead: vec![0; overhead(chunk)], message_bytes, chunk })
        }
        Transport::Iceoryx2 { library } => {
            let subscriber = Subscriber::new(Iceoryx2::load(library)?, port()?)?;
            Box::new(MemoryReceiving { subscriber, message: vec![0; overhead(chunk) + message_bytes], chunk })
        }
    })
}

impl Sending for Outlet {
    fn connected(&mut self, _: usize) -> Result<(), Reason> {
        if self.wait_for_consumers(CONNECT_SECONDS) { Ok(()) } else { Err("no consumer connected".into()) }
    }

    fn push(&mut self, values: &[u8]) -> Result<(), Reason> {
        Ok(Self::push(self, values)?)
    }
}

impl Receiving for Inlet {
    fn pull(&mut self, out: &mut [u8]) -> Result<Pulled, Reason> {
        Ok(Pulled::Samples(Self::pull(self, out, PULL_SECONDS)?))
    }
}

struct TcpSending {
    listener: TcpListener,
    streams: Vec<TcpStream>,
    /// Where a message is put together.
    message: Vec<u8>,
    sample_bytes: usize,
}

impl Sending for TcpSending {
    fn port(&self) -> Result<Option<u16>, Reason> {
        Ok(Some(self.listener.local_addr()?.port()))
    }

    fn connected(&mut self, consumers: usize) -> Result<(), Reason> {
        while self.streams.len() < consumers {
            let (stream, _) = self.listener.accept()?;
            stream.set_nodelay(true)?;
            self.streams.push(stream);
        }
        Ok(())
    }

    fn push(&mut self, values: &[u8]) -> Result<(), Reason> {
        let Self { streams, message, sample_bytes, .. } = self;
        message.clear();
        message.resize(overhead(values.len() / *sample_bytes), 0);
        if values.len() == *sample_bytes {
            message.extend_from_slice(values);
            return Ok(streams.iter_mut().try_for_each(|stream| stream.write_all(message))?);
        }
        for stream in streams {
            stream.write_all(message)?;
            stream.write_all(values)?;
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Reason> {
        Ok(self.streams.iter().try_for_each(|stream| stream.shutdown(std::net::Shutdown::Write))?)
    }
}

struct TcpReceiving {
    stream: BufReader<TcpStream>,
    /// The part of a message that is not values.
    overhead: Vec<u8>,
    /// The part that is.
    message_bytes: usize,
    /// Samples per message.
    chunk: usize,
}

impl Receiving for TcpReceiving {
    fn pull(&mut self, out: &mut [u8]) -> Result<Pulled, Reason> {
        match self.stream.read_exact(&mut self.overhead) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Pulled::End),
            other => other?,
        }
        self.stream.read_exact(&mut out[..self.message_bytes])?;
        Ok(Pulled::Samples(self.chunk))
    }
}

struct MemorySending {
    publisher: Publisher,
    /// Where a message is put together.
    message: Vec<u8>,
    sample_bytes: usize,
}

impl Sending for MemorySending {
    fn port(&self) -> Result<Option<u16>, Reason> {
        Ok(Some(self.publisher.port))
    }

    fn connected(&mut self, consumers: usize) -> Result<(), Reason> {
        if self.publisher.wait(consumers, CONNECT_SECONDS) {
            Ok(())
        } else {
            Err("no consumer subscribed".into())
        }
    }

    /// Sends one message of the same bytes as the others send.
    fn push(&mut self, values: &[u8]) -> Result<(), Reason> {
        self.message.clear();
        self.message.resize(overhead(values.len() / self.sample_bytes), 0);
        self.message.extend_from_slice(values);
        Ok(self.publisher.send(&self.message)?)
    }
}

struct MemoryReceiving {
    subscriber: Subscriber,
    /// Where a message arrives.
    message: Vec<u8>,
    /// Samples per message.
    chunk: usize,
}

impl Receiving for MemoryReceiving {
    fn pull(&mut self, out: &mut [u8]) -> Result<Pulled, Reason> {
        match self.subscriber.receive(&mut self.message, PULL_SECONDS)? {
            0 => return Ok(Pulled::Samples(0)),
            length if length != self.message.len() => return Err("a message of another length".into()),
            _ => {}
        }
        let values = &self.message[overhead(self.chunk)..];
        out[..values.len()].copy_from_slice(values);
        Ok(Pulled::Samples(self.chunk))
    }
}

/// Messages that iceoryx2 may queue: as many seconds as the other libraries buffer.
fn queue(task: &Task) -> usize {
    let Workload { buffer, nominal_rate, chunk, .. } = task.workload;
    (f64::from(buffer) * nominal_rate / chunk as f64).ceil().max(1.0) as usize
}

/// Bytes that the LSL wire adds to the values of so many samples pushed together: a tag each, one stamp.
fn overhead(samples: usize) -> usize {
    samples + 8
}

/// Loads the library. One that is to seal and does not would give the figures of something else.
fn load(task: &Task, path: &Path) -> Result<Lsl, Reason> {
    let library = Lsl::load(path)?;
    let info = library.info();
    let seals = info.contains("security:") && !info.contains("security:off");
    if task.sealed == seals { Ok(library) } else { Err(format!("the library says of itself: {info}").into()) }
}

fn shape<'a>(task: &'a Task, source_id: &'a str) -> StreamShape<'a> {
    let Workload { format, channel_count, nominal_rate, .. } = task.workload;
    StreamShape { name: &task.name, format, channel_count, nominal_rate, source_id }
}

/// The stream that an end makes.
fn outgoing(task: &Task) -> String {
    match task.side {
        Side::Echo { .. } => format!("{}-returned", task.source_id),
        Side::Receiver { .. } | Side::Returned { .. } | Side::Sender => task.source_id.clone(),
    }
}

/// The stream that an end takes.
fn incoming(task: &Task) -> String {
    match task.side {
        Side::Returned { .. } => format!("{}-returned", task.source_id),
        Side::Echo { .. } | Side::Receiver { .. } | Side::Sender => task.source_id.clone(),
    }
}

/// Discovery and connection must be done in this time, seconds.
const CONNECT_SECONDS: f64 = 30.0;
/// A pull waits so long for samples before it looks whether the run is over, seconds.
const PULL_SECONDS: f64 = 0.25;
