//! The two processes of a restart: one pushes to three streams, the other pulls from all of them.

use core::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Barrier, Mutex, PoisonError};

use super::{CARRIED, Cell, Subject, bare};
use crate::Reason;
use crate::clock::{now_ns, sleep_until};
use crate::ffi::{Inlet, Lsl, Outlet, Pushes, StreamShape};
use crate::payload::{Chunk, Tally, Verifier};
use crate::statistics::Resampler;
use crate::worker::link::{CONNECT_SECONDS, PULL_SECONDS, Pulled, Receiving, Sending};
use crate::worker::{Event, Orders, Ports, emit};
use crate::workload::Format;

/// What a process is to do.
#[derive(Debug, serde::Deserialize, serde::Serialize)]
pub(crate) struct Task {
    pub(super) cell: Cell,
    pub(super) end: End,
    pub(super) subject: Subject,
    /// The library of the last stream, if it is not that of the others.
    pub(super) carried: Option<PathBuf>,
    pub(super) seconds: f64,
    pub(super) seed: u64,
    /// The sender's library must say that it seals.
    pub(super) seals: bool,
    pub(super) session: String,
    /// The streams of this end.
    pub(super) streams: Vec<usize>,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize)]
pub(crate) enum End {
    Receiver,
    Sender,
}

impl Task {
    fn count(&self) -> u64 {
        (self.seconds * self.cell.rate) as u64
    }

    fn source(&self, stream: usize) -> String {
        Self::source_of(&self.session, stream)
    }

    /// The source id of a stream of a session.
    pub(super) fn source_of(session: &str, stream: usize) -> String {
        format!("{session}-{stream}")
    }

    /// A stream of this source, as both ends describe it.
    fn shape<'a>(&self, stream: usize, source_id: &'a str) -> StreamShape<'a> {
        let (channel_count, nominal_rate) = (self.cell.channels, self.cell.rate);
        StreamShape { name: NAMES[stream], format: Format::Float32, channel_count, nominal_rate, source_id }
    }
}

/// Does what one of the two processes is to do.
pub(crate) fn run_end(task: &Task, orders: &Orders) -> Result<(), Reason> {
    match task.end {
        End::Receiver => receive(task),
        End::Sender => send(task, orders),
    }
}

fn send(task: &Task, orders: &Orders) -> Result<(), Reason> {
    match &task.subject {
        Subject::Bare(cipher) => {
            let outlet = |stream| bare::Outlet::new(cipher, stream, &task.cell, &task.source(stream));
            feed(task, orders, (0..ENDS).map(outlet).collect::<Result<Vec<_>, _>>()?)
        }
        Subject::Library(path) => {
            let library = Lsl::load(path)?;
            feed(task, orders, outlets(task, &library)?)
        }
    }
}

fn outlets(task: &Task, library: &Lsl) -> Result<Vec<Outlet>, Reason> {
    let carrying = task.carried.as_deref().map(Lsl::load).transpose()?;
    let carrying = carrying.as_ref().unwrap_or(library);
    if task.seals && !carrying.info().contains("security:require") {
        return Err(format!("the library says of itself: {}", carrying.info()).into());
    }
    let mut outlets = Vec::new();
    for stream in 0..ENDS {
        let source_id = task.source(stream);
        outlets.push(Outlet::create(
            if stream == CARRIED { carrying } else { library },
            &task.shape(stream, &source_id),
            BUFFER_SECONDS,
            Pushes::default(),
        )?);
    }
    Ok(outlets)
}

fn feed(task: &Task, orders: &Orders, mut outlets: Vec<impl Sending>) -> Result<(), Reason> {
    emit(&Event::Ready { ports: Ports::default() });
    orders.wait()?;
    outlets.iter_mut().try_for_each(|outlet| outlet.connected(task.cell.inlets))?;
    let begun = push(task, &mut outlets)?;
    emit(&Event::Pushed(begun.into()));
    // The receiver has its samples when the coordinator ends this process.
    orders.wait().map(drop)
}

