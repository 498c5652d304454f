//! macOS.

/// The program that shows an address in the usual browser, and its first arguments.
pub(crate) fn opener() -> Option<(&'static str, &'static [&'static str])> {
    Some(("open", &[]))
}
