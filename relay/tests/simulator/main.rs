//! A world in which everything goes wrong, and in which one seed replays one run.
//!
//! An edge, a hub, a recorder and a guest act in turns that a seeded generator draws. The hub loses, repeats, reorders, rolls
//! back, holds back, flips bits and plays old messages again. Disks fill, tear lines and forget what was not synced. Processes die at
//! any step. Then the hub behaves and all processes run. After a while, the recorder must have what the edge sent, or say exactly
//! what is missing. The same is tried with the real parts (tests/system/relay_faults.py and relay_records.py).
//!
//! `SCHWANN_SIMULATIONS=1000000` sets how many runs, and `SCHWANN_FIRST_SEED` where they begin; `SCHWANN_SEED=7` replays one and
//! says what happened.

#![allow(unreachable_pub, reason = "the modules of a test are its own")]

mod connection;
mod disk;
mod edge;
mod hub;
#[path = "../common/lab.rs"]
mod lab;
mod oracle;
mod recorder;
mod world;

use core::sync::atomic::{AtomicU64, Ordering};

use world::{Bug, World};

/// Runs the world of `seed` with `bug` planted.
fn run(seed: u64, bug: Option<Bug>) -> Result<world::Tally, String> {
    World::new(seed, bug).live()
}

#[test]
fn a_recording_equals_what_was_sent_or_says_what_is_missing() {
    if let Some(seed) = variable("SCHWANN_SEED") {
        println!("{:?}", run(seed, None));
        return;
    }
    let count = variable("SCHWANN_SIMULATIONS").unwrap_or(20_000);
    let first = variable("SCHWANN_FIRST_SEED").unwrap_or(1);
    let next = AtomicU64::new(first);
    let tallies = std::thread::scope(|scope| {
        let worker = || {
            let mut all = world::Tally::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed - first >= count {
                    return all;
                }
                match run(seed, None) {
                    Ok(tally) => all.add(&tally),
                    Err(fault) => panic!("seed {seed}: {fault}"),
                }
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a run is as it must be")).collect::<Vec<_>>()
    });
    let mut all = world::Tally::default();
    tallies.iter().for_each(|tally| all.add(tally));
    println!("{count} runs from seed {first} on: {all:?}");
    // A world in which nothing goes wrong would prove nothing.
    assert!(all.delivered > count && all.crashes > count / 4, "{all:?}");
    assert!(all.lost > 0 && all.rolled_back > 0 && all.refused > 0 && all.cut_off > 0, "{all:?}");
    assert!(all.held_up > 0 && all.torn > 0, "{all:?}");
}

/// Each planted bug is found within 10,000 runs.
#[test]
fn each_planted_bug_is_found() {
    for bug in Bug::ALL {
        let found = (1..=10_000).find_map(|seed| run(seed, Some(bug)).err().map(|fault| (seed, fault)));
        let (seed, fault) = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        println!("{bug:?}: run {seed}: {fault}");
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
