//! The far end. It follows every run of the lab that a hub knows, in whatever order things come (relay §4 to §7).
//!
//! It delivers nothing that it cannot open or that contradicts what it has. The security log names such things.

mod clock;
mod holes;
mod newest;
mod run;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use schwann::security::refused_from_hub;
use schwann_relay::{
    Announcement, Block, Hash, Note, NoteKind, Place, Range, Refused, RunId, StreamId, Subject,
};

pub use self::clock::ClockBound;
pub(crate) use self::holes::above;
pub use self::run::FarRun;
pub(crate) use self::run::Origin;
use crate::access::{Access, now_ms};
use crate::address::Address;
use crate::history::History;
use crate::link::{Command, EVENTS_AT_ONCE, Event, Link, Problem, Questions, Since};
use crate::refused;
use crate::wall;
use crate::wrapping::WrappingKeys;

/// All that a member follows.
pub struct Far {
    access: Access,
    /// The number of the revocation list under which the runs were looked at.
    list_number: u64,
    history: History,
    keys: WrappingKeys,
    link: Link,
    is_connected: bool,
    is_key_due: bool,
    /// By ticket: what the hub has not acknowledged.
    on_way: BTreeMap<u64, Said>,
    next_ticket: u64,
    questions: Questions,
    /// What happened, for people; see [`Far::take_remarks`].
    remarks: Vec<String>,
    runs: BTreeMap<RunId, FarRun>,
    /// Wrapped keys of runs that are not announced yet.
    strays: VecDeque<Vec<u8>>,
    wanted: Wanted,
    /// Streams whose newest block is to be asked for.
    due: Vec<StreamId>,
    rereads: Instant,
    asked: Instant,
    probed: Instant,
}

/// What a member says to a hub until it has arrived.
#[derive(Clone, Copy, Debug)]
enum Said {
    Key,
    Receipt(RunId, Range),
}

/// Which blocks a member wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// All of runs that it follows, also what is missing of the past.
    All,
    /// Those of now.
    Live,
    /// The newest of each stream once a second, to see that it is there.
    Newest,
}

/// What a member learns.
#[derive(Debug)]
pub enum News {
    /// A block was opened for the first time.
    Block {
        /// Its run.
        run: RunId,
        /// Its place in the run.
        place: Place,
        /// Its samples.
        content: Vec<u8>,
        /// The block as it was sealed.
        sealed: Vec<u8>,
    },
    /// A connection to the hub stands.
    Connected,
    /// A stream's description can be read now.
    Described(RunId),
    /// A connection to the hub is gone, or did not come about.
    Disconnected(Problem),
    /// A block is newer than all before; only if [`Wanted::Newest`].
    Newest {
        /// Its run.
        run: RunId,
        /// Its place in the run.
        place: Place,
        /// Its samples; nothing while its key is not here.
        content: Option<Vec<u8>>,
        /// When the hub says that it came, in seconds since 1970.
        came: i64,
    },
    /// An announcement or wrapped keys, checked, of a run that is followed: what a recorder needs to open its blocks again.
    Word(RunId, Vec<u8>),
}

impl Far {
    /// Begins to follow.
    ///
    /// - Errors: the key folder cannot be used, or the system gives no thread.
    pub fn open(
        address: &Address,
        access: &Access,
        history: History,
        wanted: Wanted,
    ) -> std::io::Result<Self> {
        let keys = WrappingKeys::open(access, history)?;
        let mut subjects = access.subjects(["revoked", "*.m", "*.k", "*.r", "*.c"]);
        if wanted != Wanted::Newest {
            subjects.extend(access.subjects(["*.b"]));
        }
        let link = Link::open(address, access, subjects)?;
        wall::begin();
        let now = Instant::now();
        Ok(Self {
            access: access.clone(),
            list_number: access.list_number(),
            history,
            keys,
            link,
            is_connected: false,
            is_key_due: true,
            on_way: BTreeMap::new(),
            next_ticket: 0,
            questions: Questions::default(),
            remarks: Vec::new(),
            runs: BTreeMap::new(),
            strays: VecDeque::new(),
            wanted,
            due: Vec::new(),
            rereads: now,
            asked: now,
            probed: now,
        })
    }

