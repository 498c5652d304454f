//! One writer at 256 channels × 2 kHz, and readers that wait for each block and read it. They read from our server,
//! from our buffer in this process, and from bare sockets and threads. The last show what the machine permits.
//!
//! Short turns show whether readers disturb the writer: none, many, many, none, and so on. Other load of the
//! machine falls on both alike.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::wire::{NEVER, Selection, Totals};
use schwann_fieldtrip::{Buffer, Client, Options, Policy, Server};

use super::{Figures, buffer, spread_us, tcp};
use crate::Reason;

/// The writer's p50 and p99 with 0, 1, 4 and 16 readers, and 16 readers against none. Also the blocks that
/// readers missed.
pub(super) fn run(time: Duration) -> Result<Figures, Reason> {
    // Fewer than some hundred writes have no p99 but their slowest.
    let turn = (time / 4).max(Duration::from_secs(1));
    type Way = fn(usize, Duration) -> Outcome;
    let ways: [(&str, &[usize], Way); 4] = [
        ("fanout", &TURNS, over_sockets),
        ("fanout bare", &PAIRED_TURNS, bare_sockets),
        ("fanout memory", &PAIRED_TURNS, in_process),
        ("fanout bare memory", &PAIRED_TURNS, bare_threads),
    ];
    let mut figures = Vec::new();
    for (name, turns, way) in ways {
        let mut all: BTreeMap<usize, (Vec<Duration>, u64)> = BTreeMap::new();
        for readers in turns {
            let (times, missed) = way(*readers, turn)?;
            let (pooled, missed_before) = all.entry(*readers).or_default();
            pooled.extend(times);
            *missed_before += missed;
        }
        let mut p99 = BTreeMap::new();
        for (readers, (times, missed)) in &all {
            let [half, most, _] = spread_us(times);
            p99.insert(*readers, most);
            figures.push((format!("{name} {readers:2} readers, write p50 us"), half));
            figures.push((format!("{name} {readers:2} readers, write p99 us"), most));
            figures.push((format!("{name} {readers:2} readers, samples missed"), *missed as f64));
        }
        figures.push((format!("{name} 16 readers, write p99 against none"), p99[&16] / p99[&0]));
    }
    Ok(figures)
}

/// How long each write took, and how many samples the readers missed.
type Outcome = Result<(Vec<Duration>, u64), Reason>;
/// Waits for the next samples, reads them and says how many of them were right; nothing when it is over.
type Reader = Box<dyn FnMut() -> Result<Option<u64>, Reason> + Send>;

