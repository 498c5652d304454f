//! The measuring processes of all suites: the program re-executes itself, as sender and as receivers among others.
//!
//! A worker reads its `Job` from the first line of standard input and orders from the lines after. It writes
//! [`Event`]s, one JSON object per line, to standard output. It ends when its input ends, so no worker outlives
//! the program that started it.

use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use serde::{Deserialize, Serialize};

use crate::Reason;
use crate::payload::Tally;
use crate::suite::Effort;
use crate::workload::{Transport, Workload};
use crate::{aead, mse, other};

mod echo;
pub(crate) mod link;
mod receiver;
mod sender;

/// Turns this process into a worker if it was started as one, and then does not return.
///
/// Call it first in `main`: the measuring processes are the same program.
pub(crate) fn run_if_worker() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let outcome = run();
    if let Err(reason) = &outcome {
        emit(&Event::Failed { reason: reason.to_string() });
    }
    leave(i32::from(outcome.is_err()));
}

/// Ends without destructors: the measurement is over, and a library that hangs on exit must not hang the run.
fn leave(code: i32) -> ! {
    other::clear();
    std::process::exit(code)
}

/// What a worker is there for.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Job {
    /// Seals and opens its own block, so many times.
    Aead(usize),
    /// An end of a transfer on another computer.
    Errand(Box<other::Errand>),
    /// Says what its computer is and which builds these libraries are of.
    Introduce(Vec<PathBuf>),
    /// The other end of connections of MSE.
    Mse(mse::Task),
    /// The transfers of MSE, on a loopback interface that is slowed down.
    Shaped(Effort),
    /// An end of one or several streams, which have the same workload.
    Transfer(Vec<Task>),
}

/// What an end of a transfer is to do.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Task {
    /// Which end it is.
    pub(crate) side: Side,
    /// What the stream is called.
    pub(crate) name: String,
    /// What carries the samples.
    pub(crate) transport: Transport,
    /// What both ends do.
    pub(crate) workload: Workload,
    /// Identifies the stream on this machine.
    pub(crate) source_id: String,
    /// Where the sender is.
    pub(crate) sender: Ipv4Addr,
    /// Where this end listens, if it does.
    pub(crate) listen: Ipv4Addr,
    /// The library must say that it seals its streams.
    pub(crate) sealed: bool,
}

/// The end of the transfer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Side {
    /// Takes samples and sends each on at once.
    Echo {
        /// Where the sender listens.
        ports: Ports,
    },
    /// Takes samples.
    Receiver {
        /// Where the sender listens.
        ports: Ports,
    },
    /// Takes samples that an echo has sent on.
    Returned {
        /// Where the echo listens.
        ports: Ports,
    },
    /// Makes samples.
    Sender,
}

/// Ports on which the sender listens.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Ports {
    /// For data, when the transport is a raw socket.
    pub(crate) data: Option<u16>,
    /// For acknowledgements, when the sender keeps a window.
    pub(crate) window: Option<u16>,
}

/// What a worker reports.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Event {
    /// The worker cannot go on.
    Failed {
        /// Why.
        reason: String,
    },
    /// Figures, as the lines of a record.
    Figures(Vec<String>),
    /// What its computer is, and has.
    Introduced(other::Introduction),
    /// It can be connected to here.
    Listening(SocketAddr),
    /// Time and processor time of its work.
    Spent(Duration, Duration),
    /// The sender can be connected to.
    Ready {
        /// Where.
        ports: Ports,
    },
    /// The receiver is connected.
    Open,
    /// The sender pushed its last sample.
    Sent {
        /// Samples pushed to each stream.
        total: u64,
    },
    /// The receiver has finished, with each of its streams.
    Received(Vec<ReceiverReport>),
    /// The sender has finished, with each of its streams.
    Finished(Vec<SenderReport>),
}

/// What the sender measured.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct SenderReport {
    /// Samples pushed.
    pub(crate) sent: u64,
    /// From the first push to the last, ns.
    pub(crate) active_ns: u64,
    /// Processor time of the whole transfer, ns.
    pub(crate) cpu_ns: u64,
    /// Peak resident memory, bytes.
    pub(crate) peak_bytes: u64,
    /// Per push, if timed.
    pub(crate) pushes: Vec<Push>,
}

