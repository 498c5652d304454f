//! Finding a lost stream again.

use core::time::Duration;
use std::sync::PoisonError;

use schwann_proto::resolver::condition::Identity;
use schwann_proto::resolver::{Recovery as Decision, recovery_search_time};
use schwann_proto::stream_info::StreamInfo;

use super::Stream;
use crate::inlet::Recover;
use crate::inlet::events::StreamEvent;
use crate::inlet::receiver::Wait;
use crate::log;
use crate::resolver::{self, Request, ResolveError};

/// What became of a search for a lost stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Recovery {
    /// The system did not permit to look for it now.
    Failed,
    /// It must not be looked for.
    Impossible,
    /// The inlet was closed, or the time was over.
    Interrupted,
    /// It is somewhere else now.
    Moved,
    /// It is where it was.
    Unchanged,
}

impl Stream {
    /// Looks for the stream until it is found, it was closed more often than `closings`, or `wait` is over.
    ///
    /// One thread looks at a time; others wait for it here, as long as they may.
    /// - Source: lsl-wire §18.
    pub(crate) fn find_again(&self, closings: u64, wait: Wait) -> Recovery {
        if self.recover == Recover::No {
            return Recovery::Impossible;
        }
        if !self.begin_search(closings, wait) {
            return Recovery::Interrupted;
        }
        let recovery = self.look(closings, wait);
        self.shared.lock().searching = false;
        self.shared.notify_all();
        recovery
    }

    fn begin_search(&self, closings: u64, wait: Wait) -> bool {
        let mut state = self.shared.lock();
        while state.searching && state.closings == closings && !wait.is_over() {
            state = self.shared.wait_changed(state, wait);
        }
        if state.searching || state.closings != closings {
            return false;
        }
        state.searching = true;
        // Under the lock: a closing counts first and raises afterwards, so this undoes no newer closing.
        self.interrupt.lower();
        true
    }

    fn look(&self, closings: u64, wait: Wait) -> Recovery {
        let mut round = 0;
        while !wait.is_over() && self.closings() == closings {
            match self.search(Duration::from_secs_f64(recovery_search_time(round)), wait) {
                Err(ResolveError::Interrupted) => return Recovery::Interrupted,
                Err(error) => {
                    log::error!("a lost stream cannot be looked for: {error}");
                    return Recovery::Failed;
                }
                Ok(found) => {
                    if let Some(recovery) = self.choose(found) {
                        return recovery;
                    }
                }
            }
            round += 1;
        }
        Recovery::Interrupted
    }

    fn search(&self, shortest: Duration, wait: Wait) -> Result<Vec<StreamInfo>, ResolveError> {
        let query = recovery_query(&self.info());
        Request {
            context: &self.context,
            query: &query,
            minimum: 1,
            minimum_time: shortest.min(wait.left().unwrap_or(Duration::MAX)),
            timeout: wait.left(),
            interrupt: &self.interrupt,
        }
        .run()
    }

    /// Decides which of the streams found takes the place of the lost one, if any.
    fn choose(&self, found: Vec<StreamInfo>) -> Option<Recovery> {
        let present = self.info();
        let address_known = self.data_address(&present).is_some();
        let permitted = found.into_iter().filter(|info| !self.shuns(info));
        let candidates = permitted.map(|info| (info.uid().to_string(), info));
        match Decision::decide(&present.uid().to_string(), address_known, candidates) {
            Decision::Unchanged => Some(Recovery::Unchanged),
            Decision::Replace(info) => {
                self.move_to(info);
                Some(Recovery::Moved)
            }
            Decision::NotFound => None,
            Decision::Ambiguous => {
                log::warning!(
                    "several streams could take the place of {}; none is chosen. Give each its own source id.",
                    present.name()
                );
                None
            }
        }
    }

    fn move_to(&self, info: StreamInfo) {
        let had_address = self.service_address().is_some();
        self.stamps.set_nominal_rate(info.nominal_rate());
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = info;
        self.clock.set_endpoint(self.service_address());
        if had_address {
            self.clock.reset();
            self.events.push(StreamEvent::ClockReset);
        }
    }
}

/// The query that finds a stream's successor.
fn recovery_query(info: &StreamInfo) -> String {
    let (name, content_type, source_id) = (
        info.name().to_string_lossy(),
        info.stream_type().to_string_lossy(),
        info.source_id().to_string_lossy(),
    );
    let identity = Identity {
        channel_count: info.channel_count() as usize,
        name: &name,
        content_type: &content_type,
        source_id: &source_id,
        format: info.channel_format(),
    };
    resolver::query(|out| identity.condition(out))
}
