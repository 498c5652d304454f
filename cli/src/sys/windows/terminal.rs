//! A console is told what to show by its mode.

use std::io::{self, Read as _};

use winsafe::{HSTD, co};

/// While it lives, the console does not show what is typed.
pub(crate) struct HiddenInput {
    input: HSTD,
    before: co::CONSOLE,
}

impl HiddenInput {
    /// Hides what is typed from here on; nothing if the input is no console.
    pub(crate) fn begin() -> Option<Self> {
        Self::without(co::CONSOLE::ENABLE_ECHO_INPUT)
    }

    /// The same, and each key is handed over as it is typed.
    pub(crate) fn begin_keys() -> Option<Self> {
        Self::without(co::CONSOLE::ENABLE_ECHO_INPUT | co::CONSOLE::ENABLE_LINE_INPUT)
    }

    fn without(modes: co::CONSOLE) -> Option<Self> {
        // The guard would close the standard input.
        let input = HSTD::GetStdHandle(co::STD_HANDLE::INPUT).ok()?.leak();
        let before = input.GetConsoleMode().ok()?;
        // A console that refuses this shows what is typed.
        let _ = input.SetConsoleMode(before & !modes);
        Some(Self { input, before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The console is gone if it cannot be told.
        let _ = self.input.SetConsoleMode(self.before);
    }
}

/// Waits for keys, and adds them to `out`; false once there will be none.
pub(crate) fn read_keys(out: &mut Vec<u8>) -> bool {
    let mut keys = [0; 256];
    match io::stdin().lock().read(&mut keys) {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            out.extend_from_slice(keys.get(..count).unwrap_or_default());
            true
        }
    }
}
