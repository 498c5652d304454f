//! Which row a stream belongs to that a search has found.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use schwann::StreamInfo;

use crate::{monitor::Monitor, reading::Health};

/// The rows, and what was found, to compare.
pub(super) struct Places<'a> {
    rows: &'a [Row],
    by_uid: HashMap<&'a str, &'a Row>,
    seen: &'a HashSet<String>,
    found: &'a HashMap<String, StreamInfo>,
}

impl<'a> Places<'a> {
    /// Prepares to compare what was found with the rows; `seen` are all UIDs that rows have or had.
    pub(super) fn new(
        rows: &'a [Row],
        seen: &'a HashSet<String>,
        found: &'a HashMap<String, StreamInfo>,
    ) -> Self {
        let by_uid = rows.iter().map(|row| (&*row.uid, row)).collect();
        Self { rows, by_uid, seen, found }
    }

    /// Where a stream belongs.
    pub(super) fn of(&self, uid: &str, info: &StreamInfo) -> RowMatch<'a> {
        if let Some(row) = self.by_uid.get(uid) {
            return if row.monitor.is_due() { RowMatch::Row(&row.monitor) } else { RowMatch::Known };
        }
        if self.seen.contains(uid) {
            return RowMatch::Known;
        }
        let before = self.rows.iter().find(|row| is_same(info, &row.info) && row.is_vacant(self.found));
        before.map_or(RowMatch::New, |row| RowMatch::Row(&row.monitor))
    }
}

/// A row with what is compared.
pub(super) struct Row {
    pub(super) monitor: Arc<Monitor>,
    info: StreamInfo,
    pub(super) uid: String,
}

impl Row {
    /// Takes a look at a row.
    pub(super) fn new(monitor: &Arc<Monitor>) -> Self {
        let info = monitor.info();
        Self { monitor: Arc::clone(monitor), uid: info.uid().to_string_lossy().into_owned(), info }
    }

    /// Whether its sender is likely to have ended.
    fn is_vacant(&self, found: &HashMap<String, StreamInfo>) -> bool {
        match self.monitor.health() {
            Health::Stopped => true,
            Health::Silent => !found.contains_key(&self.uid),
            Health::Connecting | Health::Listed | Health::Live => false,
        }
    }
}

/// Where a stream that was found belongs.
pub(super) enum RowMatch<'a> {
    /// In a row of its own.
    New,
    /// It is the stream of this row, back or tried once more.
    Row(&'a Arc<Monitor>),
    /// It is followed already, or was until it ended.
    Known,
}

/// Whether one stream is the other one after a restart.
fn is_same(one: &StreamInfo, other: &StreamInfo) -> bool {
    let key = |info: &StreamInfo| {
        let texts = [info.name(), info.stream_type(), info.source_id(), info.hostname()];
        let rate = info.nominal_rate().to_bits();
        (
            texts.map(|text| text.to_string_lossy().into_owned()),
            info.channel_count(),
            info.channel_format(),
            rate,
        )
    };
    key(one) == key(other)
}
