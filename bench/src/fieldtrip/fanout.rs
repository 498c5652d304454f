//! One writer at 256 channels × 2 kHz, and readers that wait for each block and read it.
//!
//! Whether readers disturb the writer is asked in short turns, none, many, many, none, and so on: what else the machine does
//! falls on both alike.

use core::error::Error;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Header, NEVER, Totals};
use schwann_fieldtrip::{Address, Buffer, Client, ClientError, Options, Policy, Server};

/// The writer's p50 and p99 with 0, 1, 4 and 16 readers, what the readers missed, and how 16 compare with none.
pub(crate) fn run(time: Duration) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    // Fewer than some hundred writes have no p99 but their slowest.
    let turn = (time / 4).max(Duration::from_secs(1));
    let mut all: BTreeMap<usize, (Vec<Duration>, u64)> = BTreeMap::new();
    for readers in TURNS {
        let (times, missed) = write_with(readers, turn)?;
        let (pooled, missed_before) = all.entry(readers).or_default();
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
        lines.push((format!("fanout {readers:2} readers, write p50 us"), at(50)));
        lines.push((format!("fanout {readers:2} readers, write p99 us"), at(99)));
        lines.push((format!("fanout {readers:2} readers, samples missed"), *missed as f64));
    }
    if let (Some(alone), Some(crowded)) = (p99.get(&0), p99.get(&16)) {
        lines.push(("fanout 16 readers, write p99 against none".to_owned(), crowded / alone));
    }
    Ok(lines)
}

fn write_with(readers: usize, time: Duration) -> Result<(Vec<Duration>, u64), Box<dyn Error>> {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(CHANNELS, RATE, DataType::Float32))?;
    let address = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let server = Server::start(&address, buffer.clone(), Policy::default())?;
    let is_over = AtomicBool::new(false);
    let read = AtomicU64::new(0);
    let mut writer = Client::connect(server.address().clone(), Options::default())?;
    let mut times = thread::scope(|scope| {
        let mut handles = Vec::new();
        for _ in 0..readers {
            let client = Client::connect(server.address().clone(), Options::default())?;
            handles.push(scope.spawn(|| follow(client, &is_over, &read)));
        }
        let times = write(&mut writer, time);
        is_over.store(true, Ordering::Relaxed);
        for handle in handles {
            handle.join().map_err(|_| "a reader panicked")??;
        }
        times
    })?;
    let written = u64::from(buffer.totals()?.samples) * readers as u64;
    times.sort_unstable();
    Ok((times, written - read.load(Ordering::Relaxed)))
}

fn write(writer: &mut Client, time: Duration) -> Result<Vec<Duration>, Box<dyn Error>> {
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
        writer.put_samples(CHANNELS, &block)?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// Reads every block and checks that it is the one due.
fn follow(mut client: Client, is_over: &AtomicBool, read: &AtomicU64) -> Result<(), ClientError> {
    let mut next = 0;
    loop {
        let totals = client.wait(Totals { samples: next, events: NEVER }, Duration::from_millis(200))?;
        if totals.samples == next {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            continue;
        }
        let block = client.samples(next, totals.samples - 1)?;
        let numbers = block.numbers::<f32>().unwrap_or_default();
        let is_right =
            |(n, row): (usize, &[f32])| row.first() == Some(&(((next as usize + n) / BLOCK as usize) as f32));
        let right = numbers.chunks(CHANNELS as usize).enumerate().filter(|row| is_right(*row)).count();
        read.fetch_add(right as u64, Ordering::Relaxed);
        next = totals.samples;
    }
}

const CHANNELS: u32 = 256;
const RATE: f32 = 2000.0;
/// Samples of a block: 10 ms.
const BLOCK: u32 = 20;
/// How many readers there are, turn by turn.
const TURNS: [usize; 18] = [0, 16, 16, 0, 1, 4, 0, 16, 16, 0, 4, 1, 0, 16, 16, 0, 16, 0];
