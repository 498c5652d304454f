//! Writes a recording so that a crash at any moment costs less than a second of it.
//!
//! Samples wait in memory, one buffer per stream. Every [`Options::flush_every`], a thread takes all
//! buffers and appends them as whole chunks with one vectored write. A second thread calls `fdatasync`
//! every [`Options::sync_every`]. The recorder and the writes do not wait for the disk. A killed
//! process loses what was in memory. A machine that loses power also loses what was not yet synced. A
//! torn chunk at the end is all the damage there can be, and readers skip it.
//!
//! Space for the footers is set aside ahead of time, so that a full disk still leaves a complete file.

mod disk;
mod error;
mod options;
mod packer;
mod patience;
mod sealer;
pub(crate) mod slot;
mod store;
mod syncer;
mod wrapper;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

pub use error::{AddStreamError, CreateError, Failure, PushError};
pub use options::{Options, Readers};
pub use patience::patiently;

use crate::checksum::Proof;
use crate::header::{StreamHeader, file_header_xml};
use crate::sealing::Recipients;
use crate::sys;
use crate::values::{Number, Values, on_values};
use crate::wire::{Format, MAGIC, Tag, put_chunk};
use packer::Packer;
use sealer::Sealer;
use slot::Slot;
use store::Store;
use wrapper::Wrapper;

/// A recording being written.
///
/// Dropping it writes the footers too, but only [`Writer::finish`] says whether that worked.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<SharedWriter>,
    disk: Option<JoinHandle<Summary>>,
}

