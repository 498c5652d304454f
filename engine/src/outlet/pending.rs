//! Samples that were pushed and not flushed yet, encoded once for each encoding in use.

use schwann_proto::stream::first_stamp_of_chunk;
use schwann_proto::wire::sample::{EncodeError, Stamp, StampTracker, Value};

use crate::Error;
use crate::codec::{Encoding, EncodingSet, SampleCodec};

/// The values of one push, all in one of the forms that a caller can hand over.
pub(crate) trait Values {
    /// Number of samples, or the rule that the values break.
    fn sample_count(&self, codec: &SampleCodec) -> Result<usize, Error>;

    /// Appends all samples; the stamps were checked to fit.
    fn encode(&self, codec: &SampleCodec, stamps: &Stamps<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// The stamps of one push, in seconds on the local clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stamps<'a> {
    /// The first sample has this one, the others follow at the stream's rate.
    First(f64),
    /// One for each sample.
    Each(&'a [f64]),
}

/// Numbers, samples × channels.
pub(crate) struct Numbers<'a, T>(pub(crate) &'a [T]);

impl<T: Value> Values for Numbers<'_, T> {
    fn sample_count(&self, codec: &SampleCodec) -> Result<usize, Error> {
        rows(self.0.len(), codec)
    }

    fn encode(&self, codec: &SampleCodec, stamps: &Stamps<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match stamps {
            Stamps::First(first) if codec.layout().channel_count == 0 => {
                codec.layout().encode(Stamp::from(*first), self.0, out)
            }
            Stamps::First(first) => codec.layout().encode_chunk(Stamp::from(*first), self.0, out),
            Stamps::Each(stamps) => codec.layout().encode_stamped_chunk(stamps, self.0, out),
        }
    }
}

/// Strings, samples × channels.
pub(crate) struct Strings<'a>(pub(crate) &'a [&'a [u8]]);

impl Values for Strings<'_> {
    fn sample_count(&self, codec: &SampleCodec) -> Result<usize, Error> {
        rows(self.0.len(), codec)
    }

    fn encode(&self, codec: &SampleCodec, stamps: &Stamps<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let layout = codec.layout();
        if layout.channel_count == 0 {
            return layout.encode_strings(stamps.at(0), [], out);
        }
        for (index, row) in self.0.chunks_exact(layout.channel_count).enumerate() {
            layout.encode_strings(stamps.at(index), row.iter().copied(), out)?;
        }
        Ok(())
    }
}

/// One sample as this machine stores it.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

impl Values for Raw<'_> {
    fn sample_count(&self, codec: &SampleCodec) -> Result<usize, Error> {
        match codec.layout().values_len() {
            Some(len) if len == self.0.len() => Ok(1),
            Some(_) => Err(Error::ChunkShape),
            None => Err(Error::Argument("Raw values cannot be pushed into a stream of strings.")),
        }
    }

    fn encode(&self, codec: &SampleCodec, stamps: &Stamps<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        codec.layout().encode_raw(stamps.at(0), self.0, out)
    }
}

impl Stamps<'_> {
    fn at(&self, index: usize) -> Stamp {
        match self {
            Self::First(first) if index == 0 => Stamp::from(*first),
            Self::First(_) => Stamp::Deduced,
            Self::Each(stamps) => stamps.get(index).map_or(Stamp::Deduced, |stamp| Stamp::from(*stamp)),
        }
    }

    /// Lets `tracker` follow the stamps of `count` samples.
    fn track(&self, count: usize, tracker: &mut StampTracker) {
        for index in 0..count {
            tracker.resolve(self.at(index));
        }
    }
}

/// The stamp of a chunk's first sample, given what the caller says of its last one.
///
/// - Source: lsl-wire §15.1.
pub(crate) fn first_stamp(last: f64, sample_count: usize, nominal_rate: f64) -> f64 {
    first_stamp_of_chunk(last, sample_count, nominal_rate)
}

fn rows(value_count: usize, codec: &SampleCodec) -> Result<usize, Error> {
    let channel_count = codec.layout().channel_count;
    match value_count.checked_rem(channel_count) {
        Some(0) => Ok(value_count / channel_count),
        None if value_count == 0 => Ok(0),
        _ => Err(Error::ChunkShape),
    }
}

/// Encoded samples on their way to the fan-out. The buffers are used again and again.
pub(crate) struct Pending {
    bytes: [Vec<u8>; Encoding::COUNT],
    samples: u64,
    /// The stamps before the first sample.
    pub(crate) stamps_before: StampTracker,
    stamps_after: StampTracker,
}

impl Pending {
    pub(crate) fn new(codec: &SampleCodec) -> Self {
        Self {
            bytes: Default::default(),
            samples: 0,
            stamps_before: codec.stamp_tracker(),
            stamps_after: codec.stamp_tracker(),
        }
    }

    /// Adds `count` samples in each encoding of `encodings`.
    pub(crate) fn add(
        &mut self,
        codecs: &[SampleCodec; Encoding::COUNT],
        encodings: EncodingSet,
        values: &impl Values,
        stamps: &Stamps<'_>,
        count: usize,
    ) -> Result<(), Error> {
        for encoding in encodings.iter() {
            let codec = &codecs[encoding.index()];
            let out = &mut self.bytes[encoding.index()];
            let before = out.len();
            let mut plain = Vec::new();
            let encoded = match codec.is_archive() {
                true => values.encode(codec, stamps, &mut plain),
                false => values.encode(codec, stamps, out),
            };
            if encoded.is_err() {
                out.truncate(before);
                return Err(Error::ChunkShape);
            }
            codec.translate(&plain, out);
        }
        self.samples += count as u64;
        stamps.track(count, &mut self.stamps_after);
        Ok(())
    }

    /// The bytes in one encoding.
    pub(crate) fn bytes(&self, encoding: Encoding) -> &[u8] {
        &self.bytes[encoding.index()]
    }

    /// The buffer of one encoding, for the log that takes it over.
    pub(crate) fn buffer(&mut self, encoding: Encoding) -> &mut Vec<u8> {
        &mut self.bytes[encoding.index()]
    }

    /// Number of samples.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Bytes in the encoding that has most.
    pub(crate) fn len(&self) -> usize {
        self.bytes.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Begins anew, behind the samples that were in here.
    pub(crate) fn clear(&mut self) {
        self.bytes.iter_mut().for_each(Vec::clear);
        self.samples = 0;
        self.stamps_before = self.stamps_after;
    }
}
