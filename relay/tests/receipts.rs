//! A receipt that did not arrive is said again.

#[path = "common/lab.rs"]
mod lab;

use lab::{Fixture, NOW, Seeded};
use schwann_relay::{
    Announcement, Before, Block, Follower, Moment, Outflow, Range, Run, Stake, Start, StreamId, Taken,
};

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

#[test]
fn what_the_hub_has_is_less_at_stake_than_what_is_here_alone() {
    let range = |first, last| Range { first, last };
    let mut outflow =
        Outflow::new([range(0, 9)].into_iter().collect(), &[range(0, 4)].into_iter().collect(), Vec::new());
    assert_eq!(outflow.waiting(), 5, "the hub is known to have the others, also before a connection");
    assert_eq!(outflow.stake(range(0, 4)), Stake::AtHub);
    assert_eq!(outflow.stake(range(3, 6)), Stake::OnlyHere);
    assert!(outflow.has_newest_in(range(5, 9)) && !outflow.has_newest_in(range(0, 8)));
    assert_eq!(outflow.let_go(range(0, 6)).as_slice(), [range(0, 6)], "no receipt covers them");
    assert_eq!(
        (outflow.stake(range(0, 6)), outflow.waiting()),
        (Stake::Delivered, 3),
        "nothing of them is left"
    );
}
