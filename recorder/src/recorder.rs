//! Records live streams: one thread per stream pulls and hands over to the file's own threads. So neither the
//! disk nor another stream can make a stream wait.
//!
//! A stream of type `RecorderEvents` in the file says when a connection is lost or recovers, or a sender's
//! clock changes.

mod file;
mod pulling;
mod seat;
mod tap;

use core::fmt;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use schwann::inlet::InletOptions;
use schwann::{Context, Error, Inlet, StreamInfo};
use schwann_xdf::{CreateError, Failure, Health, PushError, Recipients};

use super::chunk::Chunk;
use super::meter::Meter;
use super::naming::SEALED;
use super::sealing::{self, SealingError};
use super::status::{RecordingStream, all_rules};
use super::stop::Stop;
use super::turns::{Turns, uid};
use super::verdict::Limits;
use file::File;
pub use file::Finished;
use pulling::Pulling;
use seat::Current;
pub use seat::Leaving;
use tap::{StopAtLast, Tap, TapState, TappedInlet};

/// A recording in progress.
pub struct Recorder {
    context: Arc<Context>,
    path: PathBuf,
    sealed_to: Option<Recipients>,
    current: Arc<Current>,
    /// What streams may do.
    limits: Limits,
    taps: Vec<Tap>,
    /// Threads of streams that gave way, until they have ended.
    leaving: Vec<JoinHandle<()>>,
    turns: Turns,
    /// The UIDs of streams that are announced and not recorded.
    waiting: BTreeSet<String>,
    /// How many have gone without having been recorded.
    missed: usize,
}

/// Why there is no recorder.
#[derive(Debug)]
#[non_exhaustive]
pub enum BeginError {
    /// It is not known to whom to seal the file.
    Sealing(SealingError),
    /// The file cannot be made.
    Create(CreateError),
}

impl fmt::Display for BeginError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sealing(error) => error.fmt(out),
            Self::Create(error) => error.fmt(out),
        }
    }
}

impl core::error::Error for BeginError {}

/// Sees samples on their way into the file.
pub type Inspect = Box<dyn FnMut(&Chunk) + Send>;

impl Recorder {
    /// Creates the file at `path`.
    ///
    /// It is sealed to the lab's archive key if its name ends in `.age`, or if the configuration wants it: see
    /// [`sealing`](crate::sealing). A sealed file ends in `.age`, whatever was asked for; [`Recorder::path`] says so.
    ///
    /// - Errors: [`BeginError`].
    pub fn create(path: &Path, context: Arc<Context>) -> Result<Self, BeginError> {
        let is_wished = path.as_os_str().as_encoded_bytes().ends_with(SEALED.as_bytes());
        let sealed_to =
            sealing::recipients(&context, is_wished, &Recipients::default()).map_err(BeginError::Sealing)?;
        Self::create_for(path, context, sealed_to).map_err(BeginError::Create)
    }

    /// Creates the file at `path`, sealed to these keys if there are any.
    ///
    /// - Errors: [`CreateError`]: it exists, or its folder takes no file.
    pub(crate) fn create_for(
        path: &Path,
        context: Arc<Context>,
        sealed_to: Option<Recipients>,
    ) -> Result<Self, CreateError> {
        let path = ending(path, sealed_to.is_some());
        let current = Arc::new(Current::new(File::create(&path, &context, sealed_to.as_ref())?));
        let (taps, leaving, turns, waiting) = (Vec::new(), Vec::new(), Turns::default(), BTreeSet::new());
        let limits = Limits::USUAL;
        Ok(Self { context, path, sealed_to, current, limits, taps, leaving, turns, waiting, missed: 0 })
    }

    /// Judges streams that are added from now on by other limits than [`Limits::USUAL`].
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Goes on in a new file at `path`, with the same connections. Each stream's next sample is in it, and none is lost
    /// or written twice. Returns the file before, which the streams leave one after the other.
    ///
    /// - Errors: [`CreateError`]; then the recording goes on in the file it is in.
    pub fn next_file(&mut self, path: &Path) -> Result<Leaving, CreateError> {
        let path = ending(path, self.sealed_to.is_some());
        let next = File::create(&path, &self.context, self.sealed_to.as_ref())?;
        let before = core::mem::replace(&mut self.path, path);
        let rules = all_rules(&self.streams());
        let accounts = self.taps.iter().zip(rules).map(|(tap, rules)| tap.shared.account(rules));
        Ok(self.current.change(next, before, &self.path, accounts.collect()))
    }

