//! The page of made-up records: complete, self-contained, and true to them.

use std::collections::BTreeMap;

use super::*;
use crate::record::{Machine, Manifest, Place, Role, Run, Subject};
use crate::scenario::Figures;
use crate::workload::Transport;

fn subject(label: &str, role: Role) -> Subject {
    Subject {
        label: label.to_owned(),
        role,
        transport: Transport::Tcp,
        version: "1 <2>".to_owned(),
        environment: BTreeMap::new(),
    }
}

fn manifest() -> Manifest {
    Manifest {
        suite: "lsl-latency".to_owned(),
        quick: true,
        scale: 1.0,
        subjects: vec![
            subject("liblsl", Role::Opponent),
            subject("liblsl-2", Role::Null),
            subject("raw-tcp", Role::Raw),
            subject("schwann", Role::Schwann),
        ],
        seed: 1,
        blocks: 4,
        started_at: 1_795_305_540,
        machine: Machine {
            processor: "P & Q".to_owned(),
            cores: 2,
            governor: "performance".to_owned(),
            kernel: "Linux 6".to_owned(),
            memory: "1 GB".to_owned(),
        },
        other: None,
        program: "0.1.0".to_owned(),
    }
}

/// Latency of `base` microseconds, a little different from run to run.
fn run(cell: &str, label: &str, block: u32, pass: u32, base: f64) -> Run {
    let p50 = base * (1.0 + 0.01 * f64::from(block) - 0.005 * f64::from(pass));
    let mut figures = Figures::default();
    for metric in ["latency_push_p50_us", "latency_push_p99_us", "push_p50_us", "cpu_s_per_million"] {
        figures.values.insert(metric.to_owned(), p50);
    }
    figures
        .histograms
        .insert("latency_push".to_owned(), vec![(p50 as u64 * 1000, 90), (p50 as u64 * 3000, 10)]);
    figures.series.insert("latency_push".to_owned(), (0..20).map(|n| (f64::from(n), p50)).collect());
    let place = Place { cell: cell.to_owned(), block, position: 0, pass };
    Run { place, subject: label.to_owned(), started_at: 0, load: 0.1, figures, fault: None }
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("schwann-page-{name}-{}", std::process::id()));
    let mut records = Records::begin_or_continue(&folder, manifest()).expect("a new folder");
    for cell in ["latency-64ch-1000hz-1in", "latency-8ch-1000hz-1in"] {
        for (block, pass) in (0..4).flat_map(|block| [(block, 0), (block, 1)]) {
            for (label, base) in
                [("liblsl", 120.0), ("liblsl-2", 121.0), ("raw-tcp", 45.0), ("schwann", 55.0)]
            {
                records.add(run(cell, label, block, pass, base)).expect("written");
            }
        }
    }
    folder
}

#[test]
fn the_page_needs_nothing_but_itself_and_says_what_the_records_say() {
    let folder = folder("whole");
    write(&folder).expect("a report");
    let page = fs::read_to_string(folder.join("report.html")).expect("a page");
    let summary = fs::read_to_string(folder.join("report.md")).expect("a summary");
    _ = fs::remove_dir_all(&folder);
    for foreign in ["http://", "https://", "<script", "url(", "NaN", "inf"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("P &amp; Q") && page.contains("1 &lt;2&gt;"), "text is escaped");
    for shown in ["The shape of latency", "One-way latency", "Over time", "Sweep: median latency", "Goals"] {
        assert!(page.contains(shown), "{shown}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("role=\"img\" aria-label=").count());
    // 55 of 120.
    assert!(page.contains("0.46 times liblsl's"), "{page}");
    assert!(
        summary.contains("| latency-64ch-1000hz-1in | latency from push median, µs | Schwann / liblsl |")
    );
    assert!(summary.contains("0.5: met"), "{summary}");
}

#[test]
fn a_line_that_was_late_itself_is_told() {
    let folder = folder("late");
    let mut records = Records::open(&folder).expect("records");
    for (block, late) in [(7, 20.0), (8, 1500.0)] {
        let mut late_run = run("latency-8ch-1000hz-1in", "schwann", block, 0, 55.0);
        for name in ["line_late_p50_us", "line_late_p99_us"] {
            late_run.figures.values.insert(name.to_owned(), late);
        }
        records.add(late_run).expect("written");
    }
    write(&folder).expect("a report");
    let summary = fs::read_to_string(folder.join("report.md")).expect("a summary");
    _ = fs::remove_dir_all(&folder);
    assert!(summary.contains("late by 20.00 µs to 1.50 ms in the median"), "{summary}");
}

#[test]
fn a_folder_of_suites_gives_one_page_and_an_empty_one_an_error() {
    let inner = folder("many");
    let outer = inner.with_extension("outer");
    fs::create_dir_all(&outer).expect("a folder");
    assert!(write(&outer).is_err());
    fs::rename(&inner, outer.join("lsl-latency")).expect("moved");
    write(&outer).expect("a report");
    let page = fs::read_to_string(outer.join("report.html")).expect("a page");
    _ = fs::remove_dir_all(&outer);
    assert!(page.contains("<section id=\"lsl-latency\">"));
}
