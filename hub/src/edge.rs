//! The edge of one stream. It takes samples in, seals them, keeps them in the journal, and then lets the hub have them.
//!
//! All of it happens in one thread, which waits only for samples. Neither the hub nor the disk's sync holds it up.

mod begin;
mod handed;
mod hear;
mod keep;
mod members;
mod next_run;
mod status;
mod told;
mod words;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use schwann::{Error, Inlet};
use schwann_recorder::Stop;
use schwann_relay::{HandedOver, Outflow, Ranges, Run, RunId};

pub(crate) use self::begin::journal_of;
pub use self::begin::{BeginError, Settings, is_relayed};
use self::keep::Unkept;
use self::members::Members;
pub use self::status::EdgeStatus;
pub use self::told::read_all as read_statuses;
pub(crate) use self::told::{Remainder, remainders};
use self::words::Words;
use crate::access::Access;
use crate::journal::Journal;
use crate::link::{Link, Questions};
use crate::samples::Gathering;

/// One stream on its way out.
pub struct Edge {
    access: Access,
    settings: Settings,
    /// Nothing if the stream is away, and only its journal is here.
    live: Option<Live>,
    journal: Journal,
    /// By run, as in the journal: the present one last.
    outflows: Vec<(RunId, Outflow)>,
    handed_over: HandedOver,
    members: Members,
    link: Link,
    is_connected: bool,
    questions: Questions,
    words: Words,
    /// Blocks on their way to the hub.
    tickets: BTreeMap<u64, (RunId, u64)>,
    next_ticket: u64,
    /// Blocks that left the journal without a receipt; one may come later.
    gone: BTreeMap<RunId, Ranges>,
    /// The hub refused a block in this turn.
    refused: bool,
    /// Clock probes that were answered in this second.
    probes: (Instant, u32),
    /// Number of the revocation list that the hub was told of.
    told_list: u64,
    /// What the disk did not take yet, in order.
    unkept: VecDeque<Unkept>,
    times: Times,
    status: Arc<Mutex<EdgeStatus>>,
}

/// A stream that is here, and the run that seals it.
struct Live {
    inlet: Inlet,
    gathering: Gathering,
    /// When the first sample of what is gathered came.
    since: Option<Instant>,
    run: Run,
    /// Whether it was said that the sender's clock does not answer.
    is_clock_missed: bool,
    /// When another site first asked for the stream's clock, which begins its measurement.
    asked: Option<Instant>,
}

/// When what is done once in a while was done last.
struct Times {
    aged: Instant,
    announced: Instant,
    looked: Instant,
    synced: Instant,
    told: Instant,
}

impl Edge {
    /// What there is to say of it, also while it runs.
    #[must_use]
    pub fn status(&self) -> Arc<Mutex<EdgeStatus>> {
        Arc::clone(&self.status)
    }

    /// Relays until the stream ends or `stop` is raised; then it ends the run, and waits a little for the hub.
    pub fn relay(mut self, stop: &Stop) {
        loop {
            let gathered = self.gather();
            self.turn();
            if stop.is_raised() || matches!(gathered, Err(Error::Lost)) {
                break;
            }
        }
        self.end();
        self.part();
    }

    /// Hands over what is in the journal of a stream that is away, until the hub has it or `stop` is raised.
    pub fn hand_over(mut self, stop: &Stop) {
        while !stop.wait(IDLE) && !self.has_handed_over() {
            self.turn();
        }
        self.update_status();
        self.part();
    }

    fn has_handed_over(&self) -> bool {
        let is_resumed = self.outflows.iter().all(|(_, outflow)| outflow.is_connected());
        self.is_connected && is_resumed && !self.is_waiting()
    }

    /// The status stays as long as something waits: it tells of the journal.
    fn part(&self) {
        // What an earlier one lacks is only sent again.
        let _ = self.write_handed_over();
        if !self.is_waiting() {
            told::remove(self.journal.folder());
        }
    }

    /// Takes samples in until a block is due, and seals it.
    fn gather(&mut self) -> Result<(), Error> {
        if self.is_stuck() {
            // The inlet keeps what comes, for minutes.
            std::thread::sleep(IDLE);
            return Ok(());
        }
        let taken = self.live.as_mut().map_or(Ok(()), |live| live.take_until_due(self.settings.block));
        match taken {
            Err(error) if !matches!(error, Error::Lost) => {
                self.untaken(&error);
                Ok(())
            }
            taken => {
                self.seal();
                taken
            }
        }
    }

    /// A sample was not taken in.
    fn untaken(&self, error: &Error) {
        let mut status = lock(&self.status);
        // The one argument is the sample itself.
        if matches!(error, Error::Argument(_)) {
            status.oversized_samples += 1;
        }
        status.tell(error.to_string());
    }

