//! A synthetic electroencephalogram that looks and measures like a real one.
//!
//! Per channel: noise with less power at higher frequencies, mains hum, slow drift, and now and then an
//! electrode pop. Over the head: an alpha rhythm at the back while the eyes are closed, blinks at the front
//! while open. All in microvolts.
//!
//! It is made for testing programs and disks, not theories: sources are mixed by distance on a flat head.

use core::f32::consts::TAU;

use super::montage::{HeadPosition, place};

/// Something that happens in the signal, for a marker stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Moment {
    /// The sample at which it begins, counted from 0.
    pub(crate) sample: u64,
    /// What it is.
    pub(crate) what: &'static str,
}

/// The generator.
#[derive(Clone, Debug)]
pub(crate) struct Eeg {
    chance: Chance,
    interval: f32,
    sample: u64,
    eyes: Eyes,
    /// The sample at which the eyes change.
    eyes_change: u64,
    alpha: Alpha,
    blink: Option<Blink>,
    /// The sample of the next blink, if the eyes are open then.
    next_blink: u64,
    next_pop: u64,
    hum_phase: f32,
    drift_keep: f32,
    drift_gain: f32,
    pop_keep: f32,
    channels: Channels,
    moments: Vec<Moment>,
}

impl Eeg {
    /// Begins with open eyes. The same seed gives the same samples.
    pub(crate) fn new(channel_count: usize, rate: f64, seed: u64) -> Self {
        let mut chance = Chance(seed);
        let interval = (1.0 / rate) as f32;
        let drift_keep = (-TAU * DRIFT_HERTZ * interval).exp();
        let mut eeg = Self {
            channels: Channels::new(channel_count, &mut chance),
            interval,
            sample: 0,
            eyes: Eyes::Open,
            eyes_change: 0,
            alpha: Alpha { phase: 0.0, hertz: ALPHA_HERTZ, strength: ALPHA_OPEN, swell: 0.0 },
            blink: None,
            next_blink: 0,
            next_pop: 0,
            hum_phase: 0.0,
            drift_keep,
            // White noise through this filter comes out with the wanted spread, at any rate.
            drift_gain: DRIFT_MICROVOLTS * (3.0 * (1.0 - drift_keep * drift_keep)).sqrt(),
            pop_keep: (-interval / POP_SECONDS).exp(),
            moments: Vec::new(),
            chance,
        };
        eeg.eyes_change = eeg.after(6.0, 10.0);
        eeg.next_blink = eeg.after(1.0, 3.0);
        eeg.next_pop = eeg.after(5.0, 60.0);
        eeg
    }

    /// Makes one sample. `row` has one value per channel.
    pub(crate) fn next_sample(&mut self, row: &mut [f32]) {
        self.turn();
        let alpha = self.alpha.next(self.eyes, self.interval, &mut self.chance);
        let blink = self.blink();
        self.hum_phase = (self.hum_phase + HUM_HERTZ * self.interval).fract();
        let hum = (TAU * self.hum_phase).sin() + 0.2 * (3.0 * TAU * self.hum_phase).sin();
        self.channels.mix(row, [alpha, blink, hum], [self.drift_keep, self.drift_gain, self.pop_keep]);
        self.sample += 1;
    }

    /// Removes and returns what has happened so far.
    pub(crate) fn take_moments(&mut self) -> Vec<Moment> {
        core::mem::take(&mut self.moments)
    }

    /// Lets begin what is due.
    fn turn(&mut self) {
        if self.sample == self.eyes_change {
            let (eyes, what) = match self.eyes {
                Eyes::Open => (Eyes::Closed, "eyes closed"),
                Eyes::Closed => (Eyes::Open, "eyes open"),
            };
            self.eyes = eyes;
            self.eyes_change = self.after(8.0, 14.0);
            self.moments.push(Moment { sample: self.sample, what });
        }
        if self.sample == self.next_blink {
            if self.eyes == Eyes::Open {
                let size = self.chance.between(110.0, 190.0);
                self.blink = Some(Blink { age: 0.0, seconds: self.chance.between(0.2, 0.35), size });
                self.moments.push(Moment { sample: self.sample, what: "blink" });
            }
            self.next_blink = self.after(1.5, 6.0);
        }
        if self.sample == self.next_pop {
            let channel = self.chance.below(self.channels.len());
            let size = self.chance.between(80.0, 250.0) * if self.chance.below(2) == 0 { -1.0 } else { 1.0 };
            self.channels.pop(channel, size);
            self.next_pop = self.after(10.0, 60.0);
        }
    }

    fn blink(&mut self) -> f32 {
        let Some(blink) = &mut self.blink else { return 0.0 };
        blink.age += self.interval;
        if blink.age >= blink.seconds {
            self.blink = None;
            return 0.0;
        }
        // The lid falls faster than it rises.
        let done = blink.age / blink.seconds;
        let shape = (core::f32::consts::PI * done.powf(0.7)).sin();
        blink.size * shape * shape
    }

    /// Returns a sample from now between so many seconds, at least the next.
    fn after(&mut self, least: f32, most: f32) -> u64 {
        self.sample + 1 + (self.chance.between(least, most) / self.interval) as u64
    }
}

/// Whether the eyes are open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Eyes {
    Closed,
    Open,
}

/// The rhythm at the back of the head.
#[derive(Clone, Debug)]
struct Alpha {
    /// In turns.
    phase: f32,
    hertz: f32,
    /// In microvolts.
    strength: f32,
    /// In turns, of the slow waxing and waning.
    swell: f32,
}

