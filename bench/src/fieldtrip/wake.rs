//! The time from putting data until a waiting reader goes on, and the time of waking a thread here at all.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use schwann_fieldtrip::wire::{NEVER, Totals};
use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server};

use super::cell::socket::socket_path;
use super::{Figures, buffer, fanout, spread_us, tcp};
use crate::Reason;

pub(super) fn run(time: Duration) -> Result<Figures, Reason> {
    let mut figures = bare_thread(time)?;
    // Twice, which shows what a difference between two lines is worth.
    for name in ["wake bare tcp", "wake bare tcp, again"] {
        let (mut here, mut there) = fanout::pair()?;
        let wait = move |_| Ok(there.read_exact(&mut [0; 16])?);
        figures.extend(measure(name, Pace::Even, time, || Ok(here.write_all(&[1; 16])?), wait)?);
    }
    for (name, pace, is_awake) in [
        ("wake memory", Pace::Even, false),
        ("wake memory, uneven", Pace::Uneven, false),
        ("wake memory, uneven, never asleep", Pace::Uneven, true),
    ] {
        let buffer = buffer(CHANNELS, 1000.0)?;
        let reader = buffer.clone();
        let wait = move |threshold| {
            let wait = if is_awake { Buffer::wait_awake } else { Buffer::wait };
            Ok(wait(&reader, threshold, LONGEST).map(drop)?)
        };
        figures.extend(measure(name, pace, time, || put(&buffer), wait)?);
    }
    for (name, pace, address) in [
        ("wake tcp", Pace::Even, tcp()),
        ("wake tcp, uneven", Pace::Uneven, tcp()),
        ("wake unix", Pace::Even, Address::Unix(socket_path())),
    ] {
        let buffer = buffer(CHANNELS, 1000.0)?;
        let server = Server::start(&address, buffer.clone(), Policy::default())?;
        let mut client = Client::connect(server.address().clone(), Options::default())?;
        let wait = move |threshold| Ok(client.wait(threshold, LONGEST).map(drop)?);
        figures.extend(measure(name, pace, time, || put(&buffer), wait)?);
    }
    Ok(figures)
}

/// One thread wakes another one, and nothing else: what waiting costs at least that sleeps at all.
fn bare_thread(time: Duration) -> Result<Figures, Reason> {
    let count = AtomicU32::new(0);
    let (name_reader, reader) = mpsc::sync_channel(1);
    let mut sleeper = None;
    let wake = || {
        let reader: &thread::Thread = match &mut sleeper {
            Some(reader) => reader,
            None => sleeper.insert(reader.recv_timeout(LONGEST)?),
        };
        count.fetch_add(1, Ordering::Release);
        reader.unpark();
        Ok(())
    };
    let wait = |threshold: Totals| {
        // Only the first finds room and a receiver; later ones are the same thread.
        let _ = name_reader.try_send(thread::current());
        while count.load(Ordering::Acquire) <= threshold.samples {
            thread::park();
        }
        Ok(())
    };
    measure("wake bare thread", Pace::Even, time, wake, wait)
}

fn put(buffer: &Buffer) -> Result<(), Reason> {
    Ok(buffer.put_samples(CHANNELS, &[1.0_f32; CHANNELS as usize])?)
}

/// How far apart the puts are.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// As an amplifier delivers.
    Even,
    /// At unpredictable times.
    Uneven,
}

impl Pace {
    fn pause(self, round: u32) -> Duration {
        match self {
            Self::Even => PAUSE,
            // Knuth's multiplicative hash: between a fifth of the pause and twice the pause.
            Self::Uneven => PAUSE / 5 + PAUSE * (round.wrapping_mul(2_654_435_761) >> 22) / 569,
        }
    }
}

/// Puts a sample once the reader has had time to fall asleep, and takes the time until it is back.
fn measure(
    name: &str,
    pace: Pace,
    time: Duration,
    mut put: impl FnMut() -> Result<(), Reason>,
    mut wait: impl FnMut(Totals) -> Result<(), Reason> + Send,
) -> Result<Figures, Reason> {
    let (woken, times) = mpsc::channel::<Instant>();
    let rounds = (time.as_micros() / PAUSE.as_micros()).clamp(20, 5000) as u32;
    let (delays, busy) = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            for samples in 0..rounds {
                let waited = wait(Totals { samples, events: NEVER });
                if waited.is_err() || woken.send(Instant::now()).is_err() {
                    break;
                }
            }
            clock_gettime(ClockId::ThreadCPUTime)
        });
        let mut delays = Vec::new();
        for round in 0..rounds {
            thread::sleep(pace.pause(round));
            let begun = Instant::now();
            put()?;
            delays.push(times.recv_timeout(LONGEST)?.saturating_duration_since(begun));
        }
        let busy = reader.join().map_err(|_| "the reader panicked")?;
        Ok::<_, Reason>((delays, Duration::try_from(busy)?))
    })?;
    let [half, most, _] = spread_us(&delays);
    let busy = busy.as_secs_f64() * 1e6 / f64::from(rounds);
    let figures = [("p50 us", half), ("p99 us", most), ("reader's CPU us a time", busy)];
    Ok(figures.map(|(figure, value)| (format!("{name} {figure}"), value)).into())
}

const CHANNELS: u32 = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// A reader that waits longer has been forgotten.
const LONGEST: Duration = Duration::from_secs(5);
