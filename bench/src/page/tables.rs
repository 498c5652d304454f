//! The numbers behind the drawings.

use core::fmt::Write;

use super::chapter::Chapter;
use super::heat::Outcome;
use super::{escape, words};
use crate::analysis::Comparison;
use crate::record::Role;
use crate::report::number;

/// The goal of a comparison, if it has one: the ratio to reach.
pub(super) fn goal(comparison: &Comparison) -> Option<f64> {
    match (comparison.subject, comparison.base) {
        (Role::Schwann, Role::Opponent) => comparison.metric.goal,
        (Role::Schwann, Role::Raw) => comparison.metric.goal_raw,
        _ => None,
    }
}

/// The project's goals, met and missed.
pub(super) fn goals(chapter: &Chapter) -> String {
    let mut rows = String::new();
    for comparison in &chapter.comparisons {
        let Some(goal) = goal(comparison) else { continue };
        let met = comparison.metric.better.reaches(comparison.ratio.median, goal);
        let (class, word) = if met { ("good", "✓ met") } else { ("bad", "✗ missed") };
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{goal}</td><td class=\"cell {class}\">{word}</td></tr>",
            escape(&comparison.cell),
            escape(&words::metric(comparison.metric.name)),
            words::against(comparison),
            spread(comparison),
        );
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<h3>Goals</h3>\n<div class=\"scroll\"><table><thead><tr><th>cell</th><th>figure</th><th>against</th>\
         <th>ratio</th><th>goal</th><th></th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Every comparison with all its statistics.
pub(super) fn all(chapter: &Chapter) -> String {
    if chapter.comparisons.is_empty() {
        return String::new();
    }
    let rows: String = chapter.comparisons.iter().map(row).collect();
    format!(
        "<details><summary>All {} comparisons with their statistics</summary>\n<div class=\"scroll\"><table><thead><tr>\
         <th>cell</th><th>figure</th><th>against</th><th>value</th><th>base</th><th>ratio [95 %]</th><th>n</th>\
         <th>t</th><th>p (Holm)</th><th>p (ranks)</th><th>d paired</th><th>d pooled</th><th>p equal</th>\
         <th>pairs needed</th><th></th></tr></thead><tbody>\n{rows}</tbody></table></div></details>\n",
        chapter.comparisons.len()
    )
}

fn row(comparison: &Comparison) -> String {
    let outcome = Outcome::of(comparison);
    let p = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |p| format!("{p:.4}"));
    let real = |value: f64| if value.is_finite() { format!("{value:.2}") } else { "-".to_owned() };
    format!(
        "<tr><td>{cell}</td><td>{metric}</td><td>{against}</td><td>{value}</td><td>{base}</td><td>{ratio}</td><td>{n}</td>\
         <td>{t}</td><td>{p_holm}</td><td>{p_ranks}</td><td>{paired}</td><td>{pooled}</td><td>{equal}</td><td>{needed}</td>\
         <td class=\"cell {class}\">{sign}</td></tr>\n",
        cell = escape(&comparison.cell),
        metric = escape(&words::metric(comparison.metric.name)),
        against = words::against(comparison),
        value = number(comparison.value),
        base = number(comparison.base_value),
        ratio = spread(comparison),
        n = comparison.pairs,
        t = comparison.t.map_or_else(|| "-".to_owned(), |t| real(t.t)),
        p_holm = p(comparison.p_holm),
        p_ranks = p(comparison.p_ranks),
        paired = real(comparison.d_paired),
        pooled = real(comparison.d_pooled),
        equal = p(comparison.p_equal),
        needed = comparison.pairs_needed.map_or_else(|| "-".to_owned(), |pairs| pairs.to_string()),
        class = outcome.class(),
        sign = outcome.sign(),
    )
}

/// A ratio with its interval.
pub(super) fn spread(comparison: &Comparison) -> String {
    let ratio = &comparison.ratio;
    format!("{:.3} [{:.3}, {:.3}]", ratio.median, ratio.spread.low, ratio.spread.high)
}
