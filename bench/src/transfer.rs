//! One transfer: fresh processes for both ends, private discovery, and what they measured.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::ffi::OsString;
use std::path::Path;

use crate::clock::now_ns;
use crate::line::{self, Line};
use crate::other::Other;
use crate::record::{Role, Subject};
use crate::worker::{Event, Job, Order, ReceiverReport, SenderReport, Side, Task};
use crate::workload::Workload;

pub(crate) mod discovery;
mod process;
mod remote;

pub(crate) use process::{Placement, Process};

/// What both ends of a transfer measured.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The sending process.
    pub(crate) sender: SenderReport,
    /// The receiving processes.
    pub(crate) receivers: Vec<ReceiverReport>,
}

/// Why a transfer gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// There is no line between two namespaces here.
    #[error("{0}")]
    Line(line::LineError),
    /// The files or processes of the run could not be made.
    #[error("the run could not be set up: {0}")]
    Setup(std::io::Error),
    /// A measuring process gave up; its own words.
    #[error("a measuring process failed: {0}")]
    Worker(String),
    /// A measuring process said nothing for longer than the run can take.
    #[error("a measuring process stopped answering")]
    Silent,
}

/// Where the two ends of a transfer run.
pub(crate) enum Ends<'a> {
    /// Both on this computer, over loopback.
    Here,
    /// In two network namespaces.
    Line(&'a Line),
    /// The sender here; what it sends goes to another computer.
    Other(&'a Other),
}

/// Runs `workload` with `subject` in new processes of this program, with files in `scratch`.
///
/// # Errors
///
/// [`TransferError`]; the processes are gone in any case.
pub(crate) fn transfer(
    workload: &Workload,
    subject: &Subject,
    scratch: &Path,
    ends: Ends<'_>,
) -> Result<Outcome, TransferError> {
    let run = Private::new(workload, subject, scratch);
    match ends {
        Ends::Here => run.between(Ipv4Addr::LOCALHOST, &[], &[]),
        Ends::Line(line) => run.between(line::NEAR, &line.near(), &line.far()),
        Ends::Other(other) if workload.timed => remote::there_and_back(&run, other),
        Ends::Other(other) => remote::there(&run, other),
    }
}

/// One transfer, with a name and ports that no other has.
struct Private<'a> {
    workload: &'a Workload,
    subject: &'a Subject,
    scratch: &'a Path,
    session: String,
    base_port: u16,
    patience: Duration,
}

impl<'a> Private<'a> {
    fn new(workload: &'a Workload, subject: &'a Subject, scratch: &'a Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let session = format!("schwann-bench-{}-{count}-{:x}", std::process::id(), now_ns());
        let patience = workload.duration * 3 + SETUP_PATIENCE;
        Self { workload, subject, scratch, session, base_port: discovery::free_ports(), patience }
    }

    /// The task of an end. Its sender is at `sender`; the end itself listens at `listen`, if at all.
    fn task(&self, side: Side, sender: Ipv4Addr, listen: Ipv4Addr) -> Task {
        Task {
            side,
            name: "SchwannBench".to_owned(),
            transport: self.subject.transport.clone(),
            workload: self.workload.clone(),
            source_id: self.session.clone(),
            sender,
            listen,
            sealed: self.subject.role == Role::Sealed,
        }
    }

    /// Starts a process here, behind the words that bring it where it belongs.
    fn start(&self, task: &Task, enter: &[OsString]) -> Result<Process, TransferError> {
        // One for every process: each end may look elsewhere for its sender.
        let config = self.scratch.join(format!("lsl_api-{}.cfg", task.sender));
        let text = discovery::private(&self.session, self.base_port, task.sender);
        // In one go: the process started before may be reading it.
        let fresh = config.with_extension("new");
        std::fs::write(&fresh, text).map_err(TransferError::Setup)?;
        std::fs::rename(&fresh, &config).map_err(TransferError::Setup)?;
        let environment = Some(&self.subject.environment);
        let place = Placement { enter, environment, files: Some((&config, self.scratch)) };
        Process::start(&Job::Transfer(vec![task.clone()]), &place, self.patience)
    }

    /// From a sender at `sender`, started behind the words `near`, to receivers started behind the words `far`.
    fn between(
        &self,
        sender: Ipv4Addr,
        near: &[OsString],
        far: &[OsString],
    ) -> Result<Outcome, TransferError> {
        let mut source = self.start(&self.task(Side::Sender, sender, sender), near)?;
        let Event::Ready { ports } = source.hear()? else { return Err(out_of_turn()) };
        let task = self.task(Side::Receiver { ports }, sender, sender);
        let consumers = self.workload.consumers;
        let mut receivers =
            (0..consumers).map(|_| self.start(&task, far)).collect::<Result<Vec<Process>, _>>()?;
        Outcome::of(conduct(&mut source, &mut receivers)?)
    }
}

impl Outcome {
    /// Of one stream.
    fn of((sent, receivers): (Vec<SenderReport>, Vec<ReceiverReport>)) -> Result<Self, TransferError> {
        let sender = sent.into_iter().next().ok_or_else(out_of_turn)?;
        Ok(Self { sender, receivers })
    }
}

/// Lets processes measure as soon as they are connected, and gathers what they did with each stream.
pub(crate) fn conduct(
    sender: &mut Process,
    receivers: &mut [Process],
) -> Result<(Vec<SenderReport>, Vec<ReceiverReport>), TransferError> {
    for receiver in receivers.iter_mut() {
        let Event::Open = receiver.hear()? else { return Err(out_of_turn()) };
    }
    sender.say(&Order::Go);
    let Event::Sent { total } = sender.hear()? else { return Err(out_of_turn()) };
    for receiver in receivers.iter_mut() {
        receiver.say(&Order::Sent { total });
    }
    let mut reports = Vec::new();
    for receiver in receivers {
        let Event::Received(report) = receiver.hear()? else { return Err(out_of_turn()) };
        reports.extend(report);
    }
    sender.say(&Order::Finish);
    let Event::Finished(report) = sender.hear()? else { return Err(out_of_turn()) };
    Ok((report, reports))
}

/// Stops every transfer of this process at the next signal from the terminal; what is done stays.
pub(crate) fn stop_on_interrupt() {
    // Fails only when another handler is installed, which then decides.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
}

/// Says whether the user asked to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

pub(crate) fn out_of_turn() -> TransferError {
    TransferError::Worker("spoke out of turn".to_owned())
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Time that processes may need beyond the transfer itself, to start, to find each other and to drain.
const SETUP_PATIENCE: Duration = Duration::from_secs(40);
