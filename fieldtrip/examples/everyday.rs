//! One process of an everyday run: a server, a writer at a device's rate, or a reader that waits first.
//!
//! `everyday.py` beside it starts them and compares builds. The first eight bytes of a block are the time of its put.
//! At its end, a process prints its processor seconds. Then it prints times in nanoseconds, a line for each writer
//! and reader.

use core::error::Error;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::thread;

use rustix::time::{ClockId, clock_gettime};
use schwann_fieldtrip::wire::{DataType, Header, NEVER, SamplesDefinition, Totals};
use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address] => serve(&address.parse()?),
        ["embed", address, ref series @ ..] => embed(&address.parse()?, &Series::parse(series)?),
        ["write", address, ref series @ ..] => write(address.parse()?, &Series::parse(series)?),
        ["read", address, ref series @ ..] => read(address.parse()?, &Series::parse(series)?),
        ["memory", readers, ref series @ ..] => memory(readers.parse()?, &Series::parse(series)?),
        _ => Err("serve ADDRESS; embed, write or read ADDRESS SERIES; memory READERS SERIES".into()),
    }
}

/// What a writer puts, and when: CHANNELS SAMPLES PERIOD_NS START_NS BLOCKS.
struct Series {
    block: SamplesDefinition,
    period_ns: u64,
    /// On the monotonic clock.
    start_ns: u64,
    blocks: u64,
}

impl Series {
    fn parse(words: &[&str]) -> Outcome<Self> {
        let [channels, samples, period, start, blocks] = words else {
            return Err("CHANNELS SAMPLES PERIOD_NS START_NS BLOCKS".into());
        };
        let block = SamplesDefinition::new(channels.parse()?, samples.parse()?, DataType::Float32);
        let block = block.filter(|block| block.value_bytes >= 8).ok_or("a block has 8 bytes at least")?;
        let (period_ns, start_ns) = (period.parse()?, start.parse()?);
        Ok(Self { block, period_ns, start_ns, blocks: blocks.parse()? })
    }

    fn header(&self) -> Header {
        Header::new(self.block.channel_count, 1000.0, DataType::Float32)
    }

    /// Puts each block when it is due; returns how long each put took.
    fn put_all(&self, mut put: impl FnMut(&[u8]) -> Outcome<()>) -> Outcome<Vec<u64>> {
        let mut values = vec![1; self.block.value_bytes as usize];
        let mut times = Vec::new();
        for round in 0..self.blocks {
            let due = self.start_ns + round * self.period_ns;
            thread::sleep(Duration::from_nanos(due.saturating_sub(now())));
            let begun = now();
            values[..8].copy_from_slice(&begun.to_ne_bytes());
            put(&values)?;
            times.push(now() - begun);
        }
        Ok(times)
    }

    /// Waits for each block and gets it; returns how long each took since its put began.
    fn get_all(
        &self,
        mut wait: impl FnMut(Totals) -> Outcome<Totals>,
        mut get: impl FnMut(u32, &mut Vec<u8>) -> Outcome<()>,
    ) -> Outcome<Vec<u64>> {
        let (mut times, mut values, mut next) = (Vec::new(), Vec::new(), 0);
        for _ in 0..self.blocks {
            let totals = wait(Totals { samples: next, events: NEVER })?;
            if totals.samples <= next {
                return Err("no block came".into());
            }
            get(next, &mut values)?;
            let put = values.first_chunk().ok_or("a block without values")?;
            times.push(now() - u64::from_ne_bytes(*put));
            next += self.block.sample_count;
        }
        Ok(times)
    }
}

fn serve(address: &Address) -> Outcome<()> {
    let server = Server::start(address, Buffer::default(), Policy::default())?;
    say(server.address());
    await_end();
    print(&[])
}

fn embed(address: &Address, series: &Series) -> Outcome<()> {
    let buffer = Buffer::default();
    let server = Server::start(address, buffer.clone(), Policy::default())?;
    buffer.put_header(series.header())?;
    say(server.address());
    let times = series.put_all(|values| Ok(buffer.put_sample_bytes(series.block, values)?))?;
    await_end();
    print(&[times])
}

fn write(address: Address, series: &Series) -> Outcome<()> {
    let mut client = Client::connect(address, Options::default())?;
    client.put_header(&series.header())?;
    say("ready");
    print(&[series.put_all(|values| Ok(client.put_sample_bytes(series.block, values)?))?])
}

fn read(address: Address, series: &Series) -> Outcome<()> {
    let mut waiting = Client::connect(address, Options::default())?;
    say("ready");
    let client = core::cell::RefCell::new(&mut waiting);
    let last = series.block.sample_count - 1;
    let times = series.get_all(
        |threshold| Ok(client.borrow_mut().wait(threshold, LONGEST)?),
        |first, values| Ok(client.borrow_mut().samples_into(first, first + last, values).map(drop)?),
    )?;
    print(&[times])
}

fn memory(readers: usize, series: &Series) -> Outcome<()> {
    let buffer = Buffer::default();
    buffer.put_header(series.header())?;
    let bytes = series.block.value_bytes as usize;
    let last = series.block.sample_count - 1;
    let read = |buffer: &Buffer| {
        series.get_all(
            |threshold| Ok(buffer.wait(threshold, LONGEST)?),
            |begin, values| {
                values.resize(bytes, 0);
                let selection = schwann_fieldtrip::wire::Selection { begin, end: begin + last };
                Ok(buffer.read_sample_bytes(selection, values).map(drop)?)
            },
        )
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..readers).map(|_| scope.spawn(|| read(&buffer))).collect();
        say("ready");
        let mut times = vec![series.put_all(|values| Ok(buffer.put_sample_bytes(series.block, values)?))?];
        for reader in readers {
            times.push(reader.join().map_err(|_| "a reader panicked")??);
        }
        print(&times)
    })
}

/// Nanoseconds of a clock.
fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn say(what: impl core::fmt::Display) {
    println!("{what}");
    // A driver that has gone is noticed at the next line.
    let _ = std::io::stdout().flush();
}

fn await_end() {
    // A closed input is the end, too.
    let _ = std::io::stdin().read(&mut [0]);
}

fn print(times: &[Vec<u64>]) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", nanoseconds(ClockId::ProcessCPUTime) as f64 / 1e9)?;
    for times in times {
        let words: Vec<String> = times.iter().map(u64::to_string).collect();
        writeln!(out, "{}", words.join(" "))?;
    }
    Ok(())
}

/// A reader that waits longer has been forgotten.
const LONGEST: Duration = Duration::from_secs(20);
