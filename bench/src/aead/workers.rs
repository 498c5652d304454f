//! Several workers, each with its own block in 512-byte chunks, and what an interface that allocates costs.

use core::hint::black_box;
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use schwann_aead::{Kernel, Key, Nonce};

use super::contender::{Contender, Engine};
use super::measure::FEWEST;
use super::{BLOCK, KEY, Workload};
use crate::record::Reading;
use crate::statistics::median;
use crate::transfer::{Placement, Process};
use crate::worker::{Event, Job};

/// Measures every strategy with 1, 2, 4 and 8 workers.
///
/// One worker and many take turns, and every ratio is between neighbours in time. Rounds in which a worker had
/// to wait for a processor do not count, as long as there are others.
pub(super) fn scaling(step: &str, rounds: usize) -> Vec<Reading> {
    STRATEGIES.iter().flat_map(|&(name, run)| scaling_of(step, name, run, rounds)).collect()
}

fn scaling_of(step: &str, strategy: &str, run: Run, rounds: usize) -> Vec<Reading> {
    let counts = [1, 2, 4, 8];
    let samples: Vec<[Sample; 4]> = (0..rounds).map(|_| counts.map(run)).collect();
    let mut readings = Vec::new();
    for (column, workers) in counts.into_iter().enumerate() {
        // More workers than processors must wait for each other.
        let is_quiet = |row: &&[Sample; 4]| {
            row[0].is_undisturbed() && (row[column].is_undisturbed() || workers > processors())
        };
        let mut rows: Vec<&[Sample; 4]> = samples.iter().filter(is_quiet).collect();
        let accepted = rows.len();
        let disturbed = if accepted == 0 { ", of disturbed rounds" } else { "" };
        if accepted == 0 {
            rows = samples.iter().collect();
        }
        let all =
            |of: &dyn Fn(&[Sample; 4]) -> f64| median(&rows.iter().map(|row| of(row)).collect::<Vec<_>>());
        let ratio = |of: fn(&Sample) -> f64| all(&|row| of(&row[column]) / of(&row[0]));
        let rate = workers as f64 * 2.0 * BLOCK as f64 / all(&|row| row[column].wall) / 1e6;
        let (efficiency, slowdown) = (100.0 / ratio(|sample| sample.wall), ratio(|sample| sample.own));
        // Judged is what goals are for and was measured well enough: two workers, each with a processor.
        let is_judged = workers == 2 && processors() >= 2 && accepted >= FEWEST;
        let reading = |name: &str, unit: &str, value: f64, goal: Option<String>| {
            let name = format!("{workers} workers: {name}{disturbed}");
            let reading = Reading::one(step, strategy, &name, unit, value);
            let reading = Reading { samples: accepted as u64, ..reading };
            reading.limited(goal.filter(|_| is_judged).unwrap_or_default())
        };
        readings.extend([
            reading("seal and open", "MB/s", rate, None),
            reading("efficiency", "%", efficiency, Some(format!(">= {EFFICIENCY}"))),
            reading("slowdown", "times", slowdown, Some(format!("<= {SLOWDOWN}"))),
            reading("slowdown of processor time", "times", ratio(|sample| sample.processor), None),
        ]);
    }
    readings
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
    /// A worker's mean processor time: what others took from it does not count.
    processor: f64,
}

impl Sample {
    fn of(wall: Duration, spent: &[Spent], passes: usize) -> Self {
        let mean = |of: fn(&Spent) -> Duration| {
            let sum: Duration = spent.iter().map(of).sum();
            sum.as_secs_f64() / spent.len() as f64 / passes as f64
        };
        let wall = wall.as_secs_f64() / passes as f64;
        Self { wall, own: mean(|spent| spent.0), processor: mean(|spent| spent.1) }
    }

    /// Whether the workers had a processor nearly all the time.
    fn is_undisturbed(&self) -> bool {
        self.wall < 1.02 * self.processor
    }
}

/// What a worker took for all its passes: time and processor time.
type Spent = (Duration, Duration);

/// The work of one process.
pub(crate) fn spend(passes: usize) -> Spent {
    Worker::new().work(passes)
}

/// A worker's own block.
struct Worker {
    engine: Engine,
    block: Workload,
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
        (start.elapsed(), processor_time() - processor)
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
    Sample::of(start.elapsed(), &spent, PASSES)
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
        let spent = handles.into_iter().map(|handle| handle.join().expect("no worker panics"));
        Sample::of(wall, &spent.collect::<Vec<_>>(), PASSES)
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
    Sample::of(start.elapsed(), &spent, PASSES)
}

/// This program again, as often as there are workers; their own clocks count, not their start.
fn processes(count: usize) -> Sample {
    let start = |_| {
        Process::start(&Job::Aead(CHILD_PASSES), &Placement::default(), PROCESS_TIMEOUT).expect("a process")
    };
    let children: Vec<Process> = (0..count).map(start).collect();
    let spent = |mut child: Process| match child.hear() {
        Ok(Event::Spent(own, processor)) => (own, processor),
        other => panic!("a process measures, but here: {other:?}"),
    };
    let spent: Vec<Spent> = children.into_iter().map(spent).collect();
    let slowest = spent.iter().map(|spent| spent.0).max().unwrap_or_default();
    Sample::of(slowest, &spent, CHILD_PASSES)
}

/// Messages of 512 bytes, one by one: in place, and through an interface that returns a new vector for each.
pub(super) fn allocating(step: &str) -> Vec<Reading> {
    let plain = vec![7_u8; 512];
    let (kernel, key) = (Kernel::best(), Key::new(&KEY));
    let seal = |index: usize, text: &mut [u8]| {
        kernel.seal_in_place(&key, &Nonce(Workload::nonce(index)), &[], text).expect("short")
    };
    let mut buffer = plain.clone();
    let in_place = ns_per_call(|index| {
        black_box(seal(index, black_box(&mut buffer)));
    });
    let fresh = ns_per_call(|index| {
        let mut sealed = Vec::with_capacity(plain.len() + 16);
        sealed.extend_from_slice(&plain);
        let tag = seal(index, &mut sealed);
        sealed.extend_from_slice(tag.as_ref());
        black_box(sealed);
    });
    [("in place", in_place), ("new vector per message", fresh)]
        .map(|(subject, ns)| Reading::one(step, subject, "seal 512 B", "ns", ns))
        .into()
}

/// The median over a hundred rounds.
fn ns_per_call(mut call: impl FnMut(usize)) -> f64 {
    let rounds = (0..101).map(|_| {
        let start = Instant::now();
        (0..200).for_each(&mut call);
        start.elapsed().as_secs_f64() * 1e9 / 200.0
    });
    median(&rounds.collect::<Vec<_>>())
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, core::num::NonZero::get)
}

/// The least efficiency of two workers on two processors, percent, and the greatest slowdown.
const EFFICIENCY: f64 = 97.0;
const SLOWDOWN: f64 = 1.03;
/// Some 10 ms: short enough to find rounds without interruption on a busy machine.
const PASSES: usize = 60;
const CHILD_PASSES: usize = 400;
/// A process has done its passes in this time.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(60);

const STRATEGIES: &[(&str, Run)] = &[
    ("threads", threads),
    ("pool", pool),
    #[cfg(feature = "peers")]
    ("rayon", rayon_scope),
    ("processes", processes),
];
