//! Syncs files in a thread of its own, so that sealing does not wait for the disk.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::segment::Segment;

pub(super) struct Syncer {
    files: SyncSender<File>,
    failures: Receiver<io::Error>,
}

impl Syncer {
    pub(super) fn start() -> io::Result<Self> {
        let (files, asked) = sync_channel::<File>(WAITING);
        let (fail, failures) = sync_channel(WAITING);
        thread::Builder::new().name(String::from("journal")).spawn(move || {
            for file in asked {
                if let Err(error) = file.sync_data() {
                    // One failure tells as much as many.
                    let _ = fail.try_send(error);
                }
            }
        })?;
        Ok(Self { files, failures })
    }

    /// Has what is in the segment by now synced.
    ///
    /// - Errors: what went wrong before.
    pub(super) fn sync(&self, segment: &Segment) -> io::Result<()> {
        // While a disk is slow, the sync that waits covers this one.
        let _ = self.files.try_send(segment.file().try_clone()?);
        self.failures.try_recv().map_or(Ok(()), Err)
    }
}

const WAITING: usize = 4;
