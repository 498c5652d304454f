//! Samples on their way from the application's core to the network's: one writer, one reader, and neither
//! waits.
//!
//! A slot holds a stamp and the values of one sample, in 32-bit words. Every word is an atomic that is loaded
//! and stored and never exchanged: the smallest chips can do no more. With [`Keep::Newest`], the writer
//! overwrites what was not read in time. `begun` is written before the slot, and `written` after it. So the
//! reader can tell a whole slot from one that changed under its eyes (a sequence lock per slot).
//!
//! Both counters wrap; their differences do not, because a ring has far fewer than 2^31 slots.

use core::{
    fmt,
    sync::atomic::{AtomicU32, Ordering, fence},
};

use schwann_proto::{stream::ChannelFormat, wire::sample::Value};

/// What one sample is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shape {
    /// Type of the values.
    pub format: ChannelFormat,
    /// Number of values: 1 to 128.
    pub channel_count: usize,
    /// Room for all strings of one sample with two bytes for each, in bytes; unused for numbers.
    pub string_room: usize,
}

impl Shape {
    /// Samples of `channel_count` numbers.
    #[must_use]
    pub const fn numbers(format: ChannelFormat, channel_count: usize) -> Self {
        Self { format, channel_count, string_room: 0 }
    }

    /// Bytes of a slot's values; nothing if there can be no such slot.
    fn len(&self) -> Option<usize> {
        let len = match self.format {
            ChannelFormat::Undefined => return None,
            ChannelFormat::String => self.string_room,
            _ => self.channel_count.checked_mul(self.format.value_size()?)?,
        };
        (self.channel_count > 0 && self.channel_count <= 128 && len > 0 && len <= MAX_SAMPLE_LEN)
            .then_some(len)
    }

    /// Words that one slot of a ring takes; nothing if there can be no such ring.
    #[must_use]
    pub fn slot_words(&self) -> Option<usize> {
        Some(HEAD_WORDS + self.len()?.div_ceil(4))
    }
}

/// What becomes of samples that the network does not take in time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Keep {
    /// The oldest go: a slow subscriber misses them, the others do not.
    #[default]
    Newest,
    /// The newest go: a push into a full ring is refused. One slow subscriber stops all of them.
    Oldest,
}

/// What both sides of a ring tell each other.
#[derive(Debug, Default)]
pub struct Control {
    /// Samples whose writing has begun; written by the producer.
    begun: AtomicU32,
    /// Samples that are whole; written by the producer.
    written: AtomicU32,
    /// Samples that are no longer needed; written by the consumer.
    released: AtomicU32,
    /// Pushes that found no room; written by the producer.
    refused: AtomicU32,
}

impl Control {
    /// An empty ring's.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            begun: AtomicU32::new(0),
            written: AtomicU32::new(0),
            released: AtomicU32::new(0),
            refused: AtomicU32::new(0),
        }
    }
}

/// Makes a ring in the caller's memory and returns its two ends, one for each core.
///
/// - Shape: as many slots of [`Shape::slot_words`] as fit, rounded down to a power of two.
///
/// Returns nothing if there is no such sample, or not even two slots fit.
pub fn ring<'a>(
    words: &'a mut [AtomicU32],
    control: &'a mut Control,
    shape: Shape,
    keep: Keep,
) -> Option<(Producer<'a>, Consumer<'a>)> {
    let stride = shape.slot_words()?;
    let fitting = u32::try_from(words.len() / stride).ok()?.min(1 << 24);
    let slots = 1_u32 << fitting.checked_ilog2().filter(|bits| *bits > 0)?;
    *control = Control::new();
    let ring = Ring { words, control, shape, stride, mask: slots - 1, keep };
    Some((Producer { ring, next: 0, refused: 0 }, Consumer { ring }))
}

#[derive(Clone, Copy)]
struct Ring<'a> {
    words: &'a [AtomicU32],
    control: &'a Control,
    shape: Shape,
    stride: usize,
    mask: u32,
    keep: Keep,
}

impl<'a> Ring<'a> {
    fn slot(&self, index: u32) -> Option<&'a [AtomicU32]> {
        let start = usize::try_from(index & self.mask).ok()? * self.stride;
        self.words.get(start..start + self.stride)
    }

    fn slots(&self) -> u32 {
        self.mask + 1
    }
}

/// The application's end. A push takes the same time with or without listeners, sealed or not.
pub struct Producer<'a> {
    ring: Ring<'a>,
    next: u32,
    refused: u32,
}

/// Why a sample was not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PushError {
    /// The ring is full and keeps the oldest; the sample is counted as lost.
    Full,
    /// The type or number of the values is not the stream's, or the strings are too long.
    Shape,
}

impl fmt::Display for PushError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Full => "the ring is full: the network takes less than is pushed",
            Self::Shape => "the values are not what the stream is made of",
        })
    }
}

impl core::error::Error for PushError {}

