//! The tables of records, as Markdown: every comparison with its statistics, every figure with its limit.
//!
//! It measures nothing, and says only what [`crate::analysis`] has decided.

use core::time::Duration;
use std::io;
use std::time::UNIX_EPOCH;

use schwann::log::Utc;

use crate::analysis::{Comparison, Outcome, compare};
use crate::record::{Manifest, Reading, Records, Role, Tree};
use crate::scenario::Cell;
use crate::suite::{Suite, find};

/// The full tables of some records.
///
/// # Errors
///
/// If a record's suite does not exist.
pub(crate) fn tables(all: &[Records]) -> io::Result<String> {
    let mut out = String::from(
        "# Measurements\n\n▲ better, ▼ worse, = equal within 5 %, · not resolved: smaller than the difference between equals \
         here. Ratios are medians over pairs of runs with their 95 % interval (bootstrap, BCa), or the range below six \
         pairs; p is of a paired t-test after Holm's correction over the suite, or of Wilcoxon's ranks; d is Cohen's for \
         pairs; \"equal\" is the p of two one-sided tests; \"needed\" are pairs that find this effect four times out of \
         five.\n\n",
    );
    for records in all {
        out += &Chapter::of(records)?.text();
    }
    Ok(out)
}

/// A record, its suite, and what follows from them.
struct Chapter<'a> {
    records: &'a Records,
    suite: &'static Suite,
    comparisons: Vec<Comparison>,
}

impl<'a> Chapter<'a> {
    fn of(records: &'a Records) -> io::Result<Self> {
        let (suite, cells) = ran(records)?;
        Ok(Self { records, suite, comparisons: compare(records, &cells) })
    }

    fn text(&self) -> String {
        let mut out = format!(
            "## {}\n\n{}. {}\n\n{}\n",
            self.suite.name,
            self.suite.about,
            circumstances(&self.records.manifest),
            self.verdict()
        );
        for fault in self.faults() {
            out += &format!("\n{fault}\n");
        }
        let shown = || self.comparisons.iter().filter(|comparison| comparison.subject != Role::Null);
        if shown().next().is_some() {
            out += "\n| cell | figure | | value | base | ratio [95 %] | | n | p (Holm) | p (ranks) | d | equal | needed | \
                    goal |\n| --- | --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
            shown().for_each(|comparison| out += &row(comparison));
        }
        if self.comparisons.is_empty() {
            out += "\n| figure | at | subject | median | unit | from | to | n | limit | |\n\
                    | --- | ---: | --- | ---: | --- | ---: | ---: | ---: | --- | --- |\n";
            self.records.readings.iter().for_each(|reading| out += &figure(reading));
        }
        out + "\n"
    }

    /// What a suite found, in a sentence or two.
    fn verdict(&self) -> String {
        let judged = self.comparisons.iter().filter_map(Comparison::reaches_goal);
        let judged: Vec<bool> =
            judged.chain(self.records.readings.iter().filter_map(|reading| reading.met)).collect();
        let mut words = Vec::new();
        if !judged.is_empty() {
            let met = judged.iter().filter(|met| **met).count();
            words.push(format!("{met} of {} goals are met.", judged.len()));
        }
        for subject in [Role::Schwann, Role::Sealed] {
            words.extend(self.tally(subject));
        }
        let null: Vec<&Comparison> = self.comparisons.iter().filter(|c| c.subject == Role::Null).collect();
        if !null.is_empty() {
            let differ: Vec<f64> =
                null.iter().map(|c| 100.0 * (c.ratio.median.ln().abs().exp() - 1.0)).collect();
            let found = null.iter().filter(|c| c.p_holm.is_some_and(|p| p < 0.05)).count();
            words.push(format!(
                "liblsl against itself differs by {}, and {found} of {} such comparisons of equals pass for different.",
                from_to(&differ, &|percent| format!("{} %", number(percent))),
                null.len()
            ));
        }
        words.join(" ")
    }

    /// How many comparisons with liblsl went which way.
    fn tally(&self, subject: Role) -> Option<String> {
        let all: Vec<Outcome> = self
            .comparisons
            .iter()
            .filter(|c| (c.subject, c.base) == (subject, Role::Opponent))
            .map(Comparison::outcome)
            .collect();
        let count = |wanted| all.iter().filter(|outcome| **outcome == wanted).count();
        let name = if subject == Role::Sealed { "Sealed Schwann" } else { "Schwann" };
        (!all.is_empty()).then(|| {
            format!(
                "Of {} comparisons of {name} with liblsl, {} are better, {} worse, {} equal within 5 %, and {} not resolved.",
                all.len(),
                count(Outcome::Better),
                count(Outcome::Worse),
                count(Outcome::Equal),
                count(Outcome::Unresolved),
            )
        })
    }

    /// What was not believed, and how restless the machine was.
    fn faults(&self) -> Vec<String> {
        let readings = &self.records.readings;
        let mut faulty: Vec<String> = readings
            .iter()
            .filter_map(|r| Some(format!("{} in {} ({})", r.subject, r.step, r.fault.as_deref()?)))
            .collect();
        faulty.dedup();
        let mut words = Vec::new();
        if !faulty.is_empty() {
            words.push(format!(
                "Runs that take no part, because they failed their own checks: {}.",
                faulty.join("; ")
            ));
        }
        let late = |name: &str| -> Vec<f64> {
            let of_name = readings.iter().filter(|reading| reading.name == name);
            of_name.flat_map(|reading| &reading.values).copied().filter(|value| !value.is_nan()).collect()
        };
        let (half, most) = (late("line_late_p50_us"), late("line_late_p99_us"));
        if !half.is_empty() {
            words.push(format!(
                "The line itself was late by {} in the median and {} at 99 %, from run to run: smaller differences are its \
                 own.",
                from_to(&half, &us),
                from_to(&most, &us)
            ));
        }
        let greatest = readings.iter().map(|reading| reading.load).fold(0.0, f64::max);
        let cores = self.records.manifest.machine.cores;
        if greatest > cores as f64 {
            words.push(format!(
                "The machine was busy: its load was up to {} on {cores} cores. Absolute times are too long; ratios stand, \
                 because all subjects took turns.",
                number(greatest)
            ));
        }
        words
    }
}

