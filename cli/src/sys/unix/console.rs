//! The end of a terminal.

use std::io;

/// Nothing: a terminal that ends sends a signal, as Ctrl-C does.
///
/// - Errors: none on this system.
pub(crate) fn on_end(_: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Ok(())
}
