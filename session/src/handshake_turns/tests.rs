use core::net::{IpAddr, Ipv4Addr};
use std::vec::Vec;

use super::*;

fn network(number: u32) -> Network {
    IpAddr::V4(Ipv4Addr::from_bits(number)).into()
}

/// Takes every turn that there is at `now`.
fn take_all(turns: &mut HandshakeTurns, waiting: &mut Vec<(u32, Network)>, now: Instant) -> Vec<u32> {
    let mut taken = Vec::new();
    while let Ok(number) = turns.next(waiting, now) {
        waiting.retain(|(waits, _)| *waits != number);
        taken.push(number);
    }
    taken
}

#[test]
fn however_many_ask_no_more_are_answered_than_there_are_turns() {
    let start = Instant::now();
    let mut turns = HandshakeTurns::new(start);
    let mut waiting: Vec<_> = (0..5000).map(|number| (number, network(number % 512))).collect();
    assert_eq!(take_all(&mut turns, &mut waiting, start).len(), 64);
    assert_eq!(turns.next(&waiting, start), Err(Some(start + PERIOD)));
    let mut answered = 0;
    for step in 1..=1000 {
        answered += take_all(&mut turns, &mut waiting, start + PERIOD * step / 10).len();
    }
    assert_eq!(answered, 100);
    assert!(turns.served.len() <= 512);
}

#[test]
fn a_newcomer_has_the_next_turn_before_networks_that_had_theirs() {
    let start = Instant::now();
    let mut turns = HandshakeTurns::new(start);
    let mut waiting: Vec<_> = (0..1000).map(|number| (number, network(number % 8))).collect();
    take_all(&mut turns, &mut waiting, start);
    waiting.push((1000, network(99)));
    assert_eq!(take_all(&mut turns, &mut waiting, start + PERIOD), [1000]);
}

#[test]
fn a_network_where_a_member_was_met_does_not_wait_for_strangers() {
    let start = Instant::now();
    let mut turns = HandshakeTurns::new(start);
    turns.met(network(99), start);
    let mut waiting: Vec<_> = (0..1000).map(|number| (number, network(number))).collect();
    waiting.retain(|(number, _)| *number != 99);
    take_all(&mut turns, &mut waiting, start);
    waiting.push((2000, network(99)));
    assert_eq!(take_all(&mut turns, &mut waiting, start), [2000]);
}

#[test]
fn a_network_where_a_member_was_met_has_a_bounded_share_and_leaves_strangers_theirs() {
    let start = Instant::now();
    let mut turns = HandshakeTurns::new(start);
    turns.met(network(1), start);
    let mut waiting: Vec<_> = (0..1000).map(|number| (number, network(1))).collect();
    assert_eq!(take_all(&mut turns, &mut waiting, start).len(), 128, "its own, then those of all");
    waiting.push((1000, network(2)));
    let next = take_all(&mut turns, &mut waiting, start + PERIOD);
    assert_eq!(next.len(), 2);
    assert!(next.contains(&1000), "{next:?}");
}

#[test]
fn networks_of_members_are_remembered_within_bounds() {
    let start = Instant::now();
    let mut turns = HandshakeTurns::new(start);
    (0..1000).for_each(|number| turns.met(network(number), start + PERIOD * number));
    assert_eq!(turns.members.len(), MEMBERS);
    assert!(turns.members.contains_key(&network(999)));
}

#[test]
fn where_none_waits_there_is_nothing_to_wake_up_for() {
    let start = Instant::now();
    let mut turns = HandshakeTurns::new(start);
    assert_eq!(turns.next::<u32>(&[], start), Err(None));
    take_all(&mut turns, &mut (0..64).map(|number| (number, network(number))).collect(), start);
    assert_eq!(turns.next::<u32>(&[], start), Err(None));
}
