//! Transfers between two processes: through the loopback interface at full speed, and through a link of 1 Gbit/s.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Instant;

use schwann_mse::net::Dialler;
use schwann_mse::stream::Stream;
use schwann_mse::{BtHandshake, Group, Method};

use super::cipher::seconds_per_gib;
use super::worker::{Task, Variant, Worker, bt_handshake};
use super::{Effort, Error, Outcome};
use crate::clock;

const BLOCK: usize = 64 * 1024;
const GIB: f64 = (1u64 << 30) as f64;
/// Set in the process that runs inside the shaped namespace.
const SHAPED: &str = "SCHWANN_MSE_BENCH_SHAPED";

const VARIANTS: [Variant; 4] = [
    Variant::Plain,
    Variant::Mse(Group::Mse768, Method::Rc4),
    Variant::Mse(Group::Mse768, Method::Aes128Ctr),
    Variant::Mse(Group::Mse768, Method::Aes256Ctr),
];

/// One transfer's figures.
#[derive(Clone, Copy)]
struct Figures {
    mib_per_second: f64,
    /// Processor seconds a GiB, sender and receiver together.
    cpu: f64,
}

/// Over loopback the processor is the limit, so its time is what counts.
pub(super) fn run(effort: Effort) -> Result<Vec<Outcome>, Error> {
    let figures = rounds(effort.count(10).max(3), effort.count(1 << 30) as u64)?;
    let mut outcomes = Vec::new();
    let plain = median(&figures[0], |figures| figures.cpu);
    for (variant, figures) in VARIANTS.into_iter().zip(&figures) {
        let name = variant.name();
        let speeds = figures.iter().map(|figures| figures.mib_per_second).collect();
        outcomes.push(Outcome::new(format!("loopback, {name}"), "MiB/s", speeds));
        let cpu: Vec<f64> = figures.iter().map(|figures| figures.cpu).collect();
        let outcome = Outcome::new(format!("loopback, {name}, CPU of both ends"), "s/GiB", cpu);
        outcomes.push(match variant {
            Variant::Plain => outcome,
            Variant::Mse(_, method) => {
                let implied = plain + 2.0 * seconds_per_gib(method)?;
                let criterion = format!("<= {implied:.3} s/GiB (plain + twice the cipher) + 5 %");
                outcome.held_against(criterion, |cpu| cpu <= implied * 1.05)
            }
        });
    }
    Ok(outcomes)
}

/// Starts this program again in a network namespace whose loopback interface is shaped to 1 Gbit/s.
pub(super) fn run_shaped(effort: Effort) -> Result<Vec<Outcome>, Error> {
    if std::env::var_os(SHAPED).is_some() {
        return shaped(effort);
    }
    let mut arguments = String::from("shaped --json \"$1\"");
    if effort == Effort::Quick {
        arguments += " --quick";
    }
    // Segments of ordinary length and a bucket of 2 ms, as a network card and a switch would have them.
    let script = format!(
        "ip link set lo up mtu 1500 && tc qdisc add dev lo root tbf rate 1gbit burst 256k latency 20ms && exec \"$0\" {arguments}"
    );
    let own = std::env::current_exe()?;
    let records = std::env::temp_dir().join(format!("mse-bench-{}.json", std::process::id()));
    let status = Command::new("unshare")
        .args(["-n", "sh", "-c", &script])
        .args([&own, &records])
        .env(SHAPED, "1")
        .stdout(std::process::Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("no shaped link: it takes root, unshare, ip and tc");
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&records)?;
    _ = std::fs::remove_file(&records);
    text.lines().map(|line| Outcome::from_json(&serde_json::from_str(line)?)).collect()
}

fn shaped(effort: Effort) -> Result<Vec<Outcome>, Error> {
    let figures = rounds(effort.count(5).max(3), effort.count(256 << 20) as u64)?;
    let plain = median(&figures[0], |figures| figures.mib_per_second);
    let mut outcomes = Vec::new();
    for (variant, figures) in VARIANTS.into_iter().zip(figures) {
        let name = variant.name();
        let speeds: Vec<f64> = figures.iter().map(|figures| figures.mib_per_second).collect();
        let outcome = Outcome::new(format!("1 Gbit/s link, {name}"), "MiB/s", speeds);
        let loss = 100.0 * (1.0 - outcome.median() / plain);
        outcomes.push(outcome);
        if variant != Variant::Plain {
            outcomes.push(
                Outcome::new(format!("1 Gbit/s link, {name}, reduction"), "%", vec![loss])
                    .held_against("< 2 %", |loss| loss < 2.0),
            );
        }
    }
    Ok(outcomes)
}

fn median(figures: &[Figures], pick: fn(&Figures) -> f64) -> f64 {
    Outcome::new("", "", figures.iter().map(pick).collect()).median()
}

/// Every variant once a round.
fn rounds(count: usize, len: u64) -> Result<Vec<Vec<Figures>>, Error> {
    let mut figures = vec![Vec::with_capacity(count); VARIANTS.len()];
    for _ in 0..count {
        for (variant, figures) in VARIANTS.into_iter().zip(&mut figures) {
            figures.push(transfer(variant, len)?);
        }
    }
    Ok(figures)
}

fn transfer(variant: Variant, len: u64) -> Result<Figures, Error> {
    let worker = Worker::start(Task::Sink(variant))?;
    let mut dialler = Dialler::new(variant.policy());
    dialler.methods = variant.methods();
    let mut stream = dialler.dial(worker.address, &bt_handshake(b'a'))?.stream;
    stream.read_exact(&mut [0; BtHandshake::LEN])?;
    stream.write_all(&len.to_le_bytes())?;
    let (began, cpu) = (Instant::now(), clock::cpu_ns());
    send(&mut stream, len)?;
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

fn send(stream: &mut Stream<TcpStream>, len: u64) -> Result<(), Error> {
    let mut pattern = pattern();
    let mut block = vec![0; BLOCK];
    for n in 0..len / BLOCK as u64 {
        pattern[..8].copy_from_slice(&n.to_le_bytes());
        block.copy_from_slice(&pattern);
        stream.write_in_place(&mut block)?;
    }
    Ok(())
}

/// Receives what [`send`] sends, and refuses a changed byte.
pub(super) fn receive(stream: &mut impl Read, len: u64) -> Result<(), Error> {
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
