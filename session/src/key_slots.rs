//! A microcontroller's keys in flash, so that no brown-out loses them.
//!
//! Two slots take turns. New content goes into the slot that does not hold the present one, with its checksum
//! behind it. Until the checksum is whole, the other slot counts. So at any moment one of the two is whole,
//! even after a power cut: the old content or the new.
//!
//! ```text
//!   0  magic "SNK" | version 1     12  content (length bytes), then erased bytes up to a multiple of 16
//!   4  turn (LE 32)                 n  CRC-32 of everything before (LE 32)
//!   8  length (LE 32)
//! ```
//!
//! The checksum finds accidents, not attacks: who can write the flash owns the device. Encrypt the flash by the
//! chip's own means if the device may be stolen.

use core::fmt;

/// Memory that is erased in slots and then written once.
pub trait Flash {
    /// Length of each of the two slots, in bytes.
    fn slot_len(&self) -> usize;

    /// Reads from a slot.
    ///
    /// - Errors: [`FlashError`]: the hardware refuses.
    fn read(&mut self, slot: Slot, offset: usize, out: &mut [u8]) -> Result<(), FlashError>;

    /// Erases a slot.
    ///
    /// - Errors: [`FlashError`].
    fn erase(&mut self, slot: Slot) -> Result<(), FlashError>;

    /// Writes erased bytes of a slot; offset and length are multiples of 16.
    ///
    /// - Errors: [`FlashError`].
    fn write(&mut self, slot: Slot, offset: usize, bytes: &[u8]) -> Result<(), FlashError>;
}

/// One of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Slot {
    /// The first.
    A,
    /// The second.
    B,
}

impl Slot {
    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The hardware refuses, or was cut off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlashError;

/// Why keys were not stored or loaded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SlotError {
    /// No slot holds anything: provision the device with `schwann keys issue --device`.
    Empty,
    /// The hardware refuses.
    Flash,
    /// The content exceeds a slot, or the memory to load it into.
    TooLong,
    /// What was written cannot be read back.
    Worn,
}

impl fmt::Display for SlotError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "the device holds no keys; provision it with `schwann keys issue --device`",
            Self::Flash => "the flash memory refuses to work",
            Self::TooLong => "the keys exceed their place in the flash memory",
            Self::Worn => "the flash memory does not keep what is written; it may be worn out",
        })
    }
}

impl core::error::Error for SlotError {}

impl From<FlashError> for SlotError {
    fn from(FlashError: FlashError) -> Self {
        Self::Flash
    }
}

/// Loads the present content into `out` and returns it.
///
/// - Errors: [`SlotError`].
pub fn load<'a>(flash: &mut impl Flash, out: &'a mut [u8]) -> Result<&'a [u8], SlotError> {
    let (slot, head) = present(flash)?.ok_or(SlotError::Empty)?;
    let out = out.get_mut(..head.len).ok_or(SlotError::TooLong)?;
    flash.read(slot, HEAD_LEN, out)?;
    Ok(out)
}

/// Stores a new content; the present one counts until this is done.
///
/// - Errors: [`SlotError`]; the present content is still there.
pub fn store(flash: &mut impl Flash, content: &[u8]) -> Result<(), SlotError> {
    let end = padded(content.len()).ok_or(SlotError::TooLong)?;
    if end + UNIT > flash.slot_len() {
        return Err(SlotError::TooLong);
    }
    let (slot, turn) = match present(flash)? {
        Some((slot, head)) => (slot.other(), head.turn.wrapping_add(1)),
        None => (Slot::A, 0),
    };
    let head = Head { turn, len: content.len() };
    flash.erase(slot)?;
    let mut crc = Crc32::new();
    let mut unit = [ERASED; UNIT];
    let mut filled = 0;
    let mut offset = 0;
    for byte in head.encode().iter().chain(content) {
        if let Some(place) = unit.get_mut(filled) {
            *place = *byte;
        }
        filled += 1;
        if filled == UNIT {
            crc.add(&unit);
            flash.write(slot, offset, &unit)?;
            (offset, filled, unit) = (offset + UNIT, 0, [ERASED; UNIT]);
        }
    }
    if filled > 0 {
        crc.add(&unit);
        flash.write(slot, offset, &unit)?;
        offset += UNIT;
    }
    let mut last = [ERASED; UNIT];
    last.iter_mut().zip(crc.value().to_le_bytes()).for_each(|(to, from)| *to = from);
    flash.write(slot, offset, &last)?;
    match read_head(flash, slot)? {
        Some(read) if read == head => Ok(()),
        _ => Err(SlotError::Worn),
    }
}

