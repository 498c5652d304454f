//! The dashboard's own stream of markers, which recorders record as any other.
//!
//! It opens with the first marker. A recorder that runs needs a moment to find it, so the first markers wait until
//! then; all keep the stamps of the moments for which they were made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schwann::{
    ChannelFormat, Context, StreamInfo, local_clock,
    outlet::{Flush, Outlet},
};

use super::outlets::{self, Reason};

/// Writes markers.
#[derive(Debug)]
pub(super) struct Pen {
    context: Arc<Context>,
    source: String,
    state: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    outlet: Option<Outlet>,
    /// Markers before this moment wait for recorders.
    ready: f64,
    waiting: Vec<(f64, String)>,
}

impl Pen {
    /// Prepares to write; `source` tells this dashboard from others.
    pub(super) fn new(context: Arc<Context>, source: String) -> Self {
        Self { context, source, state: Mutex::default() }
    }

    /// Writes a marker of a moment on the local clock.
    ///
    /// - Errors: those of opening or using an outlet, in a sentence.
    pub(super) fn write(&self, text: &str, time: f64) -> Result<(), Reason> {
        let mut state = self.lock();
        if state.outlet.is_none() {
            state.outlet = Some(self.open()?);
            state.ready = local_clock() + FINDING_SECONDS;
        }
        state.waiting.push((time, text.chars().take(TEXT_CHARS).collect()));
        state.send_waiting()
    }

    /// Writes what has waited long enough.
    pub(super) fn tick(&self) {
        // The outlet reports it to who writes the next marker.
        let _ = self.lock().send_waiting();
    }

    fn open(&self) -> Result<Outlet, Reason> {
        let info = StreamInfo::new(NAME, "Markers", 1, 0.0, ChannelFormat::String, &*self.source);
        outlets::open(&info.map_err(|error| error.to_string())?, &self.context)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    fn send_waiting(&mut self) -> Result<(), Reason> {
        let Some(outlet) = &self.outlet else { return Ok(()) };
        if local_clock() < self.ready {
            return Ok(());
        }
        let mut waiting = core::mem::take(&mut self.waiting).into_iter();
        waiting
            .try_for_each(|(time, text)| outlet.push_strings(&[text.as_bytes()], time, Flush::Now))
            .map_err(|error| error.to_string())
    }
}

/// A recorder that searches finds a new stream within this time.
const FINDING_SECONDS: f64 = 2.0;
const NAME: &str = "Dashboard markers";
const TEXT_CHARS: usize = 1000;
