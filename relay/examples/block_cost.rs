//! What a sealed block costs beside records of a session, at both ends of a stream with 16 inlets.
//!
//! A block is sealed once for all inlets and signed; a session seals each sample for each inlet, and signs nothing. Run it with
//! `cargo run --release -p schwann-relay --example block_cost`. It prints medians, in microseconds of processor.

#[path = "../tests/common/lab.rs"]
mod lab;

use std::time::Instant;

use lab::{Fixture, NOW, Seeded};
use schwann_aead::{Key, Nonce, open_in_place, seal_in_place};
use schwann_relay::{Announcement, Before, Block, Follower, Moment, Run, Start, StreamId, Taken};

fn main() {
    for samples in [1, 5, 20] {
        let content = vec![1_u8; samples * SAMPLE_BYTES];
        let (sealed, opened) = block(&content, samples as u32);
        let (records, record) = session(samples);
        println!(
            "{samples} samples of 64 x float32: a block {sealed:.1} sealed, {opened:.1} opened by each inlet; \
             {INLETS} inlets' records {records:.1} sealed, {record:.1} opened by each"
        );
    }
}

/// Medians for a block: sealed and signed, and checked and opened.
fn block(content: &[u8], samples: u32) -> (f64, f64) {
    let fixture = Fixture::the();
    let mut entropy = Seeded::new(1);
    let mut moment = Moment { credentials: &fixture.edge, entropy: &mut entropy, list_number: 1, now: NOW };
    let description = b"<info><name>Sine</name></info>".to_vec();
    let start = Start { lab: fixture.lab_id(), stream: StreamId([3; 16]), description, before: Before::NONE };
    let mut run = Run::begin(start, &mut moment).expect("a run");
    let announcement = run.announcement().to_vec();
    let keys = run.wrapped(&[&fixture.recorder.public], &mut moment).expect("keys");
    let parsed = Announcement::parse(&announcement, &fixture.lab, &fixture.lists[0]).expect("our own");
    let mut follower = Follower::new(&parsed);
    follower.wrapped(&keys, &fixture.recorder.wrapping).expect("our own");
    follower.announcement(&parsed).expect("our own");
    let mut sealed = Vec::new();
    let sealing = median(|| sealed.push(run.seal(content, samples, &mut moment).expect("it is short").bytes));
    let mut blocks = sealed.iter();
    let opening = median(|| {
        let block = Block::parse(blocks.next().expect("one for each turn")).expect("our own");
        assert!(matches!(follower.take(&block), Ok(Taken::New(..))), "an inlet opens it");
    });
    (sealing, opening)
}

/// Medians for records of one sample each: sealed for all inlets, and opened by one.
fn session(samples: usize) -> (f64, f64) {
    let key = Key::new(&[7; 32]);
    let mut record = [1_u8; SAMPLE_BYTES];
    let mut tag = seal_in_place(&key, &Nonce([0; 12]), &[], &mut record).expect("it is short");
    let sealing = median(|| {
        for _ in 0..samples * INLETS {
            tag = seal_in_place(&key, &Nonce([0; 12]), &[], &mut record).expect("it is short");
        }
    });
    let opening = median(|| {
        for _ in 0..samples {
            open_in_place(&key, &Nonce([0; 12]), &[], &mut record, &tag).expect("our own");
            tag = seal_in_place(&key, &Nonce([0; 12]), &[], &mut record).expect("it is short");
        }
    });
    // Half of it is the sealing that makes the next record.
    (sealing, opening / 2.0)
}

fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times[ROUNDS / 2]
}

const INLETS: usize = 16;
/// A stamp and 64 values, as LSL sends them.
const SAMPLE_BYTES: usize = 9 + 64 * 4;
const ROUNDS: usize = 2001;
