//! Handshakes changed on their way: no panic, no endless wait, no growth.
//!
//! `MSE_MUTATIONS=1000000` runs the long version; the figure without it keeps the ordinary run short.

mod support;

use schwann_mse::{Accept, Draw, Group, Handshake, Initiator, Method, Methods, Offer, Responder, Status};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use support::{Random, give};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A handshake allocates its four steps and little more: no stranger's bytes decide how much.
const BYTES_PER_HANDSHAKE: usize = 16 * 1024;

#[test]
fn mutated_handshakes_neither_panic_nor_hang_nor_grow() {
    let count = std::env::var("MSE_MUTATIONS").map_or(20_000, |n| n.parse().expect("a count"));
    let mut random = Random(10);
    let torrent = random.info_hash();
    let (mut refused, mut agreed, mut waiting) = (0u64, 0u64, 0u64);
    let all = Region::new(ALLOCATOR);
    for n in 0..count {
        let region = Region::new(ALLOCATOR);
        match one(&mut random, torrent) {
            Outcome::Refused => refused += 1,
            Outcome::Agreed => agreed += 1,
            Outcome::Waiting => waiting += 1,
        }
        let change = region.change();
        assert!(change.bytes_allocated < BYTES_PER_HANDSHAKE, "{n}: {change:?}");
    }
    // The test runner's own thread allocates a little meanwhile; one byte kept a handshake would be more.
    let all = all.change();
    assert!(all.bytes_allocated - all.bytes_deallocated < BYTES_PER_HANDSHAKE, "kept: {all:?}");
    println!("{count} mutated handshakes: {refused} refused, {waiting} left waiting, {agreed} agreed");
    // Flipped padding changes nothing, so some agree; and every kind must have come up.
    assert!(refused > count / 4 && waiting > count / 20 && agreed > 0);
}

enum Outcome {
    Agreed,
    Refused,
    Waiting,
}

/// Runs one handshake in which one step of one side is changed on the way.
fn one(random: &mut Random, torrent: schwann_mse::InfoHash) -> Outcome {
    let mut draw = || {
        let (key_pad, crypto_pad) = (random.below(513), random.below(513));
        Draw { key: random.key(Group::Mse768), key_pad: random.bytes(key_pad), crypto_pad }
    };
    let (ours, theirs) = (draw(), draw());
    let both = Methods::of(&[Method::Rc4, Method::Plaintext]);
    let payload = random.bytes(68);
    let mut a = Initiator::new(torrent, Offer::new(both, payload), ours).expect("IA fits");
    let mut b = Responder::new(torrent, Accept::new(both, Method::Rc4), theirs);
    let target = random.below(4);
    let mut step = a.poll_output().expect("step 1");
    let mut ended = 0;
    for turn in 0..4 {
        if turn == target {
            mutate(random, &mut step);
        }
        let to: &mut dyn Handshake = if turn % 2 == 0 { &mut b } else { &mut a };
        let mut sent = Vec::new();
        let mut status = Status::Wait;
        // Sometimes in pieces.
        let piece = if random.below(2) == 0 { 1 + random.below(64) } else { step.len().max(1) };
        for bytes in step.chunks(piece) {
            match give(to, bytes, &mut sent) {
                Ok((Status::Wait, _)) => {}
                Ok((other, _)) => {
                    status = other;
                    break;
                }
                Err(_) => return Outcome::Refused,
            }
        }
        match status {
            Status::Established(_) => ended += 1,
            Status::Plain(_) => return Outcome::Refused,
            Status::Wait => {}
        }
        step = sent;
    }
    if ended == 2 { Outcome::Agreed } else { Outcome::Waiting }
}

fn mutate(random: &mut Random, step: &mut Vec<u8>) {
    for _ in 0..=random.below(2) {
        let at = random.below(step.len().max(1));
        match random.below(9) {
            0 => step.truncate(at),
            1 => step.insert(at.min(step.len()), random.next() as u8),
            2 if !step.is_empty() => {
                step.remove(at);
            }
            3 => step.extend(random.bytes(700)),
            4 => step.fill(random.next() as u8),
            5 => *step = random.bytes(at),
            6 if at < step.len() => step.rotate_left(at),
            // RC4 lets a flipped bit through to the field behind it: methods and lengths.
            7 if step.len() > 60 => step[40 + at % 20] ^= 1 << random.below(8),
            _ if !step.is_empty() => step[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
}
