//! A terminal is told what to show by `termios`.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// While it lives, the terminal does not show what is typed.
pub(crate) struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    /// Hides what is typed from here on; nothing if the input is no terminal.
    pub(crate) fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        // A terminal that refuses this shows what is typed.
        let _shown = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        Some(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal is gone if it cannot be told.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
