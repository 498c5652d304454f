//! The arithmetic, once per instruction set.
//!
//! `portable` is the definition of correct; every other kernel is tested against it.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod ahead;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "kernel/ahead_absent.rs"]
mod ahead;
#[cfg(feature = "std")]
pub(crate) mod crew;
mod frames;
mod portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::neon::Neon;
#[cfg(target_arch = "x86_64")]
pub use x86_64::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use x86_64::avx512::{Avx512, Avx512Ifma};

pub use ahead::Ahead;

use frames::Frames;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use wide::shape::{Row, Shape};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use wide::{Noted, Unit};

use crate::chacha20poly1305::too_long;
use crate::{Key, Message, Nonce, OpenError, Refused, SealError, Tag};

/// An implementation that this CPU can run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kernel {
    /// Plain Rust, one message and one block at a time.
    Portable,
    /// Registers of 128 bits.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    /// Registers of 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Registers of 512 bits with 32-bit multiplications.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// Registers of 512 bits with 52-bit multiplications.
    #[cfg(target_arch = "x86_64")]
    Avx512Ifma(Avx512Ifma),
}

impl Kernel {
    /// The fastest kernel this CPU can run.
    #[must_use]
    pub fn best() -> Self {
        // Asked for each message alone: the best first, and no more than needed.
        #[cfg(target_arch = "x86_64")]
        let best = (Avx512Ifma::detect().map(Self::Avx512Ifma))
            .or_else(|| Avx512::detect().map(Self::Avx512))
            .or_else(|| Avx2::detect().map(Self::Avx2));
        #[cfg(target_arch = "aarch64")]
        let best = Neon::detect().map(Self::Neon);
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let best = None;
        best.unwrap_or(Self::Portable)
    }

    /// Every kernel this CPU can run, the most portable first.
    pub fn available() -> impl Iterator<Item = Self> {
        let portable = [Some(Self::Portable)].into_iter();
        #[cfg(target_arch = "x86_64")]
        let wide = [
            Avx2::detect().map(Self::Avx2),
            Avx512::detect().map(Self::Avx512),
            Avx512Ifma::detect().map(Self::Avx512Ifma),
        ];
        #[cfg(target_arch = "aarch64")]
        let wide = [Neon::detect().map(Self::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let wide = [None];
        portable.chain(wide).flatten()
    }

    /// Name for tables and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma(_) => "avx512ifma",
        }
    }

    /// Seals one message with this kernel; see [`seal_in_place`](crate::seal_in_place).
    #[inline]
    pub fn seal_in_place(
        self,
        key: &Key,
        nonce: &Nonce,
        aad: &[u8],
        buffer: &mut [u8],
    ) -> Result<Tag, SealError> {
        if too_long(buffer.len()) {
            return Err(SealError::TooLong);
        }
        let mut message = Message::plain(key, *nonce, aad, buffer);
        self.one(&mut message, Direction::Seal);
        Ok(message.tag)
    }

    /// Opens one message with this kernel; see [`open_in_place`](crate::open_in_place).
    #[inline]
    pub fn open_in_place(
        self,
        key: &Key,
        nonce: &Nonce,
        aad: &[u8],
        buffer: &mut [u8],
        tag: &Tag,
    ) -> Result<(), OpenError> {
        if too_long(buffer.len()) {
            return Err(OpenError::TooLong);
        }
        let mut message = Message::sealed(key, *nonce, aad, buffer, *tag);
        self.one(&mut message, Direction::Open);
        message.outcome
    }

    /// Seals a batch with this kernel; see [`seal_batch`](crate::seal_batch).
    pub fn seal_batch(self, messages: &mut [Message<'_>]) -> Result<(), SealError> {
        if messages.iter().any(|message| too_long(message.buffer.len())) {
            return Err(SealError::TooLong);
        }
        self.batch(messages, Direction::Seal);
        Ok(())
    }

    /// Opens a batch with this kernel; see [`open_batch`](crate::open_batch).
    pub fn open_batch(self, messages: &mut [Message<'_>]) -> Result<(), Refused> {
        if messages.iter().all(|message| !too_long(message.buffer.len())) {
            self.batch(messages, Direction::Open);
            return Refused::among(messages);
        }
        // No sealer can have made a message that is too long; the others open one by one.
        for message in &mut *messages {
            if too_long(message.buffer.len()) {
                message.outcome = Err(OpenError::TooLong);
            } else {
                self.batch(core::slice::from_mut(message), Direction::Open);
            }
        }
        Refused::among(messages)
    }

    /// Which code of this kernel works on which messages. Nothing for [`Kernel::Portable`], which has one code
    /// for all.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[must_use]
    pub fn shapes(self) -> &'static [Row] {
        match self {
            Self::Portable => &[],
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => wide::shape::NEON,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => wide::shape::AVX2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) | Self::Avx512Ifma(_) => wide::shape::AVX512,
        }
    }

