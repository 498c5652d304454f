//! One measuring process and the conversation with it.

use core::time::Duration;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use serde::Serialize;

use super::{TransferError, interrupted};
use crate::worker::{Event, Job, MARK, Order};

/// A running measuring process; ended when dropped.
pub(crate) struct Process {
    process: Child,
    /// Closed when it is to end.
    orders: Option<ChildStdin>,
    said: mpsc::Receiver<Event>,
    patience: Duration,
}

/// Where a process is started.
#[derive(Clone, Copy, Default)]
pub(crate) struct Placement<'a> {
    /// The words that bring it where it belongs.
    pub(crate) enter: &'a [OsString],
    pub(crate) environment: Option<&'a BTreeMap<String, String>>,
    /// The configuration file of its library, and the folder where it runs and keeps its log.
    pub(crate) files: Option<(&'a Path, &'a Path)>,
}

impl Process {
    /// Starts this program anew for a job.
    pub(crate) fn start(job: &Job, place: &Placement<'_>, patience: Duration) -> Result<Self, TransferError> {
        let program = std::env::current_exe().map_err(TransferError::Setup)?;
        let enter = place.enter.iter().map(OsString::as_os_str);
        let words: Vec<&OsStr> = enter.chain([program.as_os_str()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).envs(place.environment.into_iter().flatten()).env(MARK, "1");
        if let Some((config, folder)) = place.files {
            let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("workers.log"));
            // Not the caller's folder: a configuration file there would be read instead.
            command.env("LSLAPICFG", config).current_dir(folder).stderr(log.map_err(TransferError::Setup)?);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(TransferError::Setup)?;
        let orders = process.stdin.take();
        let output = process.stdout.take().expect("piped above");
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                // Anything else on the output is a library talking; it is not ours to read.
                let Ok(line) = line else { break };
                if let Ok(words) = serde_json::from_str(&line)
                    && sender.send(words).is_err()
                {
                    break;
                }
            }
        });
        let mut worker = Self { process, orders, said, patience };
        worker.write(job);
        Ok(worker)
    }

    /// Tells it a line.
    fn write(&mut self, message: &impl Serialize) {
        let line = serde_json::to_string(message).expect("messages are plain data");
        // A process that is gone is noticed, with its reason, where it is next listened to.
        let _ = self.orders.as_mut().map(|orders| writeln!(orders, "{line}").and_then(|()| orders.flush()));
    }

    /// Tells it.
    pub(crate) fn say(&mut self, order: &Order) {
        self.write(order);
    }

    /// Waits until it says something.
    pub(crate) fn hear(&mut self) -> Result<Event, TransferError> {
        let mut waited = Duration::ZERO;
        while waited < self.patience {
            match self.said.recv_timeout(LOOK_UP) {
                Ok(Event::Failed { reason }) => return Err(TransferError::Worker(reason)),
                Ok(event) => return Ok(event),
                Err(mpsc::RecvTimeoutError::Timeout) if interrupted() => {
                    return Err(TransferError::Interrupted);
                }
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

impl Drop for Process {
    fn drop(&mut self) {
        // It ends with its orders, and takes its files away.
        self.orders = None;
        let begun = Instant::now();
        while begun.elapsed() < LEAVE && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Both fail only when it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A wait looks so often whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
/// A process that has not ended by itself in this time is killed.
const LEAVE: Duration = Duration::from_secs(2);
