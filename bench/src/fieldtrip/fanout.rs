//! One writer at 256 channels × 2 kHz, and readers that wait for each block and read it.
//!
//! Whether readers disturb the writer is asked in short turns, none, many, many, none, and so on: what else the machine does
//! falls on both alike.

mod bare;

use core::error::Error;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Header, NEVER, Selection, Totals};
use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server};

/// The writer's p50 and p99 with 0, 1, 4 and 16 readers, what the readers missed, and how 16 compare with none: over
/// sockets, and within this process; and how it is with bare sockets and threads, which is what the machine permits.
pub(crate) fn run(time: Duration) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    // Fewer than some hundred writes have no p99 but their slowest.
    let turn = (time / 4).max(Duration::from_secs(1));
    let mut lines = compare("fanout", &TURNS, |readers| over_sockets(readers, turn))?;
    lines.extend(compare("fanout bare", &PAIRED_TURNS, |readers| bare::over_sockets(readers, turn))?);
    lines.extend(compare("fanout memory", &PAIRED_TURNS, |readers| in_process(readers, turn))?);
    lines.extend(compare("fanout bare memory", &PAIRED_TURNS, |readers| bare::in_process(readers, turn))?);
    Ok(lines)
}

/// How long each write took, and how many samples the readers missed.
type Outcome = Result<(Vec<Duration>, u64), Box<dyn Error>>;

fn compare(
    name: &str,
    turns: &[usize],
    write_with: impl Fn(usize) -> Outcome,
) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let mut all: BTreeMap<usize, (Vec<Duration>, u64)> = BTreeMap::new();
    for readers in turns {
        let (times, missed) = write_with(*readers)?;
        let (pooled, missed_before) = all.entry(*readers).or_default();
        pooled.extend(times);
        *missed_before += missed;
    }
    let mut lines = Vec::new();
    let mut p99 = BTreeMap::new();
    for (readers, (times, missed)) in &mut all {
        times.sort_unstable();
        let at =
            |part: usize| times.get((times.len() - 1) * part / 100).map_or(0.0, Duration::as_secs_f64) * 1e6;
        p99.insert(*readers, at(99));
        lines.push((format!("{name} {readers:2} readers, write p50 us"), at(50)));
        lines.push((format!("{name} {readers:2} readers, write p99 us"), at(99)));
        lines.push((format!("{name} {readers:2} readers, samples missed"), *missed as f64));
    }
    if let (Some(alone), Some(crowded)) = (p99.get(&0), p99.get(&16)) {
        lines.push((format!("{name} 16 readers, write p99 against none"), crowded / alone));
    }
    Ok(lines)
}

fn over_sockets(readers: usize, time: Duration) -> Outcome {
    let buffer = fresh()?;
    let address = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let server = Server::start(&address, buffer.clone(), Policy::default())?;
    let connect = || Client::connect(server.address().clone(), Options::default());
    let mut writer = connect()?;
    let followed: Vec<_> = (0..readers).map(|_| connect()).collect::<Result<_, _>>()?;
    write_to(followed, &buffer, time, |block| Ok(writer.put_samples(CHANNELS, block)?))
}

fn in_process(readers: usize, time: Duration) -> Outcome {
    let buffer = fresh()?;
    let followed = vec![buffer.clone(); readers];
    write_to(followed, &buffer, time, |block| Ok(buffer.put_samples(CHANNELS, block)?))
}

fn fresh() -> Result<Buffer, Box<dyn Error>> {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(CHANNELS, RATE, DataType::Float32))?;
    Ok(buffer)
}

/// Writes for a while, with these readers.
fn write_to<S: Source + Send>(
    readers: Vec<S>,
    buffer: &Buffer,
    time: Duration,
    put: impl FnMut(&[f32]) -> Result<(), Box<dyn Error>>,
) -> Outcome {
    let count = readers.len() as u64;
    let is_over = AtomicBool::new(false);
    let read = AtomicU64::new(0);
    let times = thread::scope(|scope| {
        let (is_over, read) = (&is_over, &read);
        let readers = readers.into_iter().map(|reader| scope.spawn(move || follow(reader, is_over, read)));
        let handles: Vec<_> = readers.collect();
        let times = write(put, time);
        is_over.store(true, Ordering::Relaxed);
        for handle in handles {
            let ended = handle.join().map_err(|_| "a reader panicked")?;
            ended.map_err(|failure| -> Box<dyn Error> { failure })?;
        }
        times
    })?;
    let written = u64::from(buffer.totals()?.samples) * count;
    Ok((times, written - read.load(Ordering::Relaxed)))
}

fn write(
    mut put: impl FnMut(&[f32]) -> Result<(), Box<dyn Error>>,
    time: Duration,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut times = Vec::new();
    let started = Instant::now();
    let period = Duration::from_secs_f64(f64::from(BLOCK) / f64::from(RATE));
    for number in 0_u32.. {
        let due = period * number;
        if due > time {
            return Ok(times);
        }
        thread::sleep(due.saturating_sub(started.elapsed()));
        let block = vec![number as f32; CHANNELS as usize * BLOCK as usize];
        let begun = Instant::now();
        put(&block)?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// Where a reader waits and reads.
trait Source {
    fn wait(&mut self, threshold: Totals, timeout: Duration) -> Result<Totals, Failure>;

    fn read(&mut self, first: u32, last: u32) -> Result<Vec<u8>, Failure>;
}

type Failure = Box<dyn Error + Send + Sync>;

impl Source for Client {
    fn wait(&mut self, threshold: Totals, timeout: Duration) -> Result<Totals, Failure> {
        Ok(Self::wait(self, threshold, timeout)?)
    }

    fn read(&mut self, first: u32, last: u32) -> Result<Vec<u8>, Failure> {
        Ok(self.samples(first, last)?.values)
    }
}

impl Source for Buffer {
    fn wait(&mut self, threshold: Totals, timeout: Duration) -> Result<Totals, Failure> {
        Ok(Self::wait(self, threshold, timeout)?)
    }

    fn read(&mut self, first: u32, last: u32) -> Result<Vec<u8>, Failure> {
        Ok(self.samples(Some(Selection { begin: first, end: last }))?.1)
    }
}

/// Reads every block and checks that it is the one due.
fn follow(mut source: impl Source, is_over: &AtomicBool, read: &AtomicU64) -> Result<(), Failure> {
    let mut next = 0;
    loop {
        let totals = source.wait(Totals { samples: next, events: NEVER }, Duration::from_millis(200))?;
        if totals.samples == next {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            continue;
        }
        let values = source.read(next, totals.samples - 1)?;
        let is_right = |(n, row): (usize, &[u8])| {
            let first = row.first_chunk().map(|bytes| f32::from_ne_bytes(*bytes));
            first == Some(((next as usize + n) / BLOCK as usize) as f32)
        };
        let rows = values.chunks(CHANNELS as usize * 4).enumerate();
        read.fetch_add(rows.filter(|row| is_right(*row)).count() as u64, Ordering::Relaxed);
        next = totals.samples;
    }
}

const CHANNELS: u32 = 256;
const RATE: f32 = 2000.0;
/// Samples of a block: 10 ms.
const BLOCK: u32 = 20;
/// How many readers there are, turn by turn.
const TURNS: [usize; 18] = [0, 16, 16, 0, 1, 4, 0, 16, 16, 0, 4, 1, 0, 16, 16, 0, 16, 0];
/// The same with all readers or none.
const PAIRED_TURNS: [usize; 8] = [0, 16, 16, 0, 0, 16, 16, 0];