    /// As [`Kernel::seal_batch`], in another shape than the table says, to measure it. Returns whether the messages'
    /// lengths permit it; if not, they are as before.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn seal_in_shape(self, shape: Shape, messages: &mut [Message<'_>]) -> bool {
        self.in_shape(shape, messages, Direction::Seal)
    }

    /// As [`Kernel::open_batch`], in another shape than the table says, to measure it; every message has its outcome.
    /// Returns whether the messages' lengths permit it; if not, they are as before.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn open_in_shape(self, shape: Shape, messages: &mut [Message<'_>]) -> bool {
        self.in_shape(shape, messages, Direction::Open)
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn in_shape(self, shape: Shape, messages: &mut [Message<'_>], direction: Direction) -> bool {
        if messages.iter().any(|message| too_long(message.buffer.len())) {
            return false;
        }
        for message in &mut *messages {
            message.outcome = Ok(());
        }
        let frames = &Frames::new();
        match self {
            Self::Portable => false,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => wide::batch_in_shape(Noted { token, frames }, shape, messages, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => wide::batch_in_shape(Noted { token, frames }, shape, messages, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => wide::batch_in_shape(Noted { token, frames }, shape, messages, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma(token) => {
                wide::batch_in_shape(Noted { token, frames }, shape, messages, direction)
            }
        }
    }

    #[inline]
    fn one(self, message: &mut Message<'_>, direction: Direction) {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        let frames = &Frames::new();
        match self {
            Self::Portable => self.batch(core::slice::from_mut(message), direction),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => wide::one(Noted { token, frames }, message, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => wide::one(Noted { token, frames }, message, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => wide::one(Noted { token, frames }, message, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma(token) => wide::one(Noted { token, frames }, message, direction),
        }
    }

    /// Writes the first `count` blocks of a message's key stream to the front of `blocks`, which has room for some
    /// more. Returns whether it did: the portable kernel does not.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn first_blocks(
        self,
        key: &Key,
        nonce: &Nonce,
        count: usize,
        blocks: &mut [wide::Block],
        frames: &Frames,
    ) -> bool {
        match self {
            Self::Portable => return false,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => wide::first_blocks(Noted { token, frames }, key, nonce, count, blocks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => wide::first_blocks(Noted { token, frames }, key, nonce, count, blocks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => wide::first_blocks(Noted { token, frames }, key, nonce, count, blocks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma(token) => wide::first_blocks(Noted { token, frames }, key, nonce, count, blocks),
        }
        true
    }

    /// Clears the vector registers, and overwrites the frames that were noted.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn wipe(self, frames: &Frames) {
        match self {
            Self::Portable => portable::wipe(frames),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => Noted { token, frames }.wipe(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => Noted { token, frames }.wipe(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => Noted { token, frames }.wipe(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma(token) => Noted { token, frames }.wipe(),
        }
    }

    fn batch(self, messages: &mut [Message<'_>], direction: Direction) {
        for message in &mut *messages {
            // The caller may use a message again that was refused before.
            message.outcome = Ok(());
        }
        let frames = &Frames::new();
        match self {
            Self::Portable => {
                portable::batch(messages, direction, frames);
                portable::wipe(frames);
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => wide::batch(Noted { token, frames }, messages, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => wide::batch(Noted { token, frames }, messages, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => wide::batch(Noted { token, frames }, messages, direction),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma(token) => wide::batch(Noted { token, frames }, messages, direction),
        }
    }
}

/// What is done to a batch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Direction {
    Open,
    Seal,
}

/// Marks a verdict over secrets as public. The tests that look for branches on secrets then permit a
/// branch on this one.
#[inline(always)]
fn public(verdict: bool) -> bool {
    #[cfg(all(test, target_arch = "x86_64"))]
    let verdict = tests::taint::public(verdict);
    verdict
}

#[cfg(all(test, target_arch = "x86_64", feature = "std"))]
mod tests;
