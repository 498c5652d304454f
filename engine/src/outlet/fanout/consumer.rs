//! One consumer: what it has taken, what it is owed, and who may touch its socket.

use alloc::sync::Arc;
use core::time::Duration;
use std::time::Instant;

use schwann_proto::wire::feed::Report;

use super::super::log::Log;
use crate::codec::Encoding;
use crate::net::link::{Link, Progress};

/// The present user of a consumer's socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    Free,
    Taken,
}

/// One consumer's feed.
pub(crate) struct Consumer {
    pub(crate) id: u64,
    pub(crate) link: Arc<Link>,
    pub(crate) encoding: Encoding,
    /// How many samples this consumer may lag.
    pub(crate) capacity: u64,
    /// How many samples are held back before they are sent, if the consumer asked for that.
    pub(crate) chunk_samples: Option<u64>,
    pub(super) joined: u64,
    pub(super) turn: Turn,
    /// Bytes that go before those at `cursor`: the handshake's answer, or what bridges a gap.
    pub(super) bridge: Vec<u8>,
    /// How much of the bridge must go out whole. The rest is one sample that is not begun and may be replaced.
    pub(super) bridge_fixed: usize,
    pub(super) bridge_sent: usize,
    pub(super) cursor: u64,
    /// The socket took less than it was given: wait until it is writable.
    pub(super) blocked: bool,
    /// The socket became writable while a thread was sending: the send's own finding is out of date.
    pub(super) became_writable: bool,
    pub(super) failed: bool,
    pub(super) dropped: u64,
    /// How many of them were told, and when.
    pub(super) told: Option<(u64, Instant)>,
    /// What its inlet said last of the program there.
    pub(super) report: Option<Report>,
}

impl Consumer {
    pub(super) fn has_bridge(&self) -> bool {
        self.bridge_sent < self.bridge.len()
    }

    pub(super) fn is_idle(&self, log: &Log) -> bool {
        self.turn == Turn::Free
            && !self.failed
            && !self.blocked
            && !self.has_bridge()
            && self.cursor == log.end()
    }

    pub(super) fn wants_service(&self, log: &Log) -> bool {
        let waits = self.has_bridge() || self.cursor < log.end() || self.link.has_unsent();
        self.turn == Turn::Free && !self.failed && !self.blocked && waits
    }

    pub(super) fn take_turn(&mut self) {
        self.turn = Turn::Taken;
        self.became_writable = false;
    }

    pub(super) fn end_turn(&mut self, progress: Progress) {
        self.turn = Turn::Free;
        self.blocked = progress.blocked && !self.became_writable;
        self.failed |= progress.failed;
    }

    /// Lost samples of this consumer that are yet to be told. Some time passes between two reports.
    pub(super) fn untold(&mut self, now: Instant) -> Option<u64> {
        let (before, at) = self.told.unzip();
        let is_due = at.is_none_or(|at| now.saturating_duration_since(at) >= TELL_AGAIN);
        let lost = self.dropped - before.unwrap_or(0);
        (lost > 0 && is_due).then(|| {
            self.told = Some((self.dropped, now));
            lost
        })
    }

    /// Moves the cursor past samples that this consumer is too late for.
    pub(super) fn drop_oldest(&mut self, log: &Log, capacity: u64) {
        let Some(skip) = log.skip(self.cursor, capacity) else { return };
        self.dropped += skip.dropped;
        if self.bridge.len() > self.bridge_fixed {
            // The sample after the last gap has not been begun, so it is too late as
            // well.
            self.bridge.truncate(self.bridge_fixed);
            self.dropped += 1;
        }
        // A consumer that always lags may never empty the bridge: what it has taken must not pile up there.
        self.bridge.drain(..self.bridge_sent);
        self.bridge_sent = 0;
        self.bridge.extend_from_slice(&skip.begun);
        self.bridge_fixed = self.bridge.len();
        self.bridge.extend_from_slice(&skip.first);
        self.cursor = skip.position;
    }

    /// Notes that `bytes` more bytes have gone out, first of the bridge, then of the log.
    pub(super) fn advance(&mut self, bytes: usize) {
        let of_bridge = bytes.min(self.bridge.len() - self.bridge_sent);
        self.bridge_sent += of_bridge;
        self.cursor += (bytes - of_bridge) as u64;
        if self.bridge_sent > self.bridge_fixed {
            // The sample after the gap is begun.
            self.bridge_fixed = self.bridge.len();
        }
        if !self.has_bridge() {
            self.bridge = Vec::new();
            self.bridge_sent = 0;
            self.bridge_fixed = 0;
        }
    }
}

/// Time after which it is told again that a consumer is too slow.
const TELL_AGAIN: Duration = Duration::from_secs(10);
