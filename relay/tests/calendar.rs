//! A calendar that is set on and back changes nothing of what an edge owes its members.

#[path = "common/lab.rs"]
mod lab;

use lab::{Fixture, NOW};
use schwann_relay::{Note, NoteKind, Outflow, Range, Ranges, RunId, StreamId};

#[test]
fn an_edge_whose_calendar_is_set_back_answers_a_hole_request() {
    let fixture = Fixture::the();
    let names = (fixture.lab_id(), StreamId([3; 16]), RunId([4; 16]));
    let ask = NoteKind::HoleRequest;
    let message = Note::encode(ask, names, &[Range { first: 0, last: 9 }], 0, &fixture.recorder.credentials);
    let note = Note::parse(&message, &fixture.lab, NOW, &fixture.lists[0]).expect("a member's request");
    let mut outflow =
        Outflow::new(Ranges::from_iter([Range { first: 0, last: 9 }]), &Ranges::default(), Vec::new());
    outflow.connected(&Ranges::from_iter([Range { first: 0, last: 9 }]));
    assert_eq!(outflow.next_block(), Some(9), "the newest goes in any case");
    let mut answered_at = |now_ms: u64| {
        assert_eq!(outflow.hole_request(&note, now_ms), Ranges::default(), "nothing was dropped");
        core::iter::from_fn(|| outflow.next_block()).count()
    };
    let hour = 3_600_000;
    assert_eq!(answered_at(10 * hour), 10);
    assert_eq!(answered_at(10 * hour + 1_000), 0, "once in 5 s");
    assert_eq!(answered_at(9 * hour), 10, "the answer may have been lost");
}
