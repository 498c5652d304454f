//! One restart of the two processes, and what it says.

use core::net::Ipv4Addr;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

use core::time::Duration;

use super::super::Reason;
use super::Cell;
use super::ends::{ENDS, End, MARK, Said, Task};
use crate::clock::now_ns;
use crate::statistics::median;
use crate::transfer::discovery;

/// What one restart measured, per stream: in the clear, in the clear again, sealed.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Restart {
    pub(super) cell: Cell,
    /// From the beginning of the push to the return of the pull, over all inlets of the stream.
    pub(super) p50_us: [f64; 3],
    /// Arrivals that this is of.
    pub(super) samples: [usize; 3],
    pub(super) seed: u64,
}

/// Runs the cell once in new processes.
pub(super) fn run(
    cell: &Cell,
    seconds: f64,
    seed: u64,
    library: &Path,
    scratch: &Path,
) -> Result<Restart, Reason> {
    let session = format!("paired-{}-{:x}", std::process::id(), now_ns());
    let config = scratch.join("lsl_api.cfg");
    std::fs::write(&config, discovery::private(&session, discovery::free_ports(), Ipv4Addr::LOCALHOST))?;
    let task =
        |end| Task { cell: *cell, end, library: library.to_owned(), seconds, seed, session: session.clone() };
    let mut sender = Worker::start(&task(End::Sender), &config, scratch)?;
    let Said::Ready = sender.hear()? else { return Err("the sender spoke out of turn".into()) };
    let mut receiver = Worker::start(&task(End::Receiver), &config, scratch)?;
    let Said::Ready = receiver.hear()? else { return Err("the receiver spoke out of turn".into()) };
    sender.go()?;
    let Said::Pushed { begun } = sender.hear()? else { return Err("the sender spoke out of turn".into()) };
    let Said::Arrived { inlets } = receiver.hear()? else {
        return Err("the receiver spoke out of turn".into());
    };
    let mut latencies: [Vec<f64>; ENDS] = core::array::from_fn(|_| Vec::new());
    for (stream, arrivals) in inlets {
        let begun = begun.get(stream).ok_or("an inlet of no stream")?;
        if arrivals.len() != begun.len() {
            return Err(format!("{} of {} samples arrived", arrivals.len(), begun.len()).into());
        }
        let spent = begun
            .iter()
            .zip(&arrivals)
            .skip(WARM_UP)
            .map(|(begun, arrived)| (arrived.saturating_sub(*begun)) as f64 / 1000.0);
        latencies[stream].extend(spent);
    }
    Ok(Restart {
        cell: *cell,
        p50_us: latencies.each_ref().map(|values| median(values)),
        samples: latencies.each_ref().map(Vec::len),
        seed,
    })
}

/// One of the two processes.
struct Worker {
    process: Child,
    orders: ChildStdin,
    said: mpsc::Receiver<String>,
}

impl Worker {
    fn start(task: &Task, config: &Path, scratch: &Path) -> Result<Self, Reason> {
        let environment = HashMap::from([
            (MARK, serde_json::to_string(task)?),
            ("LSLAPICFG", config.display().to_string()),
            ("SCHWANN_SECURITY", String::from("require")),
            (
                "SCHWANN_SECURITY_STREAMS",
                format!("{}=off; {}=off", super::ends::NAMES[0], super::ends::NAMES[1]),
            ),
            ("SCHWANN_KEYS", scratch.join("keys").display().to_string()),
        ]);
        let mut process = Command::new(std::env::current_exe()?)
            .envs(environment)
            .current_dir(scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = process.stdin.take().ok_or("piped above")?;
        let output = process.stdout.take().ok_or("piped above")?;
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Self { process, orders, said })
    }

    fn go(&mut self) -> Result<(), Reason> {
        Ok(writeln!(self.orders, "go")?)
    }

    fn hear(&mut self) -> Result<Said, Reason> {
        let line = self.said.recv_timeout(PATIENCE).map_err(|_| "a measuring process says nothing")?;
        match serde_json::from_str(&line)? {
            Said::Failed { reason } => Err(reason.into()),
            said => Ok(said),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// First samples that do not count: caches and the scheduler get to know the streams.
const WARM_UP: usize = 20;
/// A run of the longest kind, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
