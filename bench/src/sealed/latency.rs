//! Samples, sealed and plain and by the real liblsl, in the same campaign.

use std::collections::BTreeMap;
use std::io::stderr;

use core::time::Duration;

use super::{Options, Reason, Targets, lab};
use crate::campaign::{self, paired_values};
use crate::record::{Machine, Manifest, Records, Role, Subject, program, unix_time};
use crate::scenario::{Cell, NullRuns, RawBaseline, latency};
use crate::statistics::{Interval, Resampler, bca_interval, median};
use crate::transfer::stop_on_interrupt;

const SEALED: &str = "schwann-sealed";
const PLAIN: &str = "schwann";
const OPPONENT: &str = "liblsl";

/// Runs all cells and judges each.
pub(super) fn measure(options: &Options) -> Result<Targets, Reason> {
    let folder = options.folder();
    let keys = folder.join("keys");
    if !keys.exists() {
        lab::install_keys(&keys)?;
    }
    let (ours, opponent) = options.libraries()?;
    let mut sealed = Subject::library(SEALED, Role::Sealed, &ours)?;
    let keys = keys.canonicalize()?.display().to_string();
    sealed.environment = BTreeMap::from([
        ("SCHWANN_KEYS".to_owned(), keys),
        ("SCHWANN_SECURITY".to_owned(), "require".to_owned()),
    ]);
    let subjects = vec![
        sealed,
        Subject::library(PLAIN, Role::Schwann, &ours)?,
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
        program: program(),
    };
    let mut records = Records::begin_or_continue(&folder, manifest)?;
    stop_on_interrupt();
    let cells = cells(options);
    campaign::run(&cells, &mut records, &mut stderr())?;
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
    cells.retain(|cell| options.only.is_empty() || options.only.iter().any(|word| cell.name.contains(word)));
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
    let (mut added_targets, mut below_targets) = ((0, 0), (0, 0));
    let mut all = Targets::Met;
    for cell in cells {
        let of = |metric: &str| paired_values(records, &cell.name, metric);
        let (latency, cpu) = (of("latency_push_p50_us"), of("cpu_s_per_million"));
        let three = |values: &BTreeMap<String, Vec<f64>>| {
            let get = |label| values.get(label).cloned().filter(|values| !values.is_empty());
            Some([get(SEALED)?, get(PLAIN)?, get(OPPONENT)?])
        };
        let (Some([sealed, plain, liblsl]), Some([cpu_sealed, cpu_plain, cpu_liblsl])) =
            (three(&latency), three(&cpu))
        else {
            println!("{:24} no complete pass", cell.name);
            all = Targets::Missed;
            continue;
        };
        let added = pairs(&sealed, &plain, |sealed, plain| sealed - plain);
        let ratio = pairs(&sealed, &liblsl, |sealed, liblsl| sealed / liblsl);
        let limit = f64::max(1.0, 0.01 * median(&plain));
        let (cheap, below) = (Targets::of(added.value <= limit), Targets::of(ratio.value < 1.0));
        let quotient = |of: &[f64], to: &[f64]| pairs(of, to, |of, to| of / to).value;
        println!(
            "{:24} {:7.2} {:7.2} {:7.2} {:24} {:>8} {:22} {:>8} {:6.3} {:6.3}",
            cell.name,
            median(&sealed),
            median(&plain),
            median(&liblsl),
            format!("{:+.2} [{:+.2}, {:+.2}]", added.value, added.interval.low, added.interval.high),
            cheap.word(),
            format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.interval.low, ratio.interval.high),
            below.word(),
            quotient(&cpu_sealed, &cpu_plain),
            quotient(&cpu_sealed, &cpu_liblsl),
        );
        let count =
            |(met, total): (u32, u32), one: Targets| (met + u32::from(one == Targets::Met), total + 1);
        (added_targets, below_targets) = (count(added_targets, cheap), count(below_targets, below));
        all = all.and(cheap).and(below);
    }
    println!(
        "\nadded <= max(1 us, 1 %): {} of {} cells; sealed below plain liblsl: {} of {} cells",
        added_targets.0, added_targets.1, below_targets.0, below_targets.1
    );
    all
}
