//! The last seconds of a stream as they came, so that a view that was just chosen is not empty.

use std::collections::VecDeque;

/// A ring of raw samples, limited in bytes and in time.
#[derive(Debug)]
pub(super) struct History {
    sample_len: usize,
    capacity: usize,
    stamps: VecDeque<f64>,
    /// Samples in the order of their arrival, but beginning at `oldest` once it is full.
    bytes: Vec<u8>,
    oldest: usize,
}

impl History {
    /// Makes a ring for samples of this many bytes that keeps what comes in [`SECONDS`], if it fits.
    pub(super) fn new(sample_len: usize, rate: f64) -> Self {
        let by_bytes = BYTES / sample_len.max(1);
        let by_time = if rate > 0.0 { (rate * SECONDS).ceil() as usize } else { IRREGULAR_SAMPLES };
        let capacity = by_bytes.min(by_time).max(1);
        Self { sample_len, capacity, stamps: VecDeque::new(), bytes: Vec::new(), oldest: 0 }
    }

    /// Keeps a sample; forgets the oldest one if there is no room.
    ///
    /// - Shape: `sample` has the length that the ring was made for; another one is not kept.
    pub(super) fn add(&mut self, stamp: f64, sample: &[u8]) {
        if sample.len() != self.sample_len {
            return;
        }
        if self.stamps.len() < self.capacity {
            self.bytes.extend_from_slice(sample);
        } else {
            self.stamps.pop_front();
            let start = self.oldest * self.sample_len;
            if let Some(place) = self.bytes.get_mut(start..start + self.sample_len) {
                place.copy_from_slice(sample);
            }
            self.oldest = (self.oldest + 1) % self.capacity;
        }
        self.stamps.push_back(stamp);
    }

    /// The samples with their stamps, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, &[u8])> {
        let (newer, older) = self.bytes.split_at(self.oldest * self.sample_len);
        let length = self.sample_len.max(1);
        self.stamps.iter().copied().zip(older.chunks_exact(length).chain(newer.chunks_exact(length)))
    }
}

const BYTES: usize = 16 << 20;
const IRREGULAR_SAMPLES: usize = 10_000;
const SECONDS: f64 = 60.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_samples_come_back_in_their_order() {
        let mut history = History::new(2, 0.1);
        assert_eq!(history.capacity, 6);
        for n in 0..20_u8 {
            history.add(n.into(), &[n, n]);
            history.add(0.0, &[n]);
        }
        let kept: Vec<_> =
            history.iter().map(|(stamp, sample)| (stamp as u8, sample[0], sample[1])).collect();
        assert_eq!(kept, [14, 15, 16, 17, 18, 19].map(|n| (n, n, n)));
    }

    #[test]
    fn a_huge_stream_keeps_what_fits() {
        let history = History::new(5_000 * 4, 30_000.0);
        assert_eq!(history.capacity, (16 << 20) / 20_000);
        assert_eq!(History::new(usize::MAX, 1e300).capacity, 1);
        assert_eq!(History::new(0, 0.0).iter().count(), 0);
    }
}
