//! Calendar time, as certificates and sealed discovery need it.

use core::fmt;

/// Whole seconds since 1970-01-01 00:00 UTC, on the local clock.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct UnixSeconds(pub u64);

impl UnixSeconds {
    /// The distance to `other`, in seconds, whichever is later.
    #[must_use]
    pub fn abs_diff(self, other: Self) -> u64 {
        self.0.abs_diff(other.0)
    }
}

impl fmt::Display for UnixSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s since 1970", self.0)
    }
}