/// One push on the monotonic clock, ns.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Push {
    /// When it was due.
    pub(crate) due: u64,
    /// When the call began.
    pub(crate) begun: u64,
    /// When the call returned.
    pub(crate) done: u64,
}

/// What a receiver measured.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct ReceiverReport {
    /// Counts of samples.
    pub(crate) tally: Tally,
    /// From the first pull that gave samples to the last that gave a full measure, ns.
    pub(crate) active_ns: u64,
    /// Samples in that time, without those of its first pull.
    pub(crate) active_samples: u64,
    /// Processor time of the whole transfer, ns.
    pub(crate) cpu_ns: u64,
    /// Peak resident memory before the library was loaded, bytes.
    pub(crate) baseline_bytes: u64,
    /// Peak resident memory, bytes.
    pub(crate) peak_bytes: u64,
    /// Sample number and time of return of the pull that gave it, ns, if timed.
    pub(crate) arrivals: Vec<(u64, u64)>,
}

/// What the coordinating process says to a worker.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Order {
    /// Sender: begin.
    Go,
    /// Receiver: this many samples were sent in all.
    Sent {
        /// Samples.
        total: u64,
    },
    /// Sender: report and end.
    Finish,
}

fn run() -> Result<(), Reason> {
    let mut first = String::new();
    std::io::stdin().lock().read_line(&mut first)?;
    let job = serde_json::from_str(&first)?;
    let orders = Orders::listen();
    match job {
        Job::Aead(passes) => {
            let (own, processor) = aead::workers::spend(passes);
            emit(&Event::Spent(own, processor));
            Ok(())
        }
        Job::Errand(errand) => transfer(&[errand.unpack()?], &orders),
        Job::Introduce(libraries) => {
            emit(&Event::Introduced(other::introduce(&libraries)?));
            Ok(())
        }
        Job::Mse(task) => mse::work(&task),
        Job::Shaped(effort) => {
            let readings = mse::inside_the_shaped_link(effort)?;
            emit(&Event::Figures(readings.iter().map(crate::record::Reading::line).collect()));
            Ok(())
        }
        Job::Transfer(tasks) => transfer(&tasks, &orders),
    }
}

fn transfer(tasks: &[Task], orders: &Orders) -> Result<(), Reason> {
    let first = tasks.first().ok_or("there is no stream")?;
    match first.side {
        Side::Sender => sender::run(tasks, first, orders),
        Side::Echo { ports } => echo::run(first, ports, orders),
        Side::Receiver { ports } | Side::Returned { ports } => receiver::run(tasks, ports, orders),
    }
}

/// Says a line to the coordinating process.
pub(crate) fn emit(said: &Event) {
    let line = serde_json::to_string(said).expect("what a worker says is plain data");
    let mut out = std::io::stdout().lock();
    // Without a reader the run is over and nothing is left to report to.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Samples sent in all; `u64::MAX` until known.
#[derive(Clone)]
struct Total(Arc<AtomicU64>);

impl Total {
    /// Returns the number of samples sent, once the sender has finished.
    fn known(&self) -> Option<u64> {
        let total = self.0.load(Ordering::Acquire);
        (total != u64::MAX).then_some(total)
    }
}

/// Orders from the coordinating process, read by a thread of their own.
struct Orders {
    total: Total,
    queue: mpsc::Receiver<Order>,
}

impl Orders {
    /// Waits for the order to end; what comes before it is known.
    fn wait_for_finish(&self) -> Result<(), Reason> {
        while !matches!(self.wait()?, Order::Finish) {}
        Ok(())
    }

    fn listen() -> Self {
        let total = Total(Arc::new(AtomicU64::new(u64::MAX)));
        let (sender, queue) = mpsc::channel();
        let shared = total.clone();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Some(order) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
                if let Order::Sent { total } = order {
                    shared.0.store(total, Ordering::Release);
                }
                if sender.send(order).is_err() {
                    break;
                }
            }
            // The coordinator is gone, or speaks nonsense: nothing measured now will be read.
            leave(3);
        });
        Self { total, queue }
    }

    /// Waits for the next.
    fn wait(&self) -> Result<Order, Reason> {
        Ok(self.queue.recv()?)
    }
}

/// Returns the peak resident memory of this process, bytes.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024
}

/// The environment variable that makes a process a worker.
pub(crate) const MARK: &str = "SCHWANN_BENCH_WORKER";
