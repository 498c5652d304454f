//! What sealing costs, cut into steps.

use super::{Step, named};
use crate::record::KEYS;
use crate::sealed::{Reason, handshake, lab, paired, state, timing};
use crate::suite::{Asked, Depth, Missing};

/// Streams side by side, a step per group of conditions; then the handshake, memory, and constant time.
pub(crate) fn sealed(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let (ours, effort) = (asked.ours()?, asked.effort);
    let quick = effort.depth == Depth::Quick;
    let (restarts, seconds) = paired::extent(quick);
    let seconds = effort.time(seconds, 1.0).as_secs_f64();
    let group = |mut group: Vec<paired::Condition>| {
        group.iter_mut().for_each(|condition| condition.name.insert_str(0, "paired "));
        let scratch = asked.scratch.clone();
        let name = group.first().map_or_else(String::new, |first| first.name.clone());
        let measure = move |_: &str| {
            // Only here, where something is sealed with them.
            if !scratch.join(KEYS).exists() {
                lab::install_keys(&scratch.join(KEYS))?;
            }
            Ok(paired::measure(&group, (restarts, seconds), &scratch)?.concat())
        };
        step(&name, measure)
    };
    let rounds = effort.count(1000, 50);
    let parts = [
        step("handshake", move |step| handshake::measure(step, rounds)),
        step("state", state::measure),
        step("timing", timing::measure),
    ];
    let conditions = paired::conditions(quick, &ours);
    Ok(conditions.into_iter().map(group).chain(parts).collect())
}

fn step(name: &str, measure: impl Fn(&str) -> Result<Vec<crate::record::Reading>, Reason> + 'static) -> Step {
    named(name, Box::new(move |step| measure(step).map_err(|reason| reason.to_string())))
}
