//! Records live streams: one thread per stream pulls and hands over to the file's own threads. So neither the
//! disk nor another stream can make a stream wait.
//!
//! If a connection is lost or recovers, or the sender's clock changes, the file has a stream of type
//! `RecorderEvents` that says so.

mod seat;

use core::fmt;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use schwann::inlet::{InletOptions, StreamEvent};
use schwann::security::Member;
use schwann::{Context, Error, Inlet, StreamInfo, local_clock};
use schwann_xdf::{
    CreateError, Failure, Health, Options, Proof, PushError, Readers, StreamWriter, Summary, Writer,
};

use super::certificate::{Certificate, Events, Facts, write_beside};
use super::chunk::{Chunk, PULL_SECONDS, pause};
use super::meter::Meter;
use super::status::{Phase, RecordingStream, all_troubles};
use super::stop::Stop;
use super::turns::{Turns, uid};
use super::verdict::Trouble;
pub use seat::Leaving;
use seat::{Current, Seat};

/// A recording in progress.
pub struct Recorder {
    context: Arc<Context>,
    path: PathBuf,
    current: Arc<Current>,
    taps: Vec<Tap>,
    /// Threads of streams that gave way, until they have ended.
    leaving: Vec<JoinHandle<()>>,
    turns: Turns,
    waiting: usize,
}

/// Sees samples on their way into the file.
pub type Inspect = Box<dyn FnMut(&Chunk) + Send>;

impl Recorder {
    /// Creates the file at `path`.
    ///
    /// - Errors: [`CreateError`]: it exists, or its folder takes no file.
    pub fn create(path: &Path, context: Arc<Context>) -> Result<Self, CreateError> {
        let current = Arc::new(Current::new(File::create(path, &context)?));
        let (path, turns) = (path.to_owned(), Turns::default());
        Ok(Self { context, path, current, taps: Vec::new(), leaving: Vec::new(), turns, waiting: 0 })
    }

    /// Goes on in a new file at `path`, with the same connections: each stream's next sample is in it, and none is lost
    /// or written twice. Returns the file before, which the streams leave one after the other.
    ///
    /// - Errors: [`CreateError`]; then the recording goes on in the file it is in.
    pub fn next_file(&mut self, path: &Path) -> Result<Leaving, CreateError> {
        let next = File::create(path, &self.context)?;
        let before = core::mem::replace(&mut self.path, path.to_owned());
        Ok(self.current.change(next, before, path))
    }

    /// Begins to record as many of these streams as there is room for. Returns the UIDs of streams that gave way to
    /// them, which have never answered and may have another turn.
    ///
    /// - Errors: the first [`AddError`]; streams after it are not added.
    pub fn admit(&mut self, new: &[StreamInfo]) -> Result<Vec<String>, AddError> {
        let now = Instant::now();
        let half_open =
            self.taps.iter().filter(|tap| tap.is_half_open()).map(|tap| (tap.since, tap.uid.clone()));
        let room = self.turns.make_room(half_open, self.taps.len(), new.len(), now);
        let give_way: BTreeSet<_> = room.give_way.into_iter().collect();
        let leaving = self.taps.extract_if(.., |tap| give_way.contains(&tap.uid) && tap.give_way());
        self.leaving.extend(leaving.map(|tap| tap.thread));
        self.leaving.retain(|thread| !thread.is_finished());
        self.waiting = new.len().saturating_sub(room.count);
        let chosen = self.turns.in_turn(new.iter());
        for info in chosen.into_iter().take(room.count) {
            self.add(info, Meter::new(info.nominal_rate()), Box::new(|_| {}))?;
        }
        let connected = self.taps.iter().map(|tap| tap.uid.clone());
        let announced = new.iter().map(uid).chain(give_way.iter().cloned()).chain(connected).collect();
        self.turns.keep(&announced);
        Ok(give_way.into_iter().collect())
    }