impl Writer {
    /// Creates the file at `path` and writes its header.
    ///
    /// - Errors: [`CreateError`]; [`CreateError::Exists`] if there is a file already: it is never replaced.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self, CreateError> {
        Self::begin(path.as_ref(), options, None)
    }

    /// Creates a file that is sealed to `recipients` while it is written, in the format of age.
    ///
    /// A killed process loses what was not sealed yet: up to five seconds, or 64 KiB if they come sooner.
    ///
    /// - Errors: as [`Writer::create`]; [`CreateError::NoRecipient`].
    pub fn create_sealed(
        path: impl AsRef<Path>,
        options: Options,
        recipients: &Recipients,
    ) -> Result<Self, CreateError> {
        let sealer = Sealer::new(recipients).map_err(|_| CreateError::NoRecipient)?;
        Self::begin(path.as_ref(), options, Some(Wrapper::Sealer(sealer)))
    }

    /// Creates a file that is compressed while it is written, in the format of gzip: `.xdfz`.
    ///
    /// A killed process loses no more than with a plain file.
    ///
    /// - Errors: as [`Writer::create`].
    pub fn create_packed(path: impl AsRef<Path>, options: Options) -> Result<Self, CreateError> {
        Self::begin(path.as_ref(), options, Some(Wrapper::Packer(Packer::new())))
    }

    fn begin(path: &Path, options: Options, wrapper: Option<Wrapper>) -> Result<Self, CreateError> {
        let file = create_new(path, options.readers).map_err(CreateError::from)?;
        let mut head = MAGIC.to_vec();
        put_chunk(&mut head, Tag::FileHeader, None, file_header_xml(&datetime(SystemTime::now())).as_bytes());
        let mut store = Store::new(file, wrapper);
        store.append(&[&head], 0).map_err(CreateError::Failed)?;
        store.sync().map_err(CreateError::Failed)?;
        sync_folder(path);

        let shared = Arc::new(SharedWriter {
            options,
            registry: Mutex::new(Registry::default()),
            backlog: AtomicUsize::new(0),
            failure: OnceLock::new(),
            stop: Mutex::new(false),
            woken: Condvar::new(),
            health: Mutex::new(Health::default()),
        });
        let disk = disk::spawn(Arc::clone(&shared), store).map_err(CreateError::from)?;
        Ok(Self { shared, disk: Some(disk) })
    }

    /// Adds a stream whose header is `xml`, under the next free id. Streams may join at any time.
    ///
    /// - Errors: [`AddStreamError`]
    pub fn add_stream(&self, xml: &str) -> Result<StreamWriter, AddStreamError> {
        self.add(None, xml)
    }

    /// Adds a stream under the given id.
    ///
    /// - Errors: [`AddStreamError`]; [`AddStreamError::IdTaken`] if the file has such a stream.
    pub fn add_stream_as(&self, id: u32, xml: &str) -> Result<StreamWriter, AddStreamError> {
        self.add(Some(id), xml)
    }

    /// Says what has been written, what waits, and whether the disk still works.
    #[must_use]
    pub fn health(&self) -> Health {
        let mut health = lock(&self.shared.health).clone();
        health.backlog_bytes = self.shared.backlog.load(Ordering::Relaxed);
        health.failure = self.shared.failure.get().copied();
        health
    }

    /// Writes what waits, the footers and a last boundary, and syncs the file.
    ///
    /// - Errors: [`Failure`] if anything pushed is not in the file; all that is in it is readable.
    pub fn finish(mut self) -> Result<Summary, Failure> {
        match self.close() {
            Some(summary) => summary.failure.map_or_else(|| Ok(summary.clone()), Err),
            None => Err(Failure::Internal),
        }
    }

    fn add(&self, id: Option<u32>, xml: &str) -> Result<StreamWriter, AddStreamError> {
        if let Some(failure) = self.shared.failure.get() {
            return Err(AddStreamError::Failed(*failure));
        }
        let mut registry = lock(&self.shared.registry);
        let id = match id {
            Some(id) => id,
            None => registry.next_id().ok_or(AddStreamError::IdTaken)?,
        };
        if registry.slots.iter().any(|slot| slot.id() == id) {
            return Err(AddStreamError::IdTaken);
        }
        let header = StreamHeader::parse(id, xml.as_bytes()).map_err(AddStreamError::Header)?;
        let slot = Arc::new(Slot::new(&header));
        let mut chunk = Vec::new();
        put_chunk(&mut chunk, Tag::StreamHeader, Some(id), xml.as_bytes());
        registry.headers.push((id, chunk));
        registry.slots.push(Arc::clone(&slot));
        drop(registry);
        // A recording that is killed early must at least say which streams there were.
        self.shared.woken.notify_all();
        Ok(StreamWriter { shared: Arc::clone(&self.shared), slot })
    }

    fn close(&mut self) -> Option<Summary> {
        *lock(&self.shared.stop) = true;
        self.shared.woken.notify_all();
        self.disk.take()?.join().ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Puts samples of one stream into the recording. May live on another thread than the [`Writer`].
#[derive(Debug)]
pub struct StreamWriter {
    shared: Arc<SharedWriter>,
    slot: Arc<Slot>,
}

impl StreamWriter {
    /// Returns the stream's id in the file.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.slot.id()
    }

    /// Appends numeric samples; never waits for the disk.
    ///
    /// - Units: `stamps` are seconds on the stream's clock.
    /// - Shape: `values` is samples × channels, one row per sample; `stamps` has one entry per row.
    /// - Errors: [`PushError`]; nothing of the call is then recorded.
    pub fn push<T: Number>(&self, stamps: &[f64], values: &[T]) -> Result<(), PushError> {
        self.check(T::FORMAT, stamps.len(), values.len())?;
        self.account(self.slot.push_numbers(stamps, values))
    }

    /// Appends text samples; never waits for the disk.
    ///
    /// - Units, shape, errors: as [`StreamWriter::push`].
    pub fn push_text<S: AsRef<[u8]>>(&self, stamps: &[f64], values: &[S]) -> Result<(), PushError> {
        self.check(Format::String, stamps.len(), values.len())?;
        self.account(self.slot.push_text(stamps, values))
    }

    /// Appends samples in the format of `values`; never waits for the disk.
    ///
    /// - Units, shape, errors: as [`StreamWriter::push`].
    pub fn push_values(&self, stamps: &[f64], values: &Values) -> Result<(), PushError> {
        on_values!(values, values => self.push(stamps, values), text => self.push_text(stamps, values))
    }

    /// Records that at `collected` on the recorder's clock, the stream's clock was `offset` behind it.
    ///
    /// - Units: both in seconds; `offset` is what to add to the stream's stamps (`lsl_time_correction`).
    /// - Errors: [`PushError::Failed`]
    pub fn clock_offset(&self, collected: f64, offset: f64) -> Result<(), PushError> {
        if let Some(failure) = self.shared.failure.get() {
            return Err(PushError::Failed(*failure));
        }
        self.slot.push_offset(collected, offset);
        Ok(())
    }

    fn check(&self, format: Format, samples: usize, values: usize) -> Result<(), PushError> {
        if let Some(failure) = self.shared.failure.get() {
            return Err(PushError::Failed(*failure));
        }
        if self.slot.format() != format {
            return Err(PushError::Format);
        }
        if samples.checked_mul(self.slot.channel_count()) != Some(values) {
            return Err(PushError::Shape);
        }
        if self.shared.backlog.load(Ordering::Relaxed) > self.shared.options.backlog_bytes_max {
            return Err(PushError::Backlogged);
        }
        Ok(())
    }

    fn account(&self, bytes: Option<usize>) -> Result<(), PushError> {
        let bytes = bytes.ok_or(PushError::Finished)?;
        let before = self.shared.backlog.fetch_add(bytes, Ordering::Relaxed);
        // Much has come at once: write it before the buffers grow further than they must.
        if before < EARLY_FLUSH_BYTES && before + bytes >= EARLY_FLUSH_BYTES {
            self.shared.woken.notify_all();
        }
        Ok(())
    }
}

