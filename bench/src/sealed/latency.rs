//! Samples, sealed and plain and by the real liblsl, in the same campaign.

use std::io::stderr;

use core::time::Duration;

use super::{Options, Reason, Targets, lab};
use crate::campaign::{self, paired_values};
use crate::record::{KEYS, Machine, Manifest, Records, Role, Subject, program, unix_time};
use crate::scenario::{Cell, NullRuns, RawBaseline, latency};
use crate::statistics::{Interval, Resampler, bca_interval, median};
use crate::transfer::stop_on_interrupt;

const SEALED: &str = "schwann-sealed";
const PLAIN: &str = "schwann";
const OPPONENT: &str = "liblsl";

/// Runs all cells and judges each.
pub(super) fn measure(options: &Options) -> Result<Targets, Reason> {
    let folder = options.folder();
    let keys = folder.join("scratch").join(KEYS);
    if !keys.exists() {
        lab::install_keys(&keys)?;
    }
    let (ours, opponent) = options.libraries()?;
    let subjects = vec![
        Subject::sealed(&ours)?,
        Subject::plain(&ours)?,
        Subject::library(OPPONENT, Role::Opponent, &opponent)?,
    ];
    let manifest = Manifest {
        suite: "sealed".to_owned(),
        quick: options.quick,
        scale: 1.0,
        subjects,
        seed: unix_time(),
        blocks: options.blocks.unwrap_or(if options.quick { 1 } else { 3 }),
        started_at: unix_time(),
        machine: Machine::here(),
        other: None,
        program: program(),
    };
    let mut records = Records::begin_or_continue(&folder, manifest)?;
    stop_on_interrupt();
    let cells = cells(options);
    campaign::run(&cells, &mut records, None, &mut stderr())?;
    let targets = judge(&records, &cells);
    println!("results in {}", folder.display());
    Ok(targets)
}

fn cells(options: &Options) -> Vec<Cell> {
    let seconds = Duration::from_secs_f64(options.seconds.unwrap_or(if options.quick { 1.5 } else { 5.0 }));
    let mut cells = if options.quick {
        latency::sweep(&[8, 64], &[1000.0], &[1, 2], seconds, seconds)
    } else {
        let (channels, rates) = (&[8, 32, 64, 128, 256], &[250.0, 500.0, 1000.0, 2000.0]);
        latency::sweep(channels, rates, &[1, 2, 4, 16], seconds, seconds)
    };
    for cell in &mut cells {
        (cell.raw_baseline, cell.null) = (RawBaseline::Meaningless, NullRuns::Borrowed);
    }
    cells.retain(|cell| options.wants(&cell.name));
    cells
}

/// The middle of paired differences or ratios, and how sure it is.
struct Middle {
    value: f64,
    interval: Interval,
}

impl Middle {
    fn of(values: &[f64]) -> Self {
        let range = || Interval {
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        let distribution = Resampler::new(1).distribution(values, median, 9999);
        // Below six pairs the bootstrap of a median knows less than the range shows.
        let interval = match values.len() {
            0..6 => range(),
            _ => bca_interval(values, median, &distribution, 0.95).unwrap_or_else(range),
        };
        Self { value: median(values), interval }
    }
}

fn pairs(of: &[f64], to: &[f64], combine: fn(f64, f64) -> f64) -> Middle {
    Middle::of(&of.iter().zip(to).map(|(of, to)| combine(*of, *to)).collect::<Vec<_>>())
}

/// Prints a line per cell and says whether both targets are met in all of them.
fn judge(records: &Records, cells: &[Cell]) -> Targets {
    print_head(records);
    let judged: Vec<Option<Judged>> = cells.iter().map(|cell| Judged::of(records, cell)).collect();
    for (cell, judged) in cells.iter().zip(&judged) {
        match judged {
            Some(judged) => judged.print(&cell.name),
            None => println!("{:24} no complete pass", cell.name),
        }
    }
    let complete: Vec<&Judged> = judged.iter().flatten().collect();
    let met = |target: fn(&Judged) -> Targets| {
        complete.iter().filter(|judged| target(judged) == Targets::Met).count()
    };
    let (cheap, below) = (met(Judged::cheap), met(Judged::below));
    println!(
        "\nadded <= max(1 us, 1 %): {cheap} of {total} cells; sealed below plain liblsl: {below} of {total} cells",
        total = complete.len()
    );
    Targets::of(cheap.min(below) == cells.len())
}

fn print_head(records: &Records) {
    let machine = &records.manifest.machine;
    println!("{} x{}, {}, {}", machine.processor, machine.cores, machine.kernel, machine.memory);
    println!("p50 from the beginning of the push to the return of the pull, us; medians over runs.");
    println!("added: sealed - plain per pair of runs, median [95 % interval, or range below 6 pairs].");
    println!("cpu: s of all processes per million samples; ratio to plain, ratio to liblsl.\n");
    println!(
        "{:24} {:>7} {:>7} {:>7} {:>24} {:>8} {:>22} {:>8} {:>6} {:>6}",
        "cell",
        "sealed",
        "plain",
        "liblsl",
        "added, us",
        "target",
        "sealed/liblsl",
        "target",
        "cpu/pl",
        "cpu/li"
    );
}

/// A cell's runs of the three subjects: sealed, plain, liblsl.
struct Judged {
    latency: [Vec<f64>; 3],
    cpu: [Vec<f64>; 3],
    /// What sealing adds, us.
    added: Middle,
    /// Sealed over plain liblsl.
    ratio: Middle,
}

impl Judged {
    /// `None` if no pass has all three.
    fn of(records: &Records, cell: &Cell) -> Option<Self> {
        let three = |metric: &str| {
            let values = paired_values(records, &cell.name, metric);
            let get = |label| values.get(label).cloned().filter(|values| !values.is_empty());
            Some([get(SEALED)?, get(PLAIN)?, get(OPPONENT)?])
        };
        let (latency, cpu) = (three("latency_push_p50_us")?, three("cpu_s_per_million")?);
        let [sealed, plain, liblsl] = &latency;
        let added = pairs(sealed, plain, |sealed, plain| sealed - plain);
        let ratio = pairs(sealed, liblsl, |sealed, liblsl| sealed / liblsl);
        Some(Self { latency, cpu, added, ratio })
    }

    /// Whether sealing adds no more than a microsecond or a hundredth.
    fn cheap(&self) -> Targets {
        let [_, plain, _] = &self.latency;
        Targets::of(self.added.value <= f64::max(1.0, 0.01 * median(plain)))
    }

    fn below(&self) -> Targets {
        Targets::of(self.ratio.value < 1.0)
    }

    fn print(&self, cell: &str) {
        let [sealed, plain, liblsl] = self.latency.each_ref().map(|values| median(values));
        let (added, ratio) = (&self.added, &self.ratio);
        let [cpu_sealed, cpu_plain, cpu_liblsl] = &self.cpu;
        let quotient = |to: &[f64]| pairs(cpu_sealed, to, |of, to| of / to).value;
        println!(
            "{cell:24} {sealed:7.2} {plain:7.2} {liblsl:7.2} {:24} {:>8} {:22} {:>8} {:6.3} {:6.3}",
            format!("{:+.2} [{:+.2}, {:+.2}]", added.value, added.interval.low, added.interval.high),
            self.cheap().word(),
            format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.interval.low, ratio.interval.high),
            self.below().word(),
            quotient(cpu_plain),
            quotient(cpu_liblsl),
        );
    }
}
