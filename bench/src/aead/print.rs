//! Prints how fast the AEAD engine is against the other libraries (built with `--features peers`).
//!
//! - `schwann-bench aead table [SIZE,…] [BATCH,…] [ROUNDS] [KERNEL,…]`: time per message by size and batch; `mixed` and
//!   `mixed13` are sizes, too: 64 to 1,500 bytes, without and with a header of 13
//! - `schwann-bench aead table sweep`: 128 KiB whole and in chunks, and what a call costs
//! - `schwann-bench aead table workers`: the same chunks on several workers, by strategy
//! - `schwann-bench aead table agree [CASES] [all]`: whether every kernel, and the first or all of the peers, make the same
//!   bytes

use std::process::ExitCode;

use schwann_aead::Kernel;

use super::goals::{Goal, goals};
use super::{
    Contender, Engine, Figure, Plan, Probe, Restless, Workload, agree, measure, mixed, sweep, workers,
};

/// Prints what the arguments ask for, and says how the process should end.
pub fn run(arguments: impl Iterator<Item = String>) -> ExitCode {
    let mut arguments = arguments.peekable();
    match arguments.next_if(|word| ["agree", "sweep", "workers"].contains(&word.as_str())).as_deref() {
        Some("agree") => {
            let cases = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
            check(cases, arguments.next().is_some())
        }
        Some("sweep") => ended(sweep::print()),
        Some(_) => {
            workers::print();
            ExitCode::SUCCESS
        }
        None => ended(cells(arguments)),
    }
}

/// Says in words why there are no figures.
fn ended(outcome: Result<(), Restless>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(restless) => {
            eprintln!("{restless}");
            ExitCode::FAILURE
        }
    }
}

/// Time per message, for every contender.
fn cells(mut arguments: impl Iterator<Item = String>) -> Result<(), Restless> {
    let sizes = arguments.next().unwrap_or_else(|| "64,264,512,1024,4096,16384,131072,mixed,mixed13".into());
    let batches = numbers(arguments.next(), &[1, 2, 4, 8, 16, 64]);
    let rounds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(9);
    let wanted = arguments.next();
    let kernels: Vec<Kernel> = Kernel::available()
        .filter(|kernel| {
            wanted.as_ref().is_none_or(|names| names.split(',').any(|name| name == kernel.name()))
        })
        .collect();
    let mut probe = Probe::new();
    #[cfg(feature = "peers")]
    if let Some(reason) = super::why_no_ipsec_mb() {
        eprintln!("without ipsec-mb: {reason}");
    }
    for size in sizes.split(',') {
        let most = batches.iter().copied().max().unwrap_or(1);
        let (lengths, aad) = match size {
            "mixed" => (mixed::lengths(), 0),
            "mixed13" => (mixed::lengths(), 13),
            _ => {
                let size = size.parse().unwrap_or(512_usize).max(1);
                (vec![size; (131_072 / size).clamp(1, 256).max(most)], 0)
            }
        };
        let mut work = Workload::new(lengths.iter().copied(), aad);
        let passes = if work.bytes() > 1 << 19 { 4 } else { 8 };
        let mut contenders = contenders(&kernels, &batches);
        contenders.extend(again());
        let figures = measure(&mut contenders, &mut work, Plan { rounds, passes }, &mut probe)?;
        print(size, work.bytes() as f64 / lengths.len() as f64, &figures);
        // Mixed lengths have no goals of their own against peers, but must not be below them.
        goals(size.parse().unwrap_or(0), &figures).iter().for_each(verdict);
        if size.starts_with("mixed") {
            kernels.iter().try_for_each(|&kernel| share_of_equal(kernel, rounds))?;
        }
    }
    Ok(())
}

fn verdict(goal: &Goal) {
    let word = if goal.is_met() { "met" } else { "NOT MET" };
    println!(
        "{:24} {:44} {:5.2} ± {:.2}  {word}: >= {}",
        goal.subject,
        goal.name,
        goal.ratio,
        goal.ratio * goal.spread,
        goal.at_least
    );
}

/// Mixed lengths against equal ones, of one kernel.
fn share_of_equal(kernel: Kernel, rounds: usize) -> Result<(), Restless> {
    for share in mixed::shares(kernel, rounds)? {
        for (direction, shares) in [("seal", &share.seal), ("open", &share.open)] {
            let [low, median, high] = [0, shares.len() / 2, shares.len() - 1].map(|i| 100.0 * shares[i]);
            let word = match share.is_judged() {
                false => "",
                true if median >= 100.0 * mixed::AT_LEAST => "  met: >= 85 %",
                true => "  NOT MET: >= 85 %",
            };
            println!(
                "{:24} {direction}, headers of {:2} B: {median:.1} % of equal lengths' speed ({low:.1} to {high:.1}){word}",
                share.subject, share.aad
            );
        }
    }
    Ok(())
}

/// Whether every kernel and the first peer, or all, make the same bytes.
fn check(cases: usize, all: bool) -> ExitCode {
    let kernels: Vec<Kernel> = Kernel::available().collect();
    let mut contenders = contenders(&kernels, if all { &[1, 5, 64] } else { &[64] });
    if !all {
        let peers = contenders.len() - kernels.len();
        contenders.drain(peers.min(1)..peers);
    }
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
    match agree(&mut contenders, cases, seed) {
        Ok(count) => {
            println!("{count} messages: all agree");
            ExitCode::SUCCESS
        }
        Err(difference) => {
            eprintln!("seed {seed}: {difference}");
            ExitCode::FAILURE
        }
    }
}

/// Reads `1,2,3`, or falls back on what the tables need.
fn numbers(text: Option<String>, default: &[usize]) -> Vec<usize> {
    text.map_or_else(
        || default.to_vec(),
        |text| text.split(',').filter_map(|part| part.parse().ok()).collect(),
    )
}

/// The peers, then every kernel at every batch size.
fn contenders(kernels: &[Kernel], batches: &[usize]) -> Vec<Box<dyn Contender>> {
    #[cfg(feature = "peers")]
    let mut contenders = super::peers();
    #[cfg(not(feature = "peers"))]
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    for &kernel in kernels {
        contenders
            .extend(batches.iter().map(|&batch| Box::new(Engine::new(kernel, batch)) as Box<dyn Contender>));
    }
    contenders
}

/// One of the peers a second time: what differs less than these two do is no difference.
fn again() -> impl Iterator<Item = Box<dyn Contender>> {
    contenders(&[], &[]).into_iter().filter(|contender| contender.name() == "ring")
}

fn print(title: &str, size: f64, figures: &[Figure]) {
    let best = |pick: fn(&Figure) -> f64| {
        figures.iter().filter(|figure| !figure.name.starts_with("schwann")).map(pick).fold(f64::MAX, f64::min)
    };
    let (best_seal, best_open) = (best(|figure| figure.seal), best(|figure| figure.open));
    println!(
        "\n{title} B                          seal ns   ratio   open ns   ratio   MB/s   spread  accepted"
    );
    for figure in figures {
        println!(
            "{:30} {:9.1} {:7.2} {:9.1} {:7.2} {:6.0} {:6.1} %  {}/{}",
            figure.name,
            figure.seal,
            best_seal / figure.seal,
            figure.open,
            best_open / figure.open,
            size * 1e3 / figure.seal,
            figure.spread * 100.0,
            figure.accepted.0,
            figure.accepted.1,
        );
    }
}