    /// All but the samples: what the hub says, what is due at the hub, and what is done once in a while.
    fn turn(&mut self) {
        self.hear();
        self.publish();
        self.look_after();
    }

    fn look_after(&mut self) {
        if is_time(&mut self.times.synced, SYNC_EVERY) {
            self.keep_unkept();
            if let Err(error) = self.journal.sync_soon() {
                self.tell(format!("the journal cannot be synced: {error}"));
            }
            self.stay_within_limit();
        }
        if is_time(&mut self.times.looked, LOOK_EVERY) {
            self.access.member().look();
            self.questions.again();
            self.publish_list();
            self.wrap_for_new_members();
        }
        if is_time(&mut self.times.aged, AGE_EVERY) {
            self.let_old_go();
            // What an earlier one lacks is only sent again.
            let _ = self.write_handed_over();
        }
        if self.live.is_some() && is_time(&mut self.times.announced, ANNOUNCE_EVERY) {
            self.announce();
        }
        if is_time(&mut self.times.told, TELL_EVERY) {
            self.update_status();
        }
    }

    /// Ends the run, and gives the disk and the hub a little time to take what is left.
    fn end(&mut self) {
        self.take_rest();
        self.seal();
        self.seal_end();
        let patience = Instant::now();
        while patience.elapsed() < LAST_PATIENCE && (self.is_waiting() || !self.unkept.is_empty()) {
            self.hear();
            self.publish();
            self.look_after();
            std::thread::sleep(IDLE / 4);
        }
        if let Err(error) = self.journal.sync_now() {
            self.tell(format!("the journal cannot be synced: {error}"));
        }
        self.give_up_unkept();
        self.update_status();
    }

    /// Seals what the stream had brought when the edge was told to stop.
    fn take_rest(&mut self) {
        let mut left = self.live.as_ref().map_or(0, |live| live.inlet.samples_available());
        while left > 0 && !self.is_stuck() {
            let Some(live) = &mut self.live else { return };
            if live.gathering.is_full() {
                self.seal();
                continue;
            }
            match live.gathering.pull(&live.inlet, 0.0) {
                Ok(true) => {}
                Ok(false) | Err(Error::Lost) => return,
                Err(error) => self.untaken(&error),
            }
            left -= 1;
        }
        lock(&self.status).unkept_samples += left as u64;
    }

    /// Whether the hub still has to take something, as far as it is there at all.
    fn is_waiting(&self) -> bool {
        !self.words.are_said() || self.outflows.iter().any(|(_, outflow)| outflow.waiting() > 0)
    }

    /// Writes down what the hub has, for the next edge of this journal; says whether the disk took it.
    fn write_handed_over(&self) -> bool {
        self.journal.is_there()
            && handed::write(self.journal.folder(), &self.settings.hub.to_string(), &self.handed_over)
    }

    fn tell(&self, what: String) {
        lock(&self.status).tell(what);
    }
}

impl Live {
    /// Takes samples in until a block is due or full; without a first sample it waits only for a while.
    fn take_until_due(&mut self, block: Duration) -> Result<(), Error> {
        loop {
            while !self.gathering.is_full() {
                let patience = if self.since.is_some() { Duration::ZERO } else { IDLE };
                if !self.gathering.pull(&self.inlet, patience.as_secs_f64())? {
                    break;
                }
                self.since.get_or_insert_with(Instant::now);
            }
            let age = self.since.map(|since| since.elapsed());
            let left = age.map_or(Duration::ZERO, |age| block.saturating_sub(age));
            if left.is_zero() || self.gathering.is_full() {
                return Ok(());
            }
            // More comes meanwhile. To be woken for each sample would cost more than the rest of the edge.
            std::thread::sleep(left.min(REST));
        }
    }
}

fn is_time(last: &mut Instant, every: Duration) -> bool {
    let due = last.elapsed() >= every;
    if due {
        *last = Instant::now();
    }
    due
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Longest wait for a sample before the hub is heard.
const IDLE: Duration = Duration::from_millis(20);
/// Between two looks at what has come for a block: 23 MB/s bring less meanwhile than a socket holds.
const REST: Duration = Duration::from_millis(5);
/// How late the journal is synced at most (relay §8.1).
const SYNC_EVERY: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// It looks at every file of the journal.
const AGE_EVERY: Duration = Duration::from_secs(10);
/// An announcement is presence, too.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(10);
const TELL_EVERY: Duration = Duration::from_secs(1);
const LAST_PATIENCE: Duration = Duration::from_secs(5);
