//! What a search has found so far.

use core::{net::SocketAddr, time::Duration};

use schwann_proto::{resolver::Results, stream_info::StreamInfo};

use crate::net::sockets::version_of;

/// Streams by UID, in ascending order.
#[derive(Debug, Default)]
pub(super) struct Found(Results<StreamInfo>);

/// The list of streams is full; a peer that makes up streams cannot take more memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TooMany;

impl Found {
    /// Takes in a reply that came from `source`.
    ///
    /// The description of a known stream stays as it is. Its address is that of the first reply over each IP version,
    /// because the first is the fastest way.
    ///
    /// - Units: `now` in seconds on the local clock.
    pub(super) fn insert(&mut self, info: StreamInfo, source: SocketAddr, now: f64) -> Result<(), TooMany> {
        let uid = info.uid().to_string_lossy().into_owned();
        if self.0.len() >= MAX_STREAMS && self.0.get(&uid).is_none() {
            return Err(TooMany);
        }
        let stream = self.0.record(&uid, now, || info);
        let version = version_of(source.ip());
        if stream.endpoint(version).address.is_empty() {
            stream.set_address(version, address_text(source));
        }
        Ok(())
    }

    /// Forgets streams whose last reply is older than `age`.
    pub(super) fn forget_older_than(&mut self, age: Duration, now: f64) {
        self.0.forget(now, age.as_secs_f64());
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The descriptions, by ascending UID.
    pub(super) fn infos(&self) -> Vec<StreamInfo> {
        self.0.iter().map(|(_, info)| info.clone()).collect()
    }
}

/// The address as text; IPv6 with the zone that a link-local address needs.
fn address_text(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => {
            format!("{}%{}", address.ip(), address.scope_id())
        }
        address => address.ip().to_string(),
    }
}

/// Streams that one search remembers; a lab has far fewer.
const MAX_STREAMS: usize = 4096;

#[cfg(test)]
mod tests {
    use schwann_proto::{stream::ChannelFormat, stream_info::IpVersion};

    use super::*;

    fn info(number: u8) -> StreamInfo {
        let mut info =
            StreamInfo::new("n", "t", 1, 0.0, ChannelFormat::Int8, "").expect("a valid description");
        info.reset_uid([number; 16]);
        info
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_first_reply_over_each_ip_version_gives_the_address() {
        let (mut found, now) = (Found::default(), 100.0);
        for source in ["10.0.0.1:5", "10.0.0.2:5", "[fe80::1%3]:5", "[fd00::1]:5"] {
            found.insert(info(1), address(source), now).expect("room");
        }
        let [only] = &found.infos()[..] else { panic!("one stream: {found:?}") };
        assert_eq!(only.endpoint(IpVersion::V4).address.as_bytes(), b"10.0.0.1");
        assert_eq!(only.endpoint(IpVersion::V6).address.as_bytes(), b"fe80::1%3");
    }

    #[test]
    fn streams_without_a_recent_reply_are_forgotten() {
        let mut found = Found::default();
        found.insert(info(1), address("10.0.0.1:5"), 0.0).expect("room");
        found.insert(info(2), address("10.0.0.1:5"), 0.0).expect("room");
        found.insert(info(1), address("10.0.0.1:5"), 4.0).expect("room");
        found.forget_older_than(Duration::from_secs(5), 6.0);
        assert_eq!(found.infos().iter().map(StreamInfo::uid).collect::<Vec<_>>(), [info(1).uid()]);
    }

    #[test]
    fn results_are_ordered_by_uid_and_limited() {
        let (mut found, now) = (Found::default(), 100.0);
        for number in (0..=9_u8).rev() {
            found.insert(info(number), address("10.0.0.1:5"), now).expect("room");
        }
        assert!(found.infos().iter().map(StreamInfo::uid).is_sorted());
        for number in 0..MAX_STREAMS {
            let mut random = [0xff; 16];
            random[..8].copy_from_slice(&(number as u64).to_be_bytes());
            let mut more = info(0);
            more.reset_uid(random);
            let _ = found.insert(more, address("10.0.0.1:5"), now);
        }
        assert_eq!(found.len(), MAX_STREAMS);
        assert_eq!(found.insert(info(0xee), address("10.0.0.1:5"), now), Err(TooMany));
        assert_eq!(found.insert(info(1), address("10.0.0.1:5"), now), Ok(()));
    }
}
