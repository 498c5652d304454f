//! A search that finds nothing also asks whether a peer is there that may not answer, and says why.
//!
//! Knocks at the service ports of this computer and of the known peers; others it cannot know. Each reason is told once.

use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use mio::Waker;
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::query::Query;
use schwann_session::Refusal;

use super::knock::{Knocked, knock, own_ports, peer_ports};
use super::search::lock;
use crate::context::Context;
use crate::lately::Lately;
use crate::log;
use crate::net::names;
use crate::security::{Policy, Trust, journal};

/// When one search asks, and what it was told.
#[derive(Debug)]
pub(super) struct Silence {
    context: Arc<Context>,
    condition: String,
    must_be_sealed: bool,
    next: f64,
    rounds: usize,
    unanswered: Arc<Mutex<Vec<String>>>,
}

impl Silence {
    /// A search for `condition` that begins now.
    pub(super) fn new(context: &Arc<Context>, trust: &Trust, condition: &str, now: f64) -> Self {
        Self {
            context: Arc::clone(context),
            condition: condition.to_owned(),
            must_be_sealed: trust.policy() == Policy::Require,
            next: now + INTERVALS[0],
            rounds: 0,
            unanswered: Arc::default(),
        }
    }

    /// When there is something to do, in seconds on the local clock, unless a stream is found before.
    pub(super) fn next(&self) -> f64 {
        self.next
    }

    /// Asks around in a thread of its own, if it is time to.
    pub(super) fn break_if_due(&mut self, now: f64, waker: &Arc<Waker>) {
        if now < self.next {
            return;
        }
        self.rounds += 1;
        let last = INTERVALS.len() - 1;
        self.next = now + INTERVALS.get(self.rounds).unwrap_or(&INTERVALS[last]);
        let peers = self.context.lab.known_peers.iter().flat_map(|peer| names::addresses(peer, Some(waker)));
        let round = Round {
            addresses: own_ports(&self.context).into_iter().chain(peer_ports(&self.context, peers)).collect(),
            context: Arc::clone(&self.context),
            condition: self.condition.clone(),
            must_be_sealed: self.must_be_sealed && self.rounds == INTERVALS.len(),
            unanswered: Arc::clone(&self.unanswered),
        };
        // Without a thread nothing is reported; the search goes on.
        let _ = thread::Builder::new().name("lsl-silence".to_owned()).spawn(move || round.run());
    }
}

/// One look around.
struct Round {
    addresses: Vec<SocketAddr>,
    context: Arc<Context>,
    condition: String,
    /// No answer came so far, and strangers could not give one.
    must_be_sealed: bool,
    unanswered: Arc<Mutex<Vec<String>>>,
}

impl Round {
    fn run(self) {
        let deadline = Instant::now() + ROUND_TIMEOUT;
        let wanted = Query::parse(&self.condition).ok();
        let mut is_alone = true;
        // One outlet is met at several addresses, and more than once in a round.
        let before = lock(&self.unanswered).clone();
        for address in &self.addresses {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            match knock(&self.context, *address, PORT_TIMEOUT.min(left)) {
                Knocked::Nobody | Knocked::Silent => {}
                Knocked::Refused(refusal) => {
                    is_alone = false;
                    if is_news(&REFUSED, (*address, refusal)) {
                        journal::hidden(*address, refusal);
                    }
                }
                Knocked::Stream(info) => {
                    let is_wanted = wanted.as_ref().is_none_or(|wanted| info.matches(wanted));
                    if is_wanted && self.was_there(&before, &info) && is_news(&UNHEARD, *address) {
                        is_alone = false;
                        log::warning!("{} at {address} {}", info.name(), unheard(address.ip()));
                    }
                }
            }
        }
        if is_alone && self.must_be_sealed && is_news(&ALONE, ()) {
            log::info!(
                "no member of this lab answers the search; programs without its keys are not heard here: `schwann doctor \
                 HOST` tells what one computer says"
            );
        }
    }

    /// Whether a round before met the stream too: one that has just come will answer with the next query.
    fn was_there(&self, before: &[String], info: &StreamInfo) -> bool {
        let uid = info.uid().to_string();
        let mut unanswered = lock(&self.unanswered);
        if !unanswered.contains(&uid) && unanswered.len() < MOST {
            unanswered.push(uid.clone());
        }
        before.contains(&uid)
    }
}

/// The meaning of an outlet at `ip` that lets us in, but does not answer a search. The text goes behind its
/// name.
pub fn unheard(ip: IpAddr) -> String {
    format!(
        "lets this computer in, but does not answer its search: one of the two is too busy, or a firewall drops \
         datagrams (`schwann doctor {ip}`), or their clocks differ by more than 30 s (`date -u` on both, `sudo \
         timedatectl set-ntp true` where it is wrong), or it is a microcontroller without a calendar whose image is older \
         than this program (build and flash it anew)"
    )
}

/// Whether something has not been told lately. It counts as told from now on.
fn is_news<T: PartialEq>(told: &Mutex<Lately<T>>, thing: T) -> bool {
    lock(told).is_new(thing, Instant::now())
}

/// What was told lately, for the whole process: outlets that refuse, outlets that are not heard, and that there are
/// neither. Each has room of its own, because strangers can serve many ports that refuse.
static REFUSED: Mutex<Lately<(SocketAddr, Refusal)>> = Mutex::new(Lately::new(TELL_AGAIN));
static UNHEARD: Mutex<Lately<SocketAddr>> = Mutex::new(Lately::new(TELL_AGAIN));
static ALONE: Mutex<Lately<()>> = Mutex::new(Lately::new(TELL_AGAIN));

/// Seconds without any stream until the first such question, and between the later ones; then the last of them
/// repeats.
const INTERVALS: [f64; 3] = [0.8, 3.0, 10.0];
/// How long one port may take, and all of them.
const PORT_TIMEOUT: Duration = Duration::from_millis(500);
const ROUND_TIMEOUT: Duration = Duration::from_secs(5);
/// Streams that one search remembers; what is beyond is not told.
const MOST: usize = 64;
/// Time after which a reason is told again.
const TELL_AGAIN: Duration = Duration::from_secs(600);
