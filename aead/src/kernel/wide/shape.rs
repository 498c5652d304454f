//! Which code works on which messages.

use crate::Message;

/// A way to work on messages. Each serves some lengths better than the next more general one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// One message whose key stream fits a few registers: one function, with few branches.
    Short,
    /// One message whose key stream is made at once, in eight blocks at most, and then its tag.
    Single,
    /// The same in twenty blocks at most.
    Medium,
    /// One message, whose tag is summed while its key stream is made.
    Stitched,
    /// Messages of at most one block, four at a time.
    Tiny,
    /// Messages that share passes of eight blocks, each with a sum of its own.
    Few,
    /// Messages that share passes of eight blocks, with one sum after the other.
    Many,
    /// Up to sixteen messages side by side: first all key stream, then all tags.
    Groups,
    /// Messages one by one, each in its own shape.
    Each,
}

/// A line of a kernel's table of shapes. The first line that takes a batch decides.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row {
    /// What works on the messages.
    pub shape: Shape,
    /// How many messages there are, at least; with 1, there is one.
    pub messages: usize,
    /// How long a message is at most, in bytes.
    pub longest: usize,
    /// How long messages are on average at most, in bytes.
    pub mean: usize,
    /// The more general shape that would work on them otherwise.
    pub instead: Shape,
    /// At which lengths in bytes `schwann-bench aead shapes` compares the two.
    pub measured: &'static [usize],
}

impl Row {
    const fn one(shape: Shape, longest: usize, instead: Shape, measured: &'static [usize]) -> Self {
        Self { shape, messages: 1, longest, mean: usize::MAX, instead, measured }
    }

    #[cfg(target_arch = "x86_64")]
    const fn many(
        shape: Shape,
        longest: usize,
        mean: usize,
        instead: Shape,
        measured: &'static [usize],
    ) -> Self {
        Self { shape, messages: 3, longest, mean, instead, measured }
    }

    #[inline(always)]
    fn takes(&self, messages: usize, bytes: usize, longest: usize) -> bool {
        let enough = if self.messages == 1 { messages == 1 } else { messages >= self.messages };
        enough && longest <= self.longest && bytes <= self.mean.saturating_mul(messages)
    }
}

/// The shape of a batch by a table. Where no line takes it, `otherwise`.
#[inline(always)]
pub(super) fn of(table: &[Row], messages: &[Message<'_>], otherwise: Shape) -> Shape {
    let (mut bytes, mut longest) = (0, 0);
    for message in messages {
        bytes += message.buffer.len();
        longest = longest.max(message.buffer.len());
    }
    let row = table.iter().find(|row| row.takes(messages.len(), bytes, longest));
    row.map_or(otherwise, |row| row.shape)
}

/// The longest message of a shape, in bytes.
pub(super) const fn longest(table: &[Row], shape: Shape) -> usize {
    let mut i = 0;
    while i < table.len() {
        if table[i].shape as u8 == shape as u8 {
            return table[i].longest;
        }
        i += 1;
    }
    0
}

/// The shape of batches that no line of a table takes.
pub(super) const fn otherwise(table: &[Row]) -> Shape {
    if longest(table, Shape::Stitched) == 0 { Shape::Groups } else { Shape::Each }
}

/// Registers of 256 bits, in which Poly1305 is dear.
#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) const AVX2: &[Row] = &[
    Row::one(Shape::Short, 320, Shape::Single, &[9, 64, 264, 320]),
    Row::one(Shape::Single, 447, Shape::Medium, &[384, 440]),
    Row::one(Shape::Stitched, usize::MAX, Shape::Groups, &[448, 512, 1024, 4096, 65_536]),
    Row::many(Shape::Tiny, 64, 64, Shape::Few, &[9, 41, 64]),
    Row::many(Shape::Few, usize::MAX, 399, Shape::Many, &[80, 137, 264, 390]),
    Row::many(Shape::Many, usize::MAX, 2559, Shape::Each, &[400, 512, 1024, 2048]),
];

/// Registers of 512 bits, which work on sixteen messages at a time.
#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) const AVX512: &[Row] = &[
    Row::one(Shape::Short, 704, Shape::Medium, &[9, 64, 264, 521, 704]),
    Row::one(Shape::Medium, 1216, Shape::Groups, &[720, 1024, 1200]),
];

/// Registers of 128 bits.
#[cfg(target_arch = "aarch64")]
pub(in crate::kernel) const NEON: &[Row] = &[
    Row::one(Shape::Short, 128, Shape::Single, &[9, 64, 128]),
    Row::one(Shape::Single, 448, Shape::Medium, &[264, 440]),
    Row::one(Shape::Medium, 1216, Shape::Groups, &[512, 1024, 1200]),
];

/// Every shape on the model of a unit with 512 bits.
#[cfg(all(test, target_arch = "x86_64"))]
pub(super) const STITCHED_MODEL: &[Row] = &[
    Row::one(Shape::Short, 704, Shape::Single, &[]),
    Row::one(Shape::Stitched, usize::MAX, Shape::Groups, &[]),
    Row::many(Shape::Tiny, 64, 64, Shape::Few, &[]),
    Row::many(Shape::Few, usize::MAX, 399, Shape::Many, &[]),
    Row::many(Shape::Many, usize::MAX, 2559, Shape::Each, &[]),
];
