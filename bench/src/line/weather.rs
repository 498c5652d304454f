//! When a frame that enters a line leaves it, if at all. Arithmetic on a seed; no clock and no device.

use core::time::Duration;

use super::{Jitter, Profile};
use crate::clock::ns;

/// One direction of a line.
pub(super) struct Shaper {
    profile: &'static Profile,
    seed: u64,
    /// The time that drawn delays count from, ns.
    start: u64,
    frames: u64,
    /// When the last frame has been put on the line, ns.
    free_at: u64,
    /// When the last frame leaves the line, ns.
    last_due: u64,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// It leaves the line at this time, ns.
    Due(u64),
    /// The line is busy for too long.
    Dropped,
    /// The medium has lost it.
    Lost,
}

impl Shaper {
    pub(super) fn new(profile: &'static Profile, seed: u64, start: u64) -> Self {
        Self { profile, seed, start, frames: 0, free_at: start, last_due: start }
    }

    /// Takes a frame of `bytes` that enters at `now`, ns. Frames keep their order, as on both media they do.
    pub(super) fn admit(&mut self, now: u64, bytes: usize) -> Fate {
        self.frames += 1;
        let begins = now.max(self.free_at);
        if begins - now > ns(self.profile.queue) {
            return Fate::Dropped;
        }
        let bits = 8 * (bytes as u64 + ON_THE_WIRE);
        self.free_at = begins + bits * NS_PER_SECOND / self.profile.rate;
        if draw(self.seed ^ LOSS, self.frames) < self.profile.loss {
            return Fate::Lost;
        }
        let due = self.free_at + ns(self.delay(self.free_at));
        self.last_due = self.last_due.max(due);
        Fate::Due(self.last_due)
    }

    fn delay(&self, now: u64) -> Duration {
        let (least, greatest) = self.profile.delay;
        let share = match self.profile.jitter {
            Jitter::EachFrame => draw(self.seed, self.frames),
            Jitter::Gradual(step) => {
                let steps = (now - self.start) as f64 / ns(step) as f64;
                let (index, part) = (steps as u64, steps.fract());
                draw(self.seed, index) * (1.0 - part) + draw(self.seed, index + 1) * part
            }
        };
        least + (greatest - least).mul_f64(share)
    }
}

/// The draw number `index` of a seed, from 0 to below 1. The method is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)
/// at that place.
fn draw(seed: u64, index: u64) -> f64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Preamble, check sequence and gap of an Ethernet frame, bytes. Source: IEEE 802.3 §3.1.1, §4.4.2.
const ON_THE_WIRE: u64 = 24;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// Losses are drawn apart from delays.
const LOSS: u64 = 0x006c_6f73_735f_6d65;
