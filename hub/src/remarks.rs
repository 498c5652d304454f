//! What happened, for people.

/// What happened and was not taken yet: each once in a row, and not without end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remarks(Vec<String>);

impl Remarks {
    /// Adds what happened.
    pub(crate) fn tell(&mut self, what: String) {
        if self.0.last() != Some(&what) && self.0.len() < MOST {
            self.0.push(what);
        }
    }

    /// What happened since this was last called.
    pub(crate) fn take(&mut self) -> Vec<String> {
        core::mem::take(&mut self.0)
    }
}

/// Remarks that are kept until a program takes them.
const MOST: usize = 64;
