//! One transfer: fresh processes for both ends, private discovery, and what they measured.

use core::fmt;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

use crate::clock::now_ns;
use crate::record::Subject;
use crate::worker::{Event, MARK, Order, Ports, ReceiverReport, SenderReport, Side, Task};
use crate::workload::Workload;

/// What both ends of a transfer measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The sending process.
    pub sender: SenderReport,
    /// The receiving processes.
    pub receivers: Vec<ReceiverReport>,
}

/// Why a transfer gave no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransferError {
    /// The user asked to stop.
    Interrupted,
    /// The files or processes of the run could not be made.
    Setup(std::io::Error),
    /// A measuring process gave up; its own words.
    Worker(String),
    /// A measuring process said nothing for longer than the run can take.
    Silent,
}

impl fmt::Display for TransferError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => formatter.write_str("interrupted"),
            Self::Setup(error) => write!(formatter, "the run could not be set up: {error}"),
            Self::Worker(reason) => write!(formatter, "a measuring process failed: {reason}"),
            Self::Silent => formatter.write_str("a measuring process stopped answering"),
        }
    }
}

impl core::error::Error for TransferError {}

/// Runs `workload` with `subject` in new processes of this program, with files in `scratch`.
///
/// # Errors
///
/// [`TransferError`]; the processes are gone in any case.
pub fn transfer(workload: &Workload, subject: &Subject, scratch: &Path) -> Result<Outcome, TransferError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let source_id = format!("schwann-bench-{}-{count}-{:x}", std::process::id(), now_ns());
    let config = scratch.join("lsl_api.cfg");
    std::fs::write(&config, discovery(&source_id)).map_err(TransferError::Setup)?;

    let patience = workload.duration * 3 + SETUP_PATIENCE;
    let start = |side| {
        let task = Task {
            side,
            transport: subject.transport.clone(),
            workload: workload.clone(),
            source_id: source_id.clone(),
            host: Ipv4Addr::LOCALHOST,
            handicap: subject.handicap,
            sealed: !subject.environment.is_empty(),
        };
        Worker::start(&task, &subject.environment, &config, scratch, patience)
    };
    let mut sender = start(Side::Sender)?;
    let Event::Ready { ports } = sender.hear()? else { return Err(out_of_turn()) };
    let mut receivers = start_receivers(workload.consumers, ports, start)?;
    sender.say(&Order::Go);
    let Event::Sent { total } = sender.hear()? else { return Err(out_of_turn()) };
    for receiver in &mut receivers {
        receiver.say(&Order::Sent { total });
    }
    let mut reports = Vec::new();
    for receiver in &mut receivers {
        let Event::Received(report) = receiver.hear()? else { return Err(out_of_turn()) };
        reports.push(report);
    }
    sender.say(&Order::Finish);
    let Event::Finished(report) = sender.hear()? else { return Err(out_of_turn()) };
    Ok(Outcome { sender: report, receivers: reports })
}

/// Stops every transfer of this process at the next signal from the terminal; what is done stays.
pub fn stop_on_interrupt() {
    // Fails only when another handler is installed, which then decides.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
}

/// Says whether the user asked to stop.
#[must_use]
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn start_receivers(
    count: usize,
    ports: Ports,
    start: impl Fn(Side) -> Result<Worker, TransferError>,
) -> Result<Vec<Worker>, TransferError> {
    let mut receivers = (0..count).map(|_| start(Side::Receiver { ports })).collect::<Result<Vec<_>, _>>()?;
    for receiver in &mut receivers {
        let Event::Open = receiver.hear()? else { return Err(out_of_turn()) };
    }
    Ok(receivers)
}

/// A running measuring process; killed when dropped.
struct Worker {
    process: Child,
    orders: ChildStdin,
    events: mpsc::Receiver<Event>,
    patience: Duration,
}

impl Worker {
    fn start(
        task: &Task,
        environment: &BTreeMap<String, String>,
        config: &Path,
        scratch: &Path,
        patience: Duration,
    ) -> Result<Self, TransferError> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(scratch.join("workers.log"));
        let program = std::env::current_exe().map_err(TransferError::Setup)?;
        let mut process = Command::new(program)
            .envs(environment)
            .env(MARK, "1")
            .env("LSLAPICFG", config)
            // Not the caller's: a configuration file there would be read instead.
            .current_dir(scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.map_err(TransferError::Setup)?)
            .spawn()
            .map_err(TransferError::Setup)?;
        let orders = process.stdin.take().expect("piped above");
        let output = process.stdout.take().expect("piped above");
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                // Anything else on the output is a library talking; it is not ours to read.
                let Ok(line) = line else { break };
                if let Ok(event) = serde_json::from_str(&line)
                    && sender.send(event).is_err()
                {
                    break;
                }
            }
        });
        let mut worker = Self { process, orders, events, patience };
        worker.write(task);
        Ok(worker)
    }

    fn say(&mut self, order: &Order) {
        self.write(order);
    }

    fn write<T: serde::Serialize>(&mut self, message: &T) {
        let line = serde_json::to_string(message).expect("messages are plain data");
        // A process that is gone is noticed, with its reason, where it is next listened to.
        let _ = writeln!(self.orders, "{line}").and_then(|()| self.orders.flush());
    }

    fn hear(&mut self) -> Result<Event, TransferError> {
        let mut waited = Duration::ZERO;
        while waited < self.patience {
            match self.events.recv_timeout(LOOK_UP) {
                Ok(Event::Failed { reason }) => return Err(TransferError::Worker(reason)),
                Ok(event) => return Ok(event),
                Err(_) if interrupted() => return Err(TransferError::Interrupted),
                Err(mpsc::RecvTimeoutError::Timeout) => waited += LOOK_UP,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let status = self.process.wait().map_err(TransferError::Setup)?;
                    return Err(TransferError::Worker(format!("ended without a word, {status}")));
                }
            }
        }
        Err(TransferError::Silent)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn out_of_turn() -> TransferError {
    TransferError::Worker("spoke out of turn".to_owned())
}

/// A configuration under which only this transfer's processes find each other, and find each other fast,
/// on a machine whose loopback has no multicast.
fn discovery(session: &str) -> String {
    let base = free_ports();
    format!(
        "[ports]\nMulticastPort = {base}\nBasePort = {}\nPortRange = {}\nIPv6 = disable\n\
         [multicast]\nResolveScope = machine\n\
         [lab]\nKnownPeers = {{127.0.0.1}}\nSessionID = {session}\n\
         [tuning]\nMulticastMinRTT = 0.1\nUnicastMinRTT = 0.1\n\
         [log]\nlevel = -2\n",
        base + 1,
        PORTS - 1,
    )
}

/// Finds a run of ports that nobody uses now, below those that the kernel hands out.
fn free_ports() -> u16 {
    let seed = now_ns() ^ u64::from(std::process::id()).rotate_left(32);
    let mut base = 20_000 + (seed % 10_000) as u16;
    while !(base..base + PORTS).all(is_free) {
        base = 20_000 + (base - 20_000 + PORTS) % 10_000;
    }
    base
}

fn is_free(port: u16) -> bool {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
        && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

/// Ports of one transfer: discovery and the service range.
const PORTS: u16 = 17;
/// A wait looks so often whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Time that processes may need beyond the transfer itself, to start, to find each other and to drain.
const SETUP_PATIENCE: Duration = Duration::from_secs(40);
