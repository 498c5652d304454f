//! What the certificate of a recording says of how much of each stream arrived.

use serde_json::Value;

use crate::terminal::{plural, printable};

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
    let name = stream["origin"]["name"].as_str().unwrap_or("a stream without a name");
    (!parts.is_empty()).then(|| format!("{}: {}", printable(name), parts.join("; ")))
}
