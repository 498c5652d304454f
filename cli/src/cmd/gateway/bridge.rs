//! One stream on its way from one side to the other: each sample with its stamp, as it comes.

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use schwann::inlet::{InletOptions, StreamEvent};
use schwann::{Context, Error, Flush, Inlet, Outlet, OutletOptions, StreamInfo};
use schwann_recorder::Stop;

/// Carries samples until the stream ends or `stop` is raised.
///
/// - Errors: why the stream cannot be carried, for the person.
pub(super) fn carry(
    title: &str,
    info: &StreamInfo,
    (from, to): (Arc<Context>, Arc<Context>),
    is_near: bool,
    stop: &Stop,
) -> Result<(), String> {
    let inlet = Inlet::in_context(info, &InletOptions::default(), from).map_err(|error| error.to_string())?;
    let full = inlet
        .full_info(OPENING_SECONDS)
        .map_err(|error| format!("its description does not come: {error}"))?;
    inlet.open_stream(OPENING_SECONDS).map_err(|error| format!("it does not open: {error}"))?;
    let shift = if is_near { None } else { Some(clock_shift(&inlet)?) };
    let outlet =
        Outlet::in_context(&full, &OutletOptions::default(), to).map_err(|error| error.to_string())?;
    outlet.set_clock_shift(shift.unwrap_or_default());
    let done = Stop::default();
    thread::scope(|scope| {
        let watch = || watch_over(title, &inlet, shift.map(|_| &outlet), &done);
        thread::Builder::new()
            .spawn_scoped(scope, watch)
            .map_err(|error| format!("the system refused a thread: {error}"))?;
        let carried = carry_samples(&inlet, &outlet, stop);
        done.raise();
        let dropped = inlet.dropped_samples();
        if dropped > 0 {
            tell(
                title,
                &format!("{dropped} samples were not brought over, because this computer was too slow"),
            );
        }
        match carried {
            Ok(()) | Err(Error::Lost) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// The sender's clock as seen from ours.
fn clock_shift(inlet: &Inlet) -> Result<f64, String> {
    let estimate =
        inlet.clock_offset(OPENING_SECONDS).map_err(|error| format!("its clock does not answer: {error}"))?;
    Ok(-estimate.offset)
}

/// Tells what becomes of the connection, and has the shift of the clock of `outlet` follow the sender's.
fn watch_over(title: &str, inlet: &Inlet, outlet: Option<&Outlet>, done: &Stop) {
    let mut clock = Clock { asked: Instant::now(), measured: None, is_told: false };
    while !done.wait(LOOK_EVERY) {
        while let Some(event) = inlet.next_event(0.0) {
            if let Some(what) = told(event) {
                tell(title, what);
            }
        }
        if let Some(outlet) = outlet.filter(|_| clock.asked.elapsed() >= CLOCK_EVERY) {
            clock.follow(title, inlet, outlet);
        }
    }
}

/// What an event means for what is brought over; nothing if it is none of it.
fn told(event: StreamEvent) -> Option<&'static str> {
    Some(match event {
        StreamEvent::Recovering => "its connection is lost; nothing is brought over until it is back",
        StreamEvent::Connected => "its samples come",
        StreamEvent::ClockReset => "its clock was set, or its device was started again",
        StreamEvent::OtherDevice => "another device sends it now",
        StreamEvent::Refused => "its sender refuses this computer; why: schwann keys status",
        _ => return None,
    })
}

fn tell(title: &str, what: &str) {
    super::say(&format!("{title}: {what}"));
}

/// What is known of the sender's clock.
struct Clock {
    asked: Instant,
    /// The latest measurement by its time on the sender's clock, and since when it is known.
    measured: Option<(f64, Instant)>,
    is_told: bool,
}

impl Clock {
    fn follow(&mut self, title: &str, inlet: &Inlet, outlet: &Outlet) {
        self.asked = Instant::now();
        if let Ok(estimate) = inlet.clock_offset(OPENING_SECONDS) {
            outlet.set_clock_shift(-estimate.offset);
            if self.measured.is_none_or(|(time, _)| time != estimate.remote_time) {
                self.measured = Some((estimate.remote_time, Instant::now()));
            }
        }
        let is_old = self.measured.is_none_or(|(_, since)| since.elapsed() > CLOCK_OLD);
        if is_old && !self.is_told {
            tell(title, "its clock does not answer; its last known offset is used: schwann doctor");
        } else if self.is_told && !is_old {
            tell(title, "its clock answers again");
        }
        self.is_told = is_old;
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
        // What has come together goes on together. Asking the system for more would hold this sample up.
        let flush = if inlet.samples_at_hand() == 0 { Flush::Now } else { Flush::Later };
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
const OPENING_SECONDS: f64 = 10.0;
/// Seconds after which it is looked whether the program shall end.
const WAIT: f64 = 0.2;
const LOOK_EVERY: Duration = Duration::from_millis(200);
const CLOCK_EVERY: Duration = Duration::from_secs(5);
/// The clock is measured every few seconds; an older measurement tells that its answers do not come.
const CLOCK_OLD: Duration = Duration::from_secs(30);
