//! Counts the connections of a tunnel. Decides which unproven one gives way to a newcomer, and whose handshake is
//! answered next.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use schwann_session::{HalfOpenLimits, HandshakeTurns, Network};

/// Bounds the number of connections, the number of unproven ones among them, and the rate of answered handshakes.
#[derive(Debug)]
pub(super) struct Crowd(Mutex<Present>);

#[derive(Debug)]
struct Present {
    all: usize,
    admitted: u64,
    /// By age: the oldest has the smallest number.
    strangers: BTreeMap<u64, Stranger>,
    turns: HandshakeTurns,
    /// Whether the user knows that handshakes wait.
    has_told_of_turns: bool,
}

/// A connection whose peer has not proved its identity yet.
#[derive(Debug)]
struct Stranger {
    network: Network,
    socket: TcpStream,
    /// The thread that has its first bytes and waits for a turn to answer them.
    waits_for_turn: Option<Thread>,
}

/// One connection's place; given back on drop.
#[derive(Debug)]
pub(super) struct Seat {
    crowd: Arc<Crowd>,
    number: u64,
    network: Network,
}

impl Crowd {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Present {
            all: 0,
            admitted: 0,
            strangers: BTreeMap::new(),
            turns: HandshakeTurns::new(Instant::now()),
            has_told_of_turns: false,
        }))
    }

    /// Takes a place for a stranger. If there are too many of them, the oldest loses its connection.
    ///
    /// - Errors: there are as many connections as there may be, or the system has no descriptor left.
    pub(super) fn admit(self: &Arc<Self>, socket: &TcpStream, address: IpAddr) -> io::Result<Seat> {
        let mut present = self.lock();
        if present.all >= MOST {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let (network, socket) = (Network::from(address), socket.try_clone()?);
        let strangers = present.strangers.iter().map(|(number, stranger)| (*number, stranger.network));
        if let Some(oldest) = STRANGERS.gives_way(strangers, network)
            && let Some(crowded_out) = present.strangers.remove(&oldest)
        {
            // Its thread waits for what it says, or for a turn, and ends with the connection.
            let _ = crowded_out.socket.shutdown(Shutdown::Both);
            if let Some(thread) = crowded_out.waits_for_turn {
                thread.unpark();
            }
        }
        let number = present.admitted;
        (present.admitted, present.all) = (number + 1, present.all + 1);
        present.strangers.insert(number, Stranger { network, socket, waits_for_turn: None });
        Ok(Seat { crowd: Arc::clone(self), number, network })
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Says that this one is known now: it does not count as a stranger any more.
    pub(super) fn is_known(&self) {
        let mut present = self.crowd.lock();
        present.strangers.remove(&self.number);
        present.turns.met(self.network, Instant::now());
    }

    /// Waits until this one's handshake may be answered; false if it had to give way, or the time is over.
    pub(super) fn wait_for_turn(&self, deadline: Instant) -> bool {
        let mut present = self.crowd.lock();
        if let Some(stranger) = present.strangers.get_mut(&self.number) {
            stranger.waits_for_turn = Some(thread::current());
        }
        loop {
            let now = Instant::now();
            let next_turn = present.give_turns(now);
            match present.strangers.get_mut(&self.number) {
                Some(stranger) if now >= deadline => stranger.waits_for_turn = None,
                Some(Stranger { waits_for_turn: Some(_), .. }) => {
                    let is_oldest = present.oldest_that_waits() == Some(self.number);
                    let until = next_turn.filter(|_| is_oldest).map_or(deadline, |next| next.min(deadline));
                    drop(present);
                    thread::park_timeout(until.saturating_duration_since(now));
                    present = self.crowd.lock();
                    continue;
                }
                Some(_) => return true,
                None => {}
            }
            present.wake_oldest();
            return false;
        }
    }
}

impl Present {
    /// Gives as many turns as there are; says when the next one comes, if any wait for it.
    fn give_turns(&mut self, now: Instant) -> Option<Instant> {
        let waiting = self.strangers.iter().filter(|(_, stranger)| stranger.waits_for_turn.is_some());
        let mut waiting: Vec<_> = waiting.map(|(number, stranger)| (*number, stranger.network)).collect();
        let next_turn = loop {
            match self.turns.next(&waiting, now) {
                Ok(first) => {
                    waiting.retain(|(number, _)| *number != first);
                    let first = self.strangers.get_mut(&first);
                    if let Some(thread) = first.and_then(|stranger| stranger.waits_for_turn.take()) {
                        thread.unpark();
                    }
                    self.wake_oldest();
                }
                Err(next_turn) => break next_turn,
            }
        };
        if next_turn.is_some() && !core::mem::replace(&mut self.has_told_of_turns, true) {
            eprintln!(
                "schwann: more handshakes begin than are answered at a time; computers without an earlier tunnel wait"
            );
        }
        next_turn
    }

    fn oldest_that_waits(&self) -> Option<u64> {
        self.strangers
            .iter()
            .find(|(_, stranger)| stranger.waits_for_turn.is_some())
            .map(|(number, _)| *number)
    }

    /// The oldest keeps the time for all: so a turn wakes two threads and not all that wait.
    fn wake_oldest(&self) {
        let oldest = self.strangers.values().find_map(|stranger| stranger.waits_for_turn.as_ref());
        if let Some(thread) = oldest {
            thread.unpark();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut present = self.crowd.lock();
        present.strangers.remove(&self.number);
        present.all = present.all.saturating_sub(1);
    }
}

/// Connections at a time, as the default of the buffer itself.
const MOST: usize = 1024;
/// Half-open handshakes at a time.
const STRANGERS: HalfOpenLimits = HalfOpenLimits { total: 128, per_network: 64 };

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let address = listener.local_addr().expect("bound");
        let here = TcpStream::connect(address).expect("a connection");
        (here, listener.accept().expect("a connection").0)
    }

    #[test]
    fn the_oldest_stranger_of_an_address_gives_way_and_those_who_are_known_stay() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (crowd, one) = (Arc::new(Crowd::new()), IpAddr::from([192, 0, 2, 1]));
        let mut pairs: Vec<_> = (0..=STRANGERS.per_network).map(|_| pair(&listener)).collect();
        let places: Vec<_> =
            pairs.iter().map(|(_, there)| crowd.admit(there, one).expect("a place")).take(64).collect();
        places[0].is_known();
        let other = crowd.admit(&pairs[64].1, IpAddr::from([192, 0, 2, 2])).expect("a place");
        assert_eq!(crowd.lock().strangers.len(), STRANGERS.per_network);
        let newcomers = [64, 64].map(|at| crowd.admit(&pairs[at].1, one).expect("a place"));
        assert_eq!(pairs[1].0.read(&mut [0]).expect("an end"), 0, "the oldest stranger");
        let stays = |pairs: &[(TcpStream, TcpStream)], at: usize| {
            let here = &pairs[at].0;
            here.set_nonblocking(true).expect("a socket");
            here.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        assert!(stays(&pairs, 0) && stays(&pairs, 2));
        drop((places, other, newcomers));
        let present = crowd.lock();
        assert_eq!((present.all, present.strangers.len()), (0, 0));
    }

    #[test]
    fn no_more_handshakes_are_answered_than_there_are_turns() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let crowd = Arc::new(Crowd::new());
        let pairs: Vec<_> = (0..100).map(|_| pair(&listener)).collect();
        let admit = |(at, (_, there)): (u8, &(TcpStream, TcpStream))| {
            crowd.admit(there, IpAddr::from([192, 0, 2, at])).expect("a place")
        };
        let places: Vec<_> = (0..).zip(&pairs).map(admit).collect();
        let mut present = crowd.lock();
        for stranger in present.strangers.values_mut() {
            stranger.waits_for_turn = Some(thread::current());
        }
        let waiting = |present: &Present| {
            present.strangers.values().filter(|stranger| stranger.waits_for_turn.is_some()).count()
        };
        let start = Instant::now();
        let next = present.give_turns(start).expect("some wait");
        assert_eq!((waiting(&present), present.oldest_that_waits()), (36, Some(64)));
        present.give_turns(next);
        assert_eq!(waiting(&present), 35);
        drop(present);
        // A connection whose time is over, or whose peer is known, does not hold up later
        // ones.
        assert!(!places[98].wait_for_turn(start));
        places[99].is_known();
        let present = crowd.lock();
        assert!(present.strangers[&98].waits_for_turn.is_none() && !present.strangers.contains_key(&99));
    }
}