/// The suite of a record, and its cells that ran.
pub(crate) fn ran(records: &Records) -> io::Result<(&'static Suite, Vec<Cell>)> {
    let suite = find(&records.manifest.suite)
        .ok_or_else(|| io::Error::other(format!("no suite is called {}", records.manifest.suite)))?;
    let mut cells = suite.cells(crate::measure::effort(&records.manifest));
    cells.retain(|cell| records.readings.iter().any(|reading| reading.step == cell.name));
    Ok((suite, cells))
}

/// When, where and of what a record was made.
fn circumstances(manifest: &Manifest) -> String {
    let machine = &manifest.machine;
    let form = if manifest.quick { "Quick form. " } else { "" };
    let tree = match manifest.tree {
        Tree::Committed => "",
        Tree::Foreign => ", which is not in this repository",
        Tree::Uncommitted => " with changes that were never committed",
    };
    let other = manifest.other.as_ref().map_or_else(String::new, |(machine, commit)| {
        format!(
            " The other computer: {} × {}, {}, commit {commit}.",
            machine.cores, machine.processor, machine.kernel
        )
    });
    let subjects =
        manifest.subjects.iter().filter(|subject| subject.role != Role::Null && !subject.version.is_empty());
    let subjects: Vec<String> = subjects
        .map(|s| format!("{} ({})", s.label, s.version.split('/').next().unwrap_or_default()))
        .collect();
    format!(
        "{form}{}, commit {}{tree}. {} × {}, {}, {}.{other} {}",
        date(manifest.started_at),
        manifest.commit,
        machine.cores,
        machine.processor,
        machine.kernel,
        machine.memory,
        subjects.join("; ")
    )
    .trim_end()
    .to_owned()
}

fn row(comparison: &Comparison) -> String {
    let p = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |p| format!("{p:.4}"));
    let goal = comparison.goal().zip(comparison.reaches_goal()).map_or_else(String::new, |(goal, is_met)| {
        format!("{goal}: {}", if is_met { "met" } else { "**missed**" })
    });
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {goal} |\n",
        comparison.cell,
        metric(comparison.metric.name),
        against(comparison),
        number(comparison.value),
        number(comparison.base_value),
        comparison.ratio,
        comparison.outcome().sign(),
        comparison.pairs,
        p(comparison.p_holm),
        p(comparison.p_ranks),
        if comparison.d_paired.is_finite() { format!("{:.2}", comparison.d_paired) } else { "-".to_owned() },
        p(comparison.p_equal),
        comparison.pairs_needed.map_or_else(|| "-".to_owned(), |pairs| pairs.to_string()),
    )
}

fn figure(reading: &Reading) -> String {
    format!(
        "| {}: {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        reading.step,
        reading.name,
        reading.at.map_or_else(String::new, |at| at.to_string()),
        reading.subject,
        number(reading.median),
        reading.unit,
        number(reading.low),
        number(reading.high),
        reading.samples,
        reading.criterion.as_deref().unwrap_or_default(),
        reading.verdict().map_or("", crate::record::Verdict::word),
    )
}

/// The compared pairs.
fn against(comparison: &Comparison) -> String {
    let base = match comparison.base {
        Role::Iceoryx2 => "iceoryx2",
        Role::Raw => "raw socket",
        Role::Schwann => return "sealed / plain".to_owned(),
        Role::ZeroCopy => "liblsl zero-copy",
        Role::Null | Role::Opponent | Role::Sealed => "liblsl",
    };
    format!("{} / {base}", if comparison.subject == Role::Sealed { "sealed" } else { "Schwann" })
}

/// The minute, UTC.
pub(crate) fn date(unix: u64) -> String {
    let whole = Utc(UNIX_EPOCH + Duration::from_secs(unix)).to_string();
    let minute = whole.rsplit_once(':').map_or(whole.as_str(), |(minute, _)| minute);
    format!("{} UTC", minute.replace('T', " "))
}

/// A cell's figure in words, its unit last.
pub(crate) fn metric(name: &str) -> String {
    if name == "cpu_s_per_million" {
        return "CPU seconds per million samples".to_owned();
    }
    let unit = crate::reading::unit_of(name);
    let ends = ["_us", "_mb_per_s", "_samples_per_s", "_percent", "_mb"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let mut words = stem.replace("latency_", "latency from ").replace('_', " ");
    for (short, long) in [("p999", "99.9 %"), ("p99", "99 %"), ("p90", "90 %"), ("p50", "median")] {
        words = words.replace(short, long);
    }
    if unit.is_empty() { words } else { format!("{words}, {unit}") }
}

/// Microseconds, or milliseconds when they are many.
fn us(value: f64) -> String {
    if value >= 1000.0 { format!("{} ms", number(value / 1e3)) } else { format!("{} µs", number(value)) }
}

/// A range in words; one value when its ends read alike.
fn from_to(values: &[f64], show: &dyn Fn(f64) -> String) -> String {
    let low = show(values.iter().copied().fold(f64::INFINITY, f64::min));
    let high = show(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Four digits are more than any of these figures deserves.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests;
