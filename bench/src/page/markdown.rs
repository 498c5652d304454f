//! The summary as Markdown: what `docs/benchmarks.md` is made from.

use core::fmt::Write;

use super::chapter::Chapter;
use super::heat::Outcome;
use super::tables::{goal, spread};
use super::words;
use crate::analysis::Comparison;
use crate::record::{Role, Verdict};
use crate::report::number;

/// Every chapter: its verdict, the ratios to liblsl, and the readings with a limit.
pub(super) fn summary(chapters: &[Chapter]) -> String {
    let mut out = String::from("# Measurements\n\n");
    let manifest = &chapters[0].records.manifest;
    let machine = &manifest.machine;
    put(
        &mut out,
        format_args!(
            "{} × {}, {}, {}. Program {}. From {}. Made by `schwann-bench report`; the page with the plots is \
         `report.html` beside the records.\n",
            machine.cores,
            machine.processor,
            machine.kernel,
            machine.memory,
            manifest.program,
            words::date(manifest.started_at),
        ),
    );
    put(
        &mut out,
        format_args!(
            "▲ better, ▼ worse, = equal within 5 %, · not resolved: smaller than the difference between equals here.\n"
        ),
    );
    for chapter in chapters {
        chapter_summary(&mut out, chapter);
    }
    out
}

fn chapter_summary(out: &mut String, chapter: &Chapter) {
    put(
        out,
        format_args!(
            "## {}\n\n{}. {}\n\n{}\n",
            chapter.name(),
            sentence(chapter.about()),
            words::made(&chapter.records.manifest),
            words::verdict(chapter)
        ),
    );
    for fault in words::faults(&chapter.records) {
        put(out, format_args!("{fault}\n"));
    }
    let shown: Vec<&Comparison> = chapter.comparisons.iter().filter(|c| c.subject != Role::Null).collect();
    if !shown.is_empty() {
        *out += "| cell | figure | | value | base | ratio [95 %] | | goal |\n| --- | --- | --- | ---: | ---: | ---: | --- | --- |\n";
        for comparison in shown {
            comparison_row(out, comparison);
        }
        *out += "\n";
    }
    if !chapter.records.readings.is_empty() {
        *out += "| figure | subject | median | unit | from | to | limit | |\n| --- | --- | ---: | --- | ---: | ---: | --- | --- |\n";
        for reading in &chapter.records.readings {
            let met = match reading.verdict() {
                Some(Verdict::Met) => "met",
                Some(Verdict::Missed) => "**missed**",
                Some(Verdict::NotResolved) => "not resolved",
                None => "",
            };
            put(
                out,
                format_args!(
                    "| {}: {} | {} | {} | {} | {} | {} | {} | {met} |",
                    reading.step,
                    reading.name,
                    reading.subject,
                    number(reading.median),
                    reading.unit,
                    number(reading.low),
                    number(reading.high),
                    reading.criterion.as_deref().unwrap_or_default(),
                ),
            );
        }
        *out += "\n";
    }
}

fn comparison_row(out: &mut String, comparison: &Comparison) {
    let goal = goal(comparison).map_or_else(String::new, |goal| {
        let met = comparison.metric.better.reaches(comparison.ratio.median, goal);
        format!("{goal}: {}", if met { "met" } else { "**missed**" })
    });
    put(
        out,
        format_args!(
            "| {} | {} | {} | {} | {} | {} | {} | {goal} |",
            comparison.cell,
            words::metric(comparison.metric.name),
            words::against(comparison),
            number(comparison.value),
            number(comparison.base_value),
            spread(comparison),
            Outcome::of(comparison).sign(),
        ),
    );
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn put(out: &mut String, line: core::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{line}");
}
