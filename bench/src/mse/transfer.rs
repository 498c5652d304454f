//! Transfers between two processes, through the loopback interface at full speed. [`super::shaped`] slows it down.

use core::hint::black_box;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use schwann_mse::stream::Stream;
use schwann_mse::{BtHandshake, Cipher};

use super::cipher::cipher;
use super::worker::{Task, Variant, Worker, bt_handshake};
use super::{count, figure};
use crate::Reason;
use crate::clock;
use crate::record::Reading;
use crate::statistics;
use crate::suite::Effort;

/// One transfer's figures.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) mib_per_second: f64,
    /// Processor seconds a GiB, sender and receiver together.
    cpu: f64,
}

/// How fast the sender may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pace {
    /// As fast as it can.
    Free,
    /// So many bits a second, by a clock of its own. The transfer may catch up with time lost to a cipher.
    Paced(u64),
}

/// Over loopback the processor is the limit, so its time is what counts.
pub(super) fn run(effort: Effort) -> Result<Vec<Reading>, Reason> {
    let ciphers = VARIANTS.map(|variant| variant.method().map(cipher).transpose());
    let mut ciphers = ciphers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut figures = vec![Vec::new(); VARIANTS.len()];
    let mut alone = vec![Vec::new(); VARIANTS.len()];
    for _ in 0..count(effort, 20).max(5) {
        // The ciphers take their turns between the transfers, so that the machine's moods meet both alike.
        for (n, variant) in VARIANTS.into_iter().enumerate() {
            figures[n].push(transfer(variant, count(effort, 512 << 20) as u64, Pace::Free)?);
            alone[n].push(ciphers[n].as_mut().map_or(0.0, seconds_per_gib));
        }
    }
    let plain: Vec<f64> = figures[0].iter().map(|figures| figures.cpu).collect();
    let mut outcomes = Vec::new();
    for ((variant, figures), alone) in VARIANTS.into_iter().zip(&figures).zip(&alone) {
        let name = variant.name();
        let speeds = figures.iter().map(|figures| figures.mib_per_second).collect();
        outcomes.push(figure(format!("loopback, {name}"), "MiB/s", speeds));
        let cpu: Vec<f64> = figures.iter().map(|figures| figures.cpu).collect();
        outcomes.push(figure(format!("loopback, {name}, CPU of both ends"), "s/GiB", cpu.clone()));
        if variant != Variant::Plain {
            outcomes.push(figure(format!("{name}, the cipher alone"), "s/GiB", alone.clone()));
            let implied = plain.iter().zip(alone).map(|(plain, alone)| plain + 2.0 * alone);
            let ratios = cpu.iter().zip(implied).map(|(cpu, implied)| cpu / implied).collect();
            let ratio = figure(format!("{name}, CPU / (plain + twice the cipher)"), "x", ratios);
            outcomes.push(ratio.limited("<= 1.05"));
        }
    }
    Ok(outcomes)
}

/// The time of one pass of the cipher over a GiB. Its blocks are as long and as freshly written as the
/// transfer's.
///
/// They are longer than the first cache. On a block that stays there the cipher alone is faster than it can be in any
/// transfer. The median of the blocks leaves out what interrupted some of them.
fn seconds_per_gib(cipher: &mut Cipher) -> f64 {
    let pattern = pattern();
    let mut block = vec![0; BLOCK];
    let samples = (0..200).map(|_| {
        block.copy_from_slice(&pattern);
        let began = Instant::now();
        cipher.apply(black_box(&mut block));
        began.elapsed().as_secs_f64() * GIB / BLOCK as f64
    });
    statistics::median(&samples.collect::<Vec<_>>())
}

/// Every variant once a round.
pub(super) fn rounds(count: usize, len: u64, pace: Pace) -> Result<Vec<Vec<Figures>>, Reason> {
    let mut figures = vec![Vec::with_capacity(count); VARIANTS.len()];
    for _ in 0..count {
        for (variant, figures) in VARIANTS.into_iter().zip(&mut figures) {
            figures.push(transfer(variant, len, pace)?);
        }
    }
    Ok(figures)
}

fn transfer(variant: Variant, len: u64, pace: Pace) -> Result<Figures, Reason> {
    let worker = Worker::start(Task::Sink(variant))?;
    let mut stream = variant.dialler().dial(worker.address, &bt_handshake(b'a'))?.stream;
    stream.read_exact(&mut [0; BtHandshake::LEN])?;
    stream.write_all(&len.to_le_bytes())?;
    let (began, cpu) = (Instant::now(), clock::cpu_ns());
    send(&mut stream, len, pace)?;
    let sender = clock::cpu_ns() - cpu;
    let mut receiver = [0; 8];
    stream.read_exact(&mut receiver)?;
    let took = began.elapsed().as_secs_f64();
    let nanoseconds = sender + u64::from_le_bytes(receiver);
    Ok(Figures {
        mib_per_second: len as f64 / f64::from(1 << 20) / took,
        cpu: nanoseconds as f64 / 1e9 * GIB / len as f64,
    })
}

/// A block whose every part is different, and its number in front.
fn pattern() -> Vec<u8> {
    let mut state = 1u64;
    let words = (0..BLOCK / 8).flat_map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()
    });
    words.collect()
}

fn send(stream: &mut Stream<TcpStream>, len: u64, pace: Pace) -> Result<(), Reason> {
    let began = Instant::now();
    let mut pattern = pattern();
    let mut block = vec![0; BLOCK];
    for n in 0..len / BLOCK as u64 {
        pattern[..8].copy_from_slice(&n.to_le_bytes());
        block.copy_from_slice(&pattern);
        if let Pace::Paced(bits_per_second) = pace {
            let due = Duration::from_nanos(n * 8 * BLOCK as u64 * 1_000_000_000 / bits_per_second);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
        stream.write_in_place(&mut block)?;
    }
    Ok(())
}

/// Receives what [`send`] sends, and refuses a changed byte.
pub(super) fn receive(stream: &mut impl Read, len: u64) -> Result<(), Reason> {
    let mut pattern = pattern();
    let mut block = vec![0; BLOCK];
    for n in 0..len / BLOCK as u64 {
        stream.read_exact(&mut block)?;
        pattern[..8].copy_from_slice(&n.to_le_bytes());
        if block != pattern {
            return Err(format!("block {n} arrived changed").into());
        }
    }
    Ok(())
}

const BLOCK: usize = 64 * 1024;
const GIB: f64 = (1u64 << 30) as f64;

pub(super) const VARIANTS: [Variant; 4] = [Variant::Plain, Variant::Rc4, Variant::Aes128, Variant::Aes256];
