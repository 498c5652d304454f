//! The two processes of a restart: one pushes to three streams, the other pulls from all of them.

use core::num::NonZeroU64;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::{Barrier, Mutex, PoisonError};

use super::super::Reason;
use super::Cell;
use crate::clock::{now_ns, sleep_until};
use crate::ffi::{Inlet, Lsl, Outlet, StreamShape};
use crate::payload::{Chunk, Tally, Verifier};
use crate::statistics::Resampler;
use crate::worker::emit;

/// The streams: in the clear, in the clear again, sealed.
pub(super) const NAMES: [&str; ENDS] = ["PairedPlain", "PairedAgain", "PairedSealed"];
pub(super) const ENDS: usize = 3;
/// The environment variable that makes a process one of the two; the first line that it reads is its task.
pub(super) const MARK: &str = "SCHWANN_BENCH_PAIRED";
/// Everything must be connected in this time, seconds.
const CONNECT_SECONDS: f64 = 30.0;
/// A pull waits so long before the run counts as broken, seconds.
const PULL_SECONDS: f64 = 20.0;
/// The schedule begins so long after the order, ns.
const LEAD_IN_NS: u64 = 100_000_000;
/// Seconds that a library buffers: all of a run.
const BUFFER_SECONDS: i32 = 360;

/// What a process is to do.
#[derive(Debug, serde::Deserialize, serde::Serialize)]
pub(super) struct Task {
    pub(super) cell: Cell,
    pub(super) end: End,
    pub(super) library: PathBuf,
    pub(super) seconds: f64,
    pub(super) seed: u64,
    pub(super) session: String,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize)]
pub(super) enum End {
    Receiver,
    Sender,
}

/// What a process says, a line each.
#[derive(Debug, serde::Deserialize, serde::Serialize)]
pub(super) enum Said {
    /// The stream of each inlet, and when each of its samples had been pulled, ns.
    Arrived {
        inlets: Vec<(usize, Vec<u64>)>,
    },
    Failed {
        reason: String,
    },
    /// When each push of each stream began, ns.
    Pushed {
        begun: [Vec<u64>; ENDS],
    },
    Ready,
}

impl Task {
    fn count(&self) -> u64 {
        (self.seconds * self.cell.rate) as u64
    }

    fn source(&self, stream: usize) -> String {
        format!("{}-{stream}", self.session)
    }

    /// A stream of this source, as both ends describe it.
    fn shape<'a>(&self, stream: usize, source_id: &'a str) -> StreamShape<'a> {
        let (channel_count, nominal_rate) = (self.cell.channels, self.cell.rate);
        StreamShape { name: NAMES[stream], channel_count, nominal_rate, source_id }
    }
}

/// Does the task if this process was started for one, and then does not return.
pub(in super::super) fn run_if_worker() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let done = run();
    if let Err(reason) = &done {
        emit(&Said::Failed { reason: reason.to_string() });
    }
    // No destructors: the measurement is over.
    std::process::exit(i32::from(done.is_err()));
}

fn run() -> Result<(), Reason> {
    let task: Task = serde_json::from_str(&order()?)?;
    match task.end {
        End::Receiver => receive(&task),
        End::Sender => send(&task),
    }
}

/// The next line from the coordinating process; nothing once it is gone.
fn order() -> Result<String, Reason> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

fn send(task: &Task) -> Result<(), Reason> {
    let library = Lsl::load(&task.library)?;
    if !library.info().contains("security:require") {
        return Err(format!("the library says of itself: {}", library.info()).into());
    }
    let mut outlets = Vec::new();
    for stream in 0..ENDS {
        let source_id = task.source(stream);
        outlets.push(Outlet::create::<f32>(&library, &task.shape(stream, &source_id), BUFFER_SECONDS)?);
    }
    emit(&Said::Ready);
    order()?;
    if !outlets.iter().all(|outlet| outlet.wait_for_consumers(CONNECT_SECONDS)) {
        return Err("no consumer connected".into());
    }
    let begun = push(task, &mut outlets)?;
    emit(&Said::Pushed { begun });
    // The receiver has its samples when the coordinator ends this process.
    order()?;
    Ok(())
}

/// One push to each stream per period, in random order; a late push does not move those after it.
fn push(task: &Task, outlets: &mut [Outlet]) -> Result<[Vec<u64>; ENDS], Reason> {
    // Otherwise the kernel may wake this thread 50 us late to save power.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let count = task.count();
    let slot_ns = 1e9 / task.cell.rate / ENDS as f64;
    let mut source = Chunk::<f32>::new(task.cell.channels, 1);
    let mut begun: [Vec<u64>; ENDS] = core::array::from_fn(|_| Vec::with_capacity(count as usize));
    let (mut order, mut random) = ([0, 1, 2], Resampler::new(task.seed));
    let start = now_ns() + LEAD_IN_NS;
    for period in 0..count {
        let sample = source.at(period);
        random.shuffle(&mut order);
        for (slot, stream) in order.into_iter().enumerate() {
            sleep_until(start + ((period as f64 * ENDS as f64 + slot as f64) * slot_ns) as u64);
            begun[stream].push(now_ns());
            outlets[stream].push_sample(sample)?;
        }
    }
    Ok(begun)
}

/// Pulls from all inlets, each with a thread of its own.
fn receive(task: &Task) -> Result<(), Reason> {
    let library = Lsl::load(&task.library)?;
    let turn = Mutex::new(());
    let open = Barrier::new(ENDS * task.cell.inlets + 1);
    let inlets = std::thread::scope(|scope| -> Result<Vec<(usize, Vec<u64>)>, Reason> {
        let threads: Vec<_> = (0..ENDS * task.cell.inlets)
            .map(|number| {
                let (library, turn, open) = (&library, &turn, &open);
                let stream = number % ENDS;
                scope.spawn(move || (stream, pull(task, stream, library, turn, open)))
            })
            .collect();
        open.wait();
        emit(&Said::Ready);
        let mut inlets = Vec::new();
        for thread in threads {
            let (stream, arrived) = thread.join().map_err(|_| "a thread has panicked")?;
            inlets.push((stream, arrived?));
        }
        Ok(inlets)
    })?;
    emit(&Said::Arrived { inlets });
    Ok(())
}

/// When each sample of one inlet had been pulled. All come, in order, with the values that were pushed.
fn pull(
    task: &Task,
    stream: usize,
    library: &Lsl,
    turn: &Mutex<()>,
    open: &Barrier,
) -> Result<Vec<u64>, Reason> {
    let opened = {
        // One after the other: many searches at once would need as many ports.
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let source_id = task.source(stream);
        Inlet::open(library, &task.shape(stream, &source_id), BUFFER_SECONDS, CONNECT_SECONDS)
    };
    open.wait();
    let mut inlet = opened?;
    let (count, mut sample) = (task.count(), vec![0.0_f32; task.cell.channels]);
    let mut verifier = Verifier::<f32>::new(task.cell.channels);
    let mut arrived = Vec::with_capacity(count as usize);
    while verifier.next() < count {
        if !inlet.pull_sample(&mut sample, PULL_SECONDS)? {
            return Err(format!("nothing came any more after {} samples", arrived.len()).into());
        }
        arrived.push(now_ns());
        verifier.take(&sample);
    }
    match verifier.tally {
        Tally { received, lost: 0, disordered: 0, corrupt: 0 } if received == count => Ok(arrived),
        tally => Err(format!("a stream was not delivered as it was sent: {tally:?}").into()),
    }
}
