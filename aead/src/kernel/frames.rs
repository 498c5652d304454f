//! How deep the frames of a call reach: noted while it runs, and wiped as deep at its end.
//!
//! The compiler keeps secrets in frames where it likes, and does not say how much. Each compiler, profile and option
//! gives other frames, so no constant is right for all. Instead, every function with secrets in its frame says
//! where that frame ends, on any stack.

use core::cell::Cell;
use core::hint::black_box;
use core::mem::MaybeUninit;

/// How deep the frames of a call have reached.
pub(super) struct Frames {
    /// The lowest address that was noted.
    lowest: Cell<usize>,
}

impl Frames {
    /// No frame yet.
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { lowest: Cell::new(usize::MAX) }
    }

    /// Notes where the frame ends of the function that inlines this.
    #[inline(always)]
    pub(super) fn note(&self) {
        self.lowest.set(self.lowest.get().min(stack_pointer()));
    }

    /// Whether [`Frames::wipe`] reaches as deep as was noted.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub(super) fn are_shallow(&self) -> bool {
        stack_pointer().saturating_sub(self.lowest.get()) <= size_of::<[Line; LINES]>() - 2 * UNSEEN
    }

    /// Overwrites what lies below the frame of the function that inlines this, as deep as was noted.
    ///
    /// That function and the noting functions must have the same caller.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub(super) fn wipe(&self) {
        let mut below = [const { MaybeUninit::<Line>::uninit() }; LINES];
        let start = core::ptr::from_ref(&below).addr();
        let lowest = self.lowest.get().saturating_sub(UNSEEN);
        let spared = lowest.saturating_sub(start) / size_of::<Line>();
        // One by one: a call to `memset` would cost a rare message another page of code.
        for line in below.iter_mut().skip(spared) {
            black_box(line.write([0; _]));
        }
        if lowest < start {
            self.wipe_below();
        }
        // Only now may the frame end: the calls within must lie below it.
        black_box(&mut below);
    }

    /// Overwrites what lies below the caller's frame, as deep as was noted: fast where that is deep.
    #[inline(never)]
    pub(super) fn wipe_below(&self) {
        let mut below = [const { MaybeUninit::<u8>::uninit() }; DEEP];
        let start = core::ptr::from_ref(&below).addr();
        let lowest = self.lowest.get().saturating_sub(UNSEEN);
        if let Some(used) = below.get_mut(lowest.saturating_sub(start)..) {
            used.fill(MaybeUninit::new(0));
            black_box(used);
        }
        if lowest < start {
            self.wipe_below();
        }
        black_box(&mut below);
    }

    /// Whether a test looks at the frames, which it could not if they were wiped.
    #[inline(always)]
    pub(super) fn are_watched(&self) -> bool {
        #[cfg(all(test, target_arch = "x86_64", feature = "std"))]
        return super::tests::residue::watched(self.lowest.get());
        #[cfg(not(all(test, target_arch = "x86_64", feature = "std")))]
        false
    }
}

/// What is overwritten at a time.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
type Line = [u64; 16];

/// The lower end of the frame that this is inlined into.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    };
    // SAFETY: reads a register.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    };
    pointer
}

/// An address just below the frame that this is called from.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", miri)))]
#[inline(never)]
fn stack_pointer() -> usize {
    // A variable: a constant would lie outside the stack.
    let here = Cell::new(0_u8);
    core::ptr::from_ref(black_box(&here)).addr()
}

/// No frame: miri gives each variable a place of its own, and has no stack that could be wiped.
#[cfg(miri)]
#[inline(always)]
fn stack_pointer() -> usize {
    usize::MAX
}

/// Lines that are overwritten one by one. Less than a page, so that no probe of the stack touches another one.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const LINES: usize = 31;

/// Bytes that one frame overwrites at once; deeper ones take another frame. A microcontroller has a small stack.
const DEEP: usize = if cfg!(target_pointer_width = "32") { 512 } else { 8192 };

/// What a function may use below its stack pointer, in bytes. 128 of them no instruction reserves (System V ABI for
/// x86-64 §3.2.2). The rest is for frames of called functions without secrets of their own. Twice what a test
/// found: 280 in release builds.
pub(super) const UNSEEN: usize = 640;