/// One push to each stream per period, in random order; a late push does not move those after it.
fn push(task: &Task, outlets: &mut [impl Sending]) -> Result<[Vec<u64>; ENDS], Reason> {
    // Otherwise the kernel may wake this thread 50 us late to save power.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let count = task.count();
    let slot_ns = 1e9 / task.cell.rate / ENDS as f64;
    let mut source = Chunk::new(Format::Float32, task.cell.channels, 1);
    let mut begun: [Vec<u64>; ENDS] = core::array::from_fn(|_| Vec::with_capacity(count as usize));
    let (mut order, mut random) = ([0, 1, 2], Resampler::new(task.seed));
    let start = now_ns() + LEAD_IN_NS;
    for period in 0..count {
        let sample = source.at(period);
        random.shuffle(&mut order);
        for (slot, stream) in order.into_iter().enumerate() {
            sleep_until(start + ((period as f64 * ENDS as f64 + slot as f64) * slot_ns) as u64);
            begun[stream].push(now_ns());
            outlets[stream].push(sample)?;
        }
    }
    Ok(begun)
}

fn receive(task: &Task) -> Result<(), Reason> {
    let channels = task.cell.channels;
    match &task.subject {
        Subject::Bare(cipher) => {
            pull_all(task, |stream| bare::Inlet::new(cipher, stream, channels, &task.source(stream)))
        }
        Subject::Library(path) => {
            let library = Lsl::load(path)?;
            // One after the other: many searches at once would need as many ports.
            let turn = Mutex::new(());
            pull_all(task, |stream| {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let source_id = task.source(stream);
                let shape = task.shape(stream, &source_id);
                Ok(Inlet::open(&library, &shape, BUFFER_SECONDS, CONNECT_SECONDS)?)
            })
        }
    }
}

/// Pulls from all inlets, each with a thread of its own, in which `inlet` makes it.
fn pull_all<P: Receiving>(
    task: &Task,
    inlet: impl Fn(usize) -> Result<P, Reason> + Sync,
) -> Result<(), Reason> {
    let ends = task.streams.repeat(task.cell.inlets);
    let open = Barrier::new(ends.len() + 1);
    let inlets = std::thread::scope(|scope| -> Result<Vec<(usize, Vec<u64>)>, Reason> {
        let threads: Vec<_> = ends
            .into_iter()
            .map(|stream| {
                let (inlet, open) = (&inlet, &open);
                scope.spawn(move || {
                    let made = inlet(stream);
                    open.wait();
                    (stream, made.and_then(|inlet| pull(task, inlet)))
                })
            })
            .collect();
        open.wait();
        emit(&Event::Open);
        let mut inlets = Vec::new();
        for thread in threads {
            let (stream, arrived) = thread.join().map_err(|_| "a thread has panicked")?;
            inlets.push((stream, arrived?));
        }
        Ok(inlets)
    })?;
    emit(&Event::Arrived(inlets));
    Ok(())
}

/// When each sample of one inlet had been pulled. All come, in order, with the values that were pushed.
fn pull(task: &Task, mut inlet: impl Receiving) -> Result<Vec<u64>, Reason> {
    let (count, mut sample) = (task.count(), vec![0; task.cell.channels * Format::Float32.bytes()]);
    let mut verifier = Verifier::new(Format::Float32, task.cell.channels);
    let (mut arrived, mut waited) = (Vec::with_capacity(count as usize), 0.0);
    while verifier.next() < count {
        let pulled = inlet.pull(&mut sample);
        match pulled.map_err(|reason| format!("after {} samples: {reason}", arrived.len()))? {
            Pulled::Samples(1) => {
                arrived.push(now_ns());
                verifier.take(&sample);
                waited = 0.0;
            }
            _ if waited > PATIENCE_SECONDS => {
                return Err(format!("nothing came any more after {} samples", arrived.len()).into());
            }
            _ => waited += PULL_SECONDS,
        }
    }
    match verifier.tally {
        Tally { received, lost: 0, disordered: 0, corrupt: 0 } if received == count => Ok(arrived),
        tally => Err(format!("a stream was not delivered as it was sent: {tally:?}").into()),
    }
}

/// The streams: in the clear, in the clear again, sealed.
pub(super) const NAMES: [&str; ENDS] = ["PairedPlain", "PairedAgain", "PairedSealed"];
pub(super) const ENDS: usize = 3;
/// Which of them is sealed.
pub(super) const SEALED_STREAM: usize = 2;
/// Where nothing comes for so long the run counts as broken, seconds.
const PATIENCE_SECONDS: f64 = 20.0;
/// The schedule begins so long after the order, ns.
const LEAD_IN_NS: u64 = 100_000_000;
/// Seconds that a library buffers: all of a run.
const BUFFER_SECONDS: i32 = 360;