    /// Begins to record as many of these streams as there is room for.
    pub fn admit(&mut self, new: &[StreamInfo]) -> Admitted {
        let now = Instant::now();
        let half_open =
            self.taps.iter().filter(|tap| tap.is_half_open()).map(|tap| (tap.since, tap.uid.clone()));
        let room = self.turns.make_room(half_open, self.taps.len(), new.len(), now);
        let leaving = self.taps.extract_if(.., |tap| room.give_way.contains(&tap.uid) && tap.give_way());
        let (gave_way, threads): (Vec<_>, Vec<_>) = leaving.map(|tap| (tap.uid, tap.thread)).unzip();
        self.leaving.extend(threads);
        self.leaving.retain(|thread| !thread.is_finished());
        let mut in_turn = self.turns.in_turn(new.iter());
        let waiting = in_turn.split_off(room.count.min(in_turn.len()));
        let waiting = waiting.into_iter().map(uid).chain(gave_way.iter().cloned()).collect();
        let before = core::mem::replace(&mut self.waiting, waiting);
        let announced: BTreeSet<_> = new.iter().map(uid).collect();
        self.missed += before.difference(&announced).count();
        let refused = self.begin(&in_turn);
        let connected = self.taps.iter().map(|tap| tap.uid.clone());
        self.turns.keep(&announced.into_iter().chain(gave_way.iter().cloned()).chain(connected).collect());
        Admitted { gave_way, refused }
    }

    /// Begins to record these streams. One that cannot be recorded does not keep others out, and is tried again after them.
    fn begin(&mut self, in_turn: &[&StreamInfo]) -> Vec<AddError> {
        let mut refused = Vec::new();
        for info in in_turn {
            if let Err(error) = self.add(info, Meter::new(info.nominal_rate()), Box::new(|_| {})) {
                self.waiting.insert(uid(info));
                if self.turns.note_vain(uid(info)) {
                    refused.push(error);
                }
            }
        }
        refused
    }

    /// How many streams are or were announced and have not been recorded: they cannot be, or too many did not answer.
    pub fn left_out(&self) -> usize {
        self.waiting.len() + self.missed
    }

    /// Begins to record a stream, measured by `meter` and seen by `inspect`.
    ///
    /// - Errors: [`AddError`]: no inlet can be made of the description, or the system refuses a thread.
    pub fn add(&mut self, info: &StreamInfo, meter: Meter, inspect: Inspect) -> Result<(), AddError> {
        let failed = |error| AddError { name: info.name().to_string(), error };
        let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(&self.context));
        let inlet = inlet.map_err(failed)?;
        let shared =
            Arc::new(TappedInlet { inlet, state: Mutex::new(TapState::new(meter)), limits: self.limits });
        let stop = Arc::<Stop>::default();
        let pulling = Pulling {
            shared: Arc::clone(&shared),
            current: Arc::clone(&self.current),
            stop: Arc::clone(&stop),
            inspect,
            next_offset: 0.0,
        };
        let thread = thread::Builder::new()
            .name(format!("record {}", info.name()))
            .spawn(move || pulling.run())
            .map_err(|_| failed(Error::System("a thread")))?;
        self.taps.push(Tap { uid: uid(info), since: Instant::now(), shared, stop: StopAtLast(stop), thread });
        Ok(())
    }

    /// Writes a marker into the file, on its stream `Annotations`.
    ///
    /// - Units: `stamp` is in seconds on the local clock.
    /// - Errors: [`PushError`]: the marker is not in the file.
    pub fn annotate(&self, text: &str, stamp: f64) -> Result<(), PushError> {
        self.current.file().annotate(text, stamp)
    }

    /// Where every stream stands, in the order in which they were added.
    pub fn streams(&self) -> Vec<RecordingStream> {
        self.taps.iter().map(Tap::status).collect()
    }

    /// How the file does.
    pub fn health(&self) -> Health {
        self.current.file().writer.health()
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in what has arrived, ends all streams and completes the file.
    ///
    /// - Errors: the file lacks what was pushed last; all that is in it is readable.
    ///
    /// Writes the certificate beside it, too; see [`Finished::uncertified`].
    pub fn finish(mut self) -> Result<Finished, Failure> {
        let rules = all_rules(&self.streams());
        self.taps.iter().for_each(|tap| tap.stop.raise());
        for thread in self.leaving.drain(..) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        let mut accounts = Vec::new();
        for (tap, rules) in self.taps.drain(..).zip(rules) {
            // It says by its phase how it ended.
            let _ = tap.thread.join();
            accounts.push(tap.shared.account(rules));
        }
        let file = Arc::into_inner(self.current).and_then(Current::into_file).ok_or(Failure::Internal)?;
        file.finish(accounts)
    }
}

/// What became of streams that were to be recorded.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Admitted {
    /// The UIDs of streams that gave way to others: they have never answered, and may have another turn.
    pub gave_way: Vec<String>,
    /// Streams that cannot be recorded, each told once.
    pub refused: Vec<AddError>,
}

/// A stream that cannot be recorded, and why.
#[derive(Clone, Debug)]
pub struct AddError {
    /// The name of the stream.
    pub name: String,
    /// What happened.
    pub error: Error,
}

impl fmt::Display for AddError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.name, self.error)
    }
}

impl core::error::Error for AddError {}

/// The path with the ending of a sealed file, if it is one.
fn ending(path: &Path, is_sealed: bool) -> PathBuf {
    let mut path = path.to_owned();
    if is_sealed && !path.as_os_str().as_encoded_bytes().ends_with(SEALED.as_bytes()) {
        path.as_mut_os_string().push(SEALED);
    }
    path
}

/// Whether what this process receives may be sealed on its way: then it is not for other users of the computer.
pub fn may_be_sealed(context: &Context) -> bool {
    context.trust().map_or(true, |trust| trust.member().is_some())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
