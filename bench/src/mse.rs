//! MSE: handshakes, ciphers, transfers, memory and success, each against a stated criterion.
//!
//! Both ends of a connection are processes of their own on real sockets. Every byte is verified. Variants are
//! interleaved within one run, and the medians come with their spread. OpenSSL is measured in the same process,
//! round by round, where it is built in (`--features peers`). What libtorrent does on the same machine, and the
//! criteria against it, are measured by `bench/src/mse/against_libtorrent.py`.

mod cipher;
mod handshake;
mod memory;
mod shaped;
mod success;
mod transfer;
mod worker;

use crate::Reason;
use crate::record::Reading;
use crate::step::Step;
use crate::suite::{Asked, Effort, Missing};

pub(crate) use shaped::inside as inside_the_shaped_link;
pub(crate) use worker::{Task, work};

/// A step per scenario.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    type Scenario = fn(Effort) -> Result<Vec<Reading>, Reason>;
    const SCENARIOS: [(&str, Scenario); 6] = [
        ("cipher", cipher::run),
        ("handshake", handshake::run),
        ("transfer", transfer::run),
        ("shaped", shaped::run),
        ("success", success::run),
        ("memory", memory::run),
    ];
    let effort = asked.effort;
    let step = |(name, scenario): (&'static str, Scenario)| {
        Step::new(name, move |step| {
            let readings = scenario(effort)?.into_iter();
            Ok(readings.map(|reading| Reading { step: step.to_owned(), ..reading }).collect())
        })
    };
    Ok(SCENARIOS.map(step).into())
}

/// `full`, or a share of it: a tenth and one at least, which is the quick form.
fn count(effort: Effort, full: usize) -> usize {
    effort.count(full, (full / 10).max(1))
}

/// A figure from its samples.
fn figure(name: impl Into<String>, unit: &str, samples: Vec<f64>) -> Reading {
    Reading::named("", "MSE", &name.into(), unit, samples)
}
