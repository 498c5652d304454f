//! What the demonstration sends: known to both processes beforehand, so that every value can be checked.

use alloc::collections::VecDeque;

use schwann_proto::stream::ChannelFormat;

use crate::signal::{Kind, Source, Spec};

/// The samples and markers of the demonstration, from the first on.
pub(super) struct Script {
    source: Source,
    made: u64,
    markers: VecDeque<Marker>,
}

/// One marker.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Marker {
    /// The sample that it belongs to, counted from 0.
    pub(super) sample: u64,
    /// What it says.
    pub(super) text: String,
}

impl Script {
    /// Begins.
    pub(super) fn new() -> Self {
        Self { source: Source::new(SPEC, SEED), made: 0, markers: VecDeque::new() }
    }

    /// Makes the next sample, in microvolts.
    ///
    /// - Shape: `row` has [`CHANNEL_COUNT`] values.
    pub(super) fn next_sample(&mut self, row: &mut [f32]) {
        self.source.fill(row);
        let moments = self.source.take_moments().into_iter();
        self.markers.extend(moments.map(|moment| Marker { sample: self.made, text: moment.what.to_owned() }));
        if self.made.is_multiple_of(STIMULUS_EVERY) {
            let text = format!("stimulus {}", self.made / STIMULUS_EVERY + 1);
            self.markers.push_back(Marker { sample: self.made, text });
        }
        self.made += 1;
    }

    /// Samples made so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// The next marker of the samples made so far.
    pub(super) fn next_marker(&mut self) -> Option<Marker> {
        self.markers.pop_front()
    }

    /// The channels' labels.
    pub(super) fn labels(&self) -> &[String] {
        self.source.labels()
    }
}

pub(super) const CHANNEL_COUNT: usize = 64;
/// Samples per second.
pub(super) const RATE: f64 = 1000.0;
/// What is sent.
pub(super) const SPEC: Spec =
    Spec { kind: Kind::Eeg, channel_count: CHANNEL_COUNT, rate: RATE, format: ChannelFormat::Float32 };
const SEED: u64 = 1838;
/// Samples from one stimulus to the next.
const STIMULUS_EVERY: u64 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_processes_know_the_same_samples_and_markers() {
        let run = || {
            let (mut script, mut row, mut sum) = (Script::new(), [0.0; CHANNEL_COUNT], 0_u64);
            for _ in 0..3000 {
                script.next_sample(&mut row);
                sum = row.iter().fold(sum, |sum, value| sum.rotate_left(5) ^ u64::from(value.to_bits()));
            }
            let markers: Vec<_> = core::iter::from_fn(|| script.next_marker()).collect();
            (sum, markers)
        };
        let (sum, markers) = run();
        assert_eq!((sum, markers.clone()), run());
        assert!(markers.is_sorted_by_key(|marker| marker.sample));
        assert_eq!(markers.iter().filter(|marker| marker.text.starts_with("stimulus")).count(), 6);
    }
}
