//! A disk that fills, that keeps what was synced, and of the rest what its moods permit.

use crate::lab::Seeded;

pub struct Disk<T> {
    lines: Vec<T>,
    synced: usize,
    /// The power failed while the last line was written.
    is_torn: bool,
    /// How many more lines it takes; any number, if that is not said.
    room: Option<usize>,
}

impl<T> Default for Disk<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), synced: 0, is_torn: false, room: None }
    }
}

impl<T> Disk<T> {
    /// Appends a line; gives it back if there is no room for it.
    pub fn append(&mut self, line: T) -> Result<(), T> {
        match &mut self.room {
            Some(0) => return Err(line),
            Some(room) => *room -= 1,
            None => {}
        }
        self.lines.push(line);
        Ok(())
    }

    /// From now on it takes so many more lines.
    pub fn set_room(&mut self, room: Option<usize>) {
        self.room = room;
    }

    pub fn sync(&mut self) {
        self.synced = self.lines.len();
    }

    /// All but a torn one.
    pub fn lines(&self) -> &[T] {
        &self.lines[..self.lines.len() - usize::from(self.is_torn)]
    }

    pub fn synced_lines(&self) -> &[T] {
        &self.lines[..self.synced]
    }

    /// Takes lines out. A journal does that with whole files, so it counts as synced.
    pub fn remove(&mut self, goes: impl Fn(&T) -> bool) {
        let gone = self.lines[..self.synced].iter().filter(|line| goes(line)).count();
        let before = self.lines.len();
        self.lines.retain(|line| !goes(line));
        self.synced -= gone;
        self.room = self.room.map(|room| room + before - self.lines.len());
    }

    /// The power fails: of what was not synced, a part from the beginning is there afterwards. The last line of that may be torn;
    /// says whether it is.
    pub fn lose_power(&mut self, chance: &mut Seeded, tear: impl FnOnce(&mut T)) -> bool {
        if self.is_torn {
            return false;
        }
        let kept = chance.below(self.lines.len() - self.synced + 1);
        self.lines.truncate(self.synced + kept);
        self.is_torn = kept > 0 && chance.once_in(2);
        if self.is_torn
            && let Some(last) = self.lines.last_mut()
        {
            tear(last);
        }
        self.synced = self.lines().len();
        self.is_torn
    }

    /// A process begins with it. One that `checks` cuts a torn end off.
    pub fn open(&mut self, checks: bool) {
        if core::mem::take(&mut self.is_torn) && checks {
            self.lines.pop();
        }
        self.sync();
    }
}
