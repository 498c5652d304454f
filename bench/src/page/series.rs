//! Latency over time, with the line that would betray a drift.

use super::chapter::{Chapter, Figure};
use super::chart::{Chart, Frame, Spacing};
use super::words;
use crate::record::{Role, Run};
use crate::scenario::Cell;
use crate::scenario::drift::Drift;
use crate::statistics::median;

/// A subject's latency over the time of a run, the median over its runs.
struct Series {
    role: Role,
    label: String,
    points: Vec<(f64, f64)>,
}

/// The first cell whose runs tell their latency over time.
pub(super) fn drift(chapter: &Chapter) -> Option<Figure> {
    let has =
        |cell: &&Cell| chapter.records.believed(&cell.name).any(|run| run.figures.series.contains_key(NAME));
    let cell = chapter.cells.iter().find(has)?;
    let mut all: Vec<Series> = chapter
        .records
        .manifest
        .subjects
        .iter()
        .filter(|subject| subject.role != Role::Null)
        .map(|subject| Series {
            role: subject.role,
            label: subject.label.clone(),
            points: middle(
                &chapter
                    .records
                    .believed(&cell.name)
                    .filter(|r| r.subject == subject.label)
                    .collect::<Vec<_>>(),
            ),
        })
        .filter(|series| series.points.len() > 1)
        .collect();
    all.sort_by_key(|series| series.role);
    let values = || all.iter().flat_map(|series| &series.points);
    let end = values().map(|point| point.0).fold(0.0, f64::max);
    let high = values().map(|point| point.1).fold(0.0, f64::max);
    let mut chart = Chart::new(&Frame {
        x: (Spacing::Even, 0.0, end, "seconds since the run's first sample"),
        y: (Spacing::Even, 0.0, high * 1.1, "median latency of the stretch, µs"),
    });
    let mut drifts = Vec::new();
    for series in &all {
        chart.marks(series.role, &series.points);
        if let Some(drift) = Drift::of(&series.points) {
            chart.line(series.role, &fitted(&series.points, &drift));
            drifts.push((series.label.clone(), drift));
        }
        chart.name(series.role, &series.label);
    }
    let says = words::drift(&drifts);
    Some(Figure { title: format!("Over time: {}", cell.about), svg: chart.finish(&says), says })
}

/// The median of the runs, stretch by stretch.
fn middle(runs: &[&Run]) -> Vec<(f64, f64)> {
    let series: Vec<_> = runs.iter().filter_map(|run| run.figures.series.get(NAME)).collect();
    let length = series.iter().map(|points| points.len()).min().unwrap_or(0);
    let at = |n: usize, pick: fn(&(f64, f64)) -> f64| {
        median(&series.iter().filter_map(|points| points.get(n)).map(pick).collect::<Vec<_>>())
    };
    (0..length).map(|n| (at(n, |point| point.0), at(n, |point| point.1))).collect()
}

/// The ends of the drift line.
fn fitted(points: &[(f64, f64)], drift: &Drift) -> Vec<(f64, f64)> {
    let count = points.len() as f64;
    let x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let ends = points.first().into_iter().chain(points.last());
    ends.map(|point| (point.0, y + drift.us_per_minute / 60.0 * (point.0 - x))).collect()
}

const NAME: &str = "latency_push";
