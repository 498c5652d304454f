//! Outlets that a search does not find because this computer may not receive from them, and why.

mod unseen;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use schwann::resolver::{
    Knocked, PLAIN_STREAMS, is_own_address, knock, known_peers, own_ports, peer_ports, resolve, unheard,
};
use schwann::security::{Explained, Refusal};
use schwann::security::{Policy, Trust};
use schwann::{Config, Context, StreamInfo};
use schwann_proto::stream_info::IpVersion;

pub use self::unseen::Unseen;
use self::unseen::{hangs, in_the_clear, refused_by_lab, unlooked};
use super::stop::Stop;
use super::verdict::is_same_source;

/// Knocks at the ports of this computer and of the known peers, again and again, until this is dropped.
pub struct Hidden {
    shared: Arc<Watch>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Watch {
    stop: Stop,
    state: Mutex<Sightings>,
}

#[derive(Default)]
struct Sightings {
    refused: BTreeMap<SocketAddr, Refusal>,
    /// Outlets that let us in and that no search had found, by UID.
    silent: BTreeMap<String, Silent>,
    /// Ports of this computer that take connections and do not answer: the rounds in which it was so, and the latest of them.
    hung: BTreeMap<u16, (u32, u32)>,
    /// Streams that are sent in the clear, and that this computer does not look for because it takes sealed ones alone.
    /// By UID.
    plain: BTreeMap<String, Plain>,
    /// Streams of other sessions, by UID, and the round in which each was met last.
    elsewhere: BTreeMap<String, (u32, Elsewhere)>,
    /// Streams that were found, by UID.
    found: BTreeMap<String, StreamInfo>,
    /// Where the data of streams that were found come from: there is nothing to ask.
    known: BTreeSet<Endpoint>,
    round: u32,
    has_looked: bool,
}

/// A computer, which is none for this one, and a port. This computer has several addresses.
type Endpoint = (Option<IpAddr>, u16);

/// A stream in the clear.
struct Plain {
    info: StreamInfo,
    places: Vec<Endpoint>,
    /// Whether this computer looks for streams of its session.
    is_ours: bool,
    /// Looks that did not find it. One is nothing: a busy network loses answers.
    missed: u32,
}

/// An outlet that lets us in and does not answer a search.
struct Silent {
    address: SocketAddr,
    name: String,
    /// Rounds in which it was so. One is nothing: it may have come a moment ago.
    rounds: u32,
    /// The latest of them.
    round: u32,
}

/// A stream of another session than this computer looks in.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Its name.
    pub name: String,
    /// The computer that sends it.
    pub hostname: String,
    /// Its LSL session id.
    pub session_id: String,
}

impl Hidden {
    /// Begins to look.
    pub fn look(context: Arc<Context>) -> Self {
        let shared = Arc::<Watch>::default();
        let looking = Arc::clone(&shared);
        let thread = thread::Builder::new().name("hidden".to_owned()).spawn(move || looking.run(&context));
        Self { shared, thread: thread.ok() }
    }

    /// Takes note of a stream that was found.
    pub fn note_found(&self, info: &StreamInfo) {
        let uid = info.uid().to_string_lossy().into_owned();
        if self.shared.lock().found.contains_key(&uid) {
            return;
        }
        let places = data_places(info);
        let mut state = self.shared.lock();
        state.silent.remove(&uid);
        if state.found.len() >= FOUND_MOST {
            // What is there is noted again with the next look.
            state.found.clear();
            state.known.clear();
        }
        state.known.extend(places);
        state.found.entry(uid).or_insert_with(|| info.clone());
    }

    /// The streams that are there and not seen, and why.
    pub fn unseen(&self) -> Vec<Unseen> {
        let state = self.shared.lock();
        let plain = state.plain.values().filter(|plain| plain.is_ours && !state.has_found(&plain.info));
        let plain = plain.map(|Plain { info, .. }| {
            let name = info.name().to_string_lossy();
            let endpoint = info.endpoint(IpVersion::V4);
            Unseen {
                address: format!("{}:{}", endpoint.address, endpoint.data_port),
                reason: in_the_clear(&name),
                name: Some(format!("{name} of {}", info.hostname())),
            }
        });
        let refused = state.refused.iter().filter(|(address, refusal)| state.is_told(**address, **refusal));
        let refused = refused.map(|(address, refusal)| Unseen {
            name: None,
            address: address.to_string(),
            reason: Explained(*refusal).to_string(),
        });
        let silent = state.silent.values().filter(|silent| silent.rounds > 1).map(|silent| Unseen {
            name: Some(silent.name.clone()),
            address: silent.address.to_string(),
            reason: unheard(silent.address.ip()),
        });
        let hung =
            state.hung.iter().filter(|(_, (rounds, _))| *rounds >= HUNG_ROUNDS).map(|(port, _)| Unseen {
                name: Some(String::from("a program of this computer")),
                address: format!("port {port}"),
                reason: hangs(*port),
            });
        let by_lab = refused_by_lab(&state.refused);
        plain
            .chain(refused)
            .chain(silent)
            .chain(hung)
            .chain(by_lab)
            .chain(self.thread.is_none().then(unlooked))
            .collect()
    }

