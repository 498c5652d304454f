//! Carries frames between two taps, each when it is due.

use core::num::NonZeroU64;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use hdrhistogram::Histogram;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::Profile;
use super::weather::{Fate, Shaper};
use crate::clock::now_ns;
use crate::ffi::tap::Tap;

/// What a line has carried, both ways together.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    /// Frames that arrived.
    pub(crate) frames: u64,
    /// Frames that the medium lost.
    pub(crate) lost: u64,
    /// Frames that found the line busy for too long.
    pub(crate) dropped: u64,
    /// By how much frames arrived later than they were due: the line's own fault, ns.
    pub(crate) late: Histogram<u64>,
}

/// Two threads, one a direction.
pub(super) struct Relay {
    stop: Arc<AtomicBool>,
    directions: Vec<JoinHandle<Carried>>,
}

impl Relay {
    pub(super) fn start(profile: &'static Profile, seed: u64, near: Tap, far: Tap) -> io::Result<Self> {
        let (near, far) = (Arc::new(near), Arc::new(far));
        let stop = Arc::new(AtomicBool::new(false));
        let mut relay = Self { stop, directions: Vec::new() };
        let start = now_ns();
        for (number, (from, into)) in (0..).zip([(Arc::clone(&near), Arc::clone(&far)), (far, near)]) {
            let direction = Direction {
                from,
                into,
                shaper: Shaper::new(profile, seed.wrapping_add(number), start),
                waiting: VecDeque::new(),
                spare: Vec::new(),
                carried: Carried::nothing(),
            };
            let stop = Arc::clone(&relay.stop);
            let thread = thread::Builder::new().name(format!("line-{number}"));
            relay.directions.push(thread.spawn(move || direction.run(&stop))?);
        }
        Ok(relay)
    }

    /// Stops and adds both directions up.
    pub(super) fn end(mut self) -> Carried {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Carried::nothing();
        for direction in self.directions.drain(..) {
            let Ok(one) = direction.join() else { continue };
            all.frames += one.frames;
            all.lost += one.lost;
            all.dropped += one.dropped;
            all.late.add(one.late).expect("both have the same digits and grow");
        }
        all
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for direction in self.directions.drain(..) {
            // What it carried is not needed.
            let _ = direction.join();
        }
    }
}

impl Carried {
    /// How late the line was itself is a limit of all latencies.
    pub(crate) fn figures(&self) -> [(String, f64); 5] {
        [
            ("line_frames", self.frames as f64),
            ("line_lost_frames", self.lost as f64),
            ("line_dropped_frames", self.dropped as f64),
            ("line_late_p50_us", self.late.value_at_quantile(0.5) as f64 / 1e3),
            ("line_late_p99_us", self.late.value_at_quantile(0.99) as f64 / 1e3),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    fn nothing() -> Self {
        let late = Histogram::new(2).expect("two digits are within the crate's range");
        Self { frames: 0, lost: 0, dropped: 0, late }
    }
}

struct Direction {
    from: Arc<Tap>,
    into: Arc<Tap>,
    shaper: Shaper,
    /// Frames with the time when they are due, ns, in order.
    waiting: VecDeque<(u64, Vec<u8>)>,
    /// Room for frames to come.
    spare: Vec<Vec<u8>>,
    carried: Carried,
}

impl Direction {
    fn run(mut self, stop: &AtomicBool) -> Carried {
        // Without it the kernel may wake this thread 50 us late. A refusal shows in the lateness that is kept.
        let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
        while !stop.load(Ordering::Relaxed) {
            self.deliver();
            self.take_in();
            self.wait();
        }
        self.carried
    }

    fn deliver(&mut self) {
        while let Some((late, frame)) = self.next_due() {
            match self.into.write(&frame) {
                Ok(()) => {
                    self.carried.frames += 1;
                    self.carried.late.record(late).expect("it grows with its values");
                }
                // The far end takes no more: as when its card has no room.
                Err(_) => self.carried.dropped += 1,
            }
            self.spare.push(frame);
        }
    }

    /// The next frame, and by how much it is late, if it is due.
    fn next_due(&mut self) -> Option<(u64, Vec<u8>)> {
        let (due, _) = self.waiting.front()?;
        let late = now_ns().checked_sub(*due)?;
        self.waiting.pop_front().map(|(_, frame)| (late, frame))
    }

    /// Takes a few arrived frames at a time, so that due frames do not wait for all others.
    fn take_in(&mut self) {
        for _ in 0..AT_ONCE {
            let mut frame = self.spare.pop().unwrap_or_default();
            frame.resize(LONGEST_FRAME, 0);
            let Ok(length) = self.from.read(&mut frame) else {
                self.spare.push(frame);
                return;
            };
            frame.truncate(length);
            match self.shaper.admit(now_ns(), length) {
                Fate::Due(at) => {
                    self.waiting.push_back((at, frame));
                    continue;
                }
                Fate::Lost => self.carried.lost += 1,
                Fate::Dropped => self.carried.dropped += 1,
            }
            self.spare.push(frame);
        }
    }

    /// Waits for a frame, or until one is due.
    fn wait(&self) {
        let left = self.waiting.front().map_or(LOOK_UP_NS, |(due, _)| due.saturating_sub(now_ns()));
        let timeout = Timespec { tv_sec: 0, tv_nsec: left.min(LOOK_UP_NS).cast_signed() };
        let mut readable = [PollFd::new(&*self.from, PollFlags::IN)];
        // An interruption is an early look.
        let _ = poll(&mut readable, Some(&timeout));
    }
}

/// A frame of 1500 bytes with its head, and room for a tag.
const LONGEST_FRAME: usize = 1522;
const AT_ONCE: usize = 32;
/// Looks so often whether the line is to end, ns.
const LOOK_UP_NS: u64 = 50_000_000;
