//! No kernel reads or writes outside what it was given: the pages around it cannot be touched.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::*;
use crate::{MAX_MESSAGE, SealError};

const PAGE: usize = 4096;

/// Memory between two pages that cannot be touched.
struct Guarded {
    start: *mut u8,
    pages: usize,
}

impl Guarded {
    fn new(pages: usize) -> Self {
        let length = (pages + 2) * PAGE;
        // SAFETY: a new anonymous mapping touches no existing memory.
        let start = unsafe {
            mmap_anonymous(
                core::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let start = start.expect("memory").cast::<u8>();
        for guard in [0, (pages + 1) * PAGE] {
            // SAFETY: the page lies in the mapping and nothing refers to it.
            unsafe { mprotect(start.wrapping_add(guard).cast(), PAGE, MprotectFlags::empty()) }
                .expect("a guard");
        }
        Self { start, pages }
    }

    /// The first `length` bytes, or the last, right beside a guard.
    fn slice(&mut self, length: usize, at_end: bool) -> &mut [u8] {
        let space = self.pages * PAGE;
        let offset = PAGE + if at_end { space - length } else { 0 };
        // SAFETY: the bytes lie in the mapping, between the guards, and `self` is borrowed for as long.
        unsafe { core::slice::from_raw_parts_mut(self.start.wrapping_add(offset), length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.cast(), (self.pages + 2) * PAGE) };
    }
}

#[test]
#[cfg_attr(miri, ignore = "miri has no memory protection")]
fn nothing_outside_the_buffers_is_touched() {
    let mut memory: Vec<(Guarded, Guarded)> = (0..18).map(|_| (Guarded::new(1), Guarded::new(1))).collect();
    let key = Key::new(&[5; 32]);
    for subject in Subject::all() {
        for at_end in [false, true] {
            for length in
                (0..200).chain([511, 512, 513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096])
            {
                for count in [1, 3, 9, 18] {
                    let mut messages: Vec<_> = memory[..count]
                        .iter_mut()
                        .enumerate()
                        .map(|(i, (text, aad))| {
                            let aad = aad.slice(length * i % 70, at_end);
                            let length = length.saturating_sub(i);
                            Message::plain(&key, Nonce([i as u8; 12]), aad, text.slice(length, at_end))
                        })
                        .collect();
                    subject.run(&mut messages, Direction::Seal);
                    subject.run(&mut messages, Direction::Open);
                    assert!(messages.iter().all(|message| message.outcome.is_ok()));
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "miri has no memory to map")]
fn a_message_that_would_repeat_the_key_stream_is_refused() {
    let length = MAX_MESSAGE as usize + 1;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new anonymous mapping touches no existing memory.
    let start =
        unsafe { mmap_anonymous(core::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags) };
    let Ok(start) = start else {
        std::eprintln!("skipped: the system does not map {length} bytes");
        return;
    };
    // SAFETY: the mapping is this long, readable and writable, and nothing else refers to it.
    let buffer = unsafe { core::slice::from_raw_parts_mut(start.cast::<u8>(), length) };
    let key = Key::new(&[1; 32]);
    for kernel in Kernel::available() {
        let nonce = Nonce([0; 12]);
        assert_eq!(kernel.seal_in_place(&key, &nonce, &[], buffer).unwrap_err(), SealError::TooLong);
        assert_eq!(kernel.open_in_place(&key, &nonce, &[], buffer, &Tag([0; 16])), Err(OpenError::TooLong));
        let mut other = [1; 100];
        let mut messages =
            [Message::plain(&key, nonce, &[], &mut other), Message::plain(&key, nonce, &[], buffer)];
        assert_eq!(kernel.seal_batch(&mut messages), Err(SealError::TooLong));
        assert_eq!(messages[0].buffer, [1; 100], "nothing is sealed if a message is too long");
        assert!(kernel.open_batch(&mut messages).is_err());
        assert_eq!(messages[1].outcome, Err(OpenError::TooLong));
    }
    // SAFETY: the mapping is ours and `buffer` is not used any more.
    unsafe { munmap(start, length) }.expect("our own mapping");
}
