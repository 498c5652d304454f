//! The peaks of a stretch for a picture.

use core::ops::Range;
use std::io::{Read, Seek};

use super::seek::IndexedRecording;
use crate::reader::ReadError;
use crate::values::{Number as _, Values, on_values};

/// The least and the greatest values of a stretch of a stream, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Channels of the stream.
    pub channel_count: usize,
    /// Columns × channels × least and greatest; infinity and its negative where there is no value.
    pub columns: Vec<[f32; 2]>,
}

impl<R: Read + Seek> IndexedRecording<R> {
    /// The least and the greatest values of a stretch of one stream in so many columns.
    ///
    /// A long stretch is taken from the index alone, so that a recording of any size is drawn at once.
    ///
    /// - Units: `range` is in seconds on the stream's clock.
    /// - Errors: [`ReadError`].
    pub fn peaks(&mut self, stream: u32, range: Range<f64>, columns: usize) -> Result<Peaks, ReadError> {
        let Some(known) = self.index().streams.iter().find(|known| known.id == stream) else {
            return Ok(Peaks::default());
        };
        let channel_count =
            self.headers().iter().find(|header| header.id == stream).map_or(0, |it| it.channel_count);
        let mut peaks = Peaks {
            channel_count,
            columns: vec![[f32::INFINITY, f32::NEG_INFINITY]; columns * channel_count],
        };
        let width = (range.end - range.start) / columns as f64;
        let overview = &known.overview;
        if overview.seconds() <= width && !overview.is_empty() {
            for place in 0..overview.len() {
                let stamp = overview.from() + (place as f64 + 0.5) * overview.seconds();
                peaks.widen(&range, width, stamp, overview.column(place).iter().copied());
            }
            return Ok(peaks);
        }
        self.read(&[stream], range.clone(), |_, stamps, values| {
            let mut rows = |of: &dyn Fn(usize) -> f32| {
                for (row, &stamp) in stamps.iter().enumerate() {
                    let values = (0..channel_count).map(|channel| of(row * channel_count + channel));
                    peaks.widen(&range, width, stamp, values.map(|value| [value; 2]));
                }
            };
            on_values!(values, numbers values => rows(&|at| values.get(at).map_or(f32::NAN, |value| value.to_f32())));
        })?;
        Ok(peaks)
    }
}

impl Peaks {
    fn widen(&mut self, range: &Range<f64>, width: f64, stamp: f64, bounds: impl Iterator<Item = [f32; 2]>) {
        if !range.contains(&stamp) {
            return;
        }
        let from = ((stamp - range.start) / width) as usize * self.channel_count;
        for (peak, [least, greatest]) in
            self.columns.get_mut(from..).unwrap_or_default().iter_mut().zip(bounds)
        {
            *peak = [peak[0].min(least), peak[1].max(greatest)];
        }
    }
}
