//! Ours over theirs, cell by cell and metric by metric, as a table whose colour, sign and number say the same.

use core::fmt::Write;

use super::chapter::{Chapter, Figure};
use super::{escape, words};
use crate::analysis::{Comparison, Verdict};
use crate::record::Role;
use crate::report::number;
use crate::scenario::Better;

/// What a comparison means for the reader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    Better,
    Equal,
    Unresolved,
    Worse,
}

impl Outcome {
    /// Whether the subject does better than its base.
    pub(super) fn of(comparison: &Comparison) -> Self {
        let more = comparison.ratio.median > 1.0;
        match (comparison.verdict(), comparison.metric.better) {
            (Verdict::Equivalent, _) => Self::Equal,
            (Verdict::NotResolved, _) => Self::Unresolved,
            (Verdict::Different, Better::Higher) if more => Self::Better,
            (Verdict::Different, Better::Lower) if !more => Self::Better,
            (Verdict::Different, _) => Self::Worse,
        }
    }

    /// The sign that stands beside the number.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Better => "▲",
            Self::Equal => "=",
            Self::Unresolved => "·",
            Self::Worse => "▼",
        }
    }

    /// The class that paints a cell.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Better => "good",
            Self::Worse => "bad",
            Self::Equal | Self::Unresolved => "",
        }
    }
}

/// The map of sealed against plain where sealing was measured, else of ours against theirs.
pub(super) fn overhead(chapter: &Chapter) -> Vec<Figure> {
    let pairs = [
        (Role::Schwann, Role::Opponent, "Schwann over liblsl"),
        (Role::Sealed, Role::Schwann, "Sealed over plain"),
        (Role::Sealed, Role::Opponent, "Sealed Schwann over plain liblsl"),
    ];
    pairs.into_iter().filter_map(|(subject, base, title)| map(chapter, subject, base, title)).collect()
}

fn map(chapter: &Chapter, subject: Role, base: Role, title: &str) -> Option<Figure> {
    let all: Vec<&Comparison> =
        chapter.comparisons.iter().filter(|c| (c.subject, c.base) == (subject, base)).collect();
    let mut metrics: Vec<&str> = Vec::new();
    for comparison in &all {
        if !metrics.contains(&comparison.metric.name) {
            metrics.push(comparison.metric.name);
        }
    }
    if chapter.cells.len() < 2 || metrics.is_empty() {
        return None;
    }
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr><th>cell</th>");
    for metric in &metrics {
        let _ = write!(html, "<th>{}</th>", escape(&words::metric(metric)).replace(", ", ",<br>"));
    }
    html += "</tr></thead><tbody>\n";
    for cell in &chapter.cells {
        let _ = write!(html, "<tr><td>{}</td>", escape(&cell.name));
        for metric in &metrics {
            let here = all.iter().find(|c| c.cell == cell.name && c.metric.name == *metric);
            html += &here.map_or_else(|| "<td></td>".to_owned(), |comparison| entry(comparison));
        }
        html += "</tr>\n";
    }
    html += "</tbody></table></div>\n";
    let says = words::tally(&all);
    Some(Figure { title: format!("{title}: the ratio in every cell"), says, svg: html })
}

fn entry(comparison: &Comparison) -> String {
    let outcome = Outcome::of(comparison);
    let ratio = number(comparison.ratio.median);
    format!("<td class=\"cell {}\">{} {ratio}</td>", outcome.class(), outcome.sign())
}