fn create_new(path: &Path, readers: Readers) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.write(true).create_new(true);
    if readers == Readers::Owner {
        sys::make_private(&mut how);
    }
    how.open(path)
}

/// How a recording does.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Health {
    /// Bytes in the file.
    pub file_bytes: u64,
    /// Bytes of the file known to be on the disk.
    pub synced_bytes: u64,
    /// Bytes of samples still in memory.
    pub backlog_bytes: usize,
    /// Per stream, what is in the file.
    pub streams: Vec<StreamProgress>,
    /// Why nothing more is written, if so.
    pub failure: Option<Failure>,
}

/// What of one stream is in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StreamProgress {
    /// The stream's id in the file.
    pub id: u32,
    /// Samples in the file.
    pub sample_count: u64,
    /// Stamp of the first, in seconds on the stream's clock; 0 if there is none.
    pub first_stamp: f64,
    /// Stamp of the last, in seconds on the stream's clock; 0 if there is none.
    pub last_stamp: f64,
    /// Clock offsets in the file.
    pub clock_offset_count: usize,
}

/// What a finished recording holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes in the file.
    pub file_bytes: u64,
    /// Per stream, in the order in which they were added.
    pub streams: Vec<StreamProgress>,
    /// Why the file lacks what was pushed last, if it does.
    pub failure: Option<Failure>,
    /// The hashes of the file and its pieces.
    pub proof: Proof,
}

/// What the recorder's threads and the disk's share.
#[derive(Debug)]
struct SharedWriter {
    options: Options,
    registry: Mutex<Registry>,
    /// Bytes of samples in memory.
    backlog: AtomicUsize,
    failure: OnceLock<Failure>,
    stop: Mutex<bool>,
    woken: Condvar,
    health: Mutex<Health>,
}

impl SharedWriter {
    /// Says whether the disk's thread should not wait any longer.
    fn is_urgent(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) >= EARLY_FLUSH_BYTES || !lock(&self.registry).headers.is_empty()
    }
}

/// The streams, and the headers not yet written. A stream's header is queued before its slot can be seen,
/// so that no sample comes before it.
#[derive(Debug, Default)]
struct Registry {
    headers: Vec<(u32, Vec<u8>)>,
    slots: Vec<Arc<Slot>>,
}

impl Registry {
    fn next_id(&self) -> Option<u32> {
        self.slots.iter().map(|slot| slot.id()).max().unwrap_or(0).checked_add(1)
    }
}

/// Locks `mutex`. A panic elsewhere must not cost the recording: all states behind our locks are whole
/// at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the new file's name survive a power cut. Not all systems can; the file itself is what matters.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Formats `time` as LabRecorder does, in UTC: `2025-01-31T00:21:17+0000`.
#[must_use]
pub fn datetime(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days to civil date, after Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+0000")
}

/// Bytes in memory from which the disk's thread is woken before its time.
const EARLY_FLUSH_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests;
