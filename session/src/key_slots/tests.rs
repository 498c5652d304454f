use std::{vec, vec::Vec};

use super::*;

/// Flash whose power fails after a number of bytes written or erased.
struct Chip {
    slots: [Vec<u8>; 2],
    power: usize,
}

impl Chip {
    fn new() -> Self {
        Self { slots: [vec![0xff; 256], vec![0xff; 256]], power: usize::MAX }
    }

    fn change(&mut self, slot: Slot, offset: usize, bytes: &[u8]) -> Result<(), FlashError> {
        for (place, byte) in bytes.iter().enumerate() {
            self.power = self.power.checked_sub(1).ok_or(FlashError)?;
            self.slots[slot as usize][offset + place] = *byte;
        }
        Ok(())
    }
}

impl Flash for Chip {
    fn slot_len(&self) -> usize {
        256
    }

    fn read(&mut self, slot: Slot, offset: usize, out: &mut [u8]) -> Result<(), FlashError> {
        out.copy_from_slice(&self.slots[slot as usize][offset..offset + out.len()]);
        Ok(())
    }

    fn erase(&mut self, slot: Slot) -> Result<(), FlashError> {
        self.change(slot, 0, &[0xff; 256])
    }

    fn write(&mut self, slot: Slot, offset: usize, bytes: &[u8]) -> Result<(), FlashError> {
        assert!(offset.is_multiple_of(16) && bytes.len().is_multiple_of(16));
        assert!(self.slots[slot as usize][offset..offset + bytes.len()].iter().all(|byte| *byte == 0xff));
        self.change(slot, offset, bytes)
    }
}

fn loaded(chip: &mut Chip) -> Result<Vec<u8>, SlotError> {
    load(chip, &mut [0; 256]).map(<[u8]>::to_vec)
}

#[test]
fn what_is_stored_is_loaded_and_replaced() {
    let mut chip = Chip::new();
    assert_eq!(loaded(&mut chip), Err(SlotError::Empty));
    for turn in 0..9_u8 {
        let content = vec![turn; 30 + usize::from(turn)];
        store(&mut chip, &content).unwrap();
        assert_eq!(loaded(&mut chip), Ok(content));
    }
}

#[test]
fn power_that_fails_at_any_byte_loses_nothing() {
    let (old, new) = (vec![7; 100], (0..120).collect::<Vec<u8>>());
    for turns in 1..4 {
        for power in 0.. {
            let mut chip = Chip::new();
            (0..turns).for_each(|_| store(&mut chip, &old).unwrap());
            chip.power = power;
            let outcome = store(&mut chip, &new);
            chip.power = usize::MAX;
            let after = loaded(&mut chip).unwrap();
            assert!(after == old || after == new, "after {power} bytes");
            if outcome.is_ok() {
                assert_eq!(after, new);
                break;
            }
            // And the next attempt succeeds.
            store(&mut chip, &new).unwrap();
            assert_eq!(loaded(&mut chip).unwrap(), new);
        }
    }
}

#[test]
fn turns_may_wrap() {
    let mut chip = Chip::new();
    let mut room = [0xff; 256];
    image(b"old", &mut room).unwrap();
    let head = Head { turn: u32::MAX, len: 3 }.encode();
    room[..12].copy_from_slice(&head);
    let crc = crc32(&room[..16]).to_le_bytes();
    room[16..20].copy_from_slice(&crc);
    chip.slots[1].copy_from_slice(&room);
    assert_eq!(loaded(&mut chip).unwrap(), b"old");
    store(&mut chip, b"new").unwrap();
    assert_eq!(loaded(&mut chip).unwrap(), b"new");
    store(&mut chip, b"newer").unwrap();
    assert_eq!(loaded(&mut chip).unwrap(), b"newer");
}

#[test]
fn an_image_is_what_a_store_writes() {
    let mut chip = Chip::new();
    store(&mut chip, b"a membership").unwrap();
    let mut room = [0; 256];
    let len = image(b"a membership", &mut room).unwrap();
    assert_eq!(room[..len], chip.slots[0][..len]);
}

#[test]
fn a_changed_byte_is_noticed() {
    for place in 0..48 {
        let mut chip = Chip::new();
        store(&mut chip, &[3; 20]).unwrap();
        chip.slots[0][place] ^= 1;
        let padding = place >= 36;
        assert_eq!(
            loaded(&mut chip),
            if padding { Ok(vec![3; 20]) } else { Err(SlotError::Empty) },
            "{place}"
        );
    }
}

#[test]
fn what_is_too_long_is_refused_and_harms_nothing() {
    let mut chip = Chip::new();
    store(&mut chip, b"old").unwrap();
    assert_eq!(store(&mut chip, &[0; 240]), Err(SlotError::TooLong));
    assert_eq!(loaded(&mut chip).unwrap(), b"old");
}

#[test]
fn the_checksum_is_the_usual_one() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}

/// Devices in the field hold slots of these bytes, as Python's `struct` and `zlib` make them.
#[test]
fn a_slot_is_laid_down_as_devices_have_it() {
    let content: [u8; 21] = core::array::from_fn(|at| u8::try_from(at).unwrap());
    let mut expected = [0xff; 64];
    expected[..12].copy_from_slice(b"SNK\x01\0\0\0\0\x15\0\0\0");
    expected[12..33].copy_from_slice(&content);
    expected[48..52].copy_from_slice(&[0xa0, 0x8c, 0xaa, 0xb2]);
    let mut out = [0; 128];
    let len = image(&content, &mut out).unwrap();
    assert_eq!(out[..len], expected);
    let mut chip = Chip::new();
    store(&mut chip, &content).unwrap();
    assert_eq!(chip.slots[0][..64], expected);
}
