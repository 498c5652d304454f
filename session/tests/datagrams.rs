//! Sealed datagrams and sealed discovery.

mod common;

use common::{DISCOVERY_KEY, NOW, Seeded, connect, pair};
use schwann_session::{
    DATAGRAM_OVERHEAD, DatagramError, Datagrams, SessionId, Suite, UnixSeconds,
    discovery::{DiscoveryError, DiscoveryKey, QUERY_OVERHEAD, QueryId, REPLY_OVERHEAD},
};

fn datagrams() -> (Datagrams, Datagrams) {
    let (mut inlet, mut outlet) = pair();
    let (mut inlet, mut outlet) = connect(Suite::Hybrid, &mut inlet, &mut outlet).unwrap();
    let pair = (inlet.session.take_datagrams().unwrap(), outlet.session.take_datagrams().unwrap());
    assert!(inlet.session.take_datagrams().is_none(), "they are handed out once");
    pair
}

fn seal(from: &mut Datagrams, plain: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; plain.len() + DATAGRAM_OVERHEAD];
    assert_eq!(from.seal(plain, &mut datagram), Ok(datagram.len()));
    datagram
}

fn open(to: &mut Datagrams, datagram: &[u8]) -> Result<Vec<u8>, DatagramError> {
    let mut datagram = datagram.to_vec();
    to.open(&mut datagram).map(|plain| datagram[plain].to_vec())
}

#[test]
fn probes_go_both_ways() {
    let (mut inlet, mut outlet) = datagrams();
    assert_eq!(inlet.session(), outlet.session());
    let probe = seal(&mut inlet, b"LSL:timedata\r\n1 2.5\r\n");
    assert_eq!(SessionId::of(&probe), Some(outlet.session()));
    assert_eq!(open(&mut outlet, &probe).unwrap(), b"LSL:timedata\r\n1 2.5\r\n");
    let answer = seal(&mut outlet, b" 1 2.5 3.5 3.6");
    assert_eq!(open(&mut inlet, &answer).unwrap(), b" 1 2.5 3.5 3.6");
}

#[test]
fn a_replayed_probe_is_dropped() {
    let (mut inlet, mut outlet) = datagrams();
    let probe = seal(&mut inlet, b"probe");
    assert!(open(&mut outlet, &probe).is_ok());
    assert_eq!(open(&mut outlet, &probe), Err(DatagramError::Replayed));
}

#[test]
fn a_reflected_probe_is_dropped() {
    let (mut inlet, _) = datagrams();
    let probe = seal(&mut inlet, b"probe");
    assert_eq!(open(&mut inlet, &probe), Err(DatagramError::Forged));
}

#[test]
fn a_forged_probe_is_dropped_and_moves_nothing() {
    let (mut inlet, mut outlet) = datagrams();
    let probe = seal(&mut inlet, b"probe");
    for bit in 0..probe.len() * 8 {
        let mut forged = probe.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&mut outlet, &forged).is_err(), "bit {bit}");
    }
    for length in 0..probe.len() {
        assert!(open(&mut outlet, &probe[..length]).is_err(), "{length} bytes");
    }
    assert!(open(&mut outlet, &probe).is_ok(), "the window was not moved by forgeries");
}

#[test]
fn order_does_not_matter_within_the_window() {
    let (mut inlet, mut outlet) = datagrams();
    let mut sent: Vec<_> = (0..3000_u32).map(|i| seal(&mut inlet, &i.to_le_bytes())).collect();
    let mut random = Seeded(11);
    // Shuffled within groups of 500: all must come, and each once.
    for group in sent.chunks_mut(500) {
        for index in 0..group.len() {
            group.swap(index, random.below(group.len()));
        }
    }
    let came = sent.iter().filter(|datagram| open(&mut outlet, datagram).is_ok()).count();
    assert_eq!(came, 3000);
    assert!(sent.iter().all(|datagram| open(&mut outlet, datagram) == Err(DatagramError::Replayed)));
}

