//! Waiting for the disk.

use core::time::Duration;
use std::thread;

use super::error::PushError;

/// Pushes as soon as the disk keeps up: for programs that have samples faster than a disk takes them.
///
/// - Errors: those of `push`, but for [`PushError::Backlogged`].
pub fn patiently(mut push: impl FnMut() -> Result<(), PushError>) -> Result<(), PushError> {
    loop {
        match push() {
            Err(PushError::Backlogged) => thread::sleep(PAUSE),
            done => return done,
        }
    }
}

const PAUSE: Duration = Duration::from_millis(1);