    /// This device's membership.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// The runs that are followed.
    #[must_use]
    pub fn runs(&self) -> &BTreeMap<RunId, FarRun> {
        &self.runs
    }

    /// One of them.
    pub fn run_mut(&mut self, run: RunId) -> Option<&mut FarRun> {
        self.runs.get_mut(&run)
    }

    /// Takes in what comes, waiting up to `patience` for the first of it.
    pub fn hear(&mut self, patience: Duration) -> Vec<News> {
        let mut news = Vec::new();
        let mut patience = patience;
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.link.event(patience) else { break };
            self.take(event, &mut news);
            patience = Duration::ZERO;
        }
        self.look_after();
        news
    }

    /// Says what lies on the disk by now: call it after an fsync, with what was marked before it.
    /// What does not get there is said again after the next one.
    pub fn receipt(&mut self, run: RunId, receipts: &[(Range, Hash)]) {
        let Some(one) = self.runs.get(&run) else { return };
        let names = one.follower().names();
        for (range, hash) in receipts {
            let is_on_way = self.is_connected && {
                let note = self.note(NoteKind::Receipt(*hash), names, &[*range]);
                self.link.publish(Subject::Notes(names.0, names.1), note, Some(self.next_ticket))
            };
            if is_on_way {
                self.on_way.insert(self.next_ticket, Said::Receipt(run, *range));
                self.next_ticket += 1;
            } else {
                self.say_again(Said::Receipt(run, *range));
            }
        }
    }

    /// Something did not get to the hub.
    fn say_again(&mut self, said: Said) {
        match said {
            Said::Key => self.is_key_due = true,
            Said::Receipt(run, range) => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.follower_mut().receipt_again(range);
                }
            }
        }
    }

    /// What happened since this was last called, beside the news.
    pub fn take_remarks(&mut self) -> Vec<String> {
        core::mem::take(&mut self.remarks)
    }

    /// Says what happened, once in a row.
    fn tell(&mut self, what: String) {
        if self.remarks.last() != Some(&what) && self.remarks.len() < REMARKS {
            self.remarks.push(what);
        }
    }

    /// Reads again what the hub has of a stream's blocks.
    pub fn reread(&mut self, stream: StreamId) {
        let subject = Subject::Blocks(self.access.lab_id(), stream).to_string();
        self.questions.add(Command::History(vec![subject], Since::Beginning));
    }

    /// Takes in a message that a recorder kept, as if it came from the hub.
    pub fn restore_word(&mut self, message: &[u8]) {
        let mut news = Vec::new();
        self.message(message, &mut news);
    }

    fn take(&mut self, event: Event, news: &mut Vec<News>) {
        match event {
            Event::Connected => {
                self.is_connected = true;
                // What was said on the connection before may not have got there.
                self.on_way.clear();
                let all = Range { first: 0, last: u64::MAX };
                self.runs.values_mut().for_each(|run| run.follower_mut().receipt_again(all));
                self.greet();
                news.push(News::Connected);
            }
            Event::Disconnected(problem) => {
                self.is_connected = false;
                news.push(News::Disconnected(problem));
            }
            // It is asked every second.
            Event::Unanswered(Command::Last(_), _) => {}
            Event::Unanswered(question, problem) => {
                self.questions.unanswered(question);
                self.tell(problem.to_string());
            }
            Event::Message(message, came) if message.starts_with(b"SRC") => self.clock_answer(&message, came),
            Event::Message(message, _) => self.message(&message, news),
            Event::Last(Some((block, came))) => self.newest(&block, came, news),
            Event::Acknowledged(ticket) => _ = self.on_way.remove(&ticket),
            Event::Refused(ticket, _) => {
                self.on_way.remove(&ticket).into_iter().for_each(|said| self.say_again(said));
            }
            Event::HistoryEnd | Event::Last(None) => {}
        }
    }

    /// Makes the own key known, and asks for what was said before.
    fn greet(&mut self) {
        self.is_key_due = true;
        let (all, access) = (Since::Beginning, &self.access);
        if self.wanted == Wanted::Newest {
            // Receipts come every moment, and a key is an hour old at most.
            self.questions.begin([
                Command::History(access.subjects(["revoked", "*.m"]), Since::LastOfEach),
                Command::History(access.subjects(["*.k"]), Since::Seconds(RECENT_KEYS)),
            ]);
        } else {
            let past = access.subjects(["revoked", "*.m", "*.k", "*.r"]);
            self.questions.begin([Command::History(past, all)]);
        }
        self.rereads = Instant::now();
    }

    fn message(&mut self, message: &[u8], news: &mut Vec<News>) {
        match message.first_chunk() {
            Some(b"SRA") => self.announcement(message, news),
            Some(b"SRB") => self.block(message, news),
            Some(b"SRK") => self.wrapped(message, news),
            Some(b"SRL" | b"SRR" | b"SRH") => self.heard_note(message),
            Some(b"SCR") => match self.access.take_list(message) {
                Ok(_) => self.follow_list(),
                Err(why) => refused_from_hub("revocation list", "", &why),
            },
            _ => refused::name("message", "", Refused::Malformed),
        }
    }

    fn announcement(&mut self, message: &[u8], news: &mut Vec<News>) {
        // Announcements are repeated to the letter: one look is enough.
        if self.runs.values_mut().any(|run| run.heard_again(message)) {
            return;
        }
        let parsed = self.access.checking(|lab, _, revoked| {
            Announcement::parse(message, lab, revoked).map(|one| (one.run(), one.stream(), FarRun::new(&one)))
        });
        let (id, stream, fresh) = match parsed {
            Ok(parsed) => parsed,
            Err(why) => return refused::name("announcement", "", why),
        };
        if self.runs.len() >= MAX_RUNS && !self.runs.contains_key(&id) {
            return refused_from_hub("announcement", &stream.to_string(), &TOO_MANY);
        }
        let run = self.runs.entry(id).or_insert(fresh);
        let described = run.is_described();
        if let Err(why) = run.announced(message, &self.access) {
            return refused::name("announcement", &stream.to_string(), why);
        }
        news.push(News::Word(id, message.to_vec()));
        self.link_runs(id);
        self.retry(id, described, news);
        for stray in core::mem::take(&mut self.strays) {
            self.wrapped(&stray, news);
        }
    }

    /// Tells each run what the next one says of it.
    fn link_runs(&mut self, id: RunId) {
        let Some(run) = self.runs.get(&id) else { return };
        let (before, text) = (run.follower().before().run, run.announcement().to_vec());
        let stream = run.stream().to_string();
        if let Some(Err(why)) =
            self.runs.get_mut(&before).map(|earlier| earlier.followed_by(&text, &self.access))
        {
            refused::name("announcement", &stream, why);
        }
        let next = self.runs.values().find(|run| run.follower().before().run == id);
        let next = next.map(|run| run.announcement().to_vec());
        if let (Some(text), Some(run)) = (next, self.runs.get_mut(&id)) {
            // It was named when it came.
            let _ = run.followed_by(&text, &self.access);
        }
    }

    fn wrapped(&mut self, message: &[u8], news: &mut Vec<News>) {
        let names = message.get(20..36).zip(message.get(36..52));
        let id = names.and_then(|(_, run)| run.try_into().ok()).map(RunId);
        let Some(id) = id else {
            return refused::name("wrapped key", "", Refused::Malformed);
        };
        let Some(run) = self.runs.get_mut(&id) else {
            if self.strays.len() >= MAX_STRAYS {
                self.strays.pop_front();
            }
            self.strays.push_back(message.to_vec());
            return;
        };
        let described = run.is_described();
        match run.unwrap(message, &self.keys, &self.access) {
            Ok(true) => {
                news.push(News::Word(id, message.to_vec()));
                self.retry(id, described, news);
            }
            Ok(false) => {}
            Err(why) => {
                let (stream, device) = (run.stream().to_string(), run.device().to_owned());
                refused::name("wrapped key", &stream, why);
                if why == Refused::TooManyEpochs {
                    self.tell(format!("a stream of {device} cannot be read any more: {why}"));
                }
            }
        }
    }

    fn block(&mut self, message: &[u8], news: &mut Vec<News>) {
        let block = match Block::parse(message) {
            Ok(block) => block,
            Err(why) => return refused::name("block", "", why),
        };
        // What comes before its announcement comes again: it is missing then, and is asked for.
        let Some(run) = self.runs.get_mut(&block.run()) else { return };
        if run.is_revoked() || self.wanted == Wanted::All && !run.wants(block.number()) {
            return;
        }
        match run.take(&block) {
            Ok(Some((place, content))) => {
                let (run, sealed) = (block.run(), message.to_vec());
                news.push(News::Block { run, place, content, sealed });
            }
            Ok(None) => {}
            Err(why) => refused::name("block", &run.stream().to_string(), why),
        }
    }

    /// A new revocation list ends the runs of devices that it has (relay §9).
    fn follow_list(&mut self) {
        let number = self.access.list_number();
        if core::mem::replace(&mut self.list_number, number) == number {
            return;
        }
        let mut told = Vec::new();
        for run in self.runs.values_mut() {
            if run.is_newly_revoked(&self.access) {
                refused_from_hub("run", &run.stream().to_string(), &REVOKED);
                let name =
                    run.info().map_or_else(String::new, |info| info.name().to_string_lossy().into_owned());
                told.push(format!("{name} of {}: {REVOKED}, and nothing more of it is taken", run.device()));
            }
        }
        told.into_iter().for_each(|what| self.tell(what));
    }

    /// Takes blocks again that waited for a key or the description.
    fn retry(&mut self, id: RunId, was_described: bool, news: &mut Vec<News>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if run.is_described() && !was_described {
            news.push(News::Described(id));
        }
        for waiting in run.take_waiting() {
            self.block(&waiting, news);
        }
    }

    fn heard_note(&mut self, message: &[u8]) {
        let note = self.access.checking(|lab, now, revoked| Note::parse(message, lab, now, revoked));
        let note = match note {
            Ok(note) => note,
            Err(why) => return refused::name("note", "", why),
        };
        let Some(run) = self.runs.get_mut(&note.run) else { return };
        if let Err(why) = run.note(&note) {
            refused::name("note", &note.stream.to_string(), why);
        }
    }

    fn look_after(&mut self) {
        self.follow_list();
        if self.probed.elapsed() >= clock::PROBE_EVERY {
            self.probed = Instant::now();
            self.probe_clocks();
        }
        if self.asked.elapsed() >= ASK_EVERY {
            self.asked = Instant::now();
            self.access.member().look();
            self.renew_keys();
            self.questions.again();
            if self.wanted == Wanted::All {
                self.ask_for_holes();
            }
        }
        if self.wanted == Wanted::Newest {
            self.ask_for_newest();
        }
        if self.is_connected {
            self.publish_key();
            self.questions.ask(&self.link);
        }
    }

    /// A new wrapping key every 30 days.
    fn renew_keys(&mut self) {
        if !self.keys.are_due() {
            return;
        }
        match WrappingKeys::open(&self.access, self.history) {
            Ok(keys) => {
                self.keys = keys;
                self.greet();
            }
            Err(error) => self.tell(format!(
                "no new wrapping key can be made, and senders serve the present one for a day at most: {error}; look at the \
                 folder relay among the keys"
            )),
        }
    }

    /// Makes the own key known, until the hub has it: edges wrap for it.
    fn publish_key(&mut self) {
        if !self.is_key_due {
            return;
        }
        let (members, key) = (Subject::Members(self.access.lab_id()), self.keys.publication().to_vec());
        if self.link.publish(members, key, Some(self.next_ticket)) {
            self.is_key_due = false;
            self.on_way.insert(self.next_ticket, Said::Key);
            self.next_ticket += 1;
        }
    }

    fn note(
        &self,
        kind: NoteKind,
        names: (schwann_session::LabId, StreamId, RunId),
        ranges: &[Range],
    ) -> Vec<u8> {
        self.access.sealing(|moment| Note::encode(kind, names, ranges, now_ms(), moment.credentials))
    }
}

const REVOKED: &str = "its device was revoked";
const MAX_RUNS: usize = 4096;
const TOO_MANY: &str = "more than 4096 runs are known";
const MAX_STRAYS: usize = 256;
const REMARKS: usize = 64;
/// A key is an hour old at most; as much again for clocks that differ.
const RECENT_KEYS: u64 = 7200;
const ASK_EVERY: Duration = Duration::from_secs(1);
