use core::fmt::Write;
use std::collections::BTreeMap;

use super::cell::{Cell, Direction, PATHS, Path, Plan, Shape};
use super::documented;

/// What all rounds measured.
#[derive(Default)]
pub(crate) struct Report {
    cells: Vec<(Plan, Cell)>,
    lines: BTreeMap<String, Vec<f64>>,
}

impl Report {
    pub(crate) fn add(&mut self, plan: Plan, cell: Cell) {
        self.cells.push((plan, cell));
    }

    pub(crate) fn add_lines(&mut self, lines: Vec<(String, f64)>) {
        for (name, value) in lines {
            self.lines.entry(name).or_default().push(value);
        }
    }

    /// Tables for people: values/s by the median block, and the ratios that the targets name.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        for direction in super::cell::DIRECTIONS {
            self.direction_table(direction, &mut out);
        }
        for (name, values) in &self.lines {
            let (low, high) = range(values);
            let _ = writeln!(out, "{name}: {:.1} ({low:.1}…{high:.1})", median(values));
        }
        out
    }

    /// One record per cell and round.
    pub(crate) fn json(&self) -> String {
        let cells: Vec<_> = self.cells.iter().map(|(plan, cell)| {
            serde_json::json!({
                "name": plan.name(), "blocks": cell.blocks, "seconds": cell.elapsed.as_secs_f64(),
                "values_per_second": cell.values_per_second(plan.shape),
                "median_us": cell.median.as_secs_f64() * 1e6, "slowest_us": cell.slowest.as_secs_f64() * 1e6,
            })
        }).collect();
        format!("{:#}\n", serde_json::json!({ "cells": cells, "lines": self.lines }))
    }

    fn direction_table(&self, direction: Direction, out: &mut String) {
        let mut shapes: Vec<Shape> = Vec::new();
        for (plan, _) in self.cells.iter().filter(|(plan, _)| plan.direction == direction) {
            if !shapes.contains(&plan.shape) {
                shapes.push(plan.shape);
            }
        }
        shapes.sort_by_key(|shape| (shape.values(), shape.channels));
        for shape in shapes {
            let _ = writeln!(out, "{direction:?} {}x{}", shape.channels, shape.samples);
            for path in PATHS {
                self.path_line(Plan { path, direction, shape }, out);
            }
        }
    }

    fn path_line(&self, plan: Plan, out: &mut String) {
        let Some(seconds) = self.typical(plan) else { return };
        let rate = plan.shape.values() as f64 / seconds;
        let mut slowest: Vec<f64> = self.of(plan).map(|cell| cell.slowest.as_secs_f64() * 1e6).collect();
        slowest.sort_by(f64::total_cmp);
        let slowest = slowest.last().copied().unwrap_or(f64::NAN);
        let name = format!("{:?}", plan.path);
        let micros = seconds * 1e6;
        let _ = write!(out, "  {name:<20} {rate:>9.2e} values/s {micros:>9.2} us (slowest {slowest:.0})");
        let against: &[Path] = match plan.path {
            Path::Tcp | Path::OldClientTcp => &[Path::RawTcp, Path::OriginalTcp],
            Path::TcpStateless | Path::OldClientStateless => &[Path::OriginalStateless],
            Path::Unix => &[Path::RawUnix, Path::OriginalUnix],
            Path::Memory => &[Path::RawMemory],
            _ => &[],
        };
        for other in against {
            if let Some(theirs) = self.typical(Plan { path: *other, ..plan }) {
                let _ = write!(out, "  {:.2} x {other:?}", theirs / seconds);
            }
        }
        if let Some(documented) = documented::values_per_second(plan) {
            let _ = write!(out, "  {:.1} x documented", rate / documented);
        }
        out.push('\n');
    }

    /// Seconds a block takes: the median over the rounds of each round's median.
    fn typical(&self, plan: Plan) -> Option<f64> {
        let times: Vec<f64> = self.of(plan).map(Cell::typical).collect();
        (!times.is_empty()).then(|| median(&times))
    }

    fn of(&self, plan: Plan) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |(other, _)| *other == plan).map(|(_, cell)| cell)
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}
