//! A hub that does to messages whatever a broken or hostile one may do.

use crate::lab::Seeded;

#[derive(Default)]
pub struct Hub {
    log: Vec<Vec<u8>>,
    /// All that was ever published, to be played again.
    past: Vec<Vec<u8>>,
    pub honest: bool,
    pub rolled_back: u64,
}

impl Hub {
    /// Takes a message; returns the place in its log where it says that it has it. It may lie in every way.
    pub fn publish(&mut self, message: Vec<u8>, chance: &mut Seeded) -> Option<u64> {
        self.past.push(message.clone());
        let place = self.log.len() as u64 + 1;
        if self.honest {
            self.log.push(message);
            return Some(place);
        }
        match chance.below(12) {
            0 => return Some(place),
            1 => return None,
            2 => self.log.extend([message.clone(), message]),
            3 => {
                let place = chance.below(self.log.len() + 1);
                self.log.insert(place, message);
            }
            4 => self.log.push(flipped(message, chance)),
            _ => self.log.push(message),
        }
        Some(place)
    }

    /// What it does of its own accord.
    pub fn misbehave(&mut self, chance: &mut Seeded) {
        match chance.below(16) {
            0 => {
                let kept = chance.below(self.log.len() + 1);
                self.log.truncate(kept);
                self.rolled_back += 1;
            }
            1 if !self.past.is_empty() => {
                let old = self.past[chance.below(self.past.len())].clone();
                self.log.push(old);
            }
            2 => {
                let noise = (0..chance.below(400)).map(|_| chance.draw() as u8).collect();
                self.log.push(noise);
            }
            3 if !self.past.is_empty() => {
                let old = self.past[chance.below(self.past.len())].clone();
                self.log.push(flipped(old, chance));
            }
            _ => {}
        }
    }

    /// The messages from place `from` on, and the place behind them. A dishonest hub may hold back the newest.
    pub fn since(&self, from: usize, chance: &mut Seeded) -> (Vec<Vec<u8>>, usize) {
        let end = if self.honest { self.log.len() } else { chance.below(self.log.len() + 1) };
        match self.log.get(from..end) {
            Some(messages) => (messages.to_vec(), end),
            // The log was rolled back below that place: a reader begins anew.
            None => (Vec::new(), 0),
        }
    }

    /// Whether it has this message.
    pub fn has(&self, message: &[u8]) -> bool {
        self.log.iter().any(|one| one == message)
    }

    /// The newest message that begins with `magic`, and its place.
    pub fn last(&self, magic: &[u8; 4]) -> Option<(&[u8], u64)> {
        let (at, message) = self.log.iter().enumerate().rfind(|(_, message)| message.starts_with(magic))?;
        Some((message, at as u64 + 1))
    }
}

fn flipped(mut message: Vec<u8>, chance: &mut Seeded) -> Vec<u8> {
    if !message.is_empty() {
        let place = chance.below(message.len());
        message[place] ^= 1 << chance.below(8);
    }
    message
}