#[test]
fn what_is_too_old_to_tell_is_dropped() {
    let (mut inlet, mut outlet) = datagrams();
    let sent: Vec<_> = (0..1026).map(|_| seal(&mut inlet, b"x")).collect();
    assert!(open(&mut outlet, &sent[1025]).is_ok());
    // Counter 1,025 came: 1,024 counters end with it, from 2 on.
    assert_eq!(open(&mut outlet, &sent[1]), Err(DatagramError::Replayed));
    assert!(open(&mut outlet, &sent[2]).is_ok());
}

#[test]
fn datagrams_of_another_session_are_foreign() {
    let (mut inlet, _) = datagrams();
    let (mut lab_inlet, mut lab_outlet) = pair();
    lab_outlet.entropy = Seeded(0xFEED);
    let (_, mut other) = connect(Suite::Hybrid, &mut lab_inlet, &mut lab_outlet).unwrap();
    let probe = seal(&mut inlet, b"probe");
    assert_eq!(open(&mut other.session.take_datagrams().unwrap(), &probe), Err(DatagramError::Foreign));
}

#[test]
fn members_find_each_other() {
    let (key, mut entropy) = (DiscoveryKey::new(&DISCOVERY_KEY), Seeded(3));
    let mut query = [0; 64];
    let (length, id) = key.seal_query(b"type='EEG'", NOW, &mut entropy, &mut query).unwrap();
    assert_eq!(length, 10 + QUERY_OVERHEAD);
    let (asked, text) = key.open_query(&mut query[..length], UnixSeconds(NOW.0 + 30)).unwrap();
    assert_eq!((asked, &query[text]), (id, b"type='EEG'".as_slice()));

    let mut reply = [0; 128];
    let length = key.seal_reply(&asked, b"<info/>", &mut entropy, &mut reply).unwrap();
    assert_eq!(length, 7 + REPLY_OVERHEAD);
    assert_eq!(QueryId::of_reply(&reply), Some(id));
    let text = key.open_reply(&id, &mut reply[..length]).unwrap();
    assert_eq!(&reply[text], b"<info/>");
}

#[test]
fn a_stranger_an_old_query_and_a_wrong_clock_get_no_answer() {
    let (key, stranger) = (DiscoveryKey::new(&DISCOVERY_KEY), DiscoveryKey::new(&[1; 32]));
    let mut query = [0; 64];
    let (length, _) = key.seal_query(b"", NOW, &mut Seeded(3), &mut query).unwrap();
    let open = |key: &DiscoveryKey, now| {
        let mut query = query;
        key.open_query(&mut query[..length], now).map(drop)
    };
    assert_eq!(open(&stranger, NOW), Err(DiscoveryError::Forged));
    assert_eq!(open(&key, UnixSeconds(NOW.0 + 31)), Err(DiscoveryError::WrongTime));
    assert_eq!(open(&key, UnixSeconds(NOW.0 - 31)), Err(DiscoveryError::WrongTime));
    let mut plain = *b"LSL:shortinfo\r\n";
    assert_eq!(key.open_query(&mut plain, NOW).map(drop), Err(DiscoveryError::Foreign));
}

#[test]
fn a_reply_answers_one_query_and_is_no_query() {
    let (key, mut entropy) = (DiscoveryKey::new(&DISCOVERY_KEY), Seeded(3));
    let mut buffer = [0; 64];
    let (_, first) = key.seal_query(b"", NOW, &mut entropy, &mut buffer).unwrap();
    let (_, second) = key.seal_query(b"", NOW, &mut entropy, &mut buffer).unwrap();
    let mut reply = [0; 128];
    let length = key.seal_reply(&first, b"here", &mut entropy, &mut reply).unwrap();
    let reply = &mut reply[..length];
    assert_eq!(key.open_reply(&second, reply), Err(DiscoveryError::Foreign));
    assert_eq!(key.open_query(reply, NOW).map(drop), Err(DiscoveryError::Foreign));
    // Rewriting the name of the query breaks the seal.
    let mut moved = reply.to_vec();
    let (_, third) = key.seal_query(b"", NOW, &mut entropy, &mut buffer).unwrap();
    moved[4..28].copy_from_slice(&buffer[4..28]);
    assert_eq!(key.open_reply(&third, &mut moved), Err(DiscoveryError::Forged));
}
