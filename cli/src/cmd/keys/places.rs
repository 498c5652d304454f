//! Who is being attended to at an entrance that anybody reaches: few at a time, and of one network fewer.

use core::net::IpAddr;
use std::sync::{Arc, Weak};

use schwann::security::Network;

/// The connections that have a thread of their own.
#[derive(Default)]
pub(super) struct Places(Vec<(Network, Weak<()>)>);

impl Places {
    /// A place for a connection from there; it is free again when it is dropped. Nothing if that network has all of its places.
    pub(super) fn take(&mut self, from: IpAddr) -> Option<Arc<()>> {
        let network = Network::from(from);
        if self.is_full() || self.0.iter().filter(|(one, _)| *one == network).count() >= MOST_OF_ONE {
            return None;
        }
        let place = Arc::new(());
        self.0.push((network, Arc::downgrade(&place)));
        Some(place)
    }

    /// Whether the next connection is to wait.
    pub(super) fn is_full(&mut self) -> bool {
        self.0.retain(|(_, place)| place.strong_count() > 0);
        self.0.len() >= MOST
    }
}

/// Connections at the same time; more wait.
const MOST: usize = 16;
/// Those of one network; more are closed, so that a computer that asks all the time does not keep the others waiting.
const MOST_OF_ONE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_does_not_take_all_places() {
        let mut places = Places::default();
        let host = |number: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, number]);
        let taken: Vec<_> = (0..100).filter_map(|number| places.take(host(number))).collect();
        assert_eq!(taken.len(), MOST_OF_ONE);
        assert!(places.take([192, 0, 2, 1].into()).is_some());
        drop(taken);
        assert!(places.take(host(1)).is_some(), "a place is free again");
        let all: Vec<_> = (0..100).filter_map(|net| places.take([10, 0, net, 1].into())).collect();
        assert!(places.is_full() && all.len() < 100);
    }
}
