//! One suite's part of the report.

use std::io;

use crate::analysis::{Comparison, compare};
use crate::record::Records;
use crate::scenario::Cell;
use crate::suite::{Kind, Suite, find};

use super::{escape, heat, plots, readings, series, tables, words};

/// A suite with its records, and what follows from them.
pub(super) struct Chapter {
    pub(super) records: Records,
    pub(super) suite: &'static Suite,
    /// None for a suite of steps.
    pub(super) cells: Vec<Cell>,
    pub(super) comparisons: Vec<Comparison>,
}

/// A drawing and the sentence that says what it shows.
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) says: String,
    pub(super) svg: String,
}

impl Chapter {
    /// Reads a suite's records.
    pub(super) fn of(records: Records) -> io::Result<Self> {
        let unknown = || io::Error::other(format!("no suite is called {}", records.manifest.suite));
        let suite = find(&records.manifest.suite).ok_or_else(unknown)?;
        let cells = match &suite.kind {
            Kind::Remote(cells) | Kind::Transfers(cells) => cells(crate::measure::effort(&records.manifest)),
            Kind::Steps(..) => Vec::new(),
        };
        let ran = |cell: &Cell| records.runs.iter().any(|run| run.place.cell == cell.name);
        let cells: Vec<Cell> = cells.into_iter().filter(ran).collect();
        let comparisons = compare(&records, &cells);
        Ok(Self { records, suite, cells, comparisons })
    }

    pub(super) fn name(&self) -> &str {
        self.suite.name
    }

    pub(super) fn about(&self) -> &str {
        self.suite.about
    }

    /// The chapter as a section of the page.
    pub(super) fn html(&self) -> String {
        let figures: String = self.figures().iter().map(Figure::html).collect();
        let faults: String =
            words::faults(&self.records).iter().map(|fault| format!("<p>{}</p>", escape(fault))).collect();
        format!(
            "<section id=\"{name}\">\n<h2>{name}</h2>\n<p class=\"faint\">{about}. {made}</p>\n<p class=\"verdict\">{verdict}</p>\n\
             {faults}{goals}{figures}{tables}</section>\n",
            name = self.name(),
            about = escape(self.about()),
            made = escape(&words::made(&self.records.manifest)),
            verdict = escape(&words::verdict(self)),
            goals = tables::goals(self),
            tables = tables::all(self),
        )
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = plots::distributions(self);
        figures.extend(series::drift(self));
        figures.extend(plots::sweeps(self));
        figures.extend(plots::against_the_limit(self));
        figures.extend(heat::overhead(self));
        figures.extend(readings::figures(&self.records));
        figures
    }
}

impl Figure {
    fn html(&self) -> String {
        format!(
            "<figure><figcaption><h3>{}</h3><p>{}</p></figcaption>\n{}</figure>\n",
            escape(&self.title),
            escape(&self.says),
            self.svg
        )
    }
}
