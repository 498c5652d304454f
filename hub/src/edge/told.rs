//! The state of an edge as it lies beside its journal, where other programs of this computer find it.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use schwann::security::keys::store;
use serde_json::Value;

/// The states of all edges of this computer whose journals are in `folder`, as [`super::EdgeStatus::to_json`] has them. `is_running` says
/// whether the edge still tells it: one that was killed leaves its last.
#[must_use]
pub fn read_all(folder: &Path) -> Vec<Value> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| read(&entry.ok()?.path().join(STATUS))).collect()
}

fn read(path: &Path) -> Option<Value> {
    let mut status: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    // A calendar that was set back makes it no older.
    let age = fs::metadata(path).ok()?.modified().ok()?.elapsed().unwrap_or_default();
    status.as_object_mut()?.insert(String::from("is_running"), Value::from(age < TOLD_LATELY));
    Some(status)
}

/// The journal of a stream that was relayed, whose edge ended or was killed before the hub had all of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Remainder {
    /// Where it is.
    pub(crate) folder: PathBuf,
    /// The stream's name.
    pub(crate) name: String,
    /// The stream's source id.
    pub(crate) source_id: String,
    /// The hub that shall get it.
    pub(crate) hub: String,
    /// How many blocks waited when that was told last.
    pub(crate) blocks: u64,
}

/// The journals in `folder` that still have a status. The edge of one may run.
pub(crate) fn remainders(folder: &Path) -> Vec<Remainder> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    folders.into_iter().filter_map(remainder).collect()
}

fn remainder(folder: PathBuf) -> Option<Remainder> {
    let status = read(&folder.join(STATUS))?;
    let text = |key: &str| status.get(key).and_then(Value::as_str).map(str::to_owned);
    let blocks = status.get("waiting_blocks").and_then(Value::as_u64).unwrap_or_default();
    let (name, source_id) = (text("name")?, text("source_id").unwrap_or_default());
    Some(Remainder { folder, name, source_id, hub: text("hub_address")?, blocks })
}

/// Tells the state, as [`super::EdgeStatus::to_json`] has it.
pub(super) fn write(folder: &Path, status: &str) {
    // Where the disk takes no status, the program's own lines say why.
    let _ = store::write_private(&folder.join(STATUS), status.as_bytes());
}

/// The edge has ended: its status is no longer one.
pub(super) fn remove(folder: &Path) {
    // It may never have been written.
    let _ = fs::remove_file(folder.join(STATUS));
}

/// It is told every second; a disk may be slow.
const TOLD_LATELY: Duration = Duration::from_secs(10);
const STATUS: &str = "status.json";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_journal_whose_status_stayed_is_found_again() {
        let all = std::env::temp_dir().join(format!("schwann-remainder-{}", std::process::id()));
        let folder = all.join("journal");
        fs::create_dir_all(&folder).expect("a temporary folder");
        assert_eq!(remainders(&all), []);
        let told =
            json!({ "name": "EEG", "source_id": "", "hub_address": "tls://hub:4222", "waiting_blocks": 12 });
        write(&folder, &told.to_string());
        let (name, source_id, hub) = (String::from("EEG"), String::new(), String::from("tls://hub:4222"));
        assert_eq!(
            remainders(&all),
            [Remainder { folder: folder.clone(), name, source_id, hub, blocks: 12 }]
        );
        remove(&folder);
        assert_eq!(remainders(&all), []);
        let _left = fs::remove_dir_all(&all);
    }
}
