//! One stream on its way from one side to the other: each sample with its stamp, as it comes.

use core::time::Duration;
use std::sync::Arc;
use std::thread;

use schwann::inlet::InletOptions;
use schwann::{Context, Error, Flush, Inlet, Outlet, OutletOptions, StreamInfo};
use schwann_recorder::Stop;

/// Carries samples until the stream ends or `stop` is raised.
///
/// - Errors: why the stream cannot be carried, for the person.
pub(super) fn carry(
    info: &StreamInfo,
    from: Arc<Context>,
    to: Arc<Context>,
    is_near: bool,
    stop: &Stop,
) -> Result<(), String> {
    let inlet = Inlet::in_context(info, &InletOptions::default(), from).map_err(|error| error.to_string())?;
    let full =
        inlet.full_info(PATIENCE).map_err(|error| format!("its description does not come: {error}"))?;
    inlet.open_stream(PATIENCE).map_err(|error| format!("it does not open: {error}"))?;
    let shift = if is_near { None } else { Some(clock_shift(&inlet)?) };
    let outlet =
        Outlet::in_context(&full, &OutletOptions::default(), to).map_err(|error| error.to_string())?;
    outlet.set_clock_shift(shift.unwrap_or_default());
    let done = Stop::default();
    thread::scope(|scope| {
        if shift.is_some() {
            scope.spawn(|| follow_clock(&inlet, &outlet, &done));
        }
        let carried = carry_samples(&inlet, &outlet, stop);
        done.raise();
        match carried {
            Ok(()) | Err(Error::Lost) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// The sender's clock as seen from ours.
fn clock_shift(inlet: &Inlet) -> Result<f64, String> {
    let estimate =
        inlet.clock_offset(PATIENCE).map_err(|error| format!("its clock does not answer: {error}"))?;
    Ok(-estimate.offset)
}

fn follow_clock(inlet: &Inlet, outlet: &Outlet, done: &Stop) {
    while !done.wait(CLOCK_EVERY) {
        if let Ok(shift) = clock_shift(inlet) {
            outlet.set_clock_shift(shift);
        }
    }
}

fn carry_samples(inlet: &Inlet, outlet: &Outlet, stop: &Stop) -> Result<(), Error> {
    let info = inlet.info();
    let size = info.channel_format().value_size().map(|size| size * inlet.channel_count());
    let mut raw = vec![0; size.unwrap_or_default()];
    let mut texts: Vec<Vec<u8>> = Vec::new();
    while !stop.is_raised() {
        let pulled = match size {
            Some(_) => inlet.pull_raw_sample(&mut raw, WAIT)?,
            None => {
                texts.clear();
                inlet.pull_strings(WAIT, |text| texts.push(text.to_vec()))?
            }
        };
        let Some(stamp) = pulled else { continue };
        // What has come together goes on together.
        let flush = if inlet.samples_available() == 0 { Flush::Now } else { Flush::Later };
        match size {
            Some(_) => outlet.push_raw_sample(&raw, stamp, flush)?,
            None => {
                let texts: Vec<_> = texts.iter().map(Vec::as_slice).collect();
                outlet.push_strings(&texts, stamp, flush)?;
            }
        }
    }
    Ok(())
}

/// Seconds for the beginning.
const PATIENCE: f64 = 10.0;
/// Seconds after which it is looked whether the program shall end.
const WAIT: f64 = 0.2;
const CLOCK_EVERY: Duration = Duration::from_secs(5);
