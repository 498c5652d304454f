//! `schwann` without a command: is everything there, and is it good right now?

mod json;
mod page;

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use schwann::resolver::{ContinuousResolver, FORGET_AFTER, ResolveError};
use schwann::security;
use schwann::{Context, Error};
use schwann_recorder::{Hidden, Limits, Probes, Reach, StreamState, Trouble, Verdict, twins};

use crate::exit::{Exit, Outcome, Problem};
use crate::hubs::{Hubs, Named};
use crate::lab;
use crate::stop;
use crate::terminal::{Destination, Palette, Screen, Shown};

/// How to look at the lab.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Look once, for two seconds at most; five if a stream is too young to judge, or with hubs. Exit code 1 if there is no stream, or a bad one.
    #[arg(long)]
    once: bool,
    /// Print JSON for scripts, once.
    #[arg(long)]
    json: bool,
    /// Limits by which streams are judged: usual, eeg, markers, or a TOML file with a table [limits].
    #[arg(long, value_name = "LIMITS", default_value = "usual")]
    limits: Limits,
    #[command(flatten)]
    hubs: Named,
}

/// Shows every stream there is.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut screen = Screen::new(io::stdout());
    let again = screen.destination() == Destination::Terminal && !arguments.once && !arguments.json;
    let stop = stop::on_signals()?;
    let config = lab::config();
    lab::hush_refusals(config.config());
    lab::renew_in_background();
    let mut lab = Lab::open(config, arguments)?;
    let palette = Palette::of(screen.destination());
    loop {
        lab.update();
        let states = lab.states();
        if again {
            screen.paint(&lab.page(&states, palette, screen.width()))?;
        } else if lab.is_complete(&states) || stop.is_raised() {
            if arguments.json {
                writeln!(io::stdout(), "{:#}", Shown(&lab.json(&states)))?;
            } else {
                screen.paint(&lab.page(&states, palette, screen.width()))?;
            }
            return Ok(if lab.is_well(&states) { Exit::Good } else { Exit::Found });
        }
        if stop.wait(PAINT_EVERY) && again {
            return Ok(Exit::Good);
        }
    }
}

/// The streams of the lab.
struct Lab {
    config: Arc<Context>,
    resolver: ContinuousResolver,
    opened: Instant,
    limits: Limits,
    probes: Probes,
    hidden: Hidden,
    /// Why streams that are there now cannot be received, one each.
    problems: Vec<String>,
    hubs: Hubs,
}

impl Lab {
    fn open(config: Arc<Context>, arguments: &Arguments) -> Result<Self, Problem> {
        let resolver =
            ContinuousResolver::all(Arc::clone(&config), FORGET_AFTER).map_err(|error| match error {
                ResolveError::Unsealed => Problem::with("search", security::reason()),
                error => Problem::with("search", error),
            })?;
        Ok(Self {
            hidden: Hidden::look(Arc::clone(&config)),
            probes: Probes::new(Arc::clone(&config)),
            hubs: Hubs::open(&config, &arguments.hubs),
            config,
            resolver,
            opened: Instant::now(),
            limits: arguments.limits,
            problems: Vec::new(),
        })
    }

    /// Takes in what was found, and lets go of what has been away for long.
    fn update(&mut self) {
        self.hubs.update();
        let found = self.resolver.results();
        found.iter().for_each(|info| self.hidden.note_found(info));
        let failed = self.probes.update(&found).into_iter();
        let problems = failed.map(|(info, error)| match error {
            Error::Unsealed => format!("{}: {}", info.name(), security::reason()),
            error => format!("{}: {error}", info.name()),
        });
        self.problems = problems.collect();
    }

    /// The state of every stream, by name, and what it means.
    fn states(&self) -> Vec<Judged> {
        let states = self.probes.states();
        let is_there = |state: &&StreamState| state.reach == Reach::Connected;
        let there = states.iter().filter(is_there).map(|state| &state.info);
        let mut are_twins = twins(there).into_iter();
        let has_twin: Vec<_> =
            states.iter().map(|state| is_there(&state) && are_twins.next().unwrap_or_default()).collect();
        let judged = states.into_iter().zip(has_twin).map(|(state, has_twin)| {
            let troubles = state.troubles(has_twin, &self.limits);
            let verdict = state.verdict_by(has_twin, &self.limits);
            Judged { state, verdict, troubles }
        });
        judged.collect()
    }

    /// Whether there are streams, all of them are seen, and nothing is wrong with any.
    fn is_well(&self, states: &[Judged]) -> bool {
        let is_calm = states.iter().all(|judged| judged.verdict.is_calm());
        let is_there = !states.is_empty() || !self.hubs.rows().is_empty();
        let all_seen =
            self.probes.waiting() == 0 && self.problems.is_empty() && self.hidden.unseen().is_empty();
        is_there && is_calm && all_seen && self.hubs.troubles() == 0
    }

    /// Whether all there is to know is known, or it is time to say what is known.
    fn is_complete(&self, states: &[Judged]) -> bool {
        if !self.hubs.is_complete() {
            return false;
        }
        let elapsed = self.opened.elapsed();
        let is_known = |Judged { state, verdict, .. }: &Judged| {
            let is_judged = !matches!(verdict, Verdict::Early | Verdict::Waiting);
            state.clock.is_some() && is_judged && state.reach == Reach::Connected
        };
        let is_in_doubt = !self.hidden.has_settled();
        let is_early = is_in_doubt || states.iter().any(|judged| judged.verdict == Verdict::Early);
        elapsed >= if is_early { COMPLETE_FOR_EARLY } else { COMPLETE_AT_LAST }
            || (elapsed >= COMPLETE_AT_FIRST
                && self.hidden.has_settled()
                && !states.is_empty()
                && states.iter().all(is_known))
    }
}

/// The state of a stream, and what it means.
struct Judged {
    state: StreamState,
    verdict: Verdict,
    /// All that is wrong with it.
    troubles: Vec<Trouble>,
}

const PAINT_EVERY: Duration = Duration::from_millis(100);
/// Streams answer a search within this time, unless the network is very slow.
const COMPLETE_AT_FIRST: Duration = Duration::from_millis(1200);
const COMPLETE_AT_LAST: Duration = Duration::from_millis(1900);
/// A stream that began just now, or a busy computer, takes longer. Too early to tell is no answer.
const COMPLETE_FOR_EARLY: Duration = Duration::from_millis(4900);
/// How many unexamined streams are reported one by one.
const PROBLEMS_MOST: usize = 20;
