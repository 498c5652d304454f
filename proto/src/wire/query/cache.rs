//! Remembers which queries a description has answered.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Query, QueryError};
use crate::wire::xml::Document;

/// The verdicts of one description about queries, by query text.
///
/// Several resolvers ask the same few queries every half second. When the cache is full, the older half of it is
/// dropped. It knows nothing of the description: after a change it still returns old verdicts, as the C library does.
#[derive(Clone, Debug)]
pub struct QueryCache {
    capacity: usize,
    /// From the oldest to the newest.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    query: Box<[u8]>,
    verdict: Result<bool, QueryError>,
}

impl QueryCache {
    /// Creates a cache of at most `capacity` verdicts (`tuning.MaxCachedQueries`); 0 remembers nothing.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, entries: Vec::new() }
    }

    /// Returns whether the query is true for the description, from memory if possible.
    ///
    /// - Errors: [`QueryError`] if the text is no query; also remembered.
    pub fn matches(&mut self, description: &Document, query: impl AsRef<[u8]>) -> Result<bool, QueryError> {
        let query = query.as_ref();
        if let Some(entry) = self.entries.iter().find(|entry| *entry.query == *query) {
            return entry.verdict;
        }
        let verdict = Query::parse(query).map(|query| query.matches(description));
        self.remember(query, verdict);
        verdict
    }

    fn remember(&mut self, query: &[u8], verdict: Result<bool, QueryError>) {
        if self.capacity == 0 || query.len() > MAX_CACHED_BYTES {
            return;
        }
        if self.entries.len() >= self.capacity {
            self.entries.drain(..self.capacity.div_ceil(2));
        }
        self.entries.push(Entry { query: query.into(), verdict });
    }
}

impl Default for QueryCache {
    /// Creates a cache of the C library's default size.
    fn default() -> Self {
        Self::new(100)
    }
}

/// Longer queries are not cached: real ones are shorter, and a hostile peer could fill memory with them.
const MAX_CACHED_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_remembered_until_it_is_the_older_half_of_a_full_cache() {
        let mut description = Document::parse(b"<info><name>A</name></info>").document;
        let mut cache = QueryCache::new(4);
        assert_eq!(cache.matches(&description, "name='A'"), Ok(true));
        description.set_child_value(description.document_element().unwrap(), "name", "B");
        assert_eq!(cache.matches(&description, "name='A'"), Ok(true));
        for query in ["1=1", "1=2", "1=3", "1=4"] {
            cache.matches(&description, query).unwrap();
        }
        assert_eq!(cache.matches(&description, "name='A'"), Ok(false));
        assert!(cache.entries.len() <= 4);
    }

    #[test]
    fn a_cache_without_room_still_answers() {
        let description = Document::parse(b"<info><name>A</name></info>").document;
        let mut cache = QueryCache::new(0);
        assert_eq!(cache.matches(&description, "name='A'"), Ok(true));
        assert!(cache.matches(&description, "name=").is_err());
        assert!(cache.entries.is_empty());
    }
}
