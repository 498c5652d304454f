//! A lossless view of everything that a buffer accepts, in order: what a recorder writes down.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use crate::store::SharedBytes;
use crate::wire::Header;

/// One accepted change of a buffer. Numbers are in the machine's byte order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Events were appended.
    Events {
        /// Each as it travels.
        events: Vec<Arc<[u8]>>,
        /// When, since the buffer was made.
        at: Duration,
    },
    /// The events were removed.
    EventsFlushed,
    /// A new acquisition began.
    Header {
        /// Its header.
        header: Header,
        /// When, since the buffer was made.
        at: Duration,
    },
    /// Everything was removed.
    HeaderFlushed,
    /// Samples were appended.
    Samples {
        /// How many.
        count: u32,
        /// Their values, in pieces.
        values: Vec<Values>,
        /// When, since the buffer was made.
        at: Duration,
    },
    /// The samples were removed.
    SamplesFlushed,
}

/// A piece of the values of a block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Values {
    /// Copied out of a small block.
    Copied(Arc<[u8]>),
    /// Shared with the ring.
    Shared(SharedBytes),
}

impl AsRef<[u8]> for Values {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Copied(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// What became of a tap: nothing more can be read, and changes may have been lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TapEnd {
    /// The buffer is gone; everything was read.
    BufferGone,
    /// Changes came faster than they were taken and exceeded the tap's limit: what comes now is incomplete.
    Overflow,
}

impl core::fmt::Display for TapEnd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::BufferGone => "the buffer is gone",
            Self::Overflow => "changes came faster than they were taken",
        })
    }
}

impl core::error::Error for TapEnd {}

/// Receives every accepted change of a buffer; see [`Buffer::tap`](crate::Buffer::tap).
#[derive(Debug)]
pub struct Tap {
    changes: Receiver<Change>,
    pending: Arc<Pending>,
}

/// The buffer's end of a tap.
#[derive(Debug)]
pub(crate) struct TapSender {
    changes: Sender<Change>,
    pending: Arc<Pending>,
    limit: usize,
}

/// Bytes that were sent and not taken yet; [`OVERFLOWN`] once there were too many.
type Pending = AtomicUsize;

pub(crate) fn tap(limit: usize) -> (TapSender, Tap) {
    let (sender, receiver) = channel();
    let pending = Arc::new(Pending::new(0));
    let tap = Tap { changes: receiver, pending: Arc::clone(&pending) };
    (TapSender { changes: sender, pending, limit }, tap)
}

impl TapSender {
    /// Passes a change on; false if the tap is no longer needed.
    pub(crate) fn send(&self, change: Change) -> bool {
        let bytes = change.bytes();
        let pending = self.pending.load(Ordering::Relaxed);
        if pending > self.limit.saturating_sub(bytes) && pending > 0 {
            self.pending.store(OVERFLOWN, Ordering::Release);
            return false;
        }
        self.pending.fetch_add(bytes, Ordering::Relaxed);
        self.changes.send(change).is_ok()
    }
}

impl Tap {
    /// Takes the next change; `None` if there was none in time.
    ///
    /// - Errors: [`TapEnd`], after which there is nothing more.
    pub fn next_change(&self, timeout: Duration) -> Result<Option<Change>, TapEnd> {
        match self.changes.recv_timeout(timeout) {
            Ok(change) => {
                let bytes = change.bytes();
                let settle = |pending| (pending != OVERFLOWN).then(|| pending - bytes);
                // After an overflow the count has no meaning any more.
                let _ = self.pending.fetch_update(Ordering::Relaxed, Ordering::Relaxed, settle);
                Ok(Some(change))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) if self.pending.load(Ordering::Acquire) == OVERFLOWN => {
                Err(TapEnd::Overflow)
            }
            Err(RecvTimeoutError::Disconnected) => Err(TapEnd::BufferGone),
        }
    }
}

impl Change {
    fn bytes(&self) -> usize {
        let content = match self {
            Self::Events { events, .. } => events.iter().map(|event| event.len()).sum(),
            Self::Header { header, .. } => header.chunk_bytes.len(),
            Self::Samples { values, .. } => values.iter().map(|values| values.as_ref().len()).sum(),
            Self::EventsFlushed | Self::HeaderFlushed | Self::SamplesFlushed => 0,
        };
        CHANGE_BYTES + content
    }
}

const OVERFLOWN: usize = usize::MAX;

/// What a change costs besides its bytes.
const CHANGE_BYTES: usize = 128;
