//! How each stream was judged while it was recorded, as its certificate says.

use core::fmt::Write as _;

use serde_json::Value;

use super::super::account::{Certified, Judged, judged, rounded};
use super::{STREAMS_MAX, put_more, text, time};
use crate::terminal::plural;

/// Appends a table per stream, what did not pass first; nothing without a verdict.
pub(super) fn put(out: &mut String, statement: &Value) {
    let streams: Vec<_> = judged(statement).filter(|stream| !stream.rules.is_empty()).collect();
    if streams.is_empty() {
        return;
    }
    out.push_str("<h2>Judged while it was recorded</h2>\n");
    for Certified { name, mut rules, lag } in streams.into_iter().take(STREAMS_MAX) {
        rules.sort_by_key(|rule| rule.passed.map_or(2, u8::from));
        let failed = rules.iter().filter(|rule| rule.passed == Some(false)).count();
        let open = if failed > 0 { " open" } else { "" };
        let count = plural(rules.len(), "rule");
        let said = if failed > 0 {
            format!("{failed} of {count} NOT passed")
        } else {
            format!("{count}, none failed")
        };
        let _ = writeln!(out, "<details{open}><summary><bdi>{}</bdi>: {said}</summary><table>", text(name));
        out.push_str("<tr><th>Rule</th><th>Measured</th><th>Limit</th><th>Passed</th></tr>\n");
        rules.iter().take(super::LINES_MAX).for_each(|rule| put_rule(out, rule));
        out.push_str("</table>");
        put_more(out, rules.len());
        if let Some([median, most]) = lag {
            let (median, most) = (time(median), time(most));
            let _ =
                writeln!(out, "<p>Age of samples on arrival: {median} (median), 99 of 100 below {most}.</p>");
        }
        out.push_str("</details>\n");
    }
}

fn put_rule(out: &mut String, rule: &Judged<'_>) {
    let unit = text(rule.unit.unwrap_or_default());
    let shown =
        |number: Option<f64>| number.map_or_else(String::new, |number| format!("{} {unit}", rounded(number)));
    let (class, passed) = match rule.passed {
        Some(true) => ("good", "yes"),
        Some(false) => ("bad", "NO"),
        None => ("note", "nothing to judge by"),
    };
    let says = rule.says.map_or_else(String::new, |says| format!(": it {}", text(says)));
    let _ = writeln!(
        out,
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{passed}<bdi>{says}</bdi></td></tr>",
        text(rule.code),
        shown(rule.number),
        shown(rule.limit)
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_certificate_puts_no_markup_on_the_page_and_does_not_flood_it() {
        let rule = json!({"code": "<b>", "unit": "<i>", "number": 1e300, "limit": 2, "passed": false, "says": "<script>"});
        let stream = json!({"origin": {"name": "<u>"}, "verdict": vec![rule; 1_000]});
        let mut out = String::new();
        put(&mut out, &json!({"predicate": {"streams": vec![stream; 500]}}));
        assert!(["<b>", "<i>", "<u>", "<script>"].iter().all(|markup| !out.contains(markup)));
        assert!(out.contains("And 900 more.") && out.matches("<details").count() == STREAMS_MAX);
    }
}
