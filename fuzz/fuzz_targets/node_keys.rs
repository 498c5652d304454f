//! Text pasted into a serial line, and the content of a key store, is used only if whole and genuine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_session::SystemEntropy;
use schwann_session::key_slots::{self, Flash, FlashError, Slot};
use schwann_session::provision::{Keys, Paste, Pasted, join};

/// Two slots that hold what the fuzzer wants.
struct Chip<'a>([&'a [u8]; 2]);

impl Flash for Chip<'_> {
    fn slot_len(&self) -> usize {
        512
    }

    fn read(&mut self, slot: Slot, offset: usize, out: &mut [u8]) -> Result<(), FlashError> {
        let slot = self.0[usize::from(slot == Slot::B)];
        for (place, byte) in out.iter_mut().enumerate() {
            *byte = slot.get(offset + place).copied().unwrap_or(0xff);
        }
        Ok(())
    }

    fn erase(&mut self, _: Slot) -> Result<(), FlashError> {
        Err(FlashError)
    }

    fn write(&mut self, _: Slot, _: usize, _: &[u8]) -> Result<(), FlashError> {
        Err(FlashError)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut room = [0; 600];
    let mut paste = Paste::new(&mut room);
    for byte in bytes {
        if let Pasted::Done(len) = paste.handle(*byte) {
            assert!(join(&[1; 32], paste.collected(len), &mut [0; 600]).is_err());
        }
    }
    let (front, back) = bytes.split_at(bytes.len() / 2);
    let mut out = [0; 512];
    if let Ok(content) = key_slots::load(&mut Chip([front, back]), &mut out) {
        let _ = Keys::parse(content, 1000, &mut SystemEntropy);
    }
    let _ = Keys::parse(bytes, 1000, &mut SystemEntropy);
});