    /// How many streams are announced and not recorded, because too many do not answer.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Begins to record a stream, measured by `meter` and seen by `inspect`.
    ///
    /// - Errors: [`AddError`]: no inlet can be made of the description, or the system refuses a thread.
    pub fn add(&mut self, info: &StreamInfo, meter: Meter, inspect: Inspect) -> Result<(), AddError> {
        let failed = |error| AddError { name: info.name().to_string(), error };
        let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(&self.context));
        let inlet = inlet.map_err(failed)?;
        let shared = Arc::new(TappedInlet { inlet, state: Mutex::new(TapState::new(meter)) });
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
        self.taps.push(Tap { uid: uid(info), since: Instant::now(), shared, stop, thread });
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
    /// Writes the certificate beside it, too, as far as there is room for it.
    pub fn finish(mut self) -> Result<(Summary, Vec<RecordingStream>), Failure> {
        let troubles = all_troubles(&self.streams());
        self.taps.iter().for_each(|tap| tap.stop.raise());
        for thread in self.leaving.drain(..) {
            let _reported = thread.join();
        }
        let mut streams = Vec::new();
        for tap in self.taps.drain(..) {
            // A panic of a stream's thread was reported when it happened; what it wrote is in the file.
            let _reported = tap.thread.join();
            streams.push(tap.shared.status());
        }
        let file = Arc::into_inner(self.current).and_then(Current::into_file).ok_or(Failure::Internal)?;
        let judged = streams.iter().cloned().zip(troubles).collect();
        Ok((file.finish(judged)?, streams))
    }
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

/// Whether what this process receives may be sealed on its way: then it is not for other users of the computer.
pub fn may_be_sealed(context: &Context) -> bool {
    context.trust().map_or(true, |trust| trust.member().is_some())
}

/// The file, and its own streams as far as there are any yet.
struct File {
    writer: Writer,
    events: Mutex<Option<StreamWriter>>,
    annotations: Mutex<Option<StreamWriter>>,
    certified: Certified,
}

/// What the certificate of a file needs, beside the file itself.
struct Certified {
    path: PathBuf,
    /// In seconds since 1970.
    began: u64,
    happened: Mutex<Events>,
    member: Option<Arc<Member>>,
}

impl Certified {
    fn begin(path: &Path, context: &Context) -> Self {
        let member = context.trust().ok().and_then(|trust| trust.member().cloned());
        let one = Self { path: path.to_owned(), began: unix_seconds(), happened: Mutex::default(), member };
        one.note("start");
        one
    }

    fn note(&self, what: &str) {
        lock(&self.happened).note(what);
    }

    /// Writes the certificate of the finished file.
    fn write(self, proof: Proof, streams: Vec<(RecordingStream, Vec<Trouble>)>) {
        self.note("stop");
        let facts = Facts {
            name: self.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            proof,
            wall_clock: [self.began, unix_seconds()],
            streams,
            events: lock(&self.happened).list(),
            replaces: None,
        };
        let member = self.member.as_deref();
        // A disk without room for it has a recording with checksums alone, and `verify` says that.
        let _best_effort = write_beside(&self.path, &Certificate::encode(&facts.statement(member), member));
    }
}

impl File {
    fn create(path: &Path, context: &Context) -> Result<Self, CreateError> {
        let mut options = Options::default();
        // What was sealed on its way is not for other users of the computer.
        options.readers = if may_be_sealed(context) { Readers::Owner } else { Readers::AsUsual };
        let writer = Writer::create(path, options)?;
        let certified = Certified::begin(path, context);
        Ok(Self { writer, events: Mutex::default(), annotations: Mutex::default(), certified })
    }

    fn annotate(&self, text: &str, stamp: f64) -> Result<(), PushError> {
        self.certified.note(&format!("note: {text}"));
        self.say(&self.annotations, ANNOTATIONS_HEADER, text, stamp)
    }

    /// Records that something happened to the recording as a whole.
    fn note(&self, text: &str) {
        self.certified.note(text);
        // A file that takes no more says so by itself; see `Health::failure`.
        let _said_elsewhere = self.say(&self.events, EVENTS_HEADER, text, local_clock());
    }

    /// Completes the file and its certificate.
    fn finish(self, streams: Vec<(RecordingStream, Vec<Trouble>)>) -> Result<Summary, Failure> {
        drop((self.events, self.annotations));
        let summary = self.writer.finish()?;
        self.certified.write(summary.proof.clone(), streams);
        Ok(summary)
    }

    /// Records that something happened to a stream now.
    fn event(&self, what: &str, info: &StreamInfo, id: u32) {
        self.note(&format!("{what}: {} (stream {id})", info.name()));
    }

    /// Adds a text to a stream of the file's own, which begins with the first.
    fn say(
        &self,
        stream: &Mutex<Option<StreamWriter>>,
        header: &str,
        text: &str,
        stamp: f64,
    ) -> Result<(), PushError> {
        let mut stream = lock(stream);
        if stream.is_none() {
            *stream = self.writer.add_stream(header).ok();
        }
        let stream = stream.as_ref().ok_or(PushError::Failed(Failure::Internal))?;
        stream.push_text(&[stamp], &[text])?;
        stream.clock_offset(stamp, 0.0)
    }
}

/// One stream, seen from outside its thread.
struct Tap {
    /// The UID with which it was found.
    uid: String,
    since: Instant,
    shared: Arc<TappedInlet>,
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

impl Tap {
    /// Whether its sender has never answered.
    fn is_half_open(&self) -> bool {
        lock(&self.shared.state).contact != Contact::Answered
    }