impl Alpha {
    fn next(&mut self, eyes: Eyes, interval: f32, chance: &mut Chance) -> f32 {
        let strength = match eyes {
            Eyes::Closed => ALPHA_CLOSED,
            Eyes::Open => ALPHA_OPEN,
        };
        // Half a second to get there.
        self.strength += (strength - self.strength) * (interval / 0.5).min(1.0);
        // The rhythm wanders about its frequency, without leaving it.
        let wander = chance.between(-1.0, 1.0) * interval.sqrt() * 0.5;
        self.hertz += wander + (ALPHA_HERTZ - self.hertz) * interval;
        self.phase = (self.phase + self.hertz * interval).fract();
        self.swell = (self.swell + 0.4 * interval).fract();
        self.strength * (0.7 + 0.3 * (TAU * self.swell).sin()) * (TAU * self.phase).sin()
    }
}

/// A blink under way.
#[derive(Clone, Copy, Debug)]
struct Blink {
    /// In seconds.
    age: f32,
    seconds: f32,
    /// In microvolts at the forehead.
    size: f32,
}

/// What differs from channel to channel, one array per quantity so that the processor takes many channels
/// at once.
#[derive(Clone, Debug)]
struct Channels {
    random: Vec<u32>,
    pink: [Vec<f32>; 3],
    drift: Vec<f32>,
    pop: Vec<f32>,
    /// How much of the alpha rhythm, the blinks and the hum arrives.
    gains: [Vec<f32>; 3],
}

impl Channels {
    fn new(count: usize, chance: &mut Chance) -> Self {
        let near = |at: HeadPosition, front: f32, reach: f32| {
            let distance = ((at.front - front).powi(2) + 0.5 * at.right.powi(2)).sqrt();
            (-(distance / reach).powi(2)).exp()
        };
        let places: Vec<_> = (0..count).map(place).collect();
        Self {
            // Never zero, from which the generator would not move.
            random: (0..count).map(|_| chance.next() as u32 | 1).collect(),
            pink: [(); 3].map(|()| vec![0.0; count]),
            drift: (0..count).map(|_| chance.between(-DRIFT_MICROVOLTS, DRIFT_MICROVOLTS)).collect(),
            pop: vec![0.0; count],
            gains: [
                places.iter().map(|&at| near(at, -0.95, 0.6)).collect(),
                places.iter().map(|&at| near(at, 1.0, 0.5)).collect(),
                (0..count).map(|_| chance.between(0.5, 3.0)).collect(),
            ],
        }
    }

    fn len(&self) -> usize {
        self.random.len()
    }

    fn pop(&mut self, channel: usize, size: f32) {
        if let Some(pop) = self.pop.get_mut(channel) {
            *pop += size;
        }
    }

    fn mix(
        &mut self,
        row: &mut [f32],
        [alpha, blink, hum]: [f32; 3],
        [drift_keep, drift_gain, pop_keep]: [f32; 3],
    ) {
        let count = row.len().min(self.len());
        // Slices of one length, so that no bound is checked within the loop.
        let [slow, middle, fast] = &mut self.pink;
        let (slow, middle, fast) = (&mut slow[..count], &mut middle[..count], &mut fast[..count]);
        let [to_alpha, to_blink, to_hum] = &self.gains;
        let (to_alpha, to_blink, to_hum) = (&to_alpha[..count], &to_blink[..count], &to_hum[..count]);
        let (random, drift, pop) =
            (&mut self.random[..count], &mut self.drift[..count], &mut self.pop[..count]);
        for (at, out) in row[..count].iter_mut().enumerate() {
            // Source: Marsaglia, "Xorshift RNGs", 2003.
            let mut x = random[at];
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            random[at] = x;
            let white = (x as i32 as f32) * (1.0 / 2_147_483_648.0);
            // Three filters in parallel: power falls as 1/f within 1 dB over three decades.
            // Source: Paul Kellet's economy filter, musicdsp.org, "Pink noise filter".
            slow[at] = 0.99765 * slow[at] + 0.099_046 * white;
            middle[at] = 0.963 * middle[at] + 0.296_516_4 * white;
            fast[at] = 0.57 * fast[at] + 1.052_691_3 * white;
            let pink = slow[at] + middle[at] + fast[at] + 0.1848 * white;
            drift[at] = drift_keep * drift[at] + drift_gain * white;
            pop[at] *= pop_keep;
            *out = BACKGROUND_MICROVOLTS * pink
                + drift[at]
                + pop[at]
                + to_alpha[at] * alpha
                + to_blink[at] * blink
                + to_hum[at] * hum;
        }
    }
}

/// Random numbers that are the same everywhere.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014 (SplitMix64).
#[derive(Clone, Debug)]
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, least: f32, most: f32) -> f32 {
        least + (most - least) * ((self.next() >> 40) as f32 / 16_777_216.0)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const ALPHA_HERTZ: f32 = 10.0;
/// Amplitude at the back of the head, in microvolts.
const ALPHA_CLOSED: f32 = 30.0;
const ALPHA_OPEN: f32 = 4.0;
/// European mains.
const HUM_HERTZ: f32 = 50.0;
const DRIFT_HERTZ: f32 = 0.02;
/// Spread of the drift.
const DRIFT_MICROVOLTS: f32 = 30.0;
/// Makes the background some 10 µV in all.
const BACKGROUND_MICROVOLTS: f32 = 6.0;
/// Time in which a pop falls to a third.
const POP_SECONDS: f32 = 0.3;
