//! No secret stays behind in registers or on the stack.

use core::arch::asm;
use core::cell::Cell;
use std::format;

use super::*;
use crate::kernel::frames::UNSEEN;
use crate::kernel::portable::chacha20::ChaCha20;

/// How far below the caller a kernel's frames reach at most.
const DEPTH: usize = 16 * 1024;

/// What the stack is filled with before a kernel runs.
const CLEAR: u8 = 0xee;

/// Every length that a message alone or in a batch takes another path for.
const LENGTHS: core::ops::RangeInclusive<usize> = 0..=1400;

#[test]
#[cfg_attr(miri, ignore = "looks at memory that is not its own")]
fn nothing_of_key_or_key_stream_stays_on_the_stack() {
    for kernel in Kernel::available() {
        for &(lengths, aad) in SHAPES {
            for direction in [Direction::Seal, Direction::Open] {
                let mut batch = Batch::with_key(lengths, aad);
                let needles = secrets(&batch);
                let (stack, _) = batch.stack_after(kernel, direction, false);
                let case = format!("{direction:?} {lengths:?} with {}", kernel.name());
                assert_clean(&stack, &needles, &case);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "looks at memory that is not its own")]
fn frames_are_noted_as_deep_as_they_reach_at_every_length() {
    for kernel in Kernel::available() {
        for length in LENGTHS {
            for count in [1, 2, 3, 8, 17] {
                // Mostly one by one: batches differ by what they hold at most and on average.
                if count > 1 && length % 7 != 0 {
                    continue;
                }
                for direction in [Direction::Seal, Direction::Open] {
                    let mut batch = Batch::with_key(&vec![length; count], length % 70);
                    let (stack, top) = batch.stack_after(kernel, direction, true);
                    let case = format!("{direction:?} {count} of {length} with {}", kernel.name());
                    assert_noted(&stack, top, &case);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "looks at memory that is not its own")]
fn nothing_stays_on_the_stack_when_the_next_key_stream_has_been_made() {
    for kernel in Kernel::available() {
        for length in 0..=Ahead::LONGEST {
            let mut batch = Batch::with_key(&[length], 4);
            let needles = if length % 8 == 1 { secrets(&batch) } else { Vec::new() };
            let mut ahead = std::boxed::Box::new(Ahead::new());
            let mut stack = vec![0; DEPTH];
            clear_stack();
            batch.seal_ahead_quietly(kernel, &mut ahead);
            read_stack(&mut stack);
            let case = format!("{length} made ahead with {}", kernel.name());
            assert_clean(&stack, &needles, &case);
        }
    }
}

/// The test above must be able to fail: it finds frames that no function noted.
#[test]
#[should_panic(expected = "below what was noted")]
#[cfg_attr(miri, ignore = "looks at memory that is not its own")]
fn a_frame_that_was_not_noted_is_found() {
    #[inline(never)]
    fn forgotten() {
        let mut secret = [0x5a_u8; 2048];
        core::hint::black_box(&mut secret);
    }
    let mut stack = vec![0; DEPTH];
    let frames = Frames::new();
    clear_stack();
    frames.note();
    forgotten();
    LOWEST.set(Some(usize::MAX));
    assert!(frames.are_watched());
    let top = read_stack(&mut stack);
    assert_noted(&stack, top, "a frame");
}

/// No piece of a secret is there.
fn assert_clean(stack: &[u8], needles: &[(&'static str, Vec<u8>)], case: &str) {
    for (name, needle) in needles {
        let found = stack.windows(needle.len()).position(|window| window == needle);
        assert!(found.is_none(), "{name} at {found:?} after {case}");
    }
}

/// What was touched lies where it would have been wiped, with some to spare.
fn assert_noted(stack: &[u8], top: usize, case: &str) {
    let noted = LOWEST.take().expect("watched");
    let deepest = stack.iter().position(|&byte| byte != CLEAR).expect("a frame");
    assert!(deepest > 0, "the stack was used deeper than the test looks, after {case}");
    let touched = top - stack.len() + deepest;
    let below = noted.saturating_sub(touched);
    assert!(below <= UNSEEN / 2, "the stack was used {below} bytes below what was noted, after {case}");
}

std::thread_local! {
    /// While frames are watched, the lowest that was noted; they are not wiped meanwhile.
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Keeps what is noted, if this thread watches frames, and says whether it does.
pub(in crate::kernel) fn watched(lowest: usize) -> bool {
    let before = LOWEST.get();
    LOWEST.set(before.map(|before| before.min(lowest)));
    before.is_some()
}

impl Batch {
    /// A batch whose key has bytes that are found nowhere else.
    fn with_key(lengths: &[usize], aad: usize) -> Self {
        let key = Key::new(&core::array::from_fn(|i| (i * i + 91) as u8));
        Self { key, ..Self::new(lengths, aad) }
    }

    /// What lies below after sealing, or after opening what was sealed.
    #[inline(never)]
    fn stack_after(&mut self, kernel: Kernel, direction: Direction, watch: bool) -> (Vec<u8>, usize) {
        if direction == Direction::Open {
            self.run(Subject::Kernel(kernel), Direction::Seal);
        }
        let mut messages = Vec::with_capacity(self.buffers.len());
        for (i, (buffer, tag)) in self.buffers.iter_mut().zip(&self.tags).enumerate() {
            messages.push(Message::sealed(&self.key, Nonce([i as u8; 12]), &self.aad, buffer, *tag));
        }
        let mut stack = vec![0; DEPTH];
        LOWEST.set(watch.then_some(usize::MAX));
        clear_stack();
        run_quietly(kernel, &mut messages, direction);
        let top = read_stack(&mut stack);
        (stack, top)
    }

    /// Seals its one message with key stream made ahead, and makes the next.
    #[inline(never)]
    fn seal_ahead_quietly(&mut self, kernel: Kernel, ahead: &mut Ahead) {
        let buffer = &mut self.buffers[0];
        let length = buffer.len();
        ahead.prepare(kernel, &self.key, Nonce([0; 12]), length);
        ahead.seal(&mut Message::plain(&self.key, Nonce([0; 12]), &self.aad, buffer));
        ahead.prepare(kernel, &self.key, Nonce([1; 12]), length);
    }
}

/// Runs a kernel, one frame below the caller.
#[inline(never)]
fn run_quietly(kernel: Kernel, messages: &mut [Message<'_>], direction: Direction) {
    kernel.batch(messages, direction);
}

/// What must not be found: pieces of the key, of the one-time keys and of the key streams.
fn secrets(batch: &Batch) -> Vec<(&'static str, Vec<u8>)> {
    let key: Vec<u8> = batch.key.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut needles = vec![("the key", key[..16].to_vec()), ("the key", key[16..].to_vec())];
    for (i, buffer) in batch.buffers.iter().enumerate() {
        let frames = Frames::new();
        let mut stream = ChaCha20::new(&batch.key, &Nonce([i as u8; 12]), &frames);
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
    let mut below = [CLEAR; DEPTH];
    core::hint::black_box(&mut below);
}

/// Copies what lies below the caller's frame, and returns where that ends; a function of its own would write there.
#[inline(always)]
fn read_stack(copy: &mut [u8]) -> usize {
    let top: *const u8;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) top, options(nomem, nostack, preserves_flags)) };
    for (place, byte) in copy.iter_mut().rev().enumerate() {
        // SAFETY: a thread's stack is mapped this far down: `clear_stack` has just been there.
        *byte = unsafe { top.wrapping_sub(place + 1).read_volatile() };
    }
    top.addr()
}
