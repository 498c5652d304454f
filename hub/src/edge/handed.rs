//! What the hub has of a journal, as it lies beside it: an edge that starts again need not send all of it again.

use std::fs;
use std::path::Path;

use schwann::security::keys::store;
use schwann_relay::{HandedOver, Range, Ranges, RunId};
use serde_json::{Map, Value, json};

/// What was written down of `runs`, in this order. Without a word of this hub, it has nothing.
pub(super) fn read(folder: &Path, hub: &str, runs: impl Iterator<Item = RunId>) -> HandedOver {
    let told =
        fs::read(folder.join(FILE)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let told = told.filter(|told| told.get("hub").and_then(Value::as_str) == Some(hub)).unwrap_or_default();
    let place = told.get("place").and_then(Value::as_u64).unwrap_or_default();
    let of = |run: RunId| -> Option<Ranges> {
        told.get("runs")?.get(run.to_string())?.as_array()?.iter().map(range).collect()
    };
    HandedOver::new(runs.map(|run| (run, of(run).unwrap_or_default())), place)
}

fn range(told: &Value) -> Option<Range> {
    let at = |place: usize| told.get(place).and_then(Value::as_u64);
    Some(Range { first: at(0)?, last: at(1)? }).filter(|range| range.first <= range.last)
}

/// Writes down what the hub `hub` has; says whether the disk took it.
pub(super) fn write(folder: &Path, hub: &str, handed_over: &HandedOver) -> bool {
    let ranges =
        |blocks: &Ranges| blocks.as_slice().iter().map(|range| json!([range.first, range.last])).collect();
    let runs: Map<_, Value> =
        handed_over.runs().map(|(run, blocks)| (run.to_string(), Value::Array(ranges(blocks)))).collect();
    let told = json!({ "hub": hub, "place": handed_over.place(), "runs": runs });
    store::write_private(&folder.join(FILE), told.to_string().as_bytes()).is_ok()
}

/// The hub may have lost what was written down.
pub(super) fn remove(folder: &Path) {
    // It may never have been written.
    let _ = fs::remove_file(folder.join(FILE));
}

const FILE: &str = "handed-over.json";

#[cfg(test)]
mod tests {
    use schwann_relay::AtHub;

    use super::*;

    #[test]
    fn what_was_written_down_counts_for_the_same_hub_alone() {
        let folder = std::env::temp_dir().join(format!("schwann-handed-over-{}", std::process::id()));
        let (run, other) = (RunId([7; 16]), RunId([8; 16]));
        let mut handed_over = HandedOver::default();
        handed_over.begin(run);
        for (number, place) in [(0, 11), (1, 12), (5, 19)] {
            handed_over.published(run, number);
            handed_over.acknowledged(AtHub { run, number, place });
        }
        assert!(write(&folder, "tls://hub:4222", &handed_over));
        let read = |hub: &str| read(&folder, hub, [other, run].into_iter());
        let known = read("tls://hub:4222");
        assert_eq!(
            (known.of(run), known.of(other), known.place()),
            (handed_over.of(run), Ranges::default(), 19)
        );
        assert_eq!(read("tls://another:4222").of(run), Ranges::default());
        for damaged in
            [r#"{"hub":"tls://hub:4222","runs":[]}"#, "{", r#"{"hub":"tls://hub:4222","place":-1}"#]
        {
            fs::write(folder.join(FILE), damaged).expect("a temporary file");
            assert_eq!(read("tls://hub:4222").of(run), Ranges::default());
        }
        let turned =
            json!({ "hub": "tls://hub:4222", "place": 19, "runs": { run.to_string(): [[5, 0], [0, 1]] } });
        fs::write(folder.join(FILE), turned.to_string()).expect("a temporary file");
        assert_eq!(read("tls://hub:4222").of(run), Ranges::default(), "nothing of it counts");
        remove(&folder);
        assert_eq!(read("tls://hub:4222").place(), 0);
        let _left = fs::remove_dir_all(&folder);
    }
}
