//! What a line does to frames, in simulated time, and what it says where there can be none.

use super::weather::{Fate, Shaper};
use super::*;

const MS: u64 = 1_000_000;

/// Delays, in ms, of frames of `bytes` that enter every `every_ns`.
fn delays(profile: &'static Profile, seed: u64, every_ns: u64, bytes: usize, count: u64) -> Vec<Option<f64>> {
    let mut shaper = Shaper::new(profile, seed, 0);
    let delay = |now: u64, fate| match fate {
        Fate::Due(at) => Some((at - now) as f64 / MS as f64),
        Fate::Dropped | Fate::Lost => None,
    };
    (0..count).map(|n| delay(n * every_ns, shaper.admit(n * every_ns, bytes))).collect()
}

#[test]
fn every_delay_is_within_the_profile_and_all_of_it_is_used() {
    for profile in [&ETHERNET, &WIFI] {
        let (least, greatest) = (profile.delay.0.as_secs_f64() * 1e3, profile.delay.1.as_secs_f64() * 1e3);
        let arrived: Vec<f64> = delays(profile, 7, 2 * MS, 300, 50_000).into_iter().flatten().collect();
        // A frame of 324 bytes takes 26 us at 100 Mbit/s.
        assert!(arrived.iter().all(|ms| (least..=greatest + 0.027).contains(ms)), "{}", profile.name);
        let reach = arrived.iter().copied().fold(f64::INFINITY, f64::min)
            ..arrived.iter().copied().fold(0.0, f64::max);
        assert!(reach.start < least + 0.05 * (greatest - least), "{}: {reach:?}", profile.name);
        assert!(reach.end > greatest - 0.05 * (greatest - least), "{}: {reach:?}", profile.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_line_and_another_seed_another() {
    let line = |seed| delays(&WIFI, seed, MS, 300, 2000);
    assert_eq!(line(1), line(1));
    assert_ne!(line(1), line(2));
}

#[test]
fn frames_never_overtake_each_other() {
    for profile in [&ETHERNET, &WIFI] {
        let mut shaper = Shaper::new(profile, 3, 0);
        let mut last = 0;
        for n in 0..20_000 {
            if let Fate::Due(at) = shaper.admit(n * 50_000, 1514) {
                assert!(at >= last, "{}", profile.name);
                last = at;
            }
        }
    }
}

#[test]
fn a_line_loses_its_share_and_no_more() {
    let lost = |profile| delays(profile, 11, MS, 300, 100_000).iter().filter(|delay| delay.is_none()).count();
    assert_eq!(lost(&ETHERNET), 0);
    assert!((60..140).contains(&lost(&WIFI)), "{}", lost(&WIFI));
}

#[test]
fn no_more_passes_than_the_rate_and_what_waits_too_long_is_dropped() {
    // Twice the line's rate: a frame of 1538 bytes on the wire takes 12.304 us.
    let mut shaper = Shaper::new(&ETHERNET, 5, 0);
    let (mut passed, mut dropped) = (0_u64, 0_u64);
    for n in 0..100_000_u64 {
        match shaper.admit(n * 6_152, 1514) {
            Fate::Due(_) => passed += 1,
            Fate::Dropped => dropped += 1,
            Fate::Lost => {}
        }
    }
    let seconds = 100_000.0 * 6.152e-6;
    let bits_per_second = passed as f64 * 1538.0 * 8.0 / seconds;
    assert!((0.99e9..1.02e9).contains(&bits_per_second), "{bits_per_second}");
    assert!(dropped > 45_000, "{dropped}");
}

#[test]
fn what_is_missing_is_said_with_the_next_step() {
    let refused = LineError::refused("ip netns add x", "Operation not permitted\n");
    assert!(refused.to_string().ends_with("run the same command as root"), "{refused}");
    let none = LineError::no_ip(&io::Error::from(io::ErrorKind::NotFound));
    assert!(none.to_string().contains("install iproute2"), "{none}");
    let tap = LineError::tap(io::Error::from(io::ErrorKind::NotFound));
    assert!(tap.to_string().contains("modprobe tun"), "{tap}");
}
