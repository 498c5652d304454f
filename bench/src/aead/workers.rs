//! Several workers, each with its own block in 512-byte chunks, and one block shared by all.

use core::hint::black_box;
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use schwann_aead::{Kernel, Key};

use super::{Contender, Engine, KEY, Workload};
use crate::statistics;
use crate::transfer::{End, Place, Process};
use crate::worker::{Event, Job};

/// One strategy with one number of workers, each with its own 128 KiB block in 512-byte chunks.
#[derive(Clone, Debug)]
pub(crate) struct Scaling {
    /// Name of the strategy.
    pub(crate) strategy: &'static str,
    /// How many workers.
    pub(crate) workers: usize,
    /// MB/s of all workers together, sealing and opening.
    pub(crate) rate: f64,
    /// Time of one worker alone, as a share of the time of so many at once.
    pub(crate) efficiency: f64,
    /// How much longer a worker takes for its work than one that is alone, by its own clock.
    pub(crate) slowdown: f64,
    /// The same by the processor time it was given: what others took from it does not count.
    pub(crate) slowdown_of_processor: f64,
    /// Rounds in which no worker was interrupted, and all rounds. If there was none, the figures are of all.
    pub(crate) accepted: (usize, usize),
}

impl Scaling {
    /// Says whether this is what goals are for, and was measured well enough: two workers, each with a processor.
    pub(crate) fn is_judged(&self) -> bool {
        self.workers == 2 && processors() >= 2 && self.accepted.0 >= FEWEST
    }
}

/// The least efficiency of two workers on two processors, and the greatest slowdown.
pub(crate) const GOALS: (f64, f64) = (0.97, 1.03);

/// Measures every strategy with 1, 2, 4 and 8 workers.
///
/// One worker and many take turns, and every ratio is between neighbours in time. Rounds in which a worker had
/// to wait for a processor do not count, as long as there are others.
pub(crate) fn scaling(rounds: usize) -> Vec<Scaling> {
    STRATEGIES.iter().flat_map(|&(name, run)| scaling_of(name, run, rounds)).collect()
}

fn scaling_of(strategy: &'static str, run: Run, rounds: usize) -> Vec<Scaling> {
    let counts = [1, 2, 4, 8];
    let samples: Vec<[Sample; 4]> = (0..rounds).map(|_| counts.map(run)).collect();
    let each = counts.into_iter().enumerate().map(|(column, workers)| {
        // More workers than processors must wait for each other.
        let quiet = |row: &&[Sample; 4]| {
            row[0].is_undisturbed() && (row[column].is_undisturbed() || workers > processors())
        };
        let accepted: Vec<&[Sample; 4]> = samples.iter().filter(quiet).collect();
        let count = accepted.len();
        let rows = if count == 0 { samples.iter().collect() } else { accepted };
        let ratio = |of: fn(&Sample) -> f64| median(rows.iter().map(|row| of(&row[column]) / of(&row[0])));
        Scaling {
            strategy,
            workers,
            rate: workers as f64 * 2.0 * BLOCK as f64 / median(rows.iter().map(|row| row[column].wall)) / 1e6,
            efficiency: 1.0 / ratio(|sample| sample.wall),
            slowdown: ratio(|sample| sample.own),
            slowdown_of_processor: ratio(|sample| sample.processor),
            accepted: (count, rounds),
        }
    });
    each.collect()
}

/// The work of one process: time and processor time.
pub(crate) fn spend(passes: usize) -> (Duration, Duration) {
    let Spent { own, processor } = Worker::new().work(passes);
    (own, processor)
}

/// A way to run workers: takes their number.
type Run = fn(usize) -> Sample;

/// What workers took, in seconds per pass.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// From the start of the first to the end of the last.
    wall: f64,
    /// A worker's mean time.
    own: f64,
    /// A worker's mean processor time.
    processor: f64,
}

impl Sample {
    /// Whether the workers had a processor nearly all the time.
    fn is_undisturbed(&self) -> bool {
        self.wall < 1.02 * self.processor
    }
}

const STRATEGIES: &[(&str, Run)] = &[
    ("threads", threads),
    ("pool", pool),
    #[cfg(feature = "peers")]
    ("rayon", rayon_scope),
    ("processes", processes),
];

/// A worker's own block.
struct Worker {
    engine: Engine,
    block: Workload,
}

/// What a worker took for all its passes.
#[derive(Clone, Copy, Default)]
struct Spent {
    own: Duration,
    processor: Duration,
}

impl Worker {
    fn new() -> Self {
        let block = Workload::new((0..BLOCK / 512).map(|_| 512), 0);
        Self { engine: Engine::new(Kernel::best(), 16), block }
    }

