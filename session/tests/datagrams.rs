//! Sealed datagrams and sealed discovery.

mod common;

use chacha20poly1305::{AeadInPlace, KeyInit, XChaCha20Poly1305};
use common::{DISCOVERY_KEY, NOW, Seeded, connect, pair};
use schwann_session::{
    DATAGRAM_OVERHEAD, DatagramError, Datagrams, Entropy, NoEntropy, SessionId, Suite, UnixSeconds,
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
    let mut query = [0; 128];
    let (length, asked) = key.seal_query(b"who is it?", NOW, &mut entropy, &mut query).unwrap();
    assert_eq!(length, 10 + QUERY_OVERHEAD);
    let (asker, text) = key.open_query(&mut query[..length], UnixSeconds(NOW.0 + 30)).unwrap();
    assert_eq!((asker.id(), &query[text]), (asked.id(), b"who is it?".as_slice()));

    let mut reply = [0; 128];
    let length = key.seal_reply(&asker, b"<info/>", &mut entropy, &mut reply).unwrap();
    assert_eq!(length, 7 + REPLY_OVERHEAD);
    assert_eq!(QueryId::of_reply(&reply), Some(asked.id()));
    let text = key.open_reply(&asked, &mut reply[..length]).unwrap();
    assert_eq!(&reply[text], b"<info/>");
}

#[test]
fn a_stranger_an_old_query_and_a_wrong_clock_get_no_answer() {
    let (key, stranger) = (DiscoveryKey::new(&DISCOVERY_KEY), DiscoveryKey::new(&[1; 32]));
    let mut query = [0; 128];
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
    let mut queries = [[0; QUERY_OVERHEAD]; 3];
    let [first, second, third] = queries.each_mut().map(|buffer| {
        let (_, asked) = key.seal_query(b"", NOW, &mut entropy, buffer).unwrap();
        let name = asked.id();
        (asked, name, buffer.to_vec())
    });
    let (asker, _) = key.open_query(&mut first.2.clone(), NOW).unwrap();
    let mut reply = [0; 128];
    let length = key.seal_reply(&asker, b"here", &mut entropy, &mut reply).unwrap();
    let reply = &mut reply[..length];
    assert_eq!(key.open_reply(&second.0, reply), Err(DiscoveryError::Foreign));
    assert_eq!(key.open_query(reply, NOW).map(drop), Err(DiscoveryError::Foreign));
    // Rewriting the name of the query, or the key of either side, breaks the seal.
    let mut moved = reply.to_vec();
    moved[4..28].copy_from_slice(&third.2[4..28]);
    assert_eq!(key.open_reply(&third.0, &mut moved), Err(DiscoveryError::Forged));
    for at in 28..length {
        let mut changed = reply.to_vec();
        changed[at] ^= 1;
        assert_eq!(key.open_reply(&first.0, &mut changed), Err(DiscoveryError::Forged), "byte {at}");
    }
    assert!(key.open_reply(&first.0, reply).is_ok());
}

#[test]
fn a_reply_to_a_key_that_hides_nothing_is_not_made() {
    // The discovery key alone would open what is sealed for such a point (RFC 7748 §6.1).
    let (key, mut reply) = (DiscoveryKey::new(&DISCOVERY_KEY), [0; 128]);
    let one = core::array::from_fn(|at| u8::from(at == 0));
    for public in [[0; 32], one] {
        let mut query = query_with_key(&public);
        let (asker, _) = key.open_query(&mut query, NOW).unwrap();
        let sealed = key.seal_reply(&asker, b"<info/>", &mut Seeded(3), &mut reply);
        assert_eq!(sealed, Err(DiscoveryError::Forged));
    }
}

/// A query of a member who chose its key, by another library.
fn query_with_key(public: &[u8; 32]) -> Vec<u8> {
    let head = [b"\xd5SQ\x02".as_slice(), &[7; 24]].concat();
    let mut body = [NOW.0.to_le_bytes().as_slice(), public].concat();
    let cipher = XChaCha20Poly1305::new(&DISCOVERY_KEY.into());
    let tag = cipher.encrypt_in_place_detached(&[7; 24].into(), &head, &mut body).unwrap();
    [head.as_slice(), &body, &tag].concat()
}

#[test]
fn a_member_cannot_open_what_another_asked_for() {
    // With the discovery key, as a thief has it, and every byte that was on the wire.
    let key = DiscoveryKey::new(&DISCOVERY_KEY);
    let (mut query, mut again, mut reply) = ([0; QUERY_OVERHEAD], [0; QUERY_OVERHEAD], [0; 128]);
    let (_, asked) = key.seal_query(b"", NOW, &mut Seeded(3), &mut query).unwrap();
    let (asker, _) = key.open_query(&mut query, NOW).unwrap();
    let length = key.seal_reply(&asker, b"<info/>", &mut Seeded(4), &mut reply).unwrap();
    // The same name, and another key pair.
    let (_, other) = key.seal_query(b"", NOW, &mut SameName(Seeded(3), Seeded(5)), &mut again).unwrap();
    assert_eq!(other.id(), asked.id());
    let open = |asked| key.open_reply(asked, &mut { reply }[..length]).map(drop);
    assert_eq!((open(&other), open(&asked)), (Err(DiscoveryError::Forged), Ok(())));
}

/// The first draw, the name of a query, comes from another generator than the rest.
struct SameName(Seeded, Seeded);

impl Entropy for SameName {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        if out.len() == 24 { self.0.fill(out) } else { self.1.fill(out) }
    }
}
