//! Measures MSE: handshakes, ciphers, transfers, memory and success, each against a stated criterion.
//!
//! ```text
//! schwann-bench mse table [--quick] [--json FILE] [SCENARIO...]      cipher handshake transfer shaped success memory
//! ```
//!
//! Both ends of a connection are processes of their own on real sockets, every byte is verified, variants are
//! interleaved within one run, and the medians come with their spread. The system's OpenSSL is measured in the same
//! process, round by round. The last lines say which criteria are met. What libtorrent does on the same machine, and the
//! criteria against it, are measured by `bench/src/mse/against_libtorrent.py`.

mod cipher;
mod handshake;
mod memory;
mod outcome;
mod shaped;
mod success;
mod transfer;
mod worker;

use std::process::ExitCode;

pub use outcome::{Outcome, Verdict};
pub use worker::run_if_worker;

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// Seconds, to see that everything works.
    Quick,
    /// A share of the full form, which takes a minute or two and gives figures to be quoted.
    Share(f64),
}

impl Effort {
    /// All of the full form.
    const FULL: Self = Self::Share(1.0);

    /// `full`, or a share of it: a tenth and one at least.
    fn count(self, full: usize) -> usize {
        match self {
            Self::Quick => (full / 10).max(1),
            Self::Share(share) => ((full as f64 * share) as usize).max(Self::Quick.count(full)),
        }
    }
}

/// Why a measurement does not exist.
pub type Error = Box<dyn core::error::Error + Send + Sync>;

type Scenario = fn(Effort) -> Result<Vec<Outcome>, Error>;

const SCENARIOS: [(&str, Scenario); 6] = [
    ("cipher", cipher::run),
    ("handshake", handshake::run),
    ("transfer", transfer::run),
    ("shaped", shaped::run),
    ("success", success::run),
    ("memory", memory::run),
];

/// The scenarios' names.
pub fn scenarios() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(name, _)| *name)
}

/// Runs one scenario and gives its figures as `--json` writes them.
///
/// # Errors
///
/// When it cannot be run, or its result is wrong.
pub fn measure(wanted: &str, effort: Effort) -> Result<Vec<serde_json::Value>, Error> {
    let scenario = SCENARIOS.iter().find(|(name, _)| *name == wanted).ok_or("no such scenario")?;
    Ok(scenario.1(effort)?.iter().map(|outcome| outcome.to_json(wanted)).collect())
}

/// Runs the program with these arguments.
pub fn run(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    match try_run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("schwann-bench mse table: {error}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(arguments: impl IntoIterator<Item = String>) -> Result<(), Error> {
    let (mut effort, mut json, mut wanted) = (Effort::FULL, None, Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => effort = Effort::Quick,
            "--json" => json = Some(arguments.next().ok_or("--json needs a file")?),
            name if SCENARIOS.iter().any(|(scenario, _)| *scenario == name) => wanted.push(argument),
            _ => return Err(format!("no such option or scenario: {argument}").into()),
        }
    }
    let mut records = String::new();
    let (mut met, mut missed) = (0, Vec::new());
    for (name, scenario) in SCENARIOS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("== {name} (load {:.1})", crate::record::load());
        for outcome in scenario(effort)? {
            println!("{outcome}");
            match outcome.met() {
                Some(true) => met += 1,
                Some(false) => missed.push(outcome.to_string()),
                None => {}
            }
            records += &outcome.to_json(name).to_string();
            records.push('\n');
        }
    }
    println!("== {met} criteria met, {} not{}", missed.len(), if missed.is_empty() { "" } else { ":" });
    missed.iter().for_each(|line| println!("{line}"));
    json.map_or(Ok(()), |path| std::fs::write(path, records))?;
    Ok(())
}
