//! Messages that were changed on the way: none counts, whatever was changed.
//!
//! `SCHWANN_MUTATIONS=100000` sets how many are tried of each kind.

#[path = "common/lab.rs"]
mod lab;

use lab::{Fixture, NOW, Seeded};
use schwann_relay::{
    Announcement, Before, Block, Follower, Moment, Note, NoteKind, Outflow, Range, Run, Start, StreamId,
    Taken, WrappingPublic,
};
use schwann_session::DeviceName;

/// One of each message, and what is needed to read them.
struct Messages {
    announcement: Vec<u8>,
    keys: Vec<u8>,
    blocks: Vec<Vec<u8>>,
    receipt: Vec<u8>,
    wrapping: Vec<u8>,
}

fn messages(seed: u64) -> Messages {
    let fixture = Fixture::the();
    let mut entropy = Seeded::new(seed);
    let mut moment = Moment { credentials: &fixture.edge, entropy: &mut entropy, list_number: 1, now: NOW };
    let start = Start {
        lab: fixture.lab_id(),
        stream: StreamId([3; 16]),
        description: b"<info><name>Sine</name></info>".to_vec(),
        before: Before::NONE,
    };
    let mut run = Run::begin(start, &mut moment).unwrap();
    let announcement = run.announcement().to_vec();
    let keys = run.wrapped(&[&fixture.recorder.public], &mut moment).unwrap();
    let mut blocks: Vec<_> = (0..4).map(|n| run.seal(&[n; 40], 5, &mut moment).unwrap().bytes).collect();
    blocks.push(run.end(&mut moment).unwrap().bytes);
    let names = (fixture.lab_id(), StreamId([3; 16]), run.id());
    let range = Range { first: 0, last: 3 };
    let kind = NoteKind::Receipt([1; 32]);
    let receipt = Note::encode(kind, names, &[range], 5, &fixture.recorder.credentials);
    let wrapping = fixture.recorder.wrapping.publish(&fixture.recorder.credentials, NOW, 1000);
    Messages { announcement, keys, blocks, receipt, wrapping }
}

/// A follower that has the run's key.
fn follower(messages: &Messages) -> Follower {
    let fixture = Fixture::the();
    let announcement = Announcement::parse(&messages.announcement, &fixture.lab, &fixture.lists[0]).unwrap();
    let mut follower = Follower::new(&announcement);
    assert!(follower.wrapped(&messages.keys, &fixture.recorder.wrapping).unwrap());
    follower.announcement(&announcement).unwrap();
    follower
}

/// Changes a message: bits, bytes, length, or a part of another message in its place.
fn spoil(message: &[u8], other: &[u8], chance: &mut Seeded) -> Vec<u8> {
    let mut spoilt = message.to_vec();
    let place = chance.below(spoilt.len());
    match chance.below(6) {
        0 => spoilt.truncate(place),
        1 => spoilt.push(chance.below(256) as u8),
        2 => spoilt[place] = spoilt[place].wrapping_add(1 + chance.below(255) as u8),
        3 => {
            let end = (place + 1 + chance.below(64)).min(spoilt.len()).min(other.len());
            if place < end {
                spoilt[place..end].copy_from_slice(&other[place..end]);
            }
        }
        4 => drop(spoilt.remove(place)),
        _ => spoilt[place] ^= 1 << chance.below(8),
    }
    spoilt
}

