//! One measuring process and the conversation with it.

use core::time::Duration;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{End, TransferError, interrupted};
use crate::worker::{Event, Order};

/// A running measuring process, which says what `Said` can hold; killed when dropped.
pub(crate) struct Process<Said = Event> {
    process: Child,
    orders: ChildStdin,
    said: mpsc::Receiver<Said>,
    patience: Duration,
}

impl<Said: DeserializeOwned + Send + 'static> Process<Said> {
    /// Starts this program anew for `task`, behind the words that bring it where it belongs, and in its environment; the
    /// environment variable `mark` says which kind of process it is.
    pub(crate) fn start(
        mark: &str,
        task: &impl Serialize,
        (enter, environment): (&[OsString], &BTreeMap<String, String>),
        config: &Path,
        scratch: &Path,
        patience: Duration,
    ) -> Result<Self, TransferError> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(scratch.join("workers.log"));
        let program = std::env::current_exe().map_err(TransferError::Setup)?;
        let words: Vec<&OsStr> = enter.iter().map(OsString::as_os_str).chain([program.as_os_str()]).collect();
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .envs(environment)
            .env(mark, "1")
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
        worker.write(task);
        Ok(worker)
    }

    /// Tells it a line.
    pub(crate) fn write(&mut self, message: &impl Serialize) {
        let line = serde_json::to_string(message).expect("messages are plain data");
        // A process that is gone is noticed, with its reason, where it is next listened to.
        let _ = writeln!(self.orders, "{line}").and_then(|()| self.orders.flush());
    }

    /// Waits a while for the process to say something.
    pub(crate) fn hear_within(&mut self, time: Duration) -> Result<Heard<Said>, TransferError> {
        match self.said.recv_timeout(time) {
            Ok(said) => Ok(Heard::Said(said)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(Heard::Nothing),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = self.process.wait().map_err(TransferError::Setup)?;
                Err(TransferError::Worker(format!("ended without a word, {status}")))
            }
        }
    }

    /// Waits for as long as it may take until the process says something, or the user wants to stop.
    pub(crate) fn hear_patiently(&mut self) -> Result<Said, TransferError> {
        let mut waited = Duration::ZERO;
        while waited < self.patience {
            match self.hear_within(LOOK_UP)? {
                Heard::Said(said) => return Ok(said),
                Heard::Nothing if interrupted() => return Err(TransferError::Interrupted),
                Heard::Nothing => waited += LOOK_UP,
            }
        }
        Err(TransferError::Silent)
    }
}

/// What a measuring process said.
pub(crate) enum Heard<Said> {
    Said(Said),
    Nothing,
}

impl End for Process<Event> {
    fn say(&mut self, order: Order) -> Result<(), TransferError> {
        self.write(&order);
        Ok(())
    }

    fn hear(&mut self) -> Result<Event, TransferError> {
        match self.hear_patiently()? {
            Event::Failed { reason } => Err(TransferError::Worker(reason)),
            event => Ok(event),
        }
    }
}

impl<Said> Drop for Process<Said> {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A wait looks so often whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
