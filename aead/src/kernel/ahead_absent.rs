//! Stands in for key stream made ahead where that gains nothing: on CPUs with the portable kernel alone.

use super::Kernel;
use crate::{Key, Message, Nonce};

/// Nothing: on this CPU no message has its key stream made ahead.
#[derive(Default)]
pub struct Ahead;

impl Ahead {
    /// Longest message that it serves, in bytes: none.
    pub const LONGEST: usize = 0;

    /// Serves no message.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// Does nothing.
    pub fn prepare(&mut self, _kernel: Kernel, _key: &Key, _nonce: Nonce, _length: usize) {}

    /// Does nothing, and says so.
    pub fn seal(&mut self, _message: &mut Message<'_>) -> bool {
        false
    }

    /// Does nothing, and says so.
    pub fn open(&mut self, _message: &mut Message<'_>) -> bool {
        false
    }
}
