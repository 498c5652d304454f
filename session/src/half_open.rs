//! Which half-open connection gives way to a newcomer (secure-session §3.9).
//!
//! A connection is half-open until its peer has proved who it is. If a full server turned newcomers away, four
//! computers could shut it, although it answers all others in milliseconds. So a newcomer is always let in, and a
//! connection that has had its time is closed.
//!
//! It holds no connections. The caller says which exist, and closes the one that gives way.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr};

/// How many connections may be half-open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HalfOpenLimits {
    /// Altogether.
    pub total: usize,
    /// From one [`Network`].
    pub per_network: usize,
}

/// The addresses that one stranger has for nothing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Network {
    /// Another program of this computer, without an address.
    ThisComputer,
    /// One IPv4 address.
    V4(Ipv4Addr),
    /// The first 64 bits of an IPv6 address: a computer chooses the others as it likes.
    V6([u16; 4]),
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self::V6([a, b, c, d])
            }
        }
    }
}

impl HalfOpenLimits {
    /// Says which connection to close before one from `newcomer` is let in; none if there is room.
    ///
    /// If the newcomer's network has its share, its oldest connection gives way. Otherwise it is the oldest of the
    /// network with the most. So a peer loses its place only to its own network, or when no network has more than
    /// its own.
    ///
    /// - Shape: `half_open` has each half-open connection once, by a number that is smaller for an older one.
    pub fn gives_way<T: Copy + Ord>(
        &self,
        half_open: impl Iterator<Item = (T, Network)>,
        newcomer: Network,
    ) -> Option<T> {
        let mut total = 0_usize;
        let mut networks = BTreeMap::<Network, (usize, T)>::new();
        for (number, network) in half_open {
            total = total.saturating_add(1);
            let (count, oldest) = networks.entry(network).or_insert((0, number));
            *count = count.saturating_add(1);
            *oldest = number.min(*oldest);
        }
        let own = networks.get(&newcomer).filter(|(count, _)| *count >= self.per_network);
        if let Some((_, oldest)) = own {
            return Some(*oldest);
        }
        if total < self.total {
            return None;
        }
        let most = networks.values().map(|(count, _)| *count).max()?;
        networks.values().filter(|(count, _)| *count == most).map(|(_, oldest)| *oldest).min()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const LIMITS: HalfOpenLimits = HalfOpenLimits { total: 6, per_network: 3 };

    fn network(text: &str) -> Network {
        Network::from(text.parse::<IpAddr>().expect("an address"))
    }

    fn gives_way(half_open: &[&str], newcomer: &str) -> Option<usize> {
        LIMITS.gives_way(half_open.iter().map(|one| network(one)).enumerate(), network(newcomer))
    }

    #[test]
    fn while_there_is_room_all_stay() {
        assert_eq!(gives_way(&[], "10.0.0.1"), None);
        assert_eq!(
            gives_way(&["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], "10.0.0.1"),
            None
        );
    }

    #[test]
    fn a_network_that_has_its_share_gives_way_to_itself() {
        assert_eq!(gives_way(&["10.0.0.9", "10.0.0.1", "10.0.0.1", "10.0.0.1"], "10.0.0.1"), Some(1));
    }

    #[test]
    fn the_oldest_of_the_network_that_has_most_gives_way_to_another() {
        let crowd = ["10.0.0.9", "10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2"];
        assert_eq!(gives_way(&crowd, "10.0.0.3"), Some(2));
        let even = ["10.0.0.5", "10.0.0.4", "10.0.0.3", "10.0.0.2", "10.0.0.1", "10.0.0.0"];
        assert_eq!(gives_way(&even, "10.0.0.9"), Some(0), "where all have one, the oldest of all");
    }

    #[test]
    fn a_newcomer_keeps_its_place_whatever_two_networks_do() {
        let mut half_open: Vec<_> =
            (0..6).map(|number| (number, network(["10.0.0.1", "10.0.0.2"][number % 2]))).collect();
        for number in 6..1000 {
            let from = network(if number == 6 { "10.0.0.3" } else { ["10.0.0.1", "10.0.0.2"][number % 2] });
            if let Some(oldest) = LIMITS.gives_way(half_open.iter().copied(), from) {
                half_open.retain(|(number, _)| *number != oldest);
            }
            half_open.push((number, from));
            assert!(half_open.len() <= LIMITS.total);
        }
        assert!(half_open.contains(&(6, network("10.0.0.3"))));
    }

    #[test]
    fn an_ipv6_computer_is_known_by_its_first_64_bits_and_an_ipv4_one_in_either_form() {
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::7"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
    }
}
