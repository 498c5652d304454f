//! What the two ends of a run do, as data that both are given.

use core::ffi::c_int;
use core::time::Duration;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ffi::Pushes;
use crate::statistics::Resampler;

/// One measured transfer: what is sent, when, and how it is taken.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Workload {
    /// Type of the values.
    pub(crate) format: Format,
    /// Channels per sample.
    pub(crate) channel_count: usize,
    /// The rate that the stream announces, Hz.
    pub(crate) nominal_rate: f64,
    /// Samples per push; 1 pushes single samples.
    pub(crate) chunk: usize,
    /// When pushes happen.
    pub(crate) pacing: Pacing,
    /// How long the sender sends.
    pub(crate) duration: Duration,
    /// Results of this first part are not counted.
    pub(crate) warmup: Duration,
    /// Seconds of data that either end may buffer, as given to the library.
    pub(crate) buffer: i32,
    /// Receiving processes.
    pub(crate) consumers: usize,
    /// How the receiver takes samples.
    pub(crate) pull: Pull,
    /// Keep the time of every push and every arrival.
    pub(crate) timed: bool,
    /// Which pushes on a schedule are made longer on purpose.
    #[serde(default)]
    pub(crate) turns: Turns,
}

impl Workload {
    /// Bytes of one sample's values.
    pub(crate) fn sample_bytes(&self) -> usize {
        self.channel_count * self.format.bytes()
    }

    /// Says whether the receiver pulls slowly on purpose.
    pub(crate) fn pauses(&self) -> bool {
        matches!(self.pull, Pull::Chunk { pause, .. } if !pause.is_zero())
    }
}

/// Pushes that take turns in being made longer on purpose: an effect of known size.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Turns {
    /// The share by which a push is made longer, in a spin. Every round has as many pushes of each kind.
    pub(crate) shares: Vec<f64>,
    /// The order within each round follows from it.
    pub(crate) seed: u64,
}

impl Turns {
    /// Pushes of each share in a round: so few that the machine is the same for all of them.
    pub(crate) const EACH: usize = 8;

    /// For each of the first `count` pushes, the place of its share; empty if there are none.
    pub(crate) fn order(&self, count: usize) -> Vec<usize> {
        let mut random = Resampler::new(self.seed);
        let mut round: Vec<usize> = (0..self.shares.len()).flat_map(|place| [place; Self::EACH]).collect();
        let mut order = Vec::with_capacity(count + round.len());
        while !round.is_empty() && order.len() < count {
            random.shuffle(&mut round);
            order.extend(&round);
        }
        order.truncate(count);
        order
    }

    /// The share of each of the first `count` pushes; empty if there are none.
    pub(crate) fn handicaps(&self, count: usize) -> Vec<f64> {
        self.order(count).into_iter().map(|place| self.shares[place]).collect()
    }
}

/// The element types that the scenarios use.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Format {
    /// IEEE single precision.
    Float32,
    /// 16-bit signed.
    Int16,
}

impl Format {
    /// Bytes of a value.
    pub(crate) fn bytes(self) -> usize {
        if self == Self::Float32 { 4 } else { 2 }
    }

    /// As in `lsl_channel_format_t`.
    pub(crate) fn number(self) -> c_int {
        if self == Self::Float32 { 1 } else { 5 }
    }
}

/// When the sender pushes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Pacing {
    /// At fixed times that wait for no end: push `n` is due at `start + n * chunk / rate`.
    Schedule {
        /// Samples per second.
        rate: f64,
    },
    /// One after the other, as fast as the library takes them.
    Unpaced,
    /// As fast as possible, but never more than this many samples ahead of the receiver.
    Window {
        /// Samples.
        ahead: u64,
    },
}

/// How the receiver takes samples.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Pull {
    /// One by one, waiting for each.
    Sample,
    /// In chunks of up to `samples`, waiting until the chunk is full, with a pause after each.
    Chunk {
        /// Samples per call.
        samples: usize,
        /// Time asleep after each call.
        pause: Duration,
    },
}

/// What carries the samples.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Transport {
    /// A library with liblsl's C ABI.
    Lsl {
        /// The shared library.
        library: PathBuf,
        /// How its outlets push.
        #[serde(default, skip_serializing_if = "Pushes::is_default")]
        pushes: Pushes,
    },
    /// Local sockets and nothing else. Records are sealed by the cipher of this name, if there is one.
    Bare {
        /// Of the built-in ones.
        cipher: Option<String>,
    },
    /// iceoryx2's publisher and subscribers, with messages of the same bytes. Published records name it so: it was once
    /// called like another library.
    #[serde(rename = "ZeroMq")]
    Iceoryx2 {
        /// The shared library of `bench/opponents`.
        library: PathBuf,
    },
    /// A raw TCP connection that carries the same bytes: what the machine permits.
    Tcp,
}