/// Writes a block every 10 ms, for `time`, while each reader reads all of them. `end` tells the readers that it is over.
fn write_to(
    readers: Vec<Reader>,
    time: Duration,
    mut put: impl FnMut(&[f32]) -> Result<(), Reason>,
    end: impl FnOnce(),
) -> Outcome {
    let (count, read) = (readers.len() as u64, AtomicU64::new(0));
    let times = thread::scope(|scope| {
        let follow = |mut reader: Reader| {
            let read = &read;
            scope.spawn(move || -> Result<(), Reason> {
                while let Some(samples) = reader()? {
                    read.fetch_add(samples, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let handles: Vec<_> = readers.into_iter().map(follow).collect();
        let times = write(time, &mut put);
        end();
        for handle in handles {
            handle.join().map_err(|_| "a reader panicked")??;
        }
        times
    })?;
    let written = times.len() as u64 * u64::from(BLOCK);
    Ok((times, (written * count).saturating_sub(read.into_inner())))
}

fn write(
    time: Duration,
    put: &mut impl FnMut(&[f32]) -> Result<(), Reason>,
) -> Result<Vec<Duration>, Reason> {
    let mut times = Vec::new();
    let started = Instant::now();
    let period = Duration::from_secs_f64(f64::from(BLOCK) / f64::from(RATE));
    for number in 0_u32.. {
        let due = period * number;
        if due > time {
            break;
        }
        thread::sleep(due.saturating_sub(started.elapsed()));
        let block = vec![number as f32; BLOCK_VALUES];
        let begun = Instant::now();
        put(&block)?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn over_sockets(readers: usize, time: Duration) -> Outcome {
    let server = Server::start(&tcp(), buffer(CHANNELS, RATE)?, Policy::default())?;
    let connect = || Client::connect(server.address().clone(), Options::default());
    let (mut writer, is_over) = (connect()?, Arc::new(AtomicBool::new(false)));
    let reader = |_| {
        let wait = |client: &mut Client, threshold| Ok(client.wait(threshold, LOOK_EVERY)?);
        let read = |client: &mut Client, first, last| Ok(client.samples(first, last)?.values);
        Ok(follow(connect()?, Arc::clone(&is_over), wait, read))
    };
    let all = (0..readers).map(reader).collect::<Result<_, Reason>>()?;
    let end = || is_over.store(true, Ordering::Release);
    write_to(all, time, |block| Ok(writer.put_samples(CHANNELS, block)?), end)
}

fn in_process(readers: usize, time: Duration) -> Outcome {
    let (buffer, is_over) = (buffer(CHANNELS, RATE)?, Arc::new(AtomicBool::new(false)));
    let reader = |_| {
        let wait = |buffer: &mut Buffer, threshold| Ok(buffer.wait(threshold, LOOK_EVERY)?);
        let read = |buffer: &mut Buffer, begin, end| Ok(buffer.samples(Some(Selection { begin, end }))?.1);
        follow(buffer.clone(), Arc::clone(&is_over), wait, read)
    };
    let end = || is_over.store(true, Ordering::Release);
    let put = |block: &[f32]| Ok(buffer.put_samples(CHANNELS, block)?);
    write_to((0..readers).map(reader).collect(), time, put, end)
}

/// A reader of ours, which checks that what it reads is what is due.
fn follow<S: Send + 'static>(
    mut source: S,
    is_over: Arc<AtomicBool>,
    wait: impl Fn(&mut S, Totals) -> Result<Totals, Reason> + Send + 'static,
    read: impl Fn(&mut S, u32, u32) -> Result<Vec<u8>, Reason> + Send + 'static,
) -> Reader {
    let mut next = 0;
    Box::new(move || {
        // Asked first: what was written until then is there.
        let was_last = is_over.load(Ordering::Acquire);
        let totals = wait(&mut source, Totals { samples: next, events: NEVER })?;
        if totals.samples == next {
            return Ok((!was_last).then_some(0));
        }
        let values = read(&mut source, next, totals.samples - 1)?;
        let is_right = |(n, row): &(usize, &[u8])| {
            let first = row.first_chunk().map(|bytes| f32::from_ne_bytes(*bytes));
            first == Some(((next as usize + n) / BLOCK as usize) as f32)
        };
        let rows = values.chunks(CHANNELS as usize * 4).enumerate();
        let right = rows.filter(is_right).count() as u64;
        next = totals.samples;
        Ok(Some(right))
    })
}

/// One thread takes the writer's blocks, answers it, and then sends the block to each reader.
fn bare_sockets(readers: usize, time: Duration) -> Outcome {
    let (mut writer, mut from_writer) = pair()?;
    let pairs: Vec<_> = (0..readers).map(|_| pair()).collect::<Result<_, _>>()?;
    let (ends, mut to_readers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    thread::spawn(move || {
        let mut block = vec![0; BLOCK_BYTES];
        while from_writer.read_exact(&mut block).is_ok() && from_writer.write_all(&[0; 8]).is_ok() {
            // A reader that has gone shows in the count.
            let _ = to_readers.iter_mut().try_for_each(|reader| reader.write_all(&block));
        }
    });
    let reader = |mut end: TcpStream| -> Reader {
        let mut block = vec![0; BLOCK_BYTES];
        Box::new(move || Ok(end.read_exact(&mut block).is_ok().then_some(u64::from(BLOCK))))
    };
    let closing = writer.try_clone()?;
    let put = |block: &[f32]| {
        writer.write_all(bytemuck::cast_slice(block))?;
        Ok(writer.read_exact(&mut [0; 8])?)
    };
    let end = || _ = closing.shutdown(Shutdown::Both);
    write_to(ends.into_iter().map(reader).collect(), time, put, end)
}

/// Two connected TCP sockets of this machine that send at once what they are given.
pub(super) fn pair() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    Ok((here, there))
}

/// The writer copies its block under a lock and wakes all readers, which copy it as well.
fn bare_threads(readers: usize, time: Duration) -> Outcome {
    #[derive(Default)]
    struct Held {
        blocks: u64,
        block: Vec<f32>,
        is_over: bool,
    }
    let shared = Arc::new((Mutex::new(Held::default()), Condvar::new()));
    let change = |change: &dyn Fn(&mut Held)| {
        change(&mut shared.0.lock().expect("no thread panics with the lock"));
        shared.1.notify_all();
    };
    let reader = |_| -> Reader {
        let (shared, mut seen, mut block) = (Arc::clone(&shared), 0, vec![0.0; BLOCK_VALUES]);
        Box::new(move || {
            let held = shared.0.lock().map_err(|_| "the writer panicked")?;
            let held = shared.1.wait_while(held, |held| held.blocks == seen && !held.is_over);
            let held = held.map_err(|_| "the writer panicked")?;
            let came = held.blocks - seen;
            if came > 0 {
                seen = held.blocks;
                block.copy_from_slice(&held.block);
            }
            Ok((came > 0).then_some(came * u64::from(BLOCK)))
        })
    };
    let put = |block: &[f32]| {
        change(&|held| {
            held.blocks += 1;
            held.block.clear();
            held.block.extend_from_slice(block);
        });
        Ok(())
    };
    let end = || change(&|held| held.is_over = true);
    write_to((0..readers).map(reader).collect(), time, put, end)
}

const CHANNELS: u32 = 256;
const RATE: f32 = 2000.0;
/// Samples of a block: 10 ms.
const BLOCK: u32 = 20;
const BLOCK_VALUES: usize = CHANNELS as usize * BLOCK as usize;
const BLOCK_BYTES: usize = BLOCK_VALUES * 4;
/// A reader looks so often whether it is over.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How many readers there are, turn by turn.
const TURNS: [usize; 18] = [0, 16, 16, 0, 1, 4, 0, 16, 16, 0, 4, 1, 0, 16, 16, 0, 16, 0];
/// The same with all readers or none.
const PAIRED_TURNS: [usize; 8] = [0, 16, 16, 0, 0, 16, 16, 0];
