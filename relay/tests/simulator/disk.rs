//! A disk that keeps what was synced, and of the rest what its moods permit.

use crate::lab::Seeded;

pub struct Disk<T> {
    lines: Vec<T>,
    synced: usize,
}

impl<T> Default for Disk<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), synced: 0 }
    }
}

impl<T> Disk<T> {
    pub fn append(&mut self, line: T) {
        self.lines.push(line);
    }

    pub fn sync(&mut self) {
        self.synced = self.lines.len();
    }

    pub fn lines(&self) -> &[T] {
        &self.lines
    }

    pub fn synced_lines(&self) -> &[T] {
        &self.lines[..self.synced]
    }

    /// Takes lines out. A journal does that with whole files, so it counts as synced.
    pub fn remove(&mut self, goes: impl Fn(&T) -> bool) {
        let gone = self.lines[..self.synced].iter().filter(|line| goes(line)).count();
        self.lines.retain(|line| !goes(line));
        self.synced -= gone;
    }

    /// The power fails: of what was not synced, a part from the beginning is there afterwards.
    pub fn lose_power(&mut self, chance: &mut Seeded) {
        let kept = chance.below(self.lines.len() - self.synced + 1);
        self.lines.truncate(self.synced + kept);
        self.sync();
    }
}
