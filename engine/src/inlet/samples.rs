//! Iterators over what an inlet receives.

use core::marker::PhantomData;

use schwann_proto::stream::FOREVER;
use schwann_proto::wire::sample::Value;

use super::Inlet;
use crate::Error;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<T> {
    /// Seconds on the sender's clock, unless post-processing changes that.
    pub stamp: f64,
    /// One value per channel.
    pub values: Vec<T>,
}

/// Some samples, in the order they were sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk<T> {
    /// One stamp per sample, as in [`Sample::stamp`].
    pub stamps: Vec<f64>,
    /// Samples × channels, one row per sample.
    pub values: Vec<T>,
}

/// The samples of an inlet one by one; see [`Inlet::samples`].
#[derive(Debug)]
pub struct Samples<'a, T> {
    inlet: &'a Inlet,
    has_ended: bool,
    values: PhantomData<T>,
}

/// The samples of an inlet in chunks; see [`Inlet::chunks`].
#[derive(Debug)]
pub struct Chunks<'a, T> {
    inlet: &'a Inlet,
    rows: usize,
    has_ended: bool,
    values: PhantomData<T>,
}

impl Inlet {
    /// The samples as they come, each in memory of its own; waits for each without limit.
    ///
    /// Ends when the stream is closed, or after an error. Programs that count every microsecond use
    /// [`Self::pull_sample`], which takes nothing from the heap.
    /// - Errors: those of [`Self::pull_sample`].
    pub fn samples<T: Value>(&self) -> Samples<'_, T> {
        Samples { inlet: self, has_ended: false, values: PhantomData }
    }

    /// What has arrived, in chunks of 1 to `rows` samples; waits for the first of each without limit.
    ///
    /// Ends as [`Self::samples`] does.
    /// - Errors: those of [`Self::pull_chunk`].
    pub fn chunks<T: Value>(&self, rows: usize) -> Chunks<'_, T> {
        Chunks { inlet: self, rows: rows.max(1), has_ended: false, values: PhantomData }
    }
}

impl<T: Value> Iterator for Samples<'_, T> {
    type Item = Result<Sample<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let mut values = vec![T::default(); self.inlet.channel_count()];
        let pulled = self.inlet.pull_sample(&mut values, FOREVER);
        self.has_ended = !matches!(pulled, Ok(Some(_)));
        pulled.map(|stamp| stamp.map(|stamp| Sample { stamp, values })).transpose()
    }
}

impl<T: Value> Iterator for Chunks<'_, T> {
    type Item = Result<Chunk<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let channels = self.inlet.channel_count();
        let mut chunk =
            Chunk { stamps: vec![0.0; self.rows], values: vec![T::default(); self.rows * channels] };
        let pulled = self.pull(&mut chunk);
        self.has_ended = !matches!(pulled, Ok(1..));
        match pulled {
            Ok(0) => None,
            Ok(count) => {
                chunk.stamps.truncate(count);
                chunk.values.truncate(count * channels);
                Some(Ok(chunk))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl<T: Value> Chunks<'_, T> {
    /// One sample however long it takes, and the samples already behind it.
    fn pull(&self, chunk: &mut Chunk<T>) -> Result<usize, Error> {
        let (first, rest) = chunk.values.split_at_mut(self.inlet.channel_count());
        let Some(stamp) = self.inlet.pull_sample(first, FOREVER)? else { return Ok(0) };
        let Some((first, others)) = chunk.stamps.split_first_mut() else { return Ok(0) };
        *first = stamp;
        if others.is_empty() {
            return Ok(1);
        }
        // What ends the stream shows at the next chunk; this one has a sample already.
        Ok(1 + self.inlet.pull_chunk(rest, others, 0.0).unwrap_or(0))
    }
}
