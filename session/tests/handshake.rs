//! Handshakes between devices of a lab, and with everyone else.

mod common;

use common::{DAY, Device, NOW, authority, connect, connect_through, open_all, pair, seal, small_pair};
use schwann_session::{
    ALERT, AuthorityKey, BareResponder, ClassicSuite, Credentials, Desk, DeviceKey, Initiator, Progress,
    Refusal, Responder, RevocationList, Roles, Room, Suite, UnixSeconds,
};

#[test]
fn both_suites_carry_bytes_both_ways() {
    for suite in [Suite::Hybrid, Suite::Classic] {
        let (mut inlet, mut outlet) = small_pair();
        let (mut inlet, mut outlet) = connect(suite, &mut inlet, &mut outlet).unwrap();
        assert_eq!(inlet.peer.suite, suite);
        assert_eq!(inlet.peer.statement.serial, 2);
        assert_eq!(outlet.peer.statement.serial, 1);
        let request = seal(&mut inlet.session, b"LSL:streamfeed/110 uid\r\n");
        assert_eq!(open_all(&mut outlet.session, &request).unwrap().0, b"LSL:streamfeed/110 uid\r\n");
        let answer = seal(&mut outlet.session, b"LSL/110 200 OK\r\n");
        assert_eq!(open_all(&mut inlet.session, &answer).unwrap().0, b"LSL/110 200 OK\r\n");
    }
}

#[test]
fn bytes_may_come_one_at_a_time() {
    let (mut inlet, mut outlet) = pair();
    let mut initiator = Initiator::new(Suite::Hybrid, &mut inlet.context()).unwrap();
    let mut responder = Responder::new();
    for _ in 0..2 {
        for byte in drain_initiator(&mut initiator) {
            let _ = responder.handle(&[byte], &mut outlet.context()).unwrap();
        }
        let back = responder.poll_output().to_vec();
        responder.sent(back.len());
        for byte in back {
            let _ = initiator.handle(&[byte], &mut inlet.context()).unwrap();
        }
    }
    assert!(initiator.finish().is_some());
    assert!(responder.finish().is_some());
}

/// Gives `input` to a bare responder with `room` bytes for each direction, in which `said` lies already.
fn handle_in(
    room: usize,
    said: &[u8],
    input: &[u8],
    outlet: &mut Device,
) -> (Result<Progress, Refusal>, Vec<u8>) {
    let [mut inbox, mut output] = [(); 2].map(|()| vec![0; room]);
    inbox[..said.len()].copy_from_slice(said);
    let (mut waiting, mut put) = (said.len(), 0);
    let mut desk =
        Desk { inbox: Room::new(&mut inbox, &mut waiting), output: Room::new(&mut output, &mut put) };
    let progress = BareResponder::new().handle(input, &mut desk, &mut outlet.context());
    output.truncate(put);
    (progress, output)
}

#[test]
fn the_first_bytes_may_lie_in_the_inbox_already() {
    let (mut inlet, mut outlet) = small_pair();
    let mut initiator = Initiator::new(Suite::Classic, &mut inlet.context()).unwrap();
    let first = drain_initiator(&mut initiator);
    let room = BareResponder::longest_message(Suite::Classic);
    for at in 0..=first.len() {
        let (said, input) = first.split_at(at);
        let (progress, output) = handle_in(room, said, input, &mut outlet);
        assert_eq!((progress, output.len()), (Ok(Progress::NeedsMore), room), "{at} bytes said before");
    }
}

#[test]
fn a_suite_whose_messages_find_no_room_is_refused() {
    let (_, mut outlet) = small_pair();
    let longest = BareResponder::longest_message(Suite::Hybrid);
    let line = b"LSL:secure/1 hybrid\r\n";
    assert_eq!(handle_in(longest, &[], line, &mut outlet), (Ok(Progress::NeedsMore), vec![]));
    assert_eq!(handle_in(longest - 1, &[], line, &mut outlet), (Err(Refusal::NoHybrid), vec![ALERT]));
}

