//! The suite of what sealing costs: what it runs, and what it asserts.

use super::{handshake, lab, paired, prepared, state, timing};
use crate::record::KEYS;
use crate::step::Step;
use crate::suite::{Asked, Depth, Missing};

/// Streams side by side, a step per group of conditions; then the handshake, key stream made ahead, memory, and constant time.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
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
        Step::new(name, measure)
    };
    let rounds = effort.count(1000, 50);
    let parts = [
        Step::new("handshake", move |step| handshake::measure(step, rounds)),
        Step::new("prepared", move |step| prepared::measure(step, rounds)),
        Step::new("state", state::measure),
        Step::new("timing", timing::measure),
    ];
    let conditions = paired::conditions(quick, &ours, asked.before.as_deref());
    Ok(conditions.into_iter().map(group).chain(parts).collect())
}
