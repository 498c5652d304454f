//! A receipt that did not arrive is said again.

#[path = "common/lab.rs"]
mod lab;

use lab::{Fixture, NOW, Seeded};
use schwann_relay::{Announcement, Before, Block, Follower, Moment, Range, Run, Start, StreamId, Taken};

/// A member that has the first `count` blocks of a run.
fn follower(count: u64) -> Follower {
    let (fixture, mut entropy) = (Fixture::the(), Seeded::new(1));
    let mut moment = Moment { credentials: &fixture.edge, entropy: &mut entropy, list_number: 1, now: NOW };
    let (lab, stream) = (fixture.lab_id(), StreamId([3; 16]));
    let start = Start { lab, stream, description: b"<info/>".to_vec(), before: Before::NONE };
    let mut run = Run::begin(start, &mut moment).unwrap();
    let keys = run.wrapped(&[&fixture.recorder.public], &mut moment).unwrap();
    let announcement = Announcement::parse(run.announcement(), &fixture.lab, &fixture.lists[0]).unwrap();
    let mut follower = Follower::new(&announcement);
    assert!(follower.wrapped(&keys, &fixture.recorder.wrapping).unwrap());
    follower.announcement(&announcement).unwrap();
    for _ in 0..count {
        let sealed = run.seal(b"samples", 1, &mut moment).unwrap().bytes;
        let taken = follower.take(&Block::parse(&sealed).unwrap()).unwrap();
        assert!(matches!(taken, Taken::New(..)));
    }
    follower
}

#[test]
fn a_receipt_that_did_not_arrive_is_said_again() {
    let mut follower = follower(3);
    let said = |follower: &mut Follower| {
        let mark = follower.mark();
        follower.synced(mark).into_iter().map(|(range, _)| range).collect::<Vec<_>>()
    };
    let all = Range { first: 0, last: 2 };
    assert_eq!(said(&mut follower), [all]);
    assert_eq!(said(&mut follower), [], "once, while it arrives");
    follower.receipt_again(Range { first: 1, last: 1 });
    assert_eq!(said(&mut follower), [all]);
    follower.receipt_again(Range { first: 0, last: u64::MAX });
    assert_eq!(said(&mut follower), [all]);
}
