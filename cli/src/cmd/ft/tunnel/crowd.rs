use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bounds how many connections there are, and how many of those have not proved yet who they are.
#[derive(Debug, Default)]
pub(super) struct Crowd(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    strangers: HashMap<IpAddr, usize>,
}

/// One connection's place; given back on drop.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Arc<Crowd>,
    stranger_at: Option<IpAddr>,
}

impl Crowd {
    /// Takes a place for a stranger; nothing if there are too many.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut counts = self.lock();
        let strangers: usize = counts.strangers.values().sum();
        let here = counts.strangers.get(&address).copied().unwrap_or(0);
        if counts.all >= MOST || strangers >= MOST_STRANGERS || here >= MOST_STRANGERS_AT_ONE_ADDRESS {
            return None;
        }
        counts.all += 1;
        counts.strangers.insert(address, here + 1);
        Some(Place { crowd: Arc::clone(self), stranger_at: Some(address) })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Says that this one is known now: it does not count as a stranger any more.
    pub(super) fn is_known(&mut self) {
        let Some(address) = self.stranger_at.take() else { return };
        let mut counts = self.crowd.lock();
        let left = counts.strangers.get(&address).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            counts.strangers.remove(&address);
        } else {
            counts.strangers.insert(address, left);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_known();
        let mut counts = self.crowd.lock();
        counts.all = counts.all.saturating_sub(1);
    }
}

/// Connections at a time, as the default of the buffer itself.
const MOST: usize = 1024;
/// Half-open handshakes at a time.
const MOST_STRANGERS: usize = 128;
/// Half-open handshakes from one address, so that one computer cannot keep all others out.
const MOST_STRANGERS_AT_ONE_ADDRESS: usize = 64;

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    #[test]
    fn strangers_of_one_address_leave_room_for_others_and_make_room_when_they_go() {
        let crowd = Arc::new(Crowd::default());
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from(Ipv4Addr::LOCALHOST));
        let mut crowded: Vec<_> = (0..).map_while(|_| crowd.admit(one)).collect();
        assert_eq!(crowded.len(), MOST_STRANGERS_AT_ONE_ADDRESS);
        assert!(crowd.admit(other).is_some());
        crowded[0].is_known();
        let next = crowd.admit(one).expect("a known one is no stranger");
        drop((crowded, next));
        assert_eq!(crowd.lock().all, 0);
        assert!(crowd.lock().strangers.is_empty());
    }
}
