//! What the formats share that hold only signals: BrainVision, EDF and BDF.

use crate::error::ExportError;
use crate::plan::{Plan, Stream};
use crate::report::Report;

/// A sink for each signal, at the places that the streams have in the plan. Of the other streams, the report says why they
/// are left out.
///
/// - `make` gets a stream, and what its files' names have of it.
/// - Errors: [`ExportError::Nothing`] or [`ExportError::Empty`] if there is no signal; those of `make`.
pub(crate) fn sinks_of_signals<'a, S>(
    plan: &'a Plan,
    report: &mut Report,
    mut make: impl FnMut(&'a Stream, &str) -> Result<S, ExportError>,
) -> Result<Vec<Option<S>>, ExportError> {
    let count = plan.signals().count();
    if count == 0 {
        let is_empty = plan.streams.iter().all(|stream| stream.samples == 0);
        return Err(if is_empty { ExportError::Empty } else { ExportError::Nothing });
    }
    let sink = |stream: &'a Stream| {
        if !stream.is_signal() {
            leave_out(stream, report);
            return Ok(None);
        }
        let part = if count == 1 { "" } else { stream.part.as_str() };
        make(stream, part).map(Some)
    };
    plan.streams.iter().map(sink).collect()
}

/// Says why a stream is in no file of a format that needs a rate.
fn leave_out(stream: &Stream, report: &mut Report) {
    if stream.samples == 0 {
        report.leave_empty(stream);
    } else if !stream.is_events() {
        report.leave(&stream.header.name, "it has no regular rate; --to csv, npz, mcap or nwb takes it");
    }
}
