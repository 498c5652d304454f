//! What sealing adds, by streams side by side: too little to be seen between runs that the machine has changed between.
//!
//! Two processes hold three streams at once: two in the clear and a sealed one. In every period each has one push, in random
//! order and a third of a period apart, so that whatever slows the machine slows all three. A restart of the two processes
//! is one observation: the difference of the medians. The two streams in the clear tell what such a difference is worth.

use std::path::{Path, PathBuf};

use super::{Options, Reason, Targets, lab};
use crate::libraries;
use crate::record::Machine;
use crate::statistics::{equivalence, mean, paired_t};
use crate::transfer::{interrupted, stop_on_interrupt};

mod ends;
mod restart;

pub(super) use ends::run_if_worker;
use restart::{Restart, run};

/// One condition.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize)]
struct Cell {
    channels: usize,
    rate: f64,
    inlets: usize,
}

impl Cell {
    fn name(&self) -> String {
        format!("{}ch-{}hz-{}in", self.channels, self.rate, self.inlets)
    }
}

/// Measures all cells and says of each whether sealing costs more than it may.
pub(super) fn measure(options: &Options) -> Result<Targets, Reason> {
    let ours = options.ours.clone().or_else(libraries::ours).ok_or("name the library with --ours")?;
    let ours = ours.canonicalize()?;
    let folder = options.folder();
    std::fs::create_dir_all(&folder)?;
    let scratch = folder.canonicalize()?;
    let keys = scratch.join("keys");
    if !keys.exists() {
        lab::install_keys(&keys)?;
    }
    stop_on_interrupt();
    let restarts = options.blocks.unwrap_or(if options.quick { 4 } else { 12 });
    let seconds = options.seconds.unwrap_or(if options.quick { 1.0 } else { 5.0 });
    print_head(restarts, seconds);
    let mut all = Targets::Met;
    for cell in cells(options) {
        let observed = observe(&cell, seconds, restarts, &ours, &scratch)?;
        all = all.and(judge(&cell, &observed));
    }
    println!("restarts in {}", scratch.join(RESTARTS).display());
    Ok(all)
}

/// Restarts a cell's processes so many times; each is kept as a line of JSON.
fn observe(
    cell: &Cell,
    seconds: f64,
    restarts: u32,
    ours: &Path,
    scratch: &Path,
) -> Result<Vec<Restart>, Reason> {
    let mut observed = Vec::new();
    for number in 0..restarts {
        if interrupted() {
            return Err("interrupted".into());
        }
        let restart = run(cell, seconds, u64::from(number), ours, scratch)?;
        append(&scratch.join(RESTARTS), &serde_json::to_string(&restart)?)?;
        observed.push(restart);
    }
    Ok(observed)
}

fn append(path: &PathBuf, line: &str) -> Result<(), Reason> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{line}")?)
}

fn cells(options: &Options) -> Vec<Cell> {
    let cell = |channels, rate, inlets| Cell { channels, rate, inlets };
    let mut cells: Vec<Cell> = if options.quick {
        vec![cell(8, 1000.0, 1), cell(64, 500.0, 2)]
    } else {
        let channels = [8, 32, 64, 128, 256].map(|channels| cell(channels, 1000.0, 1));
        let rates = [250.0, 500.0, 2000.0].map(|rate| cell(64, rate, 1));
        let inlets = [2, 4, 16].map(|inlets| cell(64, 500.0, inlets));
        channels.into_iter().chain(rates).chain(inlets).collect()
    };
    let is_wanted = |cell: &Cell| options.only.iter().any(|word| cell.name().contains(word));
    cells.retain(|cell| options.only.is_empty() || is_wanted(cell));
    cells
}

fn print_head(restarts: u32, seconds: f64) {
    let machine = Machine::here();
    println!("{} x{}, {}, {}", machine.processor, machine.cores, machine.kernel, machine.memory);
    println!(
        "p50 from the beginning of the push to the return of the pull, us, of streams side by side in two processes."
    );
    println!(
        "{restarts} restarts of {seconds} s a cell; differences: mean over restarts [95 % interval of Student's t]."
    );
    println!("added: sealed - mean of the two in the clear. a/a: the second in the clear - the first.");
    println!(
        "verdict: against a margin of the larger of 1 us and 1 %: two one-sided tests at 5 % (\"within\"), or one (\"below\").\n"
    );
    println!(
        "{:18} {:>8} {:>8} {:>24} {:>24} {:>7} {:>8} {:>8}  verdict",
        "cell", "plain", "sealed", "added, us", "a/a, us", "margin", "p added", "p a/a"
    );
}

/// What the restarts of a cell say.
fn judge(cell: &Cell, observed: &[Restart]) -> Targets {
    let column = |stream: usize| observed.iter().map(|one| one.p50_us[stream]).collect::<Vec<f64>>();
    let [first, second, sealed] = [column(0), column(1), column(2)];
    let plain: Vec<f64> = first.iter().zip(&second).map(|(a, b)| f64::midpoint(*a, *b)).collect();
    let margin = f64::max(1.0, 0.01 * mean(&plain));
    let (added, null) = (equivalence(&plain, &sealed, margin), equivalence(&first, &second, margin));
    let verdict = match &added {
        Some(added) if added.p() < LEVEL => "met: within the margin",
        Some(added) if added.p_high < LEVEL => "met: below the margin",
        Some(added) if 1.0 - added.p_high < LEVEL => "NOT MET: above the margin",
        Some(_) | None => "not resolved: more restarts, or a quieter machine",
    };
    let p = |test: Option<f64>| test.map_or_else(|| String::from("-"), |p| format!("{p:.4}"));
    println!(
        "{:18} {:8.2} {:8.2} {:>24} {:>24} {margin:7.2} {:>8} {:>8}  {verdict}",
        cell.name(),
        mean(&plain),
        mean(&sealed),
        difference(&plain, &sealed),
        difference(&first, &second),
        p(added.map(|test| test.p_high)),
        p(null.map(|test| test.p())),
    );
    Targets::of(verdict.starts_with("met"))
}

fn difference(first: &[f64], second: &[f64]) -> String {
    paired_t(first, second, 0.95).map_or_else(
        || String::from("-"),
        |test| format!("{:+.2} [{:+.2}, {:+.2}]", test.difference, test.interval.low, test.interval.high),
    )
}

const LEVEL: f64 = 0.05;
/// A line of JSON for each restart.
const RESTARTS: &str = "restarts.jsonl";

#[cfg(test)]
mod tests {
    use super::*;

    fn restarts(added: f64) -> Vec<Restart> {
        // Restarts that differ by far more than sealing adds, and streams of one that differ little.
        let noise = [0.0, 0.2, -0.1, 0.1, -0.2, 0.05];
        let one = |(number, noise): (usize, &f64)| {
            let level = 40.0 + 7.0 * number as f64;
            let cell = Cell { channels: 8, rate: 1000.0, inlets: 1 };
            Restart { cell, p50_us: [level, level + noise, level + added - noise], samples: [1; 3], seed: 0 }
        };
        noise.iter().enumerate().map(one).collect()
    }

    #[test]
    fn what_runs_differ_in_does_not_hide_what_sealing_adds() {
        let cell = Cell { channels: 8, rate: 1000.0, inlets: 1 };
        for (added, expected) in
            [(0.1, Targets::Met), (-3.0, Targets::Met), (1.0, Targets::Missed), (3.0, Targets::Missed)]
        {
            assert_eq!(judge(&cell, &restarts(added)), expected, "{added}");
        }
        assert_eq!(judge(&cell, &restarts(0.1)[..1]), Targets::Missed, "one restart resolves nothing");
    }
}
