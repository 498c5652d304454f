//! How many connections a tunnel has, and which of those that have not proved who they are gives way to a newcomer.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schwann_session::{HalfOpenLimits, Network};

/// Bounds how many connections there are, and how many of those have not proved yet who they are.
#[derive(Debug, Default)]
pub(super) struct Crowd(Mutex<Present>);

#[derive(Debug, Default)]
struct Present {
    all: usize,
    admitted: u64,
    /// By age: the oldest has the smallest number.
    strangers: BTreeMap<u64, (Network, TcpStream)>,
}

/// One connection's place; given back on drop.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
}

impl Crowd {
    /// Takes a place for a stranger. If there are too many of them, the oldest loses its connection.
    ///
    /// - Errors: there are as many connections as there may be, or the system has no descriptor left.
    pub(super) fn admit(self: &Arc<Self>, socket: &TcpStream, address: IpAddr) -> io::Result<Place> {
        let mut present = self.lock();
        if present.all >= MOST {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let (network, socket) = (Network::from(address), socket.try_clone()?);
        let strangers = present.strangers.iter().map(|(number, (network, _))| (*number, *network));
        if let Some(oldest) = STRANGERS.gives_way(strangers, network)
            && let Some((_, crowded_out)) = present.strangers.remove(&oldest)
        {
            // Its thread waits for what it says, and ends with the connection.
            let _closed_already = crowded_out.shutdown(Shutdown::Both);
        }
        let number = present.admitted;
        (present.admitted, present.all) = (number + 1, present.all + 1);
        present.strangers.insert(number, (network, socket));
        Ok(Place { crowd: Arc::clone(self), number })
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Says that this one is known now: it does not count as a stranger any more.
    pub(super) fn is_known(&self) {
        self.crowd.lock().strangers.remove(&self.number);
    }
}

impl Drop for Place {
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
        let (crowd, one) = (Arc::new(Crowd::default()), IpAddr::from([192, 0, 2, 1]));
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
}
