use core::fmt::Write;
use std::collections::BTreeMap;

use super::cell::{Cell, Direction, PATHS, Path, Plan, Shape};
use super::documented;
use super::targets::{Verdict, verdicts};

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

    /// Every cell that was measured, once.
    pub(crate) fn plans(&self) -> Vec<Plan> {
        let mut plans: Vec<Plan> = Vec::new();
        for (plan, _) in &self.cells {
            if !plans.contains(plan) {
                plans.push(*plan);
            }
        }
        plans.sort_by_key(|plan| (plan.shape.values(), plan.shape.channels, plan.name()));
        plans
    }

    /// A figure that is no cell: the median of its rounds.
    pub(crate) fn line(&self, name: &str) -> Option<f64> {
        self.lines.get(name).map(|values| median(values))
    }

    /// All figures that are no cells, with their rounds.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.lines.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// How many times as fast a cell is as another path is with the same blocks.
    pub(crate) fn times_faster(&self, plan: Plan, other: Path) -> Option<f64> {
        Some(self.typical(Plan { path: other, ..plan })? / self.typical(plan)?)
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
        for verdict in verdicts(self) {
            let word = if verdict.is_met() { "met    " } else { "NOT MET" };
            let Verdict { name, value, .. } = &verdict;
            let _ = writeln!(out, "{word} {name}: {value:.2} {} ({})", verdict.unit(), verdict.criterion());
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
        for other in plan.path.bare().into_iter().chain(plan.path.rivals().iter().copied()) {
            if let Some(times) = self.times_faster(plan, other) {
                let _ = write!(out, "  {times:.2} x {other:?}");
            }
        }
        if let Some(documented) = documented::values_per_second(plan) {
            let _ = write!(out, "  {:.1} x documented", rate / documented);
        }
        out.push('\n');
    }

    /// Seconds a block takes, by round.
    pub(crate) fn rounds(&self, plan: Plan) -> Vec<f64> {
        self.of(plan).map(Cell::typical).collect()
    }

    /// Seconds a block takes: the median over the rounds of each round's median.
    pub(crate) fn typical(&self, plan: Plan) -> Option<f64> {
        let times = self.rounds(plan);
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
