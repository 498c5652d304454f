//! Calendar time, as certificates and sealed discovery need it.

use core::fmt;

/// Whole seconds since 1970-01-01 00:00 UTC, on the local clock.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct UnixSeconds(pub u64);

impl UnixSeconds {
    /// The distance to `other`, in seconds, in either direction.
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

/// What a device knows of the date.
///
/// A chip without a battery has no calendar. It knows past dates, because its lab's authority signed them. So it
/// can tell that a certificate has expired, but never that one is not valid yet.
///
/// - Source: secure-session §2.3.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Calendar {
    /// The local clock shows it.
    Known(UnixSeconds),
    /// This device has no calendar: it is this moment or any later one.
    NotBefore(UnixSeconds),
}

impl Calendar {
    /// The earliest moment that it can be.
    #[must_use]
    pub fn earliest(self) -> UnixSeconds {
        match self {
            Self::Known(at) | Self::NotBefore(at) => at,
        }
    }

    /// The same, given a past date that the lab's authority signed; a known calendar stays.
    #[must_use]
    pub fn after(self, signed: UnixSeconds) -> Self {
        match self {
            Self::Known(now) => Self::Known(now),
            Self::NotBefore(at) => Self::NotBefore(at.max(signed)),
        }
    }

    /// Whether it is certainly earlier than `moment`.
    pub(crate) fn is_before(self, moment: UnixSeconds) -> bool {
        matches!(self, Self::Known(now) if now < moment)
    }

    /// Whether `moment` may be now, give or take `tolerance` seconds.
    pub(crate) fn may_be(self, moment: UnixSeconds, tolerance: u64) -> bool {
        match self {
            Self::Known(now) => now.abs_diff(moment) <= tolerance,
            Self::NotBefore(at) => moment.0.saturating_add(tolerance) >= at.0,
        }
    }
}

impl From<UnixSeconds> for Calendar {
    fn from(now: UnixSeconds) -> Self {
        Self::Known(now)
    }
}

impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(now) => now.fmt(f),
            Self::NotBefore(at) => {
                write!(f, "this device has no calendar; it goes by the newest date it can prove, {at}")
            }
        }
    }
}
