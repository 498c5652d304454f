//! Which process something belongs to.

/// The process that made a handle.
///
/// A fork hands handles down, but neither the threads behind them nor, to itself alone, their sockets. So a
/// child lets go of an inherited handle without a word: to wait for its thread would never end, and to shut
/// its connections down would end those of the parent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Maker(u32);

impl Maker {
    /// This process.
    pub(crate) fn this() -> Self {
        Self(std::process::id())
    }

    /// Whether the handle was inherited through a fork.
    pub(crate) fn is_another(self) -> bool {
        self != Self::this()
    }
}
