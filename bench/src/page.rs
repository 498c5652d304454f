//! The published page, `docs/benchmarks.md`: what, against what, by how much, with which command, when, and from
//! which commit.
//!
//! Its template is `bench/page.md`. There `{suite; cell; metric}` is the ratio to what stands in the column before, and
//! `{suite; step; subject; name}` a step's figure.

use std::io;

use crate::analysis::compare_those;
use crate::record::{Reading, Records, Role};
use crate::report::{date, number, ran};

/// The page of the published records.
///
/// # Errors
///
/// When a figure of the page is in no record.
pub(crate) fn page(all: &[Records]) -> io::Result<String> {
    let mut out = String::new();
    for line in include_str!("../page.md").lines() {
        match line.split_once('{') {
            None => out += &format!("{line}\n"),
            Some(("", _)) => out.extend(all.iter().map(record_row)),
            Some((begun, pick)) => out += &format!("{begun}{}\n", headline(all, begun, pick)?),
        }
    }
    Ok(out)
}

/// The rest of a line, from the newest record that has its figure.
fn headline(all: &[Records], begun: &str, pick: &str) -> io::Result<String> {
    let against = begun.split('|').nth(2).unwrap_or_default().trim();
    let words: Vec<&str> = pick.trim_end_matches("} |").split("; ").collect();
    for records in all.iter().rev().filter(|records| words.first() == Some(&records.manifest.suite.as_str()))
    {
        let found = match words.as_slice() {
            [_, cell, metric] => ratio(records, cell, metric, against)?,
            [_, step, subject, name] => figure(records, (step, subject, name)),
            _ => None,
        };
        if let Some((values, figure)) = found {
            return Ok(format!("{values} | {figure} | `{}` |", command(records)));
        }
    }
    Err(io::Error::other(format!("no record has {pick:?}")))
}

/// The two values and their ratio.
fn ratio(records: &Records, cell: &str, metric: &str, against: &str) -> io::Result<Option<(String, String)>> {
    let base = match against {
        "iceoryx2" => Role::Iceoryx2,
        "liblsl, zero-copy" => Role::ZeroCopy,
        "a raw TCP socket" => Role::Raw,
        _ => Role::Opponent,
    };
    let (_, cells) = ran(records)?;
    let all = compare_those(records, &cells, |c, m| (c, m) == (cell, metric));
    let found = all.iter().find(|c| (c.subject, c.base) == (Role::Schwann, base));
    Ok(found.map(|comparison| {
        let (value, base, unit) =
            (number(comparison.value), number(comparison.base_value), crate::reading::unit_of(metric));
        let figure = format!("{} {}", comparison.ratio, comparison.outcome().sign());
        (format!("{value} vs {base} {unit}").trim_end().to_owned(), figure)
    }))
}

/// A step's figure, with its interval.
fn figure(records: &Records, wanted: (&str, &str, &str)) -> Option<(String, String)> {
    let is_it = |r: &&Reading| (&*r.step, &*r.subject, &*r.name) == wanted;
    let reading = records.readings.iter().find(is_it)?;
    let ends = format!(" [{}, {}]", number(reading.low), number(reading.high));
    let range = if reading.low < reading.high { ends } else { String::new() };
    // A ratio has no unit.
    let unit = if matches!(&*reading.unit, "x" | "times") { "" } else { &*reading.unit };
    Some((String::new(), format!("{}{range} {unit}", number(reading.median)).trim_end().to_owned()))
}

/// The command that makes such a record.
fn command(records: &Records) -> String {
    let name = records.manifest.suite.replacen('-', " ", 1);
    if records.manifest.quick { format!("{name} --quick") } else { name }
}

fn record_row(records: &Records) -> String {
    let manifest = &records.manifest;
    let (begun, command) = (date(manifest.started_at), command(records));
    let commit: String = manifest.commit.chars().take(7).collect();
    format!("| `{command}` | {begun} | {commit} | {} |\n", manifest.machine.processor)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::Tree;

    #[test]
    fn the_published_page_says_what_the_published_records_say() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let all = Records::all_at(&docs.join("benchmarks")).expect("the records are published");
        let published = std::fs::read_to_string(docs.join("benchmarks.md")).expect("the page is published");
        assert!(
            page(&all).expect("every figure has its record") == published,
            "make it again: schwann-bench page"
        );
    }

    #[test]
    fn each_published_record_names_a_committed_tree() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks");
        for records in Records::all_at(&docs).expect("the records are published") {
            assert_eq!(records.manifest.tree, Tree::Committed, "{}", records.manifest.suite);
        }
    }

    #[test]
    fn what_is_published_stays_small() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks");
        let sizes = std::fs::read_dir(docs).expect("a folder").map(|file| file.expect("a file").metadata());
        let bytes: u64 = sizes.map(|metadata| metadata.expect("of a file").len()).sum();
        assert!(bytes < 300_000, "{bytes} bytes of records");
    }
}
