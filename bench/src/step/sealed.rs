//! What sealing costs, cut into steps.

use super::{Step, named};
use crate::record::KEYS;
use crate::sealed::{Reason, handshake, lab, paired, state, timing};
use crate::suite::{Asked, Depth, Missing};

/// Streams side by side, a step per condition; then the handshake, memory, and constant time.
pub(crate) fn sealed(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let (ours, effort) = (asked.ours()?, asked.effort);
    let (restarts, seconds) = match effort.depth {
        Depth::Full => (12, effort.time(5.0, 1.0).as_secs_f64()),
        Depth::Quick => (4, 1.0),
    };
    let cell = |(name, cell, subject): (String, paired::Cell, paired::Subject)| {
        let scratch = asked.scratch.clone();
        let measure = move |step: &str| {
            // Only here, where something is sealed with them.
            if !scratch.join(KEYS).exists() {
                lab::install_keys(&scratch.join(KEYS))?;
            }
            paired::measure(step, &cell, (restarts, seconds), &subject, &scratch)
        };
        step(&format!("paired {name}"), measure)
    };
    let rounds = effort.count(1000, 50);
    let parts = [
        step("handshake", move |step| handshake::measure(step, rounds)),
        step("state", state::measure),
        step("timing", timing::measure),
    ];
    let conditions = paired::conditions(effort.depth == Depth::Quick, &ours);
    Ok(conditions.into_iter().map(cell).chain(parts).collect())
}

fn step(name: &str, measure: impl Fn(&str) -> Result<Vec<crate::record::Reading>, Reason> + 'static) -> Step {
    named(name, Box::new(move |step| measure(step).map_err(|reason| reason.to_string())))
}
