//! Finding a lost stream again.

use core::time::Duration;
use std::sync::PoisonError;

use schwann_proto::resolver::condition::Identity;
use schwann_proto::resolver::{Recovery as Decision, recovery_search_time};
use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::NoRoom;

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
        let (mut round, mut is_told) = (0, false);
        while !wait.is_over() && self.closings() == closings {
            match self.search(round, wait) {
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
            is_told = is_told || self.tell_other_shape(wait);
            round += 1;
        }
        Recovery::Interrupted
    }

    fn search(&self, round: usize, wait: Wait) -> Result<Vec<StreamInfo>, ResolveError> {
        let query = query(&self.info(), |identity, out| identity.condition(out));
        let left = wait.left().unwrap_or(Duration::MAX);
        let shortest = Duration::from_secs_f64(recovery_search_time(round));
        self.ask(&query, shortest.min(left), ROUND.min(left))
    }

    fn ask(
        &self,
        query: &str,
        minimum_time: Duration,
        longest: Duration,
    ) -> Result<Vec<StreamInfo>, ResolveError> {
        let (context, interrupt, timeout) = (&self.context, &self.interrupt, Some(longest));
        Request { context, query, minimum: 1, minimum_time, timeout, interrupt }.run()
    }

    /// Says so if the source has a stream of this name and another shape, which this inlet cannot take. The original
    /// waits for ever without a word.
    fn tell_other_shape(&self, wait: Wait) -> bool {
        let present = self.info();
        let query = query(&present, |identity, out| identity.condition_of_any_shape(out));
        let longest = OTHER_SHAPE_SEARCH.min(wait.left().unwrap_or(Duration::MAX));
        let found = self.ask(&query, Duration::ZERO, longest).unwrap_or_default();
        let shape = |info: &StreamInfo| (info.channel_count(), info.channel_format());
        let Some(other) = found.iter().find(|info| shape(info) != shape(&present)) else { return false };
        log::warning!(
            "{} is lost, and its source has a stream of {} channels of {}, not {} of {}. An inlet keeps its shape: make a new one.",
            present.name(),
            other.channel_count(),
            other.channel_format(),
            present.channel_count(),
            present.channel_format()
        );
        true
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

/// A query by what identifies a stream across restarts of its source.
fn query(
    info: &StreamInfo,
    condition: impl FnOnce(&Identity<'_>, &mut Vec<u8>) -> Result<(), NoRoom>,
) -> String {
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
    resolver::query(|out| condition(&identity, out))
}

/// Longest search for the lost stream before one of another shape is looked for.
const ROUND: Duration = Duration::from_secs(10);

/// Longest search for a stream of another shape, which holds up the search for the lost one.
const OTHER_SHAPE_SEARCH: Duration = Duration::from_secs(1);
