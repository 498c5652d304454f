//! A revocation list with its discovery key, cut into pieces that fit a session's own messages.
//!
//! Source: secure-session §4.6.

use schwann_session::MAX_ENTRIES;
use schwann_session::control::Piece;
use zeroize::Zeroizing;

/// Cuts `update` into messages of `most` bytes at most.
pub(super) fn pieces(number: u64, update: &[u8], most: usize) -> Vec<Vec<u8>> {
    let Ok(total) = u32::try_from(update.len()) else { return Vec::new() };
    let len = most.saturating_sub(Piece::OVERHEAD).clamp(1, Piece::MAX);
    let piece = |(offset, bytes): (u32, &[u8])| {
        let mut message = vec![0; Piece::OVERHEAD + bytes.len()];
        Piece { number, total, offset, bytes }.encode(&mut message).map(|_| message)
    };
    let offsets = (0..total).step_by(len);
    offsets.zip(update.chunks(len)).filter_map(piece).collect()
}

/// An update of the lab that arrives piece by piece in messages of a session's own.
#[derive(Default)]
pub struct Assembly {
    number: u64,
    total: u32,
    bytes: Zeroizing<Vec<u8>>,
}

impl Assembly {
    /// Adds a piece; returns the update once it is whole. What is out of order is dropped.
    pub fn add(&mut self, message: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let piece = Piece::parse(message)?;
        if piece.offset == 0 && piece.total <= MAX_UPDATE {
            // The whole room at once: a vector that grows leaves copies behind.
            let room = Vec::with_capacity(usize::try_from(piece.total).ok()?);
            *self = Self { number: piece.number, total: piece.total, bytes: Zeroizing::new(room) };
        }
        let continues = (piece.number, piece.total) == (self.number, self.total)
            && usize::try_from(piece.offset) == Ok(self.bytes.len());
        if !continues {
            *self = Self::default();
            return None;
        }
        self.bytes.extend_from_slice(piece.bytes);
        let is_whole = usize::try_from(self.total) == Ok(self.bytes.len()) && self.total > 0;
        is_whole.then(|| core::mem::take(self).bytes)
    }
}

/// Longest update: a full revocation list (secure-session §2.4) and the discovery key.
const MAX_UPDATE: u32 = 72 + 8 * MAX_ENTRIES + 64 + 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn update(len: usize) -> Vec<u8> {
        (0..len).map(|index| index as u8).collect()
    }

    #[test]
    fn an_update_of_any_length_survives_being_cut() {
        for (len, most) in [(1, 256), (168, 256), (240, 256), (20_000, 256), (524_456, 16_384)] {
            let (whole, mut assembly) = (update(len), Assembly::default());
            let messages = pieces(7, &whole, most);
            assert!(messages.iter().all(|message| message.len() <= most));
            let (last, before) = messages.split_last().expect("at least one piece");
            assert!(before.iter().all(|message| assembly.add(message).is_none()));
            assert_eq!(assembly.add(last).as_deref(), Some(&whole));
        }
    }

    #[test]
    fn pieces_that_do_not_follow_are_dropped_and_take_no_memory() {
        let messages = pieces(7, &update(20_000), 1024);
        let mut assembly = Assembly::default();
        assert!(assembly.add(&messages[1]).is_none() && assembly.bytes.is_empty());
        assert!(assembly.add(&messages[0]).is_none());
        assert!(assembly.add(&messages[2]).is_none() && assembly.bytes.is_empty());
        let huge = Piece { number: 1, total: u32::MAX, offset: 0, bytes: &[1] };
        let mut message = [0; 64];
        let len = huge.encode(&mut message).expect("room");
        assert!(assembly.add(&message[..len]).is_none() && assembly.bytes.capacity() == 0);
        // It still takes a proper one.
        let last = messages.iter().map(|message| assembly.add(message)).last().flatten();
        assert_eq!(last.as_deref(), Some(&update(20_000)));
    }
}
