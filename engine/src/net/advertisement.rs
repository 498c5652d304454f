//! What an outlet tells searching programs, and which programs it tells.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use schwann_proto::{stream_info::StreamInfo, wire::query::QueryCache};
use schwann_session::discovery::REPLY_OVERHEAD;

use crate::{config::Config, log, net::hearing::Hearing};

/// The description of a served stream, ready to be sent. It never changes while the stream is served.
#[derive(Debug)]
pub(crate) struct Advertisement {
    info: StreamInfo,
    shortinfo: Vec<u8>,
    fullinfo: Vec<u8>,
    verdicts: Mutex<QueryCache>,
    complaints: log::Throttle,
    /// The queries that came for it.
    hearing: Hearing,
    /// Seconds from this computer's clock to the clock that answers probes, as bits.
    clock_shift: AtomicU64,
}

impl Advertisement {
    /// Makes the messages from the description of an outlet that has its ports.
    pub(crate) fn new(config: &Config, info: StreamInfo) -> Self {
        let shortinfo = info.shortinfo();
        if shortinfo.len() > DATAGRAM_ROOM {
            let (name, len) = (info.name(), shortinfo.len());
            log::warning!(
                "{name} cannot be found by others: its description of {len} bytes fits no datagram"
            );
        }
        Self {
            shortinfo,
            fullinfo: info.fullinfo(),
            verdicts: Mutex::new(QueryCache::new(config.tuning.max_cached_queries)),
            complaints: log::Throttle::default(),
            hearing: Hearing::default(),
            clock_shift: AtomicU64::new(0.0_f64.to_bits()),
            info,
        }
    }

    /// Answers probes by a clock that is so many seconds ahead of this computer's.
    pub(crate) fn set_clock_shift(&self, seconds: f64) {
        self.clock_shift.store(seconds.to_bits(), Ordering::Relaxed);
    }

    /// Seconds from this computer's clock to the stream's.
    pub(crate) fn clock_shift(&self) -> f64 {
        f64::from_bits(self.clock_shift.load(Ordering::Relaxed))
    }

    /// The queries that came for it.
    pub(crate) fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    /// The description itself.
    pub(crate) fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// The document without metadata.
    pub(crate) fn shortinfo(&self) -> &[u8] {
        &self.shortinfo
    }

    /// The whole document.
    pub(crate) fn fullinfo(&self) -> &[u8] {
        &self.fullinfo
    }

    /// Whether the stream fulfils `condition`. A malformed condition is fulfilled by no stream.
    pub(crate) fn matches(&self, condition: impl AsRef<[u8]>) -> bool {
        let condition = condition.as_ref();
        let verdict = {
            // Evaluation is bounded to about a millisecond, so no thread waits longer than that for the lock.
            let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
            verdicts.matches(self.info.document(), condition)
        };
        verdict.unwrap_or_else(|error| {
            if self.complaints.allows() {
                let start = &condition[..condition.len().min(MAX_LOGGED)];
                log::warning!("malformed query '{}': {error}", String::from_utf8_lossy(start));
            }
            false
        })
    }
}

/// Bytes of a description that one reply can carry, beside the query's number and, if it is sealed, the seal.
const DATAGRAM_ROOM: usize = 65_507 - 24 - REPLY_OVERHEAD;
/// Longest part of a malformed query that the log shows, in bytes.
const MAX_LOGGED: usize = 200;
