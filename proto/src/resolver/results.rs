//! The streams that a search has found.

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String};

/// Streams by UID, each once, with the time of its last reply.
#[derive(Clone, Debug)]
pub struct Results<T> {
    found: BTreeMap<String, Found<T>>,
}

#[derive(Clone, Debug)]
struct Found<T> {
    stream: T,
    last_reply: f64,
}

impl<T> Default for Results<T> {
    fn default() -> Self {
        Self { found: BTreeMap::new() }
    }
}

impl<T> Results<T> {
    /// Starts with nothing known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a reply and returns the stored stream, so that an address still missing can be filled in.
    ///
    /// A stream that is known keeps what was stored at first; only its time is refreshed.
    /// - Units: `now` in seconds on the local clock.
    pub fn record(&mut self, uid: &str, now: f64, stream: impl FnOnce() -> T) -> &mut T {
        let found =
            self.found.entry(uid.to_owned()).or_insert_with(|| Found { stream: stream(), last_reply: now });
        found.last_reply = now;
        &mut found.stream
    }

    /// Drops the streams whose last reply is more than `forget_after` seconds ago.
    pub fn forget(&mut self, now: f64, forget_after: f64) {
        self.found.retain(|_, found| found.last_reply >= now - forget_after);
    }

    /// Number of streams known.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether no stream is known.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the stream with this UID.
    pub fn get(&self, uid: &str) -> Option<&T> {
        self.found.get(uid).map(|found| &found.stream)
    }

    /// Iterates over UIDs and streams in ascending order of the UIDs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.found.iter().map(|(uid, found)| (uid.as_str(), &found.stream))
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::Results;

    #[test]
    fn the_first_route_wins_and_replies_keep_a_stream_alive() {
        let mut results = Results::new();
        results.record("b", 0.0, || "first");
        results.record("a", 1.0, || "other");
        assert_eq!(*results.record("b", 4.0, || "later"), "first");
        assert_eq!(results.iter().collect::<Vec<_>>(), [("a", &"other"), ("b", &"first")]);
        results.forget(6.5, 5.0);
        assert_eq!(results.iter().collect::<Vec<_>>(), [("b", &"first")]);
        results.forget(9.0, 5.0);
        assert_eq!(results.len(), 1, "exactly forget_after ago is not too old");
    }
}