    /// The streams of other sessions on this computer.
    pub fn elsewhere(&self) -> Vec<Elsewhere> {
        self.shared.lock().elsewhere.values().map(|(_, elsewhere)| elsewhere.clone()).collect()
    }

    /// Whether what is there is known: every port of this computer was tried, and twice if one was in doubt. Without a
    /// thread nothing more will be known, and [`Hidden::unseen`] says so.
    pub fn has_settled(&self) -> bool {
        let state = self.shared.lock();
        (state.has_looked && !state.is_unsure()) || self.thread.is_none()
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.shared.stop.raise();
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Sightings> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, context: &Context) {
        // Whatever answers a search needs not be asked in another way.
        if !self.look_for_plain(context) {
            let _ = self.stop.wait(FIRST_LOOK);
        }
        while !self.stop.is_raised() {
            let round = {
                let mut state = self.lock();
                state.round += 1;
                let round = state.round;
                state.elsewhere.retain(|_, (met, _)| round - *met <= 2 * PLAIN_ROUNDS);
                round
            };
            if round.is_multiple_of(PLAIN_ROUNDS) {
                self.look_for_plain(context);
            }
            let peers = known_peers(context).into_iter();
            own_ports(context).into_iter().for_each(|address| self.try_at(context, address));
            self.lock().has_looked = true;
            peer_ports(context, peers).into_iter().for_each(|address| self.try_at(context, address));
            let is_unsure = self.lock().is_unsure();
            self.stop.wait(if is_unsure { FIRST_LOOK } else { LOOK_EVERY });
        }
    }

    /// Searches for streams in the clear, of all sessions; says whether that is of any use here.
    fn look_for_plain(&self, context: &Context) -> bool {
        let Some(found) = plain_streams(context) else { return false };
        let found: Vec<_> = found.into_iter().map(|info| Plain::of(info, context)).collect();
        let mut state = self.lock();
        state.plain.values_mut().for_each(|plain| plain.missed += 1);
        for plain in found {
            let uid = plain.info.uid().to_string_lossy().into_owned();
            if !plain.is_ours {
                state.note_elsewhere(uid.clone(), &plain.info);
            }
            if state.plain.len() < MOST || state.plain.contains_key(&uid) {
                state.plain.insert(uid, plain);
            }
        }
        state.plain.retain(|_, plain| plain.missed < 2);
        true
    }

    fn try_at(&self, context: &Context, address: SocketAddr) {
        if self.stop.is_raised() || self.lock().known.contains(&place(address)) {
            return;
        }
        // Before a program is said to hang, it gets the time that a busy computer takes.
        let is_slow = self.lock().is_to_be_sure(address.port());
        let outcome = knock(context, address, if is_slow { SLOW_TIMEOUT } else { KNOCK_TIMEOUT });
        let mut state = self.lock();
        if let Knocked::Refused(refusal) = outcome {
            state.refused.insert(address, refusal);
        } else {
            state.refused.remove(&address);
        }
        state.note_hung(address, matches!(outcome, Knocked::Silent));
        let Knocked::Stream(info) = outcome else {
            return state.silent.retain(|_, silent| silent.address != address);
        };
        let uid = info.uid().to_string_lossy().into_owned();
        let session = info.session_id().to_string_lossy();
        if session != context.lab.session_id.as_str() {
            // It is none of this search's, and silent for that reason alone.
            state.note_elsewhere(uid, &info);
        } else if !state.found.contains_key(&uid) && state.silent.len() < MOST {
            state.note_silent(uid, &info, address);
        }
    }
}

impl Sightings {
    /// Whether a stream was found, or comes in by a gateway of its own computer.
    fn has_found(&self, info: &StreamInfo) -> bool {
        let is_brought_in =
            |found: &StreamInfo| is_same_source(info, found) && info.hostname() == found.hostname();
        self.found.contains_key(&*info.uid().to_string_lossy()) || self.found.values().any(is_brought_in)
    }

    /// Whether a port that did not answer in an earlier round is to be given more time in this one.
    fn is_to_be_sure(&self, port: u16) -> bool {
        self.hung.get(&port).is_some_and(|(_, latest)| *latest != self.round)
    }

