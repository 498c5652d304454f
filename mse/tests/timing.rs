//! The time of a key agreement does not depend on the secret. The method is dudect's (Reparaz, Balasch
//! and Verbauwhede, 2017): two classes of secrets, measured interleaved, compared by Welch's t-test.
//!
//! `MSE_TIMING=200000` takes more samples. A noisy machine can only make a difference, not hide one that lasts.
//! So the test fails only if every one of several rounds sees a difference.

mod support;

use core::hint::black_box;
use std::time::Instant;

use schwann_mse::{Group, KeyPair, PublicKey};
use support::Random;

/// dudect's own thresholds: below 4.5 nothing is seen, above 10 there is a difference for certain.
const SEEN: f64 = 4.5;
const CERTAIN: f64 = 10.0;
const ROUNDS: usize = 5;

fn samples() -> usize {
    std::env::var("MSE_TIMING").map_or(6_000, |n| n.parse().expect("a count"))
}

#[test]
fn making_a_key_takes_the_same_time_for_every_exponent() {
    for group in [Group::Mse768, Group::Oakley1024] {
        assert_alike(&format!("{group:?}, public key"), |exponent| {
            black_box(KeyPair::from_exponent(group, *exponent));
        });
    }
}

#[test]
fn agreeing_takes_the_same_time_for_every_exponent() {
    for group in [Group::Mse768, Group::Oakley1024] {
        let peer = Random(17).key(group);
        let peer = PublicKey::parse(group, peer.public_key()).expect("in range");
        // The pairs are made outside the measured time.
        let classes = classes(samples());
        let pairs: Vec<(usize, KeyPair)> = classes
            .into_iter()
            .map(|(class, exponent)| (class, KeyPair::from_exponent(group, exponent)))
            .collect();
        let t = best_of_rounds(|| {
            statistic(pairs.iter().map(|(class, pair)| {
                let began = Instant::now();
                black_box(pair.shared_secret(&peer)).expect("one group");
                (*class, began.elapsed().as_nanos() as f64)
            }))
        });
        println!("{group:?}, shared secret: |t| = {t:.2}");
        assert!(t < SEEN, "{group:?}: |t| = {t:.1}");
    }
}

#[test]
fn the_test_sees_a_leak_where_there_is_one() {
    let t = best_of_rounds(|| {
        measure(&|exponent: &[u8; 20]| {
            // What a square-and-multiply loop does: more work for every bit that is set.
            let ones: u32 = exponent.iter().map(|byte| byte.count_ones()).sum();
            (0..ones * 20).for_each(|n| {
                black_box(n);
            });
        })
    });
    println!("a leak: |t| = {t:.1}");
    assert!(t > CERTAIN);
}

fn assert_alike(what: &str, work: impl Fn(&[u8; 20])) {
    let t = best_of_rounds(|| measure(&work));
    println!("{what}: |t| = {t:.2}");
    assert!(t < SEEN, "{what}: |t| = {t:.1}");
}

fn best_of_rounds(mut round: impl FnMut() -> f64) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        best = best.min(round());
        if best < SEEN {
            break;
        }
    }
    best
}

/// Class 0: the exponent one, whose bits are nearly all zero. Class 1: a random one.
fn classes(count: usize) -> Vec<(usize, [u8; 20])> {
    let mut random = Random(18);
    (0..count)
        .map(|_| {
            let mut exponent = [0; 20];
            exponent[19] = 1;
            let class = random.below(2);
            if class == 1 {
                random.fill(&mut exponent);
            }
            (class, exponent)
        })
        .collect()
}

fn measure(work: &impl Fn(&[u8; 20])) -> f64 {
    let classes = classes(samples());
    statistic(classes.iter().map(|(class, exponent)| {
        let began = Instant::now();
        work(black_box(exponent));
        (*class, began.elapsed().as_nanos() as f64)
    }))
}

/// Welch's t of the two classes' times, without the slowest tenth: interrupts, not arithmetic.
fn statistic(times: impl Iterator<Item = (usize, f64)>) -> f64 {
    let times: Vec<(usize, f64)> = times.collect();
    let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    sorted.sort_by(f64::total_cmp);
    let limit = sorted[sorted.len() * 9 / 10];
    let [a, b] = [0, 1].map(|wanted| {
        let of_class = |&&(class, time): &&(usize, f64)| class == wanted && time <= limit;
        let kept: Vec<f64> = times.iter().filter(of_class).map(|(_, time)| *time).collect();
        let count = kept.len() as f64;
        let mean = kept.iter().sum::<f64>() / count;
        let variance = kept.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count)
    });
    ((a.0 - b.0) / (a.1 + b.1).sqrt()).abs()
}
