//! Hart 0: a device that takes a sample with every tick of its timer, and watches hart 1.

use core::sync::atomic::{AtomicU32, Ordering};

use schwann_node::Micros;

use crate::{handoff, machine, network, say, settings::Settings};

/// Samples that were skipped because the emulation stood still: a converter would not make up for them in a burst.
pub static SLIPS: AtomicU32 = AtomicU32::new(0);

pub fn run(settings: &Settings) -> ! {
    let Some(mut producer) = handoff::prepare(settings.channel_count, settings.slots) else {
        say!("no room for {} channels", settings.channel_count);
        machine::exit(2)
    };
    machine::ring(1);
    let period = 1_000_000 / u64::from(settings.rate);
    let start = machine::now();
    let end = start.after(settings.run_s.saturating_mul(1_000_000));
    let mut due = start.after(period);
    let mut dog = Watchdog { beats: 0, since: start };
    let mut sequence = 0_u32;
    let mut narrow = [0.0; 8];
    let sample = narrow.get_mut(..settings.channel_count).unwrap_or_else(|| wide_sample(settings));
    loop {
        machine::sleep(0, Some(due));
        let now = machine::now();
        if now.since(due) > MOST_BEHIND * period {
            let late = (now.since(due) / period) as u32;
            SLIPS.store(SLIPS.load(Ordering::Relaxed).wrapping_add(late), Ordering::Relaxed);
            due = now;
        }
        while due <= now {
            fill(sequence, sample);
            // Where the newest are kept, a push of the stream's own shape succeeds.
            let _ = producer.push(sample, due.seconds());
            sequence = sequence.wrapping_add(1);
            due = due.after(period);
        }
        machine::ring(1);
        dog.look(now);
        // The user of the emulation ends it with a `q`.
        if settings.run_s > 0 && now >= end || machine::Serial::read() == Some(b'q') {
            network::report();
            say!("done");
            machine::exit(0);
        }
    }
}

/// Room for more channels than the 8 of the board that this stands for.
fn wide_sample(settings: &Settings) -> &'static mut [f32] {
    // SAFETY: RAM that nothing else owns, zero at start; `run` asks once, for 128 channels at most.
    unsafe { core::slice::from_raw_parts_mut(machine::WIDE_SAMPLE as *mut f32, settings.channel_count) }
}

/// Wakes hart 1, which receives, and ends the emulation with a `q`.
pub fn look_on() -> ! {
    machine::ring(1);
    loop {
        machine::sleep(0, Some(machine::now().after(100_000)));
        if machine::Serial::read() == Some(b'q') {
            machine::exit(1);
        }
    }
}

/// Every value follows from the sample's number, so that a receiver can check all of them.
fn fill(sequence: u32, sample: &mut [f32]) {
    let base = (sequence & 0xf_ffff) as f32;
    for (channel, value) in sample.iter_mut().enumerate() {
        *value = base + channel as f32;
    }
}

/// Notices that hart 1 does nothing any more.
struct Watchdog {
    beats: u32,
    since: Micros,
}

impl Watchdog {
    fn look(&mut self, now: Micros) {
        let beats = network::BEATS.load(Ordering::Relaxed);
        if beats != self.beats {
            (self.beats, self.since) = (beats, now);
        } else if now.since(self.since) > WATCHDOG_US {
            say!("watchdog: hart 1 stands still");
            machine::exit(3);
        }
    }
}

/// Longest silence of hart 1 before the watchdog resets the device, in microseconds.
const WATCHDOG_US: u64 = 3_000_000;
/// Samples made up for after a delay.
const MOST_BEHIND: u64 = 32;
