//! The wire forms that an outlet's samples can take, and what both ends do with them.

use schwann_proto::wire::archive::Archive;
use schwann_proto::wire::sample::{ByteOrder, Extent, Layout, Malformed, Stamp, StampTracker, Value};

use crate::Error;

/// One of the wire forms that the consumers of one outlet can have agreed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Encoding {
    /// Data protocol 1.10 in this machine's byte order.
    Native,
    /// Data protocol 1.10 in the other byte order.
    Swapped,
    /// Protocol 1.00.
    Archive,
}

impl Encoding {
    /// How many there are.
    pub(crate) const COUNT: usize = 3;
    /// All of them, each at the place of its index.
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Native, Self::Swapped, Self::Archive];

    /// Its place in an array with one entry per encoding.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The encodings that some consumer of an outlet wants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EncodingSet([bool; Encoding::COUNT]);

impl EncodingSet {
    /// Whether no encoding is wanted.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == [false; Encoding::COUNT]
    }

    /// The encodings in it.
    pub(crate) fn iter(self) -> impl Iterator<Item = Encoding> {
        Encoding::ALL.into_iter().filter(move |encoding| self.0[encoding.index()])
    }
}

impl FromIterator<Encoding> for EncodingSet {
    fn from_iter<I: IntoIterator<Item = Encoding>>(encodings: I) -> Self {
        let mut set = Self::default();
        for encoding in encodings {
            set.0[encoding.index()] = true;
        }
        set
    }
}

/// How the samples of one connection are laid out, and how their stamps follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleCodec {
    form: Form,
    nominal_rate: f64,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Plain(Layout),
    /// Translated from and to the plain layout in this machine's byte order.
    Archive(Archive),
}

impl SampleCodec {
    /// The codec for data protocol 1.10.
    ///
    /// - Units: `nominal_rate` in Hz.
    #[cfg(test)]
    pub(crate) fn plain(layout: Layout, nominal_rate: f64) -> Self {
        Self { form: Form::Plain(layout), nominal_rate }
    }

    /// Follows the stamps of a connection from its beginning.
    pub(crate) fn stamp_tracker(&self) -> StampTracker {
        StampTracker::new(self.nominal_rate)
    }

    /// The layout of a program's values: that of the wire, or the plain one if the wire carries an
    /// archive.
    pub(crate) fn layout(&self) -> Layout {
        match &self.form {
            Form::Plain(layout) => *layout,
            Form::Archive(archive) => archive.plain_layout(),
        }
    }

    /// Length of the sample that `bytes`, which we encoded ourselves, begin with.
    pub(crate) fn sample_len(&self, bytes: &[u8]) -> usize {
        let len = match &self.form {
            Form::Plain(layout) => layout.sample_len(bytes).ok().flatten(),
            Form::Archive(archive) => archive.sample_len(bytes).ok().flatten(),
        };
        len.unwrap_or(bytes.len())
    }

    /// Passes over `count` samples that we encoded ourselves; returns what that was.
    pub(crate) fn skip(&self, bytes: &[u8], count: usize, tracker: &mut StampTracker) -> Extent {
        let passed = match &self.form {
            Form::Plain(layout) => layout.skip(bytes, count, tracker).ok(),
            Form::Archive(archive) => archive.skip(bytes, count, tracker).ok(),
        };
        passed.unwrap_or_default()
    }

    /// Appends the sample `bytes` begin with, with its stamp spelt out.
    pub(crate) fn with_explicit_stamp(&self, bytes: &[u8], stamp: f64, out: &mut Vec<u8>) {
        let stamp = Stamp::Sent(stamp);
        // A vector takes all it is given, and the samples are our own.
        let split = match &self.form {
            Form::Plain(layout) => layout.put_stamp(stamp, out).and(Ok(layout.split_sample(bytes).ok())),
            Form::Archive(archive) => archive.put_stamp(stamp, out).and(Ok(archive.split_sample(bytes).ok())),
        };
        if let Ok(Some(Some((_, values, _)))) = split {
            out.extend_from_slice(values);
        }
    }

    /// Translates whole samples from [`Self::layout`] to the wire's form, for archives.
    pub(crate) fn translate(&self, plain: &[u8], out: &mut Vec<u8>) {
        if let Form::Archive(archive) = &self.form {
            // As above.
            let _ = archive.translate(&archive.plain_layout(), plain, out);
        }
    }

    /// Whether values have to go through [`Self::translate`].
    pub(crate) fn is_archive(&self) -> bool {
        matches!(self.form, Form::Archive(_))
    }
}

/// What an inlet does with the samples in its queue; they are always in a plain layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueCodec {
    layout: Layout,
    nominal_rate: f64,
}

impl QueueCodec {
    /// The codec for samples in `layout`.
    ///
    /// - Units: `nominal_rate` in Hz.
    pub(crate) fn new(layout: Layout, nominal_rate: f64) -> Self {
        Self { layout, nominal_rate }
    }

    /// Follows the stamps of a connection from its beginning.
    pub(crate) fn stamp_tracker(&self) -> StampTracker {
        StampTracker::new(self.nominal_rate)
    }

    /// Splits off the first sample: its stamp, its values, the rest.
    pub(crate) fn split<'a>(&self, bytes: &'a [u8]) -> Option<(Stamp, &'a [u8], &'a [u8])> {
        self.layout.split_sample(bytes).ok().flatten()
    }

    /// Counts whole samples.
    pub(crate) fn count(&self, bytes: &[u8]) -> Result<Extent, Malformed> {
        self.layout.count(bytes, usize::MAX)
    }

    /// Passes over samples.
    pub(crate) fn skip(&self, bytes: &[u8], count: usize, tracker: &mut StampTracker) -> Extent {
        self.layout.skip(bytes, count, tracker).unwrap_or_default()
    }

    /// Reads one sample's values.
    pub(crate) fn read<T: Value>(&self, values: &[u8], out: &mut [T]) -> Result<(), Error> {
        self.layout.read_values(values, out).map_err(|_| Error::ChunkShape)
    }

    /// Reads one sample's values as this machine stores them.
    pub(crate) fn read_raw(&self, values: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.layout.read_raw(values, out).map_err(|_| Error::ChunkShape)
    }

    /// Reads one sample's values as text.
    pub(crate) fn read_strings(&self, values: &[u8], each: impl FnMut(&[u8])) -> Result<(), Error> {
        self.layout.read_strings(values, each).map_err(|_| Error::ChunkShape)
    }

    /// Decodes as many whole samples as `out` (samples × channels) and `stamps` have room for.
    pub(crate) fn decode_chunk<T: Value>(
        &self,
        bytes: &[u8],
        out: &mut [T],
        stamps: &mut [f64],
        tracker: &mut StampTracker,
    ) -> Extent {
        self.layout.decode_chunk(bytes, out, stamps, tracker).unwrap_or_default()
    }
}

/// A codec per encoding for an outlet's stream.
pub(crate) fn outlet_codecs(layout: Layout, nominal_rate: f64) -> [SampleCodec; Encoding::COUNT] {
    Encoding::ALL.map(|encoding| {
        let order = match encoding {
            Encoding::Native | Encoding::Archive => ByteOrder::NATIVE,
            Encoding::Swapped => ByteOrder::NATIVE.swapped(),
        };
        let form = match encoding {
            Encoding::Native | Encoding::Swapped => Form::Plain(Layout { order, ..layout }),
            Encoding::Archive => Form::Archive(Archive::new(layout.format, layout.channel_count)),
        };
        SampleCodec { form, nominal_rate }
    })
}
