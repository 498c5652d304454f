//! What happened during a recording, each event chained to the one before.
//!
//! Source: certificate §4.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::envelope::hex;

/// The events so far.
#[derive(Debug, Default)]
pub struct Events(Vec<Value>);

impl Events {
    /// Notes that something happened now.
    pub fn note(&mut self, what: &str) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let before = self.0.last().map_or_else(String::new, |event| event["chain"].to_string());
        let mut event = json!({"time": time, "what": what});
        event["chain"] = link(&before, &event).into();
        self.0.push(event);
    }

    /// All of them.
    pub fn list(&self) -> Vec<Value> {
        self.0.clone()
    }
}

/// Whether each event carries the hash of itself and of the one before.
pub(super) fn is_chained(events: &Value) -> bool {
    let Some(events) = events.as_array() else { return false };
    let mut before = String::new();
    events.iter().all(|event| {
        let mut bare = event.clone();
        let chain = bare.as_object_mut().and_then(|members| members.remove("chain")).unwrap_or_default();
        let is_link = chain == link(&before, &bare);
        before = chain.to_string();
        is_link
    })
}

fn link(before: &str, event: &Value) -> String {
    hex(&Sha256::new()
        .chain_update(before)
        .chain_update([0])
        .chain_update(event.to_string())
        .finalize()
        .into())
}
