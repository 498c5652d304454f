//! The two ends of a transfer over a library or over a raw socket, with the same calls.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::{Failure, Ports, Task};
use crate::ffi::{Inlet, Lsl, Outlet, StreamShape};
use crate::payload::Payload;
use crate::workload::{Transport, Workload};

/// The sending end, before anyone is connected.
pub(super) enum Listening {
    Lsl(Outlet),
    Tcp(TcpListener),
}

impl Listening {
    pub(super) fn start<T: Payload>(task: &Task) -> Result<Self, Failure> {
        Ok(match &task.transport {
            Transport::Lsl { library } => {
                let library = load(task, library)?;
                Self::Lsl(Outlet::create::<T>(&library, &shape(task), task.workload.buffer)?)
            }
            Transport::Tcp => Self::Tcp(TcpListener::bind((task.host, 0))?),
        })
    }

    pub(super) fn port(&self) -> Result<Option<u16>, Failure> {
        Ok(match self {
            Self::Lsl(_) => None,
            Self::Tcp(listener) => Some(listener.local_addr()?.port()),
        })
    }

    /// Waits until the receivers, who say that they are connected, are.
    pub(super) fn connected(self, workload: &Workload) -> Result<Sending, Failure> {
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
}

impl Sending {
    pub(super) fn push_sample<T: Payload>(&mut self, sample: &[T]) -> Result<(), Failure> {
        match self {
            Self::Lsl(outlet) => Ok(outlet.push_sample(sample)?),
            Self::Tcp { streams, message } => {
                message.resize(overhead(1), 0);
                message.extend_from_slice(bytemuck::cast_slice(sample));
                let sent = streams.iter_mut().try_for_each(|stream| stream.write_all(message));
                message.clear();
                Ok(sent?)
            }
        }
    }

    pub(super) fn push_chunk<T: Payload>(&mut self, values: &[T], samples: usize) -> Result<(), Failure> {
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
        }
    }

    /// Tells receivers that nothing more comes, where the transport can.
    pub(super) fn end(&self) -> Result<(), Failure> {
        if let Self::Tcp { streams, .. } = self {
            for stream in streams {
                stream.shutdown(std::net::Shutdown::Write)?;
            }
        }
        Ok(())
    }
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
}

impl Receiving {
    pub(super) fn open(task: &Task, ports: Ports) -> Result<Self, Failure> {
        Ok(match &task.transport {
            Transport::Lsl { library } => {
                let library = load(task, library)?;
                Self::Lsl(Inlet::open(&library, &shape(task), task.workload.buffer, CONNECT_SECONDS)?)
            }
            Transport::Tcp => {
                let port = ports.data.ok_or("the sender named no port")?;
                let stream = TcpStream::connect((task.host, port))?;
                stream.set_nodelay(true)?;
                let chunk = task.workload.chunk;
                Self::Tcp {
                    stream: BufReader::with_capacity(1 << 16, stream),
                    overhead: vec![0; overhead(chunk)],
                    chunk,
                }
            }
        })
    }

    /// Pulls one sample, or waits a while.
    pub(super) fn pull_sample<T: Payload>(&mut self, out: &mut [T]) -> Result<Pulled, Failure> {
        match self {
            Self::Lsl(inlet) => Ok(Pulled::Samples(usize::from(inlet.pull_sample(out, PULL_SECONDS)?))),
            Self::Tcp { stream, overhead, .. } => {
                read_message(stream, overhead, out).map(|more| more.then_samples(1))
            }
        }
    }

    /// Pulls up to as many samples as `stamps` has places, or waits a while.
    pub(super) fn pull_chunk<T: Payload>(
        &mut self,
        out: &mut [T],
        stamps: &mut [f64],
    ) -> Result<Pulled, Failure> {
        match self {
            Self::Lsl(inlet) => Ok(Pulled::Samples(inlet.pull_chunk(out, stamps, PULL_SECONDS)?)),
            Self::Tcp { stream, overhead, chunk } => {
                let values = out.len() / stamps.len() * *chunk;
                read_message(stream, overhead, &mut out[..values]).map(|more| more.then_samples(*chunk))
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
) -> Result<More, Failure> {
    match stream.read_exact(overhead) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(More::No),
        other => other?,
    }
    stream.read_exact(bytemuck::cast_slice_mut(out))?;
    Ok(More::Yes)
}

/// Bytes that the LSL wire adds to the values of so many samples pushed together: a tag each, one stamp.
fn overhead(samples: usize) -> usize {
    samples + 8
}

/// Loads the library. One that is to seal and does not would give the figures of something else.
fn load(task: &Task, path: &Path) -> Result<Lsl, Failure> {
    let library = Lsl::load(path)?;
    let info = library.info();
    let seals = info.contains("security:") && !info.contains("security:off");
    if task.sealed == seals { Ok(library) } else { Err(format!("the library says of itself: {info}").into()) }
}

fn shape(task: &Task) -> StreamShape<'_> {
    StreamShape {
        channel_count: task.workload.channel_count,
        nominal_rate: task.workload.nominal_rate,
        source_id: &task.source_id,
    }
}

/// Discovery and connection must be done in this time, seconds.
const CONNECT_SECONDS: f64 = 20.0;
/// A pull waits so long for samples before it looks whether the run is over, seconds.
const PULL_SECONDS: f64 = 0.25;
