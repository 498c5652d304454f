//! Several workers, each with its own block in 512-byte chunks, and one block shared by all.

use core::hint::black_box;
use core::time::Duration;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use schwann_aead::parallel::{Strategy, Workers};
use schwann_aead::{ChunkSize, ChunkedSealer, Kernel, Key, Tag};

use super::{Contender, Engine, KEY, Workload};

/// Measures and prints efficiency and slowdown by strategy, the gain on one shared block, and what an
/// allocating interface would cost.
pub fn print() {
    if std::env::args().nth(2).as_deref() == Some("child") {
        println!("{}", Worker::new().work(CHILD_PASSES).as_nanos() / CHILD_PASSES as u128);
        return;
    }
    println!("own 128 KiB block each, 512 B chunks, seal and open; {} processors", processors());
    for (name, run) in STRATEGIES {
        let alone = median_of(*run, 1);
        for count in [1, 2, 4, 8] {
            let (wall, own) = median_of(*run, count);
            println!(
                "{name:10} x{count}: {:6.0} MB/s, efficiency {:5.1} %, slowdown {:.3}",
                count as f64 * 2.0 * BLOCK as f64 / wall / 1e6,
                100.0 * alone.0 / wall,
                own / alone.1,
            );
        }
    }
    shared_block();
    allocating();
}

/// A way to run workers: takes their number, returns wall time and mean worker time, in seconds per pass.
type Run = fn(usize) -> (f64, f64);

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

impl Worker {
    fn new() -> Self {
        let block = Workload::new((0..BLOCK / 512).map(|_| 512), 0);
        Self { engine: Engine::new(Kernel::best(), 16), block }
    }

    fn work(&mut self, passes: usize) -> Duration {
        let start = Instant::now();
        for _ in 0..passes {
            self.engine.seal(&mut self.block);
            assert!(self.engine.open(&mut self.block), "what was sealed opens");
        }
        start.elapsed()
    }
}

/// Threads started for every measurement.
fn threads(count: usize) -> (f64, f64) {
    let start = Instant::now();
    let own: Vec<Duration> = thread::scope(|scope| {
        let handles: Vec<_> = (0..count).map(|_| scope.spawn(|| Worker::new().work(PASSES))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no worker panics")).collect()
    });
    per_pass(start.elapsed(), &own)
}

/// Threads that wait at a barrier, awake before the clock starts.
fn pool(count: usize) -> (f64, f64) {
    let barrier = Barrier::new(count + 1);
    thread::scope(|scope| {
        let work = || {
            let mut worker = Worker::new();
            worker.work(4);
            barrier.wait();
            let time = worker.work(PASSES);
            barrier.wait();
            time
        };
        let handles: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        let wall = start.elapsed();
        let own: Vec<Duration> =
            handles.into_iter().map(|handle| handle.join().expect("no worker panics")).collect();
        per_pass(wall, &own)
    })
}

/// Rayon's pool, one task per worker.
#[cfg(feature = "peers")]
fn rayon_scope(count: usize) -> (f64, f64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
    let mut own = vec![Duration::ZERO; count];
    let mut workers: Vec<Worker> = (0..count).map(|_| Worker::new()).collect();
    let start = Instant::now();
    pool.scope(|scope| {
        for (own, worker) in own.iter_mut().zip(&mut workers) {
            scope.spawn(move |_| *own = worker.work(PASSES));
        }
    });
    per_pass(start.elapsed(), &own)
}

/// This program again, as often as there are workers; their own clocks count, not their start.
fn processes(count: usize) -> (f64, f64) {
    let program = std::env::current_exe().expect("this program has a path");
    let children: Vec<_> = (0..count)
        .map(|_| {
            let mut child = Command::new(&program);
            child.args(["workers", "child"]).stdout(Stdio::piped()).spawn().expect("a process")
        })
        .collect();
    let own: Vec<Duration> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("a child ends").stdout;
            let nanos: u64 =
                String::from_utf8_lossy(&output).trim().parse().expect("a child prints its time");
            Duration::from_nanos(nanos * PASSES as u64)
        })
        .collect();
    let slowest = own.iter().copied().max().unwrap_or_default();
    per_pass(slowest, &own)
}

fn per_pass(wall: Duration, own: &[Duration]) -> (f64, f64) {
    let mean = own.iter().map(Duration::as_secs_f64).sum::<f64>() / own.len() as f64;
    (wall.as_secs_f64() / PASSES as f64, mean / PASSES as f64)
}

fn median_of(run: Run, count: usize) -> (f64, f64) {
    let mut samples: Vec<(f64, f64)> = (0..ROUNDS).map(|_| run(count)).collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    samples[ROUNDS / 2]
}

/// One block, shared by our own workers.
fn shared_block() {
    let size = ChunkSize::new(512).expect("512 is permitted");
    println!("one block shared, 512 B chunks");
    for strategy in [Strategy::Pool, Strategy::Spawn] {
        let mut workers = Workers::new(strategy, processors());
        println!("{strategy:?}: shares blocks from {} B on", workers.shortest());
        for length in [BLOCK, 1 << 20, 1 << 23] {
            let mut block = vec![0_u8; length];
            let mut tags = vec![Tag([0; 16]); size.count(length)];
            let mut sealer = ChunkedSealer::new(Key::new(&KEY), size);
            let mut time = |parallel: bool| {
                let mut times: Vec<f64> = (0..41)
                    .map(|_| {
                        let start = Instant::now();
                        let sealed = if parallel {
                            sealer.seal_parallel(&mut workers, &mut block, &mut tags)
                        } else {
                            sealer.seal(&mut block, &mut tags)
                        };
                        sealed.expect("one tag per chunk");
                        start.elapsed().as_secs_f64()
                    })
                    .collect();
                times.sort_by(f64::total_cmp);
                times[20]
            };
            let (alone, together) = (time(false), time(true));
            println!(
                "  {length:8} B: {:6.0} MB/s alone, {:.2} times as fast shared",
                length as f64 / alone / 1e6,
                alone / together
            );
        }
    }
}

/// The same messages through an interface that returns a new vector for each.
fn allocating() {
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
    println!("512 B, one by one: {direct:.0} ns in place, {fresh:.0} ns with a new vector per message");
}

/// Median nanoseconds per call.
fn time_per_call(mut call: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            (0..200).for_each(&mut call);
            start.elapsed().as_secs_f64() * 1e9 / 200.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[50]
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, core::num::NonZero::get)
}

const BLOCK: usize = 131_072;
const PASSES: usize = 200;
const CHILD_PASSES: usize = 400;
const ROUNDS: usize = 9;
