//! How a recording is written.

use core::time::Duration;

/// How often to write and sync, and who may read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The longest that samples wait in memory. What a killed process loses.
    pub flush_every: Duration,
    /// The longest that written bytes wait for `fdatasync`. What a power cut loses, beside the above.
    pub sync_every: Duration,
    /// Time between boundary chunks; LabRecorder's is 10 s.
    pub boundary_every: Duration,
    /// The most bytes that wait while the disk does not keep up; more are refused.
    pub backlog_bytes_max: usize,
    /// Which users of the computer may read the file.
    pub readers: Readers,
}

/// Which users of the computer may read a recording, as far as the system knows such a thing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Readers {
    /// Those whom the process's mask for new files leaves in.
    #[default]
    AsUsual,
    /// Its owner alone: mode 0600.
    Owner,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            flush_every: Duration::from_millis(200),
            sync_every: Duration::from_millis(300),
            boundary_every: Duration::from_secs(10),
            backlog_bytes_max: 512 << 20,
            readers: Readers::AsUsual,
        }
    }
}
