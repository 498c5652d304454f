//! The two ends of a transfer over a library, over ZeroMQ or over a raw socket, with the same calls.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::{Ports, Side, Task};
use crate::Reason;
use crate::ffi::zmq::{Socket, ZeroMq};
use crate::ffi::{Inlet, Lsl, Outlet, StreamShape};
use crate::payload::Payload;
use crate::workload::{Transport, Workload};

/// The sending end, before anyone is connected.
pub(super) enum Listening {
    Lsl(Outlet),
    Tcp(TcpListener),
    ZeroMq(Socket),
}

impl Listening {
    pub(super) fn start<T: Payload>(task: &Task) -> Result<Self, Reason> {
        Ok(match &task.transport {
            Transport::Lsl { library, pushes } => {
                let (library, source_id) = (load(task, library)?, outgoing(task));
                let shape = shape(task, &source_id);
                Self::Lsl(Outlet::create::<T>(&library, &shape, task.workload.buffer, *pushes)?)
            }
            Transport::Tcp => Self::Tcp(TcpListener::bind((task.listen, 0))?),
            Transport::ZeroMq { library } => {
                let library = ZeroMq::load(library)?;
                Self::ZeroMq(Socket::publisher(&library, &task.listen.to_string(), queue(task))?)
            }
        })
    }

    pub(super) fn port(&self) -> Result<Option<u16>, Reason> {
        Ok(match self {
            Self::Lsl(_) => None,
            Self::Tcp(listener) => Some(listener.local_addr()?.port()),
            Self::ZeroMq(socket) => Some(socket.port()?),
        })
    }

    /// Waits until the receivers, who say that they are connected, are.
    pub(super) fn connected(self, workload: &Workload) -> Result<Sending, Reason> {
        match self {
            Self::Lsl(outlet) if outlet.wait_for_consumers(CONNECT_SECONDS) => Ok(Sending::Lsl(outlet)),
            Self::Lsl(_) => Err("no consumer connected".into()),
            Self::Tcp(listener) => {
                let mut streams = Vec::new();
                for _ in 0..workload.consumers {
                    let (stream, _) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    streams.push(stream);
                }
                Ok(Sending::Tcp { streams, message: Vec::new() })
            }
            Self::ZeroMq(mut socket) => {
                socket.set_patience(CONNECT_SECONDS)?;
                for _ in 0..workload.consumers {
                    // One byte and the subject, which is empty: all.
                    socket.receive(&mut [0; 8])?.ok_or("no consumer subscribed")?;
                }
                Ok(Sending::ZeroMq { socket, message: Vec::new() })
            }
        }
    }
}

/// The sending end.
pub(super) enum Sending {
    Lsl(Outlet),
    Tcp {
        streams: Vec<TcpStream>,
        /// Where a message is put together.
        message: Vec<u8>,
    },
    ZeroMq {
        socket: Socket,
        /// Where a message is put together.
        message: Vec<u8>,
    },
}

impl Sending {
    pub(super) fn push_sample<T: Payload>(&mut self, sample: &[T]) -> Result<(), Reason> {
        match self {
            Self::Lsl(outlet) => Ok(outlet.push_sample(sample)?),
            Self::Tcp { streams, message } => {
                message.resize(overhead(1), 0);
                message.extend_from_slice(bytemuck::cast_slice(sample));
                let sent = streams.iter_mut().try_for_each(|stream| stream.write_all(message));
                message.clear();
                Ok(sent?)
            }
            Self::ZeroMq { socket, message } => publish(socket, message, sample, 1),
        }
    }

    pub(super) fn push_chunk<T: Payload>(&mut self, values: &[T], samples: usize) -> Result<(), Reason> {
        match self {
            Self::Lsl(outlet) => Ok(outlet.push_chunk(values)?),
            Self::Tcp { streams, message } => {
                message.resize(overhead(samples), 0);
                for stream in streams {
                    stream.write_all(message)?;
                    stream.write_all(bytemuck::cast_slice(values))?;
                }
                Ok(())
            }
            Self::ZeroMq { socket, message } => publish(socket, message, values, samples),
        }
    }

    /// Tells receivers that nothing more comes, where the transport can.
    pub(super) fn end(&self) -> Result<(), Reason> {
        if let Self::Tcp { streams, .. } = self {
            for stream in streams {
                stream.shutdown(std::net::Shutdown::Write)?;
            }
        }
        Ok(())
    }
}

/// Sends one message of the same bytes as the others send.
fn publish<T: Payload>(
    socket: &mut Socket,
    message: &mut Vec<u8>,
    values: &[T],
    samples: usize,
) -> Result<(), Reason> {
    message.clear();
    message.resize(overhead(samples), 0);
    message.extend_from_slice(bytemuck::cast_slice(values));
    Ok(socket.send(message)?)
}

/// What a pull gave.
pub(super) enum Pulled {
    /// The sender has closed.
    End,
    /// So many samples, none if the time ran out.
    Samples(usize),
}

