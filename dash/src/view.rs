//! One place of a page in which it shows a stream: what goes into it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use schwann::local_clock;
use serde_json::{Value, json};

use super::{
    chain::Minus,
    decimate::{Column, Decimator, Selection},
    history::HISTORY_SECONDS,
    labels::Labels,
    monitor::Monitor,
    wish::{Wish, row_name},
};

/// A stream that a page shows.
pub(super) struct View {
    pub(super) monitor: Arc<Monitor>,
    pub(super) selection: Selection,
    /// The page's own number for it, so that it knows frames of an older one.
    generation: u32,
    until: Option<f64>,
    source: Source,
    /// What the page was told, so that thousands of names are sent once.
    told: Option<Arc<Labels>>,
}

enum Source {
    /// What comes, as it comes.
    Live(Arc<Mutex<Decimator>>),
    /// What was there, once.
    Past(Option<VecDeque<Column>>),
}

impl View {
    /// Begins to show what the wish asks for, in the place of what was shown before; none if it makes no sense.
    pub(super) fn open(wish: &Wish, monitor: Arc<Monitor>, before: Option<Self>) -> Option<Self> {
        let selection = wish.selection(&monitor, HISTORY_SECONDS)?;
        let source = match wish.until {
            None => Source::Live(monitor.open_view(selection.clone())),
            Some(until) => Source::Past(Some(monitor.look_back(selection.clone(), until))),
        };
        let told = before.filter(|before| before.monitor.id == monitor.id).and_then(|before| before.told);
        Some(Self { monitor, selection, generation: wish.generation, until: wish.until, source, told })
    }

    /// Shows columns that do not change.
    pub(super) fn still(
        wish: &Wish,
        monitor: Arc<Monitor>,
        selection: Selection,
        columns: VecDeque<Column>,
        before: Option<Self>,
    ) -> Self {
        let told = before.filter(|before| before.monitor.id == monitor.id).and_then(|before| before.told);
        let source = Source::Past(Some(columns));
        Self { monitor, selection, generation: wish.generation, until: wish.until, source, told }
    }

    /// The right edge of what is shown, on the local clock.
    pub(super) fn edge(&self) -> f64 {
        self.until.unwrap_or_else(local_clock)
    }

    /// What is shown, in words.
    pub(super) fn describe(&mut self, wish: &Wish) -> Value {
        let (labels, info) = (self.monitor.labels(), self.monitor.info());
        let processing = &self.selection.processing;
        let is_known = self.told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &labels));
        let count = (info.channel_count() as usize).min(MAX_LABELS);
        let all = (!is_known).then(|| (0..count).map(|channel| labels.name(channel)).collect::<Vec<_>>());
        let minus = |minus| match minus {
            Minus::Nothing | Minus::Average => None,
            Minus::Channel(other) => Some(other),
        };
        self.told = Some(Arc::clone(&labels));
        json!({
            "type": "view",
            "view": wish.view,
            "generation": wish.generation,
            "stream": wish.stream,
            "channels": processing.rows.iter().map(|row| row.channel).collect::<Vec<_>>(),
            "minus": processing.rows.iter().map(|row| minus(row.minus)).collect::<Vec<_>>(),
            "names": processing.rows.iter().map(|&row| row_name(row, &labels)).collect::<Vec<_>>(),
            "averaged": processing.averaged.len(),
            "filters": processing.filters,
            "labels": all,
            "unit": labels.unit,
            "rate": info.nominal_rate(),
            "column_seconds": self.selection.column_seconds,
            "columns": self.selection.columns,
            "until": wish.until,
            "now": local_clock(),
        })
    }

    /// What is new, as the page gets it; nothing if nothing is.
    ///
    /// Little-endian: generation, rows, columns, and 0 in 32 bits each; the lab's time in 64; then a number per
    /// column, and the extremes, columns × rows × 2 in 32 bits each.
    pub(super) fn frame(&mut self) -> Option<Vec<u8>> {
        let columns = match &mut self.source {
            Source::Live(decimator) => decimator.lock().unwrap_or_else(PoisonError::into_inner).take(),
            Source::Past(columns) => columns.take()?,
        };
        let rows = columns.front()?.extremes.len() / 2;
        let mut frame = Vec::with_capacity(24 + columns.len() * (8 + 8 * rows));
        for number in [self.generation, rows as u32, columns.len() as u32, 0] {
            frame.extend(number.to_le_bytes());
        }
        frame.extend(local_clock().to_le_bytes());
        columns.iter().for_each(|column| frame.extend((column.index as f64).to_le_bytes()));
        let extremes = columns.iter().flat_map(|column| &column.extremes);
        extremes.for_each(|value| frame.extend(value.to_le_bytes()));
        Some(frame)
    }
}

const MAX_LABELS: usize = 10_000;