/// Calls `refused` with many changed forms of `message`; each must be refused.
fn attack(name: &str, message: &[u8], other: &[u8], mut refused: impl FnMut(&[u8]) -> bool) {
    let count = std::env::var("SCHWANN_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let mut chance = Seeded::new(11);
    let mut tried = 0;
    while tried < count {
        let spoilt = spoil(message, other, &mut chance);
        if spoilt != message {
            tried += 1;
            assert!(refused(&spoilt), "{name}: {spoilt:02x?}");
        }
    }
}

#[test]
fn no_changed_message_counts() {
    let (ours, others) = (messages(1), messages(2));
    let fixture = Fixture::the();
    attack("announcement", &ours.announcement, &others.announcement, |bytes| {
        Announcement::parse(bytes, &fixture.lab, &fixture.lists[0]).is_err()
    });
    attack("receipt", &ours.receipt, &others.receipt, |bytes| {
        Note::parse(bytes, &fixture.lab, NOW, &fixture.lists[0]).is_err()
    });
    attack("wrapping key", &ours.wrapping, &others.wrapping, |bytes| {
        WrappingPublic::parse(bytes, &fixture.lab, NOW, &fixture.lists[0]).is_err()
    });
    let announcement = Announcement::parse(&ours.announcement, &fixture.lab, &fixture.lists[0]).unwrap();
    attack("wrapped keys", &ours.keys, &others.keys, |bytes| {
        !Follower::new(&announcement).wrapped(bytes, &fixture.recorder.wrapping).is_ok_and(|taken| taken)
    });
    let mut follower = follower(&ours);
    attack("block", &ours.blocks[1], &others.blocks[1], |bytes| {
        Block::parse(bytes).and_then(|block| follower.take(&block)).is_err()
    });
    // All that was refused has left no trace.
    for block in &ours.blocks {
        assert!(matches!(follower.take(&Block::parse(block).unwrap()), Ok(Taken::New(..))));
    }
}

#[test]
fn blocks_of_another_run_stream_or_order_are_not_delivered() {
    let (ours, others) = (messages(1), messages(2));
    let mut follower = follower(&ours);
    for block in &others.blocks {
        assert!(follower.take(&Block::parse(block).unwrap()).is_err(), "of another run");
    }
    for at in [4, 1, 3, 0, 2] {
        let block = Block::parse(&ours.blocks[at]).unwrap();
        assert!(matches!(follower.take(&block), Ok(Taken::New(place, _)) if place.number == at as u64));
        assert_eq!(follower.take(&block), Ok(Taken::Repeat));
    }
}

/// The edge of a revoked device is not followed, and its keys are wrapped for no revoked member.
#[test]
fn a_revoked_member_gets_no_key() {
    let fixture = Fixture::the();
    assert!(fixture.guest.public.admitted(NOW, &fixture.lists[0]));
    assert!(!fixture.guest.public.admitted(NOW, &fixture.lists[1]));
    let message = fixture.guest.wrapping.publish(&fixture.guest.credentials, NOW, 1000);
    assert!(WrappingPublic::parse(&message, &fixture.lab, NOW, &fixture.lists[0]).is_ok());
    assert!(WrappingPublic::parse(&message, &fixture.lab, NOW, &fixture.lists[1]).is_err());
    // A key that was wrapped for the recorder alone does not open for the guest.
    let ours = messages(1);
    let announcement = Announcement::parse(&ours.announcement, &fixture.lab, &fixture.lists[0]).unwrap();
    assert_eq!(Follower::new(&announcement).wrapped(&ours.keys, &fixture.guest.wrapping), Ok(false));
}

/// Two blocks with one number, both signed: the earlier one stays.
#[test]
fn a_device_that_signs_two_histories_is_found_out() {
    let fixture = Fixture::the();
    let ours = messages(1);
    // The same randomness, so the same run and key; other content.
    let mut entropy = Seeded::new(1);
    let mut moment = Moment { credentials: &fixture.edge, entropy: &mut entropy, list_number: 1, now: NOW };
    let description = b"<info><name>Sine</name></info>".to_vec();
    let start = Start { lab: fixture.lab_id(), stream: StreamId([3; 16]), description, before: Before::NONE };
    let mut run = Run::begin(start, &mut moment).unwrap();
    let _first = run.seal(&[77; 40], 5, &mut moment).unwrap();
    let forked = run.seal(&[1; 40], 5, &mut moment).unwrap().bytes;
    let mut follower = follower(&ours);
    follower.take(&Block::parse(&ours.blocks[0]).unwrap()).unwrap();
    assert_eq!(follower.take(&Block::parse(&forked).unwrap()), Err(schwann_relay::Refused::Fork));
    assert!(matches!(follower.take(&Block::parse(&ours.blocks[1]).unwrap()), Ok(Taken::New(..))));
}

/// A recorder that joins a run opens blocks that it does not keep: no receipt may name these.
#[test]
fn no_receipt_names_a_block_below_those_that_are_kept() {
    let ours = messages(1);
    let mut follower = follower(&ours);
    for at in [0, 2, 3] {
        follower.take(&Block::parse(&ours.blocks[at]).unwrap()).unwrap();
    }
    let hash = Block::parse(&ours.blocks[3]).unwrap().hash();
    let mark = follower.mark().from_block(3);
    assert_eq!(follower.synced(mark), [(Range { first: 3, last: 3 }, hash)]);
    let mark = follower.mark().from_block(3);
    assert_eq!(follower.synced(mark), [], "it was said");
    let mark = follower.mark().from_block(4);
    assert_eq!(follower.synced(mark), [], "nothing is kept");
}

#[test]
fn where_recorders_are_named_the_receipts_of_others_deliver_nothing() {
    let ours = messages(1);
    let fixture = Fixture::the();
    let receipt = Note::parse(&ours.receipt, &fixture.lab, NOW, &fixture.lists[0]).unwrap();
    let delivered = |names: &[&str]| {
        let required = names.iter().map(|name| DeviceName::new(name).unwrap()).collect();
        let mut outflow = Outflow::new(
            [Range { first: 0, last: 4 }].into_iter().collect(),
            &schwann_relay::Ranges::default(),
            required,
        );
        outflow.receipt(&receipt, Some([1; 32])).unwrap();
        outflow.delivered().as_slice().to_vec()
    };
    let all = [Range { first: 0, last: 3 }];
    assert_eq!(delivered(&[]), all, "any recorder's counts");
    assert_eq!(delivered(&["device"]), all, "it is named");
    assert_eq!(delivered(&["archive"]), [], "another is");
    assert_eq!(delivered(&["device", "archive"]), [], "both are, and one has not said so");
}
