//! Linux and the BSDs, with a desktop or without.

/// The program that shows an address in the usual browser, and its first arguments; nothing without a screen.
pub(crate) fn opener() -> Option<(&'static str, &'static [&'static str])> {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_screen.then_some(("xdg-open", &[]))
}