    /// Whether another round must tell what is in doubt.
    fn is_unsure(&self) -> bool {
        self.silent.values().any(|silent| silent.rounds == 1)
            || self.hung.values().any(|(rounds, _)| *rounds < HUNG_ROUNDS)
    }

    fn note_elsewhere(&mut self, uid: String, info: &StreamInfo) {
        if self.elsewhere.len() < MOST || self.elsewhere.contains_key(&uid) {
            let elsewhere = Elsewhere {
                name: info.name().to_string(),
                hostname: info.hostname().to_string(),
                session_id: info.session_id().to_string(),
            };
            self.elsewhere.insert(uid, (self.round, elsewhere));
        }
    }

    /// Notes whether a port of this computer takes connections and does not answer.
    fn note_hung(&mut self, address: SocketAddr, is_silent: bool) {
        // The other version's loopback refuses where an outlet has this one alone.
        if address.ip() != IpAddr::from(Ipv4Addr::LOCALHOST) {
            return;
        }
        if !is_silent {
            self.hung.remove(&address.port());
            return;
        }
        let round = self.round;
        let (rounds, latest) = self.hung.entry(address.port()).or_insert((0, 0));
        if *latest != round {
            (*rounds, *latest) = (*rounds + 1, round);
        }
    }

    /// An outlet has an address for each version of IP, and counts once in a round.
    fn note_silent(&mut self, uid: String, info: &StreamInfo, address: SocketAddr) {
        let round = self.round;
        let name = format!("{} of {}", info.name(), info.hostname());
        let silent = self.silent.entry(uid).or_insert(Silent { address, name, rounds: 0, round: 0 });
        if silent.round != round {
            silent.rounds += 1;
            silent.round = round;
        }
    }

    /// Whether to tell a refusal. It is not told if the outlet is named as a plain stream, nor twice for the two
    /// versions of IP.
    fn is_told(&self, address: SocketAddr, refusal: Refusal) -> bool {
        let is_plain = refusal == Refusal::PlainPeer
            && self.plain.values().any(|plain| plain.places.contains(&place(address)));
        let is_second = address == SocketAddr::from((Ipv6Addr::LOCALHOST, address.port()))
            && self
                .refused
                .iter()
                .any(|(other, same)| other.ip() == IpAddr::from(Ipv4Addr::LOCALHOST) && *same == refusal);
        !is_plain && !is_second
    }
}

impl Plain {
    fn of(info: StreamInfo, context: &Context) -> Self {
        let is_ours = info.session_id().to_string_lossy() == context.lab.session_id;
        Self { places: data_places(&info), is_ours, missed: 0, info }
    }
}

fn place(address: SocketAddr) -> Endpoint {
    (Some(address.ip()).filter(|ip| !is_own_address(*ip)), address.port())
}

/// Where the data of a stream come from.
fn data_places(info: &StreamInfo) -> Vec<Endpoint> {
    let ends = [IpVersion::V4, IpVersion::V6].map(|version| {
        let endpoint = info.endpoint(version);
        let ip: IpAddr = endpoint.address.to_string().split('%').next()?.parse().ok()?;
        Some(place(SocketAddr::new(ip, endpoint.data_port))).filter(|(_, port)| *port != 0)
    });
    ends.into_iter().flatten().collect()
}

/// Searches for streams in the clear, of all sessions; nothing unless sealing is required here.
///
/// A search for sealed streams does not hear of them. The question names neither a stream nor a session.
fn plain_streams(context: &Context) -> Option<Vec<StreamInfo>> {
    let trust = context.trust().ok().filter(|trust| trust.policy() == Policy::Require)?;
    let plain = Config::clone(context.config());
    let plain = Arc::new(Context::with_trust(plain, Trust::new(Policy::Off, None)));
    let mut found = resolve(&plain, PLAIN_STREAMS, 0, FIRST_LOOK).unwrap_or_default();
    found.retain(|info| trust.policy_of_received(info) == Policy::Require);
    Some(found)
}

const FIRST_LOOK: Duration = Duration::from_millis(700);
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Rounds from one look for streams in the clear to the next.
const PLAIN_ROUNDS: u32 = 3;
/// Streams that are told of at most.
const MOST: usize = 64;
/// Streams that were found are remembered up to this number: anybody may announce new ones all the time.
const FOUND_MOST: usize = 4096;
/// Rounds after which a port that does not answer is told; a busy computer takes its time.
const HUNG_ROUNDS: u32 = 2;
const KNOCK_TIMEOUT: Duration = Duration::from_millis(300);
const SLOW_TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
