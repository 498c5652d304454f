//! A terminal is told what to show by `termios`.

use core::time::Duration;
use std::io::{self, Read as _};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// While it lives, the terminal does not show what is typed.
pub(crate) struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    /// Hides what is typed from here on; nothing if the input is no terminal.
    pub(crate) fn begin() -> Option<Self> {
        Self::without(LocalModes::ECHO)
    }

    /// The same, and each key is handed over as it is typed; nothing if another program has the terminal.
    pub(crate) fn begin_keys() -> Option<Self> {
        if is_ours() { Self::without(LocalModes::ECHO | LocalModes::ICANON) } else { None }
    }

    fn without(modes: LocalModes) -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(modes);
        // A terminal that refuses this shows what is typed.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        Some(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal is gone if it cannot be told.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Waits for keys for a moment, and adds them to `out`; false once there will be none.
///
/// A program in the background that reads its terminal is stopped by the system, with its recording. So it does not.
pub(crate) fn read_keys(out: &mut Vec<u8>) -> bool {
    let stdin = io::stdin();
    let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
    let moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    if !matches!(poll(&mut wanted, Some(&moment)), Ok(1..)) {
        return true;
    }
    if !is_ours() {
        thread::sleep(Duration::from_millis(200));
        return true;
    }
    let mut keys = [0; 256];
    match stdin.lock().read(&mut keys) {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            out.extend_from_slice(keys.get(..count).unwrap_or_default());
            true
        }
    }
}

/// Whether what is typed is for this program.
fn is_ours() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
