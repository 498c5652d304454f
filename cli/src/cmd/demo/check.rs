//! Checks what arrives against the script: nothing missing, nothing twice, every bit as it was sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schwann_recorder::{Chunk, Inspect, Values};

use super::script::{CHANNEL_COUNT, RATE, Script};

/// What the checks of one stream have found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Tally {
    /// Samples as they should be.
    pub(super) right: u64,
    /// Samples that did not come.
    pub(super) missing: u64,
    /// Samples that came out of order, twice, or not as they were sent.
    pub(super) wrong: u64,
}

/// A tally that one thread fills and another reads.
#[derive(Clone, Default)]
pub(super) struct SharedTally(Arc<Mutex<Tally>>);

impl SharedTally {
    /// What was found so far.
    pub(super) fn tally(&self) -> Tally {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the samples of the EEG stream.
pub(super) fn samples(shared: SharedTally) -> Inspect {
    let (mut script, mut row) = (Script::new(), vec![0.0; CHANNEL_COUNT]);
    let mut began = None;
    Box::new(move |chunk| {
        let Values::Float32(values) = chunk.values() else { return shared.lock().wrong += 1 };
        for (&stamp, got) in chunk.stamps().iter().zip(values.chunks_exact(CHANNEL_COUNT)) {
            let began = *began.get_or_insert(stamp);
            let mut found = Tally::default();
            // As far as its stamp says that it comes later than expected, others are missing.
            let number = ((stamp - began) * RATE).round();
            while (script.made() as f64) < number && found.missing < MISSING_MAX {
                script.next_sample(&mut row);
                found.missing += 1;
            }
            let stamp_is_right = stamp == began + script.made() as f64 / RATE;
            script.next_sample(&mut row);
            if stamp_is_right && same(got, &row) {
                found.right += 1;
            } else {
                found.wrong += 1;
            }
            add(&shared, found);
        }
    })
}

/// Checks the markers.
pub(super) fn markers(shared: SharedTally) -> Inspect {
    let (mut script, mut row) = (Script::new(), vec![0.0; CHANNEL_COUNT]);
    let mut began = None;
    Box::new(move |chunk: &Chunk| {
        let Values::Text(texts) = chunk.values() else { return shared.lock().wrong += 1 };
        for (&stamp, got) in chunk.stamps().iter().zip(texts) {
            let began = *began.get_or_insert(stamp);
            let expected = loop {
                if let Some(marker) = script.next_marker() {
                    break marker;
                }
                script.next_sample(&mut row);
            };
            let stamp_is_right = stamp == began + expected.sample as f64 / RATE;
            let is_right = stamp_is_right && *got == expected.text.as_bytes();
            add(&shared, Tally { right: is_right.into(), wrong: (!is_right).into(), ..Tally::default() });
        }
    })
}

fn same(got: &[f32], sent: &[f32]) -> bool {
    got.len() == sent.len() && got.iter().zip(sent).all(|(got, sent)| got.to_bits() == sent.to_bits())
}

fn add(shared: &SharedTally, found: Tally) {
    let mut tally = shared.lock();
    tally.right += found.right;
    tally.missing += found.missing;
    tally.wrong += found.wrong;
}

/// Beyond this many samples, a stamp is taken for wrong and not for late.
const MISSING_MAX: u64 = 600_000;
