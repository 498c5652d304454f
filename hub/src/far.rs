//! The far end. It follows every run of the lab that a hub knows, in whatever order things come (relay §4 to §7).
//!
//! It delivers nothing that it cannot open or that contradicts what it has. The security log names such things.

mod clock;
mod holes;
mod newest;
mod run;
mod say;
mod words;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use schwann::security::refused_from_hub;
use schwann_relay::{Block, BlockPlace, Note, Range, Refused, RunId, StreamId, Subject};

pub use self::clock::ClockBound;
pub(crate) use self::holes::above;
pub use self::run::FarRun;
pub(crate) use self::run::Origin;
use self::say::Said;
use crate::access::Access;
use crate::address::Address;
use crate::history::History;
use crate::link::{Command, EVENTS_AT_ONCE, Event, Link, Problem, Questions, Since};
use crate::refused;
use crate::remarks::Remarks;
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
    /// Why there is no connection, as it was said.
    problem: Option<Problem>,
    is_key_due: bool,
    /// By ticket: what the hub has not acknowledged.
    on_way: BTreeMap<u64, Said>,
    next_ticket: u64,
    questions: Questions,
    remarks: Remarks,
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
        place: BlockPlace,
        /// Its samples.
        content: Vec<u8>,
        /// The block as it was sealed.
        sealed: Vec<u8>,
    },
    /// A connection to the hub stands.
    Connected,
    /// A stream's description can be read now.
    Described(RunId),
    /// A connection to the hub is gone, or did not come about; once for each reason.
    Disconnected(Problem),
    /// A block is newer than all before; only if [`Wanted::Newest`].
    Newest {
        /// Its run.
        run: RunId,
        /// Its place in the run.
        place: BlockPlace,
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
            problem: None,
            is_key_due: true,
            on_way: BTreeMap::new(),
            next_ticket: 0,
            questions: Questions::default(),
            remarks: Remarks::default(),
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

    /// What happened since this was last called, beside the news.
    pub fn take_remarks(&mut self) -> Vec<String> {
        self.remarks.take()
    }

    /// Whether a connection to the hub stands.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether the hub has told, on this connection, all that it has.
    #[must_use]
    pub fn has_read(&self) -> bool {
        self.is_connected && self.questions.are_answered()
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
            Event::Connected => self.connected(news),
            Event::Disconnected(problem) => self.disconnected(problem, news),
            // It is asked every second.
            Event::Unanswered(Command::Last(_), _) => {}
            Event::Unanswered(question, problem) => {
                self.questions.unanswered(question);
                self.remarks.tell(problem.to_string());
            }
            Event::Answered(question) => self.questions.answered(&question),
            Event::Message(message, came) if message.starts_with(b"SRC") => self.clock_answer(&message, came),
            Event::Message(message, _) => self.message(&message, news),
            Event::Last(Some(last)) => self.newest(&last.message, last.came, news),
            Event::Acknowledged(ticket, _) => _ = self.on_way.remove(&ticket),
            Event::Refused(ticket, _) => {
                self.on_way.remove(&ticket).into_iter().for_each(|said| self.say_again(said));
            }
            Event::Last(None) => {}
        }
    }

    fn connected(&mut self, news: &mut Vec<News>) {
        (self.is_connected, self.problem) = (true, None);
        // What was said on the connection before may not have got there.
        self.on_way.clear();
        let all = Range { first: 0, last: u64::MAX };
        self.runs.values_mut().for_each(|run| run.follower_mut().receipt_again(all));
        self.greet();
        news.push(News::Connected);
    }

    fn disconnected(&mut self, problem: Problem, news: &mut Vec<News>) {
        self.is_connected = false;
        // It is tried again every few seconds.
        if self.problem.as_ref() != Some(&problem) {
            self.problem = Some(problem.clone());
            news.push(News::Disconnected(problem));
        }
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
}

const ASK_EVERY: Duration = Duration::from_secs(1);
