//! Where encoders put their bytes: a growing vector on a computer, a fixed array on a microcontroller.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

/// Takes encoded bytes in order.
///
/// An encoder that fails half-way resets the sink to its old length. So a sink never holds half a
/// message.
pub trait Sink {
    /// Appends `bytes`, all or nothing.
    ///
    /// - Errors: [`NoRoom`]: give the encoder a larger buffer.
    fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom>;

    /// Drops everything after the first `len` bytes.
    fn truncate(&mut self, len: usize);

    /// Announces that about `additional` bytes follow.
    fn reserve(&mut self, additional: usize) {
        let _ = additional;
    }

    /// Number of bytes put so far.
    fn len(&self) -> usize;

    /// Whether nothing was put yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The sink is full; nothing of the message was kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the message does not fit into the buffer")
    }
}

impl core::error::Error for NoRoom {}

/// Writes into an array of the caller.
#[derive(Debug)]
pub struct ByteWriter<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> ByteWriter<'a> {
    /// Starts at the beginning of `buffer`.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Returns what was written so far.
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

impl Sink for ByteWriter<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let room = self.buffer.get_mut(self.len..).ok_or(NoRoom)?;
        room.get_mut(..bytes.len()).ok_or(NoRoom)?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(feature = "alloc")]
impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn reserve(&mut self, additional: usize) {
        self.reserve(additional);
    }

    fn len(&self) -> usize {
        self.len()
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        (**self).put(bytes)
    }

    fn truncate(&mut self, len: usize) {
        (**self).truncate(len);
    }

    fn reserve(&mut self, additional: usize) {
        (**self).reserve(additional);
    }

    fn len(&self) -> usize {
        (**self).len()
    }
}

/// Makes `write!` work on any sink.
pub(crate) struct TextSink<'a, S: Sink + ?Sized>(pub(crate) &'a mut S);

impl<S: Sink + ?Sized> fmt::Write for TextSink<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text.as_bytes()).map_err(|NoRoom| fmt::Error)
    }
}

/// Runs `encode` and, if it fails, puts `out` back to where it was.
pub(crate) fn whole<S: Sink + ?Sized, E>(
    out: &mut S,
    encode: impl FnOnce(&mut S) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    encode(out).inspect_err(|_| out.truncate(start))
}

/// Puts texts one behind the other, all or nothing; what a microcontroller says needs no formatting machinery.
pub(crate) fn put_all<S: Sink + ?Sized>(out: &mut S, texts: &[&str]) -> Result<(), NoRoom> {
    whole(out, |out| texts.iter().try_for_each(|text| out.put(text.as_bytes())))
}

/// Writes formatted text into `out`, all or nothing.
pub(crate) fn put_text<S: Sink + ?Sized>(out: &mut S, text: fmt::Arguments<'_>) -> Result<(), NoRoom> {
    whole(out, |out| fmt::write(&mut TextSink(out), text).map_err(|fmt::Error| NoRoom))
}

#[cfg(test)]
mod tests {
    use super::{ByteWriter, NoRoom, Sink, put_all, put_text};

    #[test]
    fn a_message_that_does_not_fit_leaves_the_buffer_as_it_was() {
        let mut room = [0; 8];
        let mut out = ByteWriter::new(&mut room);
        out.put(b"abc").unwrap();
        assert_eq!(put_text(&mut out, format_args!("{}{}", "def", "ghi")), Err(NoRoom));
        assert_eq!(out.written(), b"abc");
        put_text(&mut out, format_args!("{}{}", "de", "fgh")).unwrap();
        assert_eq!(out.written(), b"abcdefgh");
        out.truncate(3);
        assert_eq!(put_all(&mut out, &["def", "ghi"]), Err(NoRoom));
        assert_eq!(out.written(), b"abc");
        put_all(&mut out, &["de", "fgh"]).unwrap();
        assert_eq!(out.written(), b"abcdefgh");
    }
}
