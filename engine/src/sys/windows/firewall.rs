//! Whether a firewall is switched on: not asked here.

/// Nothing.
pub(crate) fn name() -> Option<&'static str> {
    None
}
