//! No secret stays behind in registers or on the stack.

use core::arch::asm;

use super::*;
use crate::kernel::portable::chacha20::ChaCha20;

/// How far below the caller a kernel's frames reach at most.
const DEPTH: usize = 48 * 1024;

#[test]
#[cfg_attr(miri, ignore = "looks at memory that is not its own")]
fn nothing_of_key_or_key_stream_stays_on_the_stack() {
    for subject in Subject::all() {
        if !matches!(subject, Subject::Kernel(_)) {
            continue;
        }
        for &(lengths, aad) in SHAPES {
            let mut batch = Batch::new(lengths, aad);
            batch.key = Key::new(&core::array::from_fn(|i| (i * i + 91) as u8));
            let needles = secrets(&batch);
            clear_stack();
            batch.run_quietly(subject);
            let stack = read_stack();
            for (name, needle) in &needles {
                let found = stack.windows(needle.len()).position(|window| window == needle);
                assert!(found.is_none(), "{name} at {found:?} after {lengths:?} with {}", subject.name());
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "looks at memory that is not its own")]
fn nothing_stays_on_the_stack_when_the_next_key_stream_has_been_made() {
    for kernel in Kernel::available() {
        for length in [0, 9, 41, 265, 1033] {
            let mut batch = Batch::new(&[length], 4);
            batch.key = Key::new(&core::array::from_fn(|i| (i * i + 91) as u8));
            let needles = secrets(&batch);
            let mut ahead = std::boxed::Box::new(Ahead::new());
            clear_stack();
            batch.seal_ahead_quietly(kernel, &mut ahead);
            let stack = read_stack();
            for (name, needle) in &needles {
                let found = stack.windows(needle.len()).position(|window| window == needle);
                assert!(found.is_none(), "{name} at {found:?} after {length} with {}", kernel.name());
            }
        }
    }
}

impl Batch {
    /// Seals its one message with key stream made ahead, and makes the next.
    #[inline(never)]
    fn seal_ahead_quietly(&mut self, kernel: Kernel, ahead: &mut Ahead) {
        let buffer = &mut self.buffers[0];
        let length = buffer.len();
        ahead.prepare(kernel, &self.key, Nonce([0; 12]), length);
        ahead.seal(&mut Message::plain(&self.key, Nonce([0; 12]), &self.aad, buffer));
        ahead.prepare(kernel, &self.key, Nonce([1; 12]), length);
    }

    /// Seals, without what a test does around it.
    #[inline(never)]
    fn run_quietly(&mut self, subject: Subject) {
        let aad = &self.aad;
        let mut messages = Vec::with_capacity(self.buffers.len());
        for (i, buffer) in self.buffers.iter_mut().enumerate() {
            messages.push(Message::plain(&self.key, Nonce([i as u8; 12]), aad, buffer));
        }
        subject.run(&mut messages, Direction::Seal);
    }
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Kernel(kernel) => kernel.name(),
            Self::Model | Self::StitchedModel => "model",
        }
    }
}

/// What must not be found: pieces of the key, of the one-time keys and of the key streams.
fn secrets(batch: &Batch) -> Vec<(&'static str, Vec<u8>)> {
    let key: Vec<u8> = batch.key.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut needles = vec![("the key", key[..16].to_vec()), ("the key", key[16..].to_vec())];
    for (i, buffer) in batch.buffers.iter().enumerate() {
        let mut stream = ChaCha20::new(&batch.key, &Nonce([i as u8; 12]));
        let first = stream.next_words().map(u32::to_le_bytes).concat();
        needles.push(("r", first[..16].to_vec()));
        needles.push(("s", first[16..32].to_vec()));
        for _ in 0..buffer.len().div_ceil(64) {
            let block = stream.next_words().map(u32::to_le_bytes).concat();
            needles.extend(block.chunks(16).map(|row| ("key stream", row.to_vec())));
        }
    }
    needles
}

/// Overwrites what earlier calls left below.
#[inline(never)]
fn clear_stack() {
    let mut below = [0xee_u8; DEPTH];
    core::hint::black_box(&mut below);
}

/// Copies what lies below the caller's frame.
#[inline(never)]
fn read_stack() -> Vec<u8> {
    let mut copy = Vec::with_capacity(DEPTH);
    let top: *const u8;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) top, options(nomem, nostack, preserves_flags)) };
    for i in 1..DEPTH {
        // SAFETY: a thread's stack is mapped this far down: `clear_stack` has just been there.
        copy.push(unsafe { top.wrapping_sub(i).read_volatile() });
    }
    copy.reverse();
    copy
}
