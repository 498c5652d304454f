//! Where random bytes come from.

use core::fmt;

/// A source of secret random bytes, handed in by the caller.
pub trait Entropy {
    /// Fills `out` with unpredictable bytes.
    ///
    /// - Errors: [`NoEntropy`]; the caller must give up what needed them.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy>;
}

/// The source of randomness failed; nothing secret can be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoEntropy;

impl fmt::Display for NoEntropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system gives no random bytes")
    }
}

impl core::error::Error for NoEntropy {}

/// The operating system's generator.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

#[cfg(feature = "std")]
impl Entropy for SystemEntropy {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        getrandom::fill(out).map_err(|_| NoEntropy)
    }
}
