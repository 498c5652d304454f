//! The suites that measure in steps: a table of all figures, and a line for each subject along a step's axis.

use core::fmt::Write;
use std::collections::BTreeMap;

use super::chapter::Figure;
use super::escape;
use super::words::from_to;
use crate::record::{Reading, Records, Verdict};
use crate::report::number;

/// A table per name of a figure, subjects across when there is an axis, and the rest in one list.
pub(super) fn figures(records: &Records) -> Vec<Figure> {
    let mut by_name: BTreeMap<&str, Vec<&Reading>> = BTreeMap::new();
    let mut others = Vec::new();
    for reading in &records.readings {
        match reading.at {
            Some(_) => by_name.entry(&reading.name).or_default().push(reading),
            None => others.push(reading),
        }
    }
    let mut figures: Vec<Figure> =
        by_name.into_iter().map(|(name, readings)| matrix(name, &readings)).collect();
    if !others.is_empty() {
        figures.push(list(&others));
    }
    figures
}

fn matrix(name: &str, readings: &[&Reading]) -> Figure {
    let (mut columns, mut subjects): (Vec<(&str, Option<f64>)>, Vec<&str>) = (Vec::new(), Vec::new());
    for reading in readings {
        if !columns.contains(&(reading.step.as_str(), reading.at)) {
            columns.push((&reading.step, reading.at));
        }
        if !subjects.contains(&reading.subject.as_str()) {
            subjects.push(&reading.subject);
        }
    }
    let of = |(step, at): (&str, Option<f64>), subject: &str| {
        readings.iter().find(|r| r.step == step && r.at == at && r.subject == subject)
    };
    let best = |column| subjects.iter().filter_map(|s| Some(of(column, s)?.median)).fold(0.0, f64::max);
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr><th></th>");
    for &(step, at) in &columns {
        // A step of one column is its heading; one of many has its axis there.
        let alone = columns.iter().filter(|column| column.0 == step).count() == 1;
        let heading = at.filter(|_| !alone).map_or_else(|| step.to_owned(), |at| at.to_string());
        let _ = write!(html, "<th>{}</th>", escape(&heading));
    }
    html += "</tr></thead><tbody>\n";
    for subject in &subjects {
        let _ = write!(html, "<tr><td>{}</td>", escape(subject));
        for &column in &columns {
            html += &of(column, subject).map_or_else(|| "<td></td>".to_owned(), |r| entry(r, best(column)));
        }
        html += "</tr>\n";
    }
    html += "</tbody></table></div>\n";
    let unit = readings.first().map_or("", |reading| reading.unit.as_str());
    let leaders: Vec<f64> = columns.iter().map(|&column| best(column)).collect();
    let says = format!(
        "The fastest of {} at each size runs at {} {unit}; it is marked.",
        subjects.len(),
        from_to(&leaders, &number)
    );
    Figure { title: format!("{name}, {unit}"), says, svg: html }
}

fn entry(reading: &Reading, best: f64) -> String {
    let (class, sign) = if reading.median >= best { ("good", "▲ ") } else { ("", "") };
    format!("<td class=\"cell {class}\">{sign}{}</td>", number(reading.median))
}

fn list(readings: &[&Reading]) -> Figure {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>figure</th><th>subject</th><th>median</th><th>unit</th>\
         <th>from</th><th>to</th><th>n</th><th>limit</th><th></th></tr></thead><tbody>\n",
    );
    for reading in readings {
        let (class, word) = match reading.verdict() {
            Some(Verdict::Met) => ("good", "✓ met"),
            Some(Verdict::Missed) => ("bad", "✗ missed"),
            Some(Verdict::NotResolved) => ("", "· not resolved"),
            None => ("", ""),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}: {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"cell {class}\">{word}</td></tr>",
            escape(&reading.step),
            escape(&reading.name),
            escape(&reading.subject),
            number(reading.median),
            escape(&reading.unit),
            number(reading.low),
            number(reading.high),
            reading.samples,
            escape(reading.criterion.as_deref().unwrap_or_default()),
        );
    }
    html += "</tbody></table></div>\n";
    let judged: Vec<bool> = readings.iter().filter_map(|reading| reading.met).collect();
    let met = judged.iter().filter(|met| **met).count();
    let open = readings.iter().filter(|reading| reading.verdict() == Some(Verdict::NotResolved)).count();
    let mut says = match judged.len() {
        0 => format!("{} figures; none has a limit.", readings.len()),
        count => format!("{met} of the {count} figures that have a limit keep it."),
    };
    if open > 0 {
        let _ = write!(says, " Of {open} more the machine was too restless to tell.");
    }
    Figure { title: "Figures and their limits".to_owned(), says, svg: html }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(step: &str, at: f64, median: f64) -> Reading {
        Reading {
            subject: "ring".to_owned(),
            name: "seal".to_owned(),
            unit: "MB/s".to_owned(),
            at: Some(at),
            ..Reading::of(step, vec![median])
        }
    }

    #[test]
    fn a_step_with_many_points_has_a_column_for_each() {
        let readings =
            [reading("64 B", 64.0, 7.0), reading("chunks", 512.0, 8.0), reading("chunks", 1024.0, 9.0)];
        let figure = matrix("seal", &readings.iter().collect::<Vec<_>>());
        assert!(figure.svg.contains("<th>64 B</th><th>512</th><th>1024</th>"), "{}", figure.svg);
        for median in ["7", "8", "9"] {
            assert!(figure.svg.contains(&format!("▲ {median}")), "{}", figure.svg);
        }
    }
}