#[test]
fn an_unsuitable_peer_is_refused_and_told_why_only_if_it_is_certified() {
    let lab = authority();
    let other_lab = AuthorityKey::from_seed(&[1; 32]);
    type Spoil<'a> = &'a dyn Fn() -> Device;
    let cases: [(Spoil<'_>, Refusal, Refusal); 5] = [
        (
            &|| Device::of(&lab, 1, |s| s.not_after = UnixSeconds(NOW.0 - 1)),
            Refusal::Expired,
            Refusal::Expired,
        ),
        (
            &|| Device::of(&lab, 1, |s| s.not_before = UnixSeconds(NOW.0 + 1)),
            Refusal::NotYetValid,
            Refusal::NotYetValid,
        ),
        (&|| Device::of(&lab, 1, |s| s.roles = Roles::PUBLISH), Refusal::WrongRole, Refusal::WrongRole),
        (&|| Device::of(&lab, 99, |_| {}), Refusal::Revoked, Refusal::Revoked),
        // A stranger that trusts this lab, as a spy would, learns only that it was refused.
        (
            &|| Device { lab: lab.lab(), ..Device::of(&other_lab, 1, |_| {}) },
            Refusal::WrongLab,
            Refusal::RefusedByPeer,
        ),
    ];
    for (inlet, local, told) in cases {
        let mut inlet = inlet();
        let (_, mut outlet) = pair();
        outlet.revoked = RevocationList::sign(&lab, 2, NOW, &common::DISCOVERY_KEY, &[99]).unwrap();
        let failed = connect(Suite::Hybrid, &mut inlet, &mut outlet).err().unwrap();
        assert_eq!((failed.outlet, failed.inlet), (Some(local), Some(told)));
    }
}

#[test]
fn an_unsuitable_outlet_is_refused_by_the_inlet() {
    let lab = authority();
    let other_lab = AuthorityKey::from_seed(&[1; 32]);
    let cases = [
        (Device::of(&lab, 2, |s| s.not_after = UnixSeconds(NOW.0 - DAY)), Refusal::Expired),
        (Device::of(&lab, 2, |s| s.roles = Roles::SUBSCRIBE), Refusal::WrongRole),
        (Device::of(&other_lab, 2, |_| {}), Refusal::WrongLab),
    ];
    for (mut outlet, refusal) in cases {
        let (mut inlet, _) = pair();
        let failed = connect(Suite::Hybrid, &mut inlet, &mut outlet).err().unwrap();
        assert_eq!(failed.inlet, Some(refusal));
        assert_eq!(failed.outlet, Some(Refusal::RefusedByPeer));
    }
}

#[test]
fn an_overheard_certificate_proves_nothing() {
    // The thief has the certificate, and a key that the thief made.
    let (mut inlet, mut victim) = pair();
    let stolen = *victim.credentials.certificate();
    let own = DeviceKey::from_seed(&[3; 32]);
    assert!(Credentials::new(own, stolen, &mut victim.entropy).is_err());

    // It may found a lab of its own and give itself the victim's name and serial there.
    let rogue = AuthorityKey::from_seed(&[7; 32]);
    let mut thief = Device::of(&rogue, 2, |_| {});
    thief.lab = authority().lab();
    let failed = connect(Suite::Hybrid, &mut inlet, &mut thief).err().unwrap();
    assert_eq!(failed.inlet, Some(Refusal::WrongLab));
}

#[test]
fn the_classic_suite_needs_a_certificate_that_permits_it() {
    let (mut inlet, mut outlet) = pair();
    let failed = connect(Suite::Classic, &mut inlet, &mut outlet).err().unwrap();
    assert_eq!(failed.inlet, Some(Refusal::ClassicRefused));

    let (mut inlet, mut outlet) = small_pair();
    outlet.classic = ClassicSuite::Refused;
    let failed = connect(Suite::Classic, &mut inlet, &mut outlet).err().unwrap();
    assert_eq!(failed.outlet, Some(Refusal::ClassicRefused));
    assert_eq!(failed.inlet, Some(Refusal::RefusedByPeer));
}

#[test]
fn the_suite_cannot_be_changed_on_the_way() {
    let (mut inlet, mut outlet) = small_pair();
    let result = connect_through(Suite::Classic, &mut inlet, &mut outlet, |forth, bytes| {
        if forth && bytes.starts_with(b"LSL:secure/1 classic") {
            bytes.splice(0..20, *b"LSL:secure/1 hybrid");
        }
    });
    assert!(result.is_err());
}

#[test]
fn every_changed_byte_of_a_handshake_ends_it() {
    let (mut inlet, mut outlet) = pair();
    let mut lengths = [0_usize; 2];
    connect_through(Suite::Hybrid, &mut inlet, &mut outlet, |forth, bytes| {
        lengths[usize::from(forth)] += bytes.len();
    })
    .unwrap();
    // Each position once would take minutes without optimisation; every seventh meets every field.
    for (forth, length) in [(false, lengths[0]), (true, lengths[1])] {
        for position in (0..length).step_by(7) {
            let (mut inlet, mut outlet) = pair();
            let mut seen = 0;
            let result = connect_through(Suite::Hybrid, &mut inlet, &mut outlet, |direction, bytes| {
                if direction == forth {
                    if (seen..seen + bytes.len()).contains(&position) {
                        bytes[position - seen] ^= 0x10;
                    }
                    seen += bytes.len();
                }
            });
            assert!(result.is_err(), "byte {position}, forth: {forth}");
        }
    }
}

#[test]
fn a_first_line_is_judged_as_soon_as_it_can_be() {
    let cases: [(&[u8], Refusal); 7] = [
        (b"LSL:streamfeed/110 uid\r\n", Refusal::PlainPeer),
        (b"GET / HTTP/1.1\r\n", Refusal::PlainPeer),
        (b"LSL:secure/2 hybrid\r\n", Refusal::PeerTooNew),
        (b"LSL:secure/10 hybrid\r\n", Refusal::PeerTooNew),
        (b"LSL:secure/0 hybrid\r\n", Refusal::PeerTooOld),
        (b"LSL:secure/1 plain\r\n", Refusal::Malformed),
        (b"LSL:secure/99999999999999999999999999999999999", Refusal::Malformed),
    ];
    for (line, refusal) in cases {
        let (_, mut outlet) = pair();
        let mut responder = Responder::new();
        assert_eq!(responder.handle(line, &mut outlet.context()), Err(refusal), "{line:?}");
        let alert: &[u8] = if refusal == Refusal::PlainPeer { &[] } else { &[ALERT] };
        assert_eq!(responder.poll_output(), alert);
    }
}

#[test]
fn a_length_is_refused_before_what_it_announces() {
    let (_, mut outlet) = pair();
    let mut responder = Responder::new();
    let mut context = outlet.context();
    assert!(responder.handle(b"LSL:secure/1 hybrid\r\n", &mut context).is_ok());
    assert_eq!(responder.handle(&[0xFE, 0xFF], &mut context), Err(Refusal::Malformed));
}

#[test]
fn an_inlet_knows_a_plain_outlet() {
    let (mut inlet, _) = pair();
    let mut initiator = Initiator::new(Suite::Hybrid, &mut inlet.context()).unwrap();
    assert_eq!(initiator.closed(), Refusal::PlainPeer);
    assert_eq!(initiator.handle(b"LSL/110 400", &mut inlet.context()), Err(Refusal::PlainPeer));
    assert_eq!(initiator.poll_output(), b"");
}

#[test]
fn a_recorded_handshake_opens_no_second_session() {
    let (mut inlet, mut outlet) = pair();
    let mut record = [Vec::new(), Vec::new()];
    connect_through(Suite::Hybrid, &mut inlet, &mut outlet, |forth, bytes| {
        record[usize::from(forth)].extend_from_slice(bytes);
    })
    .unwrap();
    // To a fresh outlet: message 3 belongs to another message 2.
    let mut responder = Responder::new();
    assert_eq!(responder.handle(&record[1], &mut outlet.context()), Err(Refusal::Forged));
    // To a fresh inlet: message 2 belongs to another message 1.
    let mut initiator = Initiator::new(Suite::Hybrid, &mut inlet.context()).unwrap();
    assert_eq!(initiator.handle(&record[0], &mut inlet.context()), Err(Refusal::Forged));
}

#[test]
fn credentials_can_be_checked_before_anyone_refuses_them() {
    let lab = authority();
    let mut device = Device::of(&lab, 5, |s| s.roles = Roles::SUBSCRIBE);
    let check =
        |device: &Device, role, now| device.credentials.check(&device.lab, &device.revoked, role, now);
    assert_eq!(check(&device, Roles::SUBSCRIBE, NOW), Ok(()));
    assert_eq!(check(&device, Roles::PUBLISH, NOW), Err(Refusal::WrongRole));
    assert_eq!(check(&device, Roles::SUBSCRIBE, UnixSeconds(0)), Err(Refusal::NotYetValid));
    device.revoked = RevocationList::sign(&lab, 2, NOW, &common::DISCOVERY_KEY, &[5]).unwrap();
    assert_eq!(check(&device, Roles::SUBSCRIBE, NOW), Err(Refusal::Revoked));
}

fn drain_initiator(initiator: &mut Initiator) -> Vec<u8> {
    let bytes = initiator.poll_output().to_vec();
    initiator.sent(bytes.len());
    bytes
}