/// Lays `content` down as the first slot of an otherwise empty store, to be flashed as an image.
///
/// Returns its length, or nothing if `out` is too short. Fill the rest of the slot with `0xff`.
pub fn image(content: &[u8], out: &mut [u8]) -> Option<usize> {
    let end = padded(content.len())?;
    let out = out.get_mut(..end + UNIT)?;
    out.fill(ERASED);
    let head = Head { turn: 0, len: content.len() }.encode();
    out.iter_mut().zip(head.iter().chain(content)).for_each(|(to, from)| *to = *from);
    let mut crc = Crc32::new();
    crc.add(out.get(..end)?);
    out.get_mut(end..end + 4)?.copy_from_slice(&crc.value().to_le_bytes());
    Some(end + UNIT)
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Head {
    turn: u32,
    len: usize,
}

impl Head {
    fn encode(self) -> [u8; HEAD_LEN] {
        let mut bytes = [0; HEAD_LEN];
        let len = u32::try_from(self.len).unwrap_or(u32::MAX);
        let parts = MAGIC.into_iter().chain(self.turn.to_le_bytes()).chain(len.to_le_bytes());
        bytes.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        bytes
    }

    fn parse(bytes: [u8; HEAD_LEN]) -> Option<Self> {
        let [magic @ .., a, b, c, d, e, f, g, h] = bytes;
        let len = usize::try_from(u32::from_le_bytes([e, f, g, h])).ok()?;
        (magic == MAGIC).then_some(Self { turn: u32::from_le_bytes([a, b, c, d]), len })
    }
}

/// The slot that counts.
fn present(flash: &mut impl Flash) -> Result<Option<(Slot, Head)>, SlotError> {
    let a = read_head(flash, Slot::A)?;
    let b = read_head(flash, Slot::B)?;
    Ok(match (a, b) {
        // Turns wrap, but the two are always neighbours.
        (Some(a), Some(b)) if b.turn == a.turn.wrapping_add(1) => Some((Slot::B, b)),
        (Some(a), _) => Some((Slot::A, a)),
        (None, Some(b)) => Some((Slot::B, b)),
        (None, None) => None,
    })
}

/// What a slot holds, if it is whole.
fn read_head(flash: &mut impl Flash, slot: Slot) -> Result<Option<Head>, SlotError> {
    let mut bytes = [0; HEAD_LEN];
    flash.read(slot, 0, &mut bytes)?;
    let head = Head::parse(bytes).filter(|head| head.len <= flash.slot_len());
    let Some((head, end)) = head.and_then(|head| Some((head, padded(head.len)?))) else { return Ok(None) };
    if end + UNIT > flash.slot_len() {
        return Ok(None);
    }
    let mut crc = Crc32::new();
    let mut unit = [0; UNIT];
    for offset in (0..end).step_by(UNIT) {
        flash.read(slot, offset, &mut unit)?;
        crc.add(&unit);
    }
    let mut stored = [0; 4];
    flash.read(slot, end, &mut stored)?;
    Ok((u32::from_le_bytes(stored) == crc.value()).then_some(head))
}

/// Head and content, up to the next unit.
fn padded(len: usize) -> Option<usize> {
    len.checked_add(HEAD_LEN)?.checked_next_multiple_of(UNIT)
}

/// CRC-32 as Ethernet and zip have it (ISO 3309), bit by bit: it runs at start-up alone.
struct Crc32(u32);

impl Crc32 {
    fn new() -> Self {
        Self(u32::MAX)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..8 {
                let carry = self.0 & 1;
                self.0 = (self.0 >> 1) ^ (0xedb8_8320 * carry);
            }
        }
    }

    fn value(&self) -> u32 {
        !self.0
    }
}

/// CRC-32 of `bytes`, as Ethernet and zip have it.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.add(bytes);
    crc.value()
}

const MAGIC: [u8; 4] = *b"SNK\x01";
const HEAD_LEN: usize = 12;
/// What chips write at a time, at most.
const UNIT: usize = 16;
/// What erased flash reads as.
const ERASED: u8 = 0xff;

#[cfg(test)]
mod tests;
