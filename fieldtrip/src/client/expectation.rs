use core::time::Duration;
use std::io;
use std::time::Instant;

use crate::rhythm::Rhythm;
use crate::socket::Socket;

/// When the next block is due, by when those before came: a client that is awake then goes on tens of microseconds
/// earlier than one that has to wake up.
#[derive(Debug)]
pub(super) struct Expectation {
    made: Instant,
    rhythm: Rhythm,
}

impl Expectation {
    /// Takes note of a block that has come.
    pub(super) fn came(&mut self) {
        self.rhythm.beat(self.made.elapsed());
    }

    /// Waits on `socket` for a block that is due before `timeout` is over; returns early, and at once if none is.
    pub(super) fn watch(&mut self, socket: &Socket, timeout: Duration) -> io::Result<()> {
        let end = Instant::now().checked_add(timeout);
        let Some(due) = self.rhythm.due() else { return Ok(()) };
        let due = self.made + due.start..self.made + due.end;
        if end.is_some_and(|end| end <= due.end) {
            return Ok(());
        }
        if let Some(vigil) = socket.watch(&due)? {
            self.rhythm.kept(vigil);
        }
        Ok(())
    }
}

impl Default for Expectation {
    fn default() -> Self {
        Self { made: Instant::now(), rhythm: Rhythm::default() }
    }
}
