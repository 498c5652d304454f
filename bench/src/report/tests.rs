//! Tables of made-up records, which they must tell truly.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::record::{Machine, Subject};
use crate::suite::{Depth, Effort};
use crate::workload::Transport;

fn manifest(tree: Tree) -> Manifest {
    let subject = |(label, role): (&str, Role)| Subject {
        label: label.to_owned(),
        role,
        transport: Transport::Tcp,
        version: "1".to_owned(),
        environment: BTreeMap::new(),
    };
    let subjects = [
        ("liblsl", Role::Opponent),
        ("liblsl-2", Role::Null),
        ("raw-tcp", Role::Raw),
        ("schwann", Role::Schwann),
    ];
    Manifest {
        suite: "lsl-latency".to_owned(),
        quick: true,
        scale: 1.0,
        subjects: subjects.map(subject).into(),
        seed: 1,
        blocks: 4,
        started_at: 1_795_305_540,
        machine: Machine {
            processor: "P".to_owned(),
            cores: 2,
            governor: "performance".to_owned(),
            kernel: "Linux 6".to_owned(),
            memory: "1 GB".to_owned(),
        },
        other: None,
        commit: "0123abc".to_owned(),
        tree,
    }
}

/// A record of one cell with eight passes of four subjects; the folder is the test's own.
fn records(name: &str, tree: Tree) -> (PathBuf, Records) {
    let folder = std::env::temp_dir().join(format!("schwann-report-{name}-{}", std::process::id()));
    let mut records = Records::begin_or_continue(&folder, manifest(tree)).expect("a new folder");
    for pass in 0..8 {
        for (label, base) in [("liblsl", 120.0), ("liblsl-2", 121.0), ("raw-tcp", 45.0), ("schwann", 55.0)] {
            // With five digits, as a published record has.
            let p50 = (base * 1000.0 * (1.0 + 0.005 * f64::from(pass))).round() / 1000.0;
            let of = |metric| Reading::of_pass(CELL, label, metric, (pass, p50));
            records
                .add(["latency_push_p50_us", "push_p50_us", "late_p50_us"].map(of).into())
                .expect("written");
        }
    }
    (folder, records)
}

const CELL: &str = "latency-64ch-1000hz-1in";

#[test]
fn the_tables_say_what_the_record_says_and_so_does_what_is_published_of_it() {
    let (folder, records) = records("whole", Tree::Committed);
    let all = tables(&[records]).expect("tables");
    // 55 of 120.
    let row = "| latency-64ch-1000hz-1in | latency from push median, µs | Schwann / liblsl | 55.96 | 122.1 | \
               0.458 [0.458, 0.458] | ▲ | 8 |";
    assert!(all.contains(row) && all.contains("| 0.5: met |"), "{all}");
    assert!(all.contains("2026-11-21 23:59 UTC, commit 0123abc. 2 × P"), "{all}");
    let published = folder.join("published.tsv");
    let whole = Records::all_at(&folder).expect("it is there").remove(0);
    let suite = find("lsl-latency").expect("a suite");
    whole.publish(&suite.cells(Effort { depth: Depth::Quick, scale: 1.0 }), &published).expect("written");
    let summary = Records::open(&published).expect("readable");
    assert_eq!(summary.readings.len(), 8, "a line for each subject and metric");
    assert_eq!(tables(&[summary]).expect("tables"), all);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_trial_is_not_published() {
    let (folder, records) = records("trial", Tree::Uncommitted);
    let refused = records.publish(&[], &folder.join("published.tsv")).expect_err("a trial");
    assert!(refused.to_string().contains("commit what was changed"), "{refused}");
    assert!(!folder.join("published.tsv").exists());
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_campaign_goes_on_where_it_stopped_but_not_with_another_commit() {
    let (folder, before) = records("continued", Tree::Committed);
    let continued = Records::begin_or_continue(&folder, manifest(Tree::Committed)).expect("the same");
    let lines = |records: &Records| records.readings.iter().map(Reading::line).collect::<Vec<_>>();
    assert_eq!(lines(&continued), lines(&before));
    assert!(continued.has(CELL, "schwann", 7) && !continued.has(CELL, "schwann", 8));
    let other = Manifest { commit: "fedcba9".to_owned(), ..manifest(Tree::Committed) };
    assert!(Records::begin_or_continue(&folder, other).is_err());
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_line_that_was_late_itself_is_told() {
    let (folder, mut records) = records("late", Tree::Committed);
    for (pass, late) in [(0, 20.0), (1, 1500.0)] {
        let of = |name| Reading::of_pass(CELL, "schwann", name, (pass, late));
        records.add(["line_late_p50_us", "line_late_p99_us"].map(of).into()).expect("written");
    }
    let all = tables(&[records]).expect("tables");
    let _ = fs::remove_dir_all(&folder);
    assert!(all.contains("late by 20.00 µs to 1.50 ms in the median"), "{all}");
}

#[test]
fn metrics_read_as_words_with_their_unit() {
    assert_eq!(metric("latency_push_p99_us"), "latency from push 99 %, µs");
    assert_eq!(metric("delivered_mb_per_s"), "delivered, MB/s");
    assert_eq!(metric("cpu_s_per_million"), "CPU seconds per million samples");
}
