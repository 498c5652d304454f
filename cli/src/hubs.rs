//! Hubs that are looked at beside the network: those of the configuration (`relay.hub`), and those that are named.
//!
//! A hub that does not answer is trouble, like a stream that does not come. Nothing is known of what lies behind it.

mod show;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use schwann::Context;
use schwann::security::Roles;
use schwann_hub::{Access, Address, Remote, RemoteState, RemoteStream, read_statuses, remembered};
use serde_json::{Value, json};

use crate::cmd::relay::{default_journal, status};

pub(crate) use show::{backlog_json, by_wall_json, pairs, receipts_json};

/// Hubs to look at, besides those of the configuration.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Named {
    /// Show what goes through this hub, too, as `schwann hub up` printed it [default: those of the configuration, `relay.hub`].
    #[arg(long = "hub", value_name = "URL")]
    hubs: Vec<Address>,
}

/// Hubs that are looked at.
pub(crate) struct Hubs {
    remotes: Vec<Remote>,
    /// Why one cannot be looked at.
    problems: Vec<String>,
    opened: Instant,
    /// Where the edges of this computer stand.
    edges: Vec<Value>,
    edges_read: Option<Instant>,
}

impl Hubs {
    /// Begins to look. What is wrong is said with the rest.
    pub(crate) fn open(context: &Context, named: &Named) -> Self {
        let mut hubs = Self {
            remotes: Vec::new(),
            problems: Vec::new(),
            opened: Instant::now(),
            edges: Vec::new(),
            edges_read: None,
        };
        let mut addresses = remembered(context.config()).unwrap_or_else(|error| {
            hubs.problems.push(error.to_string());
            Vec::new()
        });
        addresses.extend(named.hubs.iter().cloned());
        addresses.sort_by_key(ToString::to_string);
        addresses.dedup();
        if !addresses.is_empty() {
            match Access::of(context, Roles::SUBSCRIBE) {
                Ok(access) => addresses.iter().for_each(|address| hubs.add(address, &access)),
                Err(error) => hubs.problems.push(format!("hubs are not looked at: {error}")),
            }
        }
        hubs
    }

    fn add(&mut self, address: &Address, access: &Access) {
        match Remote::open(address, access) {
            Ok(remote) => self.remotes.push(remote),
            Err(error) => self.problems.push(format!("hub {address}: {error}")),
        }
    }

    /// Looks at the hubs of the configuration until they can be judged. Returns what is wrong, each with what to do.
    pub(crate) fn examine(context: &Context) -> Vec<Examined> {
        let mut hubs = Self::open(context, &Named::default());
        while !hubs.is_complete() {
            hubs.update();
            std::thread::sleep(PAUSE);
        }
        hubs.update();
        hubs.examined()
    }

    /// Takes in what came.
    pub(crate) fn update(&mut self) {
        self.remotes.iter_mut().for_each(Remote::update);
        if self.edges_read.is_none_or(|read| read.elapsed() >= READ_EDGES) {
            self.edges_read = Some(Instant::now());
            self.edges = read_statuses(&default_journal());
        }
    }

    /// Whether all there is to know is known, or it is time to say what is known.
    pub(crate) fn is_complete(&self) -> bool {
        let is_known = |remote: &Remote| {
            let streams = remote.streams();
            let are_judged = streams.iter().all(|stream| stream.state != RemoteState::Early);
            remote.problem().is_none() && !streams.is_empty() && are_judged
        };
        self.opened.elapsed() >= COMPLETE || self.remotes.iter().all(is_known)
    }

    /// How many things are wrong: unreachable hubs, streams of theirs that do not come, and streams that do not go
    /// out.
    pub(crate) fn troubles(&self) -> usize {
        let of_hub = |remote: &Remote| {
            let wrong = remote.streams().iter().filter(|stream| is_wrong(stream)).count();
            usize::from(remote.problem().is_some()) + wrong
        };
        let edges = self.edges.iter().filter(|edge| !status::is_edge_well(edge)).count();
        self.problems.len() + self.remotes.iter().map(of_hub).sum::<usize>() + edges
    }
}

/// Looks at hubs in the background, and says what is known of them whenever it is asked; nothing if there are none to look at.
pub(crate) fn watch(
    context: &Arc<Context>,
    named: &Named,
) -> Option<impl Fn() -> Value + Send + Sync + 'static> {
    let mut hubs = Hubs::open(context, named);
    if hubs.remotes.is_empty() && hubs.problems.is_empty() {
        return None;
    }
    let known = Arc::new(Mutex::new((Instant::now(), hubs.json())));
    let told = Arc::clone(&known);
    let look = move || {
        loop {
            hubs.update();
            *lock(&told) = (Instant::now(), hubs.json());
            std::thread::sleep(PAUSE);
        }
    };
    let thread = std::thread::Builder::new().name(String::from("hubs")).spawn(look);
    Some(move || {
        let (when, json) = &*lock(&known);
        // What nothing looks at any more is not well.
        if thread.is_ok() && when.elapsed() < STALE {
            json.clone()
        } else {
            json!({ "hubs": [], "problems": [STOPPED], "edges": [] })
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that keeps streams from passing a hub.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Examined {
    /// Whether nothing at all passes it.
    pub(crate) is_fault: bool,
    /// What is wrong.
    pub(crate) what: String,
    /// The command that helps.
    pub(crate) fix: String,
}

fn is_wrong(stream: &RemoteStream) -> bool {
    !matches!(stream.state, RemoteState::Early | RemoteState::Well)
}

const STOPPED: &str = "hubs are not looked at any more; start the program again";
const STALE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
const READ_EDGES: Duration = Duration::from_secs(1);
/// A hub far away answers, and shows two blocks of each stream, within this time.
const COMPLETE: Duration = Duration::from_secs(5);
