//! Host names of known peers, looked up beside the threads that need them.
//!
//! The system's look-up may block without limit and cannot be ended. So each name gets a thread of its own,
//! and no other thread waits for it. Results are kept for the whole process. There is one thread per name at
//! most.

use core::{net::SocketAddr, time::Duration};
use std::{
    collections::HashMap,
    net::ToSocketAddrs,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread,
    time::Instant,
};

use mio::Waker;

use crate::log;

/// The addresses of `peer` that are known now, with port 0.
///
/// An address is known at once. A name is looked up in the background the first time and whenever the result is
/// old. `waker` is woken when there is news.
pub(crate) fn addresses(peer: &str, waker: Option<&Arc<Waker>>) -> Vec<SocketAddr> {
    if let Ok(ip) = peer.parse() {
        return vec![SocketAddr::new(ip, 0)];
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    let name = names.entry(peer.to_owned()).or_default();
    if name.needs_lookup(Instant::now()) {
        name.is_pending = start_lookup(peer.to_owned());
    }
    if let (true, Some(waker)) = (name.is_pending, waker) {
        name.waiting.retain(|waiting| waiting.strong_count() > 0 && !waiting.ptr_eq(&Arc::downgrade(waker)));
        name.waiting.push(Arc::downgrade(waker));
    }
    name.addresses.clone()
}

/// What is known about one name.
#[derive(Debug, Default)]
struct Name {
    addresses: Vec<SocketAddr>,
    looked_up: Option<Instant>,
    is_pending: bool,
    waiting: Vec<Weak<Waker>>,
}

impl Name {
    fn needs_lookup(&self, now: Instant) -> bool {
        let is_old = self.looked_up.is_none_or(|at| now.duration_since(at) >= KEPT_FOR);
        is_old && !self.is_pending
    }
}

fn start_lookup(peer: String) -> bool {
    let thread = thread::Builder::new().name("lsl-names".to_owned());
    let started = thread.spawn(move || finish_lookup(&peer, (peer.as_str(), 0).to_socket_addrs()));
    if let Err(error) = &started {
        log::error!("no thread to look up a known peer: {error}");
    }
    started.is_ok()
}

fn finish_lookup(peer: &str, outcome: std::io::Result<std::vec::IntoIter<SocketAddr>>) {
    let waiting = {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let name = names.get_or_insert_default().entry(peer.to_owned()).or_default();
        name.is_pending = false;
        name.looked_up = Some(Instant::now());
        match outcome {
            Ok(addresses) => {
                let mut addresses: Vec<_> = addresses.collect();
                addresses.dedup();
                name.addresses = addresses;
            }
            // What was known stays: a name server that is away does not make peers unreachable.
            Err(error) => log::warning!("known peer {peer:?} cannot be looked up: {error}"),
        }
        core::mem::take(&mut name.waiting)
    };
    for waker in waiting.iter().filter_map(Weak::upgrade) {
        // Fails only if the waiting thread has closed its poller.
        let _ = waker.wake();
    }
}

/// How long a result, or the lack of one, is used before the name is looked up again.
const KEPT_FOR: Duration = Duration::from_secs(60);

static NAMES: Mutex<Option<HashMap<String, Name>>> = Mutex::new(None);

#[cfg(test)]
mod tests {
    use mio::{Events, Poll, Token};

    use super::*;

    #[test]
    fn addresses_are_known_at_once_and_names_after_a_wake_up() {
        let mut poll = Poll::new().expect("a poller");
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).expect("a waker"));
        assert_eq!(addresses("10.0.0.7", Some(&waker)), [SocketAddr::from(([10, 0, 0, 7], 0))]);
        assert_eq!(addresses("::1", Some(&waker)).len(), 1);
        if addresses("localhost", Some(&waker)).is_empty() {
            let mut events = Events::with_capacity(1);
            poll.poll(&mut events, Some(Duration::from_secs(20))).expect("polled");
        }
        let found = addresses("localhost", Some(&waker));
        assert!(found.iter().any(|address| address.ip().is_loopback()), "{found:?}");
    }
}
