//! What the certificate of a recording says of its streams: how much arrived, and how each was judged.

use serde_json::{Value, json};

use crate::terminal::{Readable, plural, printable};

/// A stream of a certificate's statement.
pub(super) struct Certified<'a> {
    pub(super) name: &'a str,
    pub(super) rules: Vec<Judged<'a>>,
    /// The age of samples when they arrived, in seconds: the median, and what 99 of 100 stay below.
    pub(super) lag: Option<[f64; 2]>,
}

/// A rule by which a stream was judged when it was recorded (certificate §3).
pub(super) struct Judged<'a> {
    pub(super) code: &'a str,
    pub(super) number: Option<f64>,
    pub(super) limit: Option<f64>,
    pub(super) unit: Option<&'a str>,
    /// None if there was nothing to judge by.
    pub(super) passed: Option<bool>,
    /// What was wrong; none if nothing was.
    pub(super) says: Option<&'a str>,
}

/// The streams of a certificate's statement, each with the rules by which it was judged.
pub(super) fn judged(statement: &Value) -> impl Iterator<Item = Certified<'_>> {
    let streams = statement["predicate"]["streams"].as_array();
    streams.into_iter().flatten().map(|stream| {
        let timing = &stream["timing"];
        let lag = timing["lag_p50"].as_f64().zip(timing["lag_p99"].as_f64());
        Certified { name: name(stream), rules: rules(stream), lag: lag.map(<[f64; 2]>::from) }
    })
}

fn rules(stream: &Value) -> Vec<Judged<'_>> {
    let rules = stream["verdict"].as_array().into_iter().flatten();
    rules
        .map(|rule| Judged {
            code: rule["code"].as_str().unwrap_or_default(),
            number: rule["number"].as_f64(),
            limit: rule["limit"].as_f64(),
            unit: rule["unit"].as_str(),
            passed: rule["passed"].as_bool(),
            says: rule["says"].as_str(),
        })
        .collect()
}

/// How the streams of a certificate's statement were judged: a sentence on all, and one for each rule that did not pass.
pub(super) fn verdicts(statement: &Value) -> Vec<String> {
    let (mut counts, mut failed) = ([0_usize; 3], Vec::new());
    for Certified { name, rules, .. } in judged(statement) {
        for rule in rules {
            counts[rule.passed.map_or(2, usize::from)] += 1;
            if rule.passed == Some(false) {
                let marked = rule.marked();
                failed.push(format!(
                    "{}: {}{marked}: it {}",
                    printable(name),
                    printable(rule.code),
                    printable(rule.says.unwrap_or("was found wrong"))
                ));
            }
        }
    }
    let [not_passed, passed, unknown] = counts;
    if counts == [0; 3] {
        return failed;
    }
    let not = if not_passed > 0 { format!("{not_passed} did NOT, ") } else { String::new() };
    let all = format!(
        "judged while it was recorded: {} passed, {not}{unknown} had nothing to judge by",
        plural(passed, "rule")
    );
    core::iter::once(all).chain(failed).collect()
}

impl Judged<'_> {
    /// It for scripts.
    pub(super) fn json(&self) -> Value {
        let Self { code, number, limit, unit, passed, says } = self;
        json!({"code": code, "number": number, "limit": limit, "unit": unit, "passed": passed, "says": says})
    }

    /// The number and its limit, for a person; nothing where there is none.
    pub(super) fn marked(&self) -> String {
        match (self.number, self.limit) {
            (Some(number), Some(limit)) => {
                let unit = printable(self.unit.unwrap_or_default());
                format!(" {} {unit} (limit {} {unit})", rounded(number), rounded(limit))
            }
            _ => String::new(),
        }
    }
}

/// A number with four digits that say something.
pub(super) fn rounded(number: f64) -> String {
    let digits = 3 - number.abs().max(1e-9).log10().floor().clamp(-9.0, 3.0) as i32;
    let text = format!("{:.*}", usize::try_from(digits).unwrap_or_default(), Readable(number));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A sentence for each stream of a certificate's statement (certificate §3) that did not arrive without a break.
pub(super) fn shortfalls(statement: &Value) -> Vec<String> {
    let streams = statement["predicate"]["streams"].as_array();
    streams.into_iter().flatten().filter_map(shortfall).collect()
}

fn shortfall(stream: &Value) -> Option<String> {
    let account = &stream["completeness"];
    let count = |name: &str| account[name].as_u64().filter(|count| *count > 0);
    let samples = |count: u64| plural(usize::try_from(count).unwrap_or(usize::MAX), "sample");
    let mut parts = Vec::new();
    if account["was_there_at_the_end"] == false {
        parts.push("NOT CONNECTED at the end".to_owned());
    }
    if let Some(count) = count("interruptions") {
        parts.push(format!("came back {count} times"));
    }
    if let Some(seconds) = account["away_seconds"].as_f64().filter(|seconds| *seconds > 0.0) {
        parts.push(format!("away for {seconds:.1} s"));
    }
    if let Some(count) = count("missing_before_they_were_sent") {
        parts.push(format!("{} missing before they were sent", samples(count)));
    }
    if let Some(count) = count("dropped_by_the_recorder") {
        parts.push(format!("{} received and NOT WRITTEN", samples(count)));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", printable(name(stream)), parts.join("; ")))
}

fn name(stream: &Value) -> &str {
    stream["origin"]["name"].as_str().unwrap_or("a stream without a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_say_something() {
        let shown = [0.0, 5.0, 0.001_234_6, -19.996, 1234.56, 1.8e9, 40.0].map(rounded);
        assert_eq!(shown, ["0", "5", "0.001235", "-20", "1235", "1800000000", "40"]);
    }

    #[test]
    fn every_rule_that_did_not_pass_is_said_with_its_number() {
        let rule = |code: &str, number: f64, passed: Option<bool>| {
            let mut rule = json!({"code": code, "number": number, "limit": 5.0, "unit": "%"});
            (rule["passed"], rule["says"]) = (json!(passed), "says 100 Hz".into());
            rule
        };
        let verdict =
            [rule("rate", -80.0, Some(false)), rule("jitter", 0.1, Some(true)), rule("drift", 0.0, None)];
        let statement = json!({"predicate": {"streams": [{"origin": {"name": "EEG"}, "verdict": verdict}]}});
        let [all, failed] = &*verdicts(&statement) else { panic!("two sentences") };
        assert!(all.contains("1 rule passed, 1 did NOT, 1 had nothing"), "{all}");
        assert_eq!(failed, "EEG: rate -80 % (limit 5 %): it says 100 Hz");
        assert!(verdicts(&json!({})).is_empty(), "a file that was made has no streams");
    }
}
