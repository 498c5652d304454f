//! What may become of a packet at a rule, as far as the rules tell.

/// Some of the four outcomes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Outcomes(u8);

impl Outcomes {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ACCEPT: Self = Self(1);
    pub(super) const DROP: Self = Self(2);
    /// The rules behind the present one decide.
    pub(super) const ONWARD: Self = Self(4);
    /// The rest of the chain is passed over.
    pub(super) const RETURN: Self = Self(8);
    pub(super) const ANY: Self = Self(15);

    /// These and those.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of `others` is among these.
    pub(super) fn include(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// These with `others` in the place of `outcome`, if that is among them.
    pub(super) fn replaced(self, outcome: Self, others: Self) -> Self {
        if self.include(outcome) { Self(self.0 & !outcome.0).or(others) } else { self }
    }
}