impl Producer<'_> {
    /// Hands one sample to the network's core.
    ///
    /// - Units: `stamp` in seconds on the clock that the outlet is polled with.
    /// - Shape: one value of the stream's own type per channel.
    /// - Errors: [`PushError`].
    #[inline]
    pub fn push<T: Value>(&mut self, values: &[T], stamp: f64) -> Result<(), PushError> {
        if T::FORMAT != self.ring.shape.format || values.len() != self.ring.shape.channel_count {
            return Err(PushError::Shape);
        }
        let slot = self.begin(stamp)?;
        match bytemuck::try_cast_slice::<T, u32>(values) {
            Ok(words) => {
                for (cell, word) in slot.iter().zip(words) {
                    cell.store(*word, Ordering::Relaxed);
                }
            }
            // Values of 8 and 16 bits need not fill words.
            Err(_) => store_bytes(slot, bytemuck::cast_slice(values)),
        }
        self.finish();
        Ok(())
    }

    /// Hands one sample of strings to the network's core.
    ///
    /// - Shape: one string per channel; together, with two bytes for each, no more than the shape's room.
    /// - Errors: [`PushError`].
    pub fn push_strings<'s>(
        &mut self,
        strings: impl ExactSizeIterator<Item = &'s [u8]>,
        stamp: f64,
    ) -> Result<(), PushError> {
        let shape = self.ring.shape;
        if shape.format != ChannelFormat::String || strings.len() != shape.channel_count {
            return Err(PushError::Shape);
        }
        let mut content = arrayvec::ArrayVec::<u8, MAX_SAMPLE_LEN>::new();
        for text in strings {
            let len = u16::try_from(text.len()).map_err(|_| PushError::Shape)?;
            content.try_extend_from_slice(&len.to_ne_bytes()).map_err(|_| PushError::Shape)?;
            content.try_extend_from_slice(text).map_err(|_| PushError::Shape)?;
        }
        if content.len() > shape.string_room {
            return Err(PushError::Shape);
        }
        store_bytes(self.begin(stamp)?, &content);
        self.finish();
        Ok(())
    }

    /// Samples that found no room so far; counts on from 0 after 2^32.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.refused
    }

    /// Claims the next slot, writes the stamp, and returns where the values go.
    #[inline]
    fn begin(&mut self, stamp: f64) -> Result<&[AtomicU32], PushError> {
        let control = self.ring.control;
        if self.ring.keep == Keep::Oldest
            && self.next.wrapping_sub(control.released.load(Ordering::Acquire)) >= self.ring.slots()
        {
            self.refused = self.refused.wrapping_add(1);
            control.refused.store(self.refused, Ordering::Relaxed);
            return Err(PushError::Full);
        }
        let [low, high, values @ ..] = self.ring.slot(self.next).ok_or(PushError::Shape)? else {
            return Err(PushError::Shape);
        };
        control.begun.store(self.next.wrapping_add(1), Ordering::Relaxed);
        // What the slot holds from here on must not be seen before `begun`.
        fence(Ordering::Release);
        let [a, b, c, d, e, f, g, h] = stamp.to_ne_bytes();
        low.store(u32::from_ne_bytes([a, b, c, d]), Ordering::Relaxed);
        high.store(u32::from_ne_bytes([e, f, g, h]), Ordering::Relaxed);
        Ok(values)
    }

    #[inline]
    fn finish(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.ring.control.written.store(self.next, Ordering::Release);
    }
}

/// The network's end.
pub struct Consumer<'a> {
    ring: Ring<'a>,
}

impl Consumer<'_> {
    /// What the samples are made of.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.ring.shape
    }

    /// How many samples fit.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.ring.slots()
    }

    /// Number of the next sample to come; wraps.
    #[must_use]
    pub fn written(&self) -> u32 {
        self.ring.control.written.load(Ordering::Acquire)
    }

    /// Pushes that found no room so far; wraps.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.ring.control.refused.load(Ordering::Relaxed)
    }

    /// Number of the oldest sample that can still be read.
    pub(crate) fn oldest(&self) -> u32 {
        // One less than there is room for: the next slot may be under the pen already.
        self.written().wrapping_sub(self.ring.mask)
    }

    /// The stamp of sample `index`, which has been written, in seconds, and its values. What is read of them is worth
    /// something only if the ring [`has`](Self::has) the sample afterwards.
    pub(crate) fn slot(&self, index: u32) -> Option<(f64, &[AtomicU32])> {
        let [low, high, values @ ..] = self.ring.slot(index)? else { return None };
        let [[a, b, c, d], [e, f, g, h]] = [low, high].map(|half| half.load(Ordering::Relaxed).to_ne_bytes());
        Some((f64::from_ne_bytes([a, b, c, d, e, f, g, h]), values))
    }

    /// Whether sample `index`, already written, is not overwritten yet.
    pub(crate) fn has(&self, index: u32) -> bool {
        // What was read must not be read after `begun`.
        fence(Ordering::Acquire);
        self.ring.control.begun.load(Ordering::Relaxed).wrapping_sub(index) <= self.ring.slots()
    }

    /// Gives back the room of all samples before `index`.
    pub(crate) fn release(&mut self, index: u32) {
        self.ring.control.released.store(index, Ordering::Release);
    }
}

fn store_bytes(slot: &[AtomicU32], bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<4>();
    for (cell, word) in slot.iter().zip(words) {
        cell.store(u32::from_ne_bytes(*word), Ordering::Relaxed);
    }
    if let (Some(cell), false) = (slot.get(words.len()), rest.is_empty()) {
        let mut last = [0; 4];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        cell.store(u32::from_ne_bytes(last), Ordering::Relaxed);
    }
}

/// Most bytes that the values of one sample take: 128 channels of 8 bytes.
pub const MAX_SAMPLE_LEN: usize = 1024;
/// [`MAX_SAMPLE_LEN`] in words.
pub(crate) const MAX_SAMPLE_WORDS: usize = MAX_SAMPLE_LEN / 4;

/// Words of a slot before the values: the stamp.
const HEAD_WORDS: usize = 2;

#[cfg(test)]
mod tests;