    fn work(&mut self, passes: usize) -> Spent {
        let (start, processor) = (Instant::now(), processor_time());
        for _ in 0..passes {
            self.engine.seal(&mut self.block);
            assert!(self.engine.open(&mut self.block), "what was sealed opens");
        }
        Spent { own: start.elapsed(), processor: processor_time() - processor }
    }
}

/// The processor time that this thread has had.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Threads started for every measurement.
fn threads(count: usize) -> Sample {
    let mut workers: Vec<Worker> = (0..count).map(|_| Worker::new()).collect();
    let start = Instant::now();
    let spent: Vec<Spent> = thread::scope(|scope| {
        let handles: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(|| worker.work(PASSES))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no worker panics")).collect()
    });
    sample(start.elapsed(), &spent, PASSES)
}

/// Threads that wait at a barrier, awake before the clock starts.
fn pool(count: usize) -> Sample {
    let barrier = Barrier::new(count + 1);
    thread::scope(|scope| {
        let work = || {
            let mut worker = Worker::new();
            worker.work(4);
            barrier.wait();
            let spent = worker.work(PASSES);
            barrier.wait();
            spent
        };
        let handles: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        let wall = start.elapsed();
        let spent: Vec<Spent> =
            handles.into_iter().map(|handle| handle.join().expect("no worker panics")).collect();
        sample(wall, &spent, PASSES)
    })
}

/// Rayon's pool, one task per worker.
#[cfg(feature = "peers")]
fn rayon_scope(count: usize) -> Sample {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
    let mut spent = vec![Spent::default(); count];
    let mut workers: Vec<Worker> = (0..count).map(|_| Worker::new()).collect();
    let start = Instant::now();
    pool.scope(|scope| {
        for (spent, worker) in spent.iter_mut().zip(&mut workers) {
            scope.spawn(move |_| *spent = worker.work(PASSES));
        }
    });
    sample(start.elapsed(), &spent, PASSES)
}

/// This program again, as often as there are workers; their own clocks count, not their start.
fn processes(count: usize) -> Sample {
    let start =
        |_| Process::start(&Job::Aead(CHILD_PASSES), &Place::default(), PROCESS_TIMEOUT).expect("a process");
    let children: Vec<Process> = (0..count).map(start).collect();
    let spent = |mut child: Process| match child.hear() {
        Ok(Event::Spent(own, processor)) => Spent { own, processor },
        other => panic!("a process measures, but here: {other:?}"),
    };
    let spent: Vec<Spent> = children.into_iter().map(spent).collect();
    let slowest = spent.iter().map(|spent| spent.own).max().unwrap_or_default();
    sample(slowest, &spent, CHILD_PASSES)
}

fn sample(wall: Duration, spent: &[Spent], passes: usize) -> Sample {
    let mean = |of: fn(&Spent) -> Duration| {
        spent.iter().map(|spent| of(spent).as_secs_f64()).sum::<f64>() / spent.len() as f64 / passes as f64
    };
    Sample {
        wall: wall.as_secs_f64() / passes as f64,
        own: mean(|spent| spent.own),
        processor: mean(|spent| spent.processor),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    statistics::median(&values.collect::<Vec<_>>())
}

/// Nanoseconds per message of 512 bytes, one by one: in place, and through an interface that returns a new vector
/// for each.
pub(crate) fn allocating() -> (f64, f64) {
    let plain = vec![7_u8; 512];
    let engine = Kernel::best();
    let key = Key::new(&KEY);
    let mut buffer = plain.clone();
    let direct = time_per_call(|index| {
        let nonce = schwann_aead::Nonce(Workload::nonce(index));
        black_box(engine.seal_in_place(&key, &nonce, &[], black_box(&mut buffer)).expect("short"));
    });
    let fresh = time_per_call(|index| {
        let nonce = schwann_aead::Nonce(Workload::nonce(index));
        let mut sealed = Vec::with_capacity(plain.len() + 16);
        sealed.extend_from_slice(&plain);
        let tag = engine.seal_in_place(&key, &nonce, &[], &mut sealed).expect("short");
        sealed.extend_from_slice(tag.as_ref());
        black_box(sealed);
    });
    (direct, fresh)
}

/// Median nanoseconds per call.
fn time_per_call(mut call: impl FnMut(usize)) -> f64 {
    median((0..101).map(|_| {
        let start = Instant::now();
        (0..200).for_each(&mut call);
        start.elapsed().as_secs_f64() * 1e9 / 200.0
    }))
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, core::num::NonZero::get)
}

const BLOCK: usize = 131_072;
/// Some 10 ms: short enough to find rounds without interruption on a busy machine.
const PASSES: usize = 60;
const CHILD_PASSES: usize = 400;
/// Fewer undisturbed rounds are not judged.
const FEWEST: usize = 3;
/// A process has done its passes in this time.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(60);