/// The receiving end.
pub(super) enum Receiving {
    Lsl(Inlet),
    Tcp {
        stream: BufReader<TcpStream>,
        /// The part of a message that is not values.
        overhead: Vec<u8>,
        /// Samples per message.
        chunk: usize,
    },
    ZeroMq {
        socket: Socket,
        /// Where a message arrives.
        message: Vec<u8>,
        /// Samples per message.
        chunk: usize,
    },
}

impl Receiving {
    pub(super) fn open(task: &Task, ports: Ports) -> Result<Self, Reason> {
        Ok(match &task.transport {
            Transport::Lsl { library, .. } => {
                let library = load(task, library)?;
                Self::Lsl(Inlet::open(
                    &library,
                    &shape(task, &incoming(task)),
                    task.workload.buffer,
                    CONNECT_SECONDS,
                )?)
            }
            Transport::Tcp => {
                let port = ports.data.ok_or("the sender named no port")?;
                let stream = TcpStream::connect((task.sender, port))?;
                stream.set_nodelay(true)?;
                let chunk = task.workload.chunk;
                Self::Tcp {
                    stream: BufReader::with_capacity(1 << 16, stream),
                    overhead: vec![0; overhead(chunk)],
                    chunk,
                }
            }
            Transport::ZeroMq { library } => {
                let port = ports.data.ok_or("the sender named no port")?;
                let library = ZeroMq::load(library)?;
                let socket = Socket::subscriber(&library, &task.sender.to_string(), port, queue(task))?;
                socket.set_patience(PULL_SECONDS)?;
                let chunk = task.workload.chunk;
                let message = vec![0; overhead(chunk) + chunk * task.workload.sample_bytes()];
                Self::ZeroMq { socket, message, chunk }
            }
        })
    }

    /// Pulls one sample, or waits a while.
    pub(super) fn pull_sample<T: Payload>(&mut self, out: &mut [T]) -> Result<Pulled, Reason> {
        match self {
            Self::Lsl(inlet) => Ok(Pulled::Samples(usize::from(inlet.pull_sample(out, PULL_SECONDS)?))),
            Self::Tcp { stream, overhead, .. } => {
                read_message(stream, overhead, out).map(|more| more.then_samples(1))
            }
            Self::ZeroMq { socket, message, .. } => receive(socket, message, out, 1),
        }
    }

    /// Pulls up to as many samples as `stamps` has places, or waits a while.
    pub(super) fn pull_chunk<T: Payload>(
        &mut self,
        out: &mut [T],
        stamps: &mut [f64],
    ) -> Result<Pulled, Reason> {
        match self {
            Self::Lsl(inlet) => Ok(Pulled::Samples(inlet.pull_chunk(out, stamps, PULL_SECONDS)?)),
            Self::Tcp { stream, overhead, chunk } => {
                let values = out.len() / stamps.len() * *chunk;
                read_message(stream, overhead, &mut out[..values]).map(|more| more.then_samples(*chunk))
            }
            Self::ZeroMq { socket, message, chunk } => {
                let values = out.len() / stamps.len() * *chunk;
                receive(socket, message, &mut out[..values], *chunk)
            }
        }
    }
}

/// Whether a message was there.
enum More {
    No,
    Yes,
}

impl More {
    fn then_samples(self, count: usize) -> Pulled {
        match self {
            Self::No => Pulled::End,
            Self::Yes => Pulled::Samples(count),
        }
    }
}

fn read_message<T: Payload>(
    stream: &mut impl Read,
    overhead: &mut [u8],
    out: &mut [T],
) -> Result<More, Reason> {
    match stream.read_exact(overhead) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(More::No),
        other => other?,
    }
    stream.read_exact(bytemuck::cast_slice_mut(out))?;
    Ok(More::Yes)
}

/// Takes the values out of the next message of ZeroMQ.
fn receive<T: Payload>(
    socket: &mut Socket,
    message: &mut [u8],
    out: &mut [T],
    samples: usize,
) -> Result<Pulled, Reason> {
    let Some(length) = socket.receive(message)? else { return Ok(Pulled::Samples(0)) };
    let values = message.get(overhead(samples)..length).filter(|values| values.len() == size_of_val(out));
    bytemuck::cast_slice_mut(out).copy_from_slice(values.ok_or("a message of another length")?);
    Ok(Pulled::Samples(samples))
}

/// Messages that ZeroMQ may queue: as many seconds as the other libraries buffer.
fn queue(task: &Task) -> i32 {
    let Workload { buffer, nominal_rate, chunk, .. } = task.workload;
    (f64::from(buffer) * nominal_rate / chunk as f64).ceil().clamp(1.0, f64::from(i32::MAX)) as i32
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

fn shape<'a>(task: &Task, source_id: &'a str) -> StreamShape<'a> {
    let Workload { channel_count, nominal_rate, .. } = task.workload;
    StreamShape { name: "SchwannBench", channel_count, nominal_rate, source_id }
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
const CONNECT_SECONDS: f64 = 20.0;
/// A pull waits so long for samples before it looks whether the run is over, seconds.
const PULL_SECONDS: f64 = 0.25;
