//! A buffer in this process: who may touch it when. Putting in, getting out and waiting are beside it.

mod put;
mod read;
mod sample;
mod waiting;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub use sample::Sample;
pub(crate) use sample::definition;
pub(crate) use waiting::Begun;

use crate::store::{Capacity, Refused, Store};
use crate::tap::{Change, Tap, TapSender};
use crate::wait::{WaitSet, Wake};
use crate::wire::Header;

/// A buffer in this process. Servers share it with their clients; a program that acquires or analyses uses it
/// directly.
///
/// Clones are handles to the same buffer. Every call is one transaction: readers see whole blocks. A call costs
/// a lock and a copy; big blocks are copied outside the lock.
#[derive(Clone)]
pub struct Buffer {
    inner: Arc<Inner>,
}

struct Inner {
    made: Instant,
    shared: Mutex<BufferContents>,
}

#[derive(Default)]
struct BufferContents {
    store: Store,
    waits: WaitSet,
    taps: Vec<TapSender>,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(capacity: Capacity) -> Self {
        let shared = BufferContents { store: Store::new(capacity), ..BufferContents::default() };
        let (made, shared) = (Instant::now(), Mutex::new(shared));
        Self { inner: Arc::new(Inner { made, shared }) }
    }

    /// Replaces the header; drops all samples and events.
    ///
    /// - Errors: [`Refused::TooLarge`] if one sample takes 4 GiB or more.
    pub fn put_header(&self, header: Header) -> Result<(), Refused> {
        let at = self.now();
        let mut shared = self.lock();
        let change = (!shared.taps.is_empty()).then(|| Change::Header { header: header.clone(), at });
        let retired = shared.store.put_header(header)?;
        shared.tell(change);
        drop(shared);
        drop(retired);
        Ok(())
    }

    /// Removes header, samples and events; waits end with [`Refused::NoHeader`].
    pub fn flush_header(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        let retired = shared.store.flush_header()?;
        shared.tell(Some(Change::HeaderFlushed));
        let wake = shared.take_finished();
        drop(shared);
        drop(retired);
        drop(wake);
        Ok(())
    }

    /// Removes the samples; their numbering starts again at 0.
    pub fn flush_samples(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        let retired = shared.store.flush_samples()?;
        shared.tell(Some(Change::SamplesFlushed));
        drop(shared);
        drop(retired);
        Ok(())
    }

    /// Removes the events; their numbering starts again at 0.
    pub fn flush_events(&self) -> Result<(), Refused> {
        let mut shared = self.lock();
        shared.store.flush_events()?;
        shared.tell(Some(Change::EventsFlushed));
        Ok(())
    }

    /// Follows everything that the buffer accepts from now on, beginning with the present header if there is
    /// one. Nothing is lost while less than `limit` bytes wait to be taken.
    pub fn tap(&self, limit: usize) -> Tap {
        let (sender, tap) = crate::tap::tap(limit);
        let at = self.now();
        let mut shared = self.lock();
        let header = shared.store.header().ok().cloned();
        if header.is_none_or(|header| sender.send(Change::Header { header, at })) {
            shared.taps.push(sender);
        }
        tap
    }

    /// Runs `look` on the store.
    pub(crate) fn with_store<R>(&self, look: impl FnOnce(&Store) -> R) -> R {
        look(&self.lock().store)
    }

    #[inline]
    fn now(&self) -> Duration {
        self.inner.made.elapsed()
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, BufferContents> {
        // Nothing under the lock leaves the store half changed; a panic elsewhere must not take the buffer along.
        self.inner.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new(Capacity::default())
    }
}

impl core::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Buffer").field("totals", &self.totals()).finish_non_exhaustive()
    }
}

impl BufferContents {
    fn tell(&mut self, change: Option<Change>) {
        if let Some(change) = change {
            self.taps.retain(|tap| tap.send(change.clone()));
        }
    }

    #[inline]
    fn take_finished(&mut self) -> Wake {
        self.waits.take_finished(&self.store)
    }
}

/// Blocks from this size on become segments of their own.
pub(crate) const BULK_BYTES: usize = 48 << 10;

#[cfg(test)]
mod tests;
