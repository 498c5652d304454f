//! A console is told what to show by its mode.

use winsafe::{HSTD, co};

/// While it lives, the console does not show what is typed.
pub(crate) struct HiddenInput {
    input: HSTD,
    before: co::CONSOLE,
}

impl HiddenInput {
    /// Hides what is typed from here on; nothing if the input is no console.
    pub(crate) fn begin() -> Option<Self> {
        // The guard would close the standard input.
        let input = HSTD::GetStdHandle(co::STD_HANDLE::INPUT).ok()?.leak();
        let before = input.GetConsoleMode().ok()?;
        // A console that refuses this shows what is typed.
        let _shown = input.SetConsoleMode(before & !co::CONSOLE::ENABLE_ECHO_INPUT);
        Some(Self { input, before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The console is gone if it cannot be told.
        let _gone = self.input.SetConsoleMode(self.before);
    }
}