    /// Ends it if its sender has still not answered; says whether it ends. Nothing of it is in the file then.
    fn give_way(&self) -> bool {
        let mut state = lock(&self.shared.state);
        if state.contact == Contact::Answered {
            return false;
        }
        state.contact = Contact::GivenUp;
        drop(state);
        self.stop.raise();
        self.shared.inlet.end();
        true
    }

    fn status(&self) -> RecordingStream {
        self.shared.status()
    }
}

struct TappedInlet {
    inlet: Inlet,
    state: Mutex<TapState>,
}

/// Whether a sender is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Contact {
    /// It has sent its description.
    Answered,
    /// It is asked.
    Asked,
    /// It gave way to others before it answered.
    GivenUp,
}

struct TapState {
    contact: Contact,
    phase: Phase,
    since: f64,
    meter: Meter,
    recoveries: u64,
    away_seconds: f64,
    unrecorded: u64,
    /// When the sender's clock was last measured, in seconds on the local clock.
    measured: Option<f64>,
}

impl TapState {
    fn new(meter: Meter) -> Self {
        let (phase, since) = (Phase::Connecting, local_clock());
        Self {
            contact: Contact::Asked,
            phase,
            since,
            meter,
            recoveries: 0,
            away_seconds: 0.0,
            unrecorded: 0,
            measured: None,
        }
    }

    fn change(&mut self, phase: Phase) {
        let now = local_clock();
        self.away_seconds = self.away_seconds(now);
        (self.phase, self.since) = (phase, now);
    }

    fn away_seconds(&self, now: f64) -> f64 {
        let is_away = matches!(self.phase, Phase::Recovering | Phase::Lost);
        self.away_seconds + if is_away { now - self.since } else { 0.0 }
    }
}

impl TappedInlet {
    /// Notes that the sender has answered, unless it was given up before; says whether to go on.
    fn note_answer(&self) -> bool {
        let mut state = lock(&self.state);
        if state.contact == Contact::Asked {
            state.contact = Contact::Answered;
        }
        state.contact == Contact::Answered
    }

    fn status(&self) -> RecordingStream {
        let (info, protection) = (self.inlet.info(), self.inlet.protection());
        let (refusal, now, state) = (self.inlet.refusal(), local_clock(), lock(&self.state));
        RecordingStream {
            info,
            protection,
            refusal,
            phase: state.phase,
            since: state.since,
            reading: state.meter.reading(now),
            recoveries: state.recoveries,
            away_seconds: state.away_seconds(now),
            unrecorded: state.unrecorded + self.inlet.dropped_samples(),
            measured: state.measured,
        }
    }
}

/// One stream, in its thread.
struct Pulling {
    shared: Arc<TappedInlet>,
    current: Arc<Current>,
    stop: Arc<Stop>,
    inspect: Inspect,
    /// When to record the clock offset next, in seconds on the local clock.
    next_offset: f64,
}

impl Pulling {
    fn run(mut self) {
        let Some((info, chunk)) = self.open().filter(|_| self.shared.note_answer()) else { return };
        let xml = String::from_utf8_lossy(&info.fullinfo()).into_owned();
        let (Some(mut chunk), Some(mut writing)) = (chunk, Writing::take(&self.current, &xml)) else {
            lock(&self.shared.state).change(Phase::Unreadable);
            return;
        };
        let pause = pause(info.nominal_rate());
        loop {
            if self.current.has_changed(&writing.seat) {
                let Some(next) = Writing::take(&self.current, &xml) else {
                    lock(&self.shared.state).change(Phase::Unreadable);
                    return;
                };
                writing = next;
                self.next_offset = 0.0;
            }
            // What has arrived by the time of the stop belongs to the recording.
            let last = self.stop.is_raised();
            let pulled = chunk.pull(&self.shared.inlet, if last { 0.0 } else { PULL_SECONDS });
            // First what happened to the connection: what was pulled after a return belongs to another run.
            self.note_events(&info, &writing);
            self.take_in(&chunk, &writing.writer);
            match pulled {
                Err(Error::Lost) => return self.lose(&info, &writing),
                _ if last && chunk.count() == 0 => break,
                _ => {}
            }
            self.record_offset(&writing.writer);
            if !last && !pause.is_zero() {
                self.stop.wait(pause);
            }
        }
    }

