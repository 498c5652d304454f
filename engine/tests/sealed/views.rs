//! What a program tells of itself: members alone get it, and it says what reached the outlet.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use schwann::resolver::{Viewed, view};
use schwann::security::Policy;
use schwann_proto::stream_info::IpVersion;

use crate::sealing::{LONG, Lab, context, find, network, outlet};

const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn a_member_learns_how_things_look_from_the_outlet() {
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let asking = context(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let sender = outlet(&sending).expect("an outlet");
    let address = SocketAddr::from(([127, 0, 0, 1], sender.info().endpoint(IpVersion::V4).data_port));
    let ask = || match view(&asking, address, BUSY_TIMEOUT) {
        Viewed::Told(view) => view,
        other => panic!("{other:?}"),
    };
    let before = ask();
    assert_eq!((before.device.as_str(), before.policy.as_str()), ("device 1", "require"));
    assert_eq!((before.version.as_str(), before.revocation_number), (env!("CARGO_PKG_VERSION"), 1));
    assert!(before.stream_count > 0);
    assert_eq!((before.multicast.count, before.unicast.count, before.unicast.age), (0, 0, None));
    assert!(before.clock_ahead.abs() <= before.clock_uncertainty + 0.1, "{before:?}");
    assert_eq!(find(&asking, LONG).len(), 1);
    let after = ask();
    assert!(after.multicast.count + after.unicast.count > 0, "{after:?}");
}

#[test]
fn a_stranger_learns_nothing() {
    let (lab, other, network) = (Lab::new(), Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let sender = outlet(&sending).expect("an outlet");
    let address = SocketAddr::from(([127, 0, 0, 1], sender.info().endpoint(IpVersion::V4).data_port));
    let without = context(&network, Policy::Off, None);
    assert!(matches!(view(&without, address, BUSY_TIMEOUT), Viewed::NoKeys));
    let foreign = context(&network, Policy::Require, Some(other.member(1, |_| {})));
    assert!(matches!(view(&foreign, address, BUSY_TIMEOUT), Viewed::Refused(_)));
    assert_eq!(said_in_the_clear(address), Vec::<u8>::new());
    // Also where the stream may be plain.
    let open = outlet(&context(&network, Policy::Prefer, Some(lab.member(3, |_| {})))).expect("an outlet");
    let address = SocketAddr::from(([127, 0, 0, 1], open.info().endpoint(IpVersion::V4).data_port));
    assert_eq!(said_in_the_clear(address), Vec::<u8>::new());
}

/// What an outlet says to a stranger who asks in the clear, until it closes.
fn said_in_the_clear(address: SocketAddr) -> Vec<u8> {
    let mut stranger = TcpStream::connect(address).expect("the outlet");
    stranger.set_read_timeout(Some(BUSY_TIMEOUT)).expect("a timeout");
    stranger.write_all(b"LSL:view\r\n").expect("sent");
    let mut said = Vec::new();
    // An outlet that closes with a request unread resets the connection.
    let _reset = stranger.read_to_end(&mut said);
    said
}
