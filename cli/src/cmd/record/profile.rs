//! `record --profile`: what the command line does not say, a file says.

use schwann_recorder::{RecordProfile, Selector};

use super::{Arguments, minutes};
use crate::exit::Problem;

/// The arguments, with those of their profile where they say nothing.
pub(super) fn applied(arguments: &Arguments) -> Result<Arguments, Problem> {
    arguments.name.check(arguments.profile.is_some()).map_err(Problem::Failed)?;
    let mut all = arguments.clone();
    if let Some(path) = &arguments.profile {
        let profile = RecordProfile::read(path).map_err(|error| Problem::Failed(error.to_string()))?;
        apply(&mut all, &profile).map_err(|what| Problem::with(path.display(), what))?;
    }
    Ok(all)
}

fn apply(all: &mut Arguments, profile: &RecordProfile) -> Result<(), String> {
    if all.queries.is_empty() {
        all.queries = selectors(&profile.streams)?;
    }
    if all.require.is_empty() {
        all.require = selectors(&profile.require)?;
    }
    all.wait = all.wait.or(profile.wait);
    all.seconds = all.seconds.or(profile.seconds);
    if let (None, Some(split)) = (all.split, profile.split) {
        all.split = Some(minutes(&split.to_string()).map_err(|error| format!("split: {error}"))?);
    }
    all.seal |= profile.seal;
    if all.to.is_empty() {
        let keys = profile.to.iter().map(|key| key.parse().map_err(|error| format!("to: {error}")));
        all.to = keys.collect::<Result<_, _>>()?;
    }
    all.limits = all.limits.or(profile.limits);
    all.name.apply(profile)
}

fn selectors(texts: &[String]) -> Result<Vec<Selector>, String> {
    texts.iter().map(|text| text.parse().map_err(|error| format!("{text}: {error}"))).collect()
}