    /// Connects and asks for the whole description; none if the recording ends before that.
    fn open(&self) -> Option<(StreamInfo, Option<Chunk>)> {
        let mut chunk = None;
        while !self.stop.is_raised() {
            let outcome = match chunk.take() {
                None => Chunk::open(&self.shared.inlet, PULL_SECONDS).map(|opened| chunk = Some(opened)),
                Some(opened) => match self.shared.inlet.full_info(PULL_SECONDS) {
                    Ok(info) => return Some((info, opened)),
                    Err(error) => {
                        chunk = Some(opened);
                        Err(error)
                    }
                },
            };
            match outcome {
                Ok(()) => {}
                Err(Error::Lost) => {
                    lock(&self.shared.state).change(Phase::Lost);
                    return None;
                }
                Err(_) => {}
            }
        }
        None
    }

    fn take_in(&mut self, chunk: &Chunk, writer: &StreamWriter) {
        if chunk.count() == 0 {
            return;
        }
        let (lag, now) = (self.shared.inlet.lag(), local_clock());
        (self.inspect)(chunk);
        let recorded = chunk.record(writer);
        let mut state = lock(&self.shared.state);
        // While the stream is away, samples that came before may still wait.
        if state.phase == Phase::Connecting {
            state.change(Phase::Recording);
        }
        state.meter.arrived(chunk.stamps(), lag, now);
        if let Err(PushError::Backlogged | PushError::Failed(_)) = recorded {
            state.unrecorded += chunk.count() as u64;
        }
    }

    fn note_events(&mut self, info: &StreamInfo, writing: &Writing) {
        while let Some(event) = self.shared.inlet.next_event(0.0) {
            let mut state = lock(&self.shared.state);
            let came_back = state.phase == Phase::Recovering;
            match event {
                StreamEvent::Connected => {
                    state.change(Phase::Recording);
                    if came_back {
                        state.recoveries += 1;
                        state.meter.interrupted();
                        drop(state);
                        writing.event("recovered", info);
                    }
                }
                StreamEvent::Recovering => {
                    state.change(Phase::Recovering);
                    state.meter.disconnected();
                    drop(state);
                    writing.event("connection lost", info);
                }
                StreamEvent::OtherDevice => {
                    drop(state);
                    let now = self.shared.inlet.peer();
                    let device = now.map_or_else(
                        || String::from("none that seals"),
                        |now| {
                            format!("{} (certificate {})", now.statement.name.as_str(), now.statement.serial)
                        },
                    );
                    writing.event(&format!("comes from another device, {device}"), info);
                }
                StreamEvent::ClockReset => {
                    drop(state);
                    writing.event("clock may be another", info);
                    self.next_offset = 0.0;
                }
                _ => {}
            }
        }
    }

    /// Records the newest clock offset every [`OFFSET_EVERY`] seconds, as LabRecorder does.
    fn record_offset(&mut self, writer: &StreamWriter) {
        let now = local_clock();
        if now < self.next_offset {
            return;
        }
        // The first question starts the measurement and is answered after a while.
        let Ok(estimate) = self.shared.inlet.clock_offset(0.0) else { return };
        lock(&self.shared.state).measured = Some(estimate.remote_time + estimate.offset);
        // On the sender's clock, like the stamps it is to be applied to. Source: XDF specification 1.0,
        // "ClockOffset"; LabRecorder writes `now - offset`.
        if writer.clock_offset(now - estimate.offset, estimate.offset).is_ok() {
            self.next_offset = now + OFFSET_EVERY;
        }
    }

    fn lose(&mut self, info: &StreamInfo, writing: &Writing) {
        lock(&self.shared.state).change(Phase::Lost);
        writing.event("gone", info);
    }
}

/// Where the samples of one stream go.
struct Writing {
    seat: Seat,
    writer: StreamWriter,
}

impl Writing {
    /// Adds the stream to the file of now; none if the file does not take it.
    fn take(current: &Current, xml: &str) -> Option<Self> {
        let seat = current.seat();
        let writer = seat.file.writer.add_stream(xml).ok()?;
        seat.file.certified.note(&format!("came: stream {}", writer.id()));
        Some(Self { seat, writer })
    }

    fn event(&self, what: &str, info: &StreamInfo) {
        self.seat.file.event(what, info, self.writer.id());
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Source: LabRecorder `recording.cpp`, `offset_interval`.
const OFFSET_EVERY: f64 = 5.0;
const EVENTS_HEADER: &str = "<?xml version=\"1.0\"?><info><name>Recorder</name><type>RecorderEvents</type>\
    <channel_count>1</channel_count><nominal_srate>0</nominal_srate><channel_format>string</channel_format>\
    <source_id>schwann-recorder</source_id><created_at>0</created_at><desc /></info>";
const ANNOTATIONS_HEADER: &str = "<?xml version=\"1.0\"?><info><name>Annotations</name><type>Markers</type>\
    <channel_count>1</channel_count><nominal_srate>0</nominal_srate><channel_format>string</channel_format>\
    <source_id>schwann-annotations</source_id><created_at>0</created_at><desc /></info>";
