//! A pass over the samples of a recording, in its order.

use core::ops::ControlFlow;

use schwann_xdf::{Event, Location, ReadError, Values};

use crate::Progress;
use crate::error::ExportError;

/// Samples of one stream that lie together.
pub(crate) struct Samples<'a> {
    /// The stream's id.
    pub(crate) stream: u32,
    /// On the stream's clock, one per sample.
    pub(crate) stamps: &'a [f64],
    /// Samples × channels.
    pub(crate) values: &'a Values,
}

/// Hands over all samples, a piece at a time.
pub(crate) fn pass(
    recording: &Location,
    progress: &mut Progress<'_>,
    mut take: impl FnMut(&Samples<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut reader = recording.reader()?;
    let mut shown = 0;
    loop {
        let event = reader.next_event().map_err(ReadError::Io)?;
        let Some(event) = event else { return Ok(()) };
        if let Event::Samples { stream, stamps, values } = event {
            take(&Samples { stream, stamps, values })?;
        }
        let (done, all) = reader.progress();
        if done >= shown {
            tell(progress, done, all)?;
            shown = done + SHOWN_EVERY_BYTES;
        }
    }
}

/// Says how far it has come.
///
/// - Errors: [`ExportError::Stopped`], if it shall not go on.
pub(crate) fn tell(progress: &mut Progress<'_>, done: u64, all: u64) -> Result<(), ExportError> {
    match progress(done, all) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ExportError::Stopped),
    }
}

pub(crate) const SHOWN_EVERY_BYTES: u64 = 4 << 20;
