//! The sending process of the demonstration.
//!
//! It begins when both streams have a receiver, and ends when its input does. So it never outlives the
//! process of the demonstration.

use core::time::Duration;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::Arc;
use std::thread;

use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Context, StreamInfo, local_clock};
use schwann_recorder::Stop;
use serde_json::json;

use super::script::{CHANNEL_COUNT, RATE, SPEC, Script};
use super::{EEG, MARKERS};
use crate::exit::{Exit, Outcome, Problem};
use crate::signal::describe;

/// Sends until the first line of input, says what was sent, and stays until the input ends.
pub(super) fn run(config: &Arc<Context>) -> Outcome {
    // Ctrl-C in a terminal reaches both processes; the other one says when to end.
    let stop = Arc::new(Stop::default());
    ctrlc::set_handler(|| {}).map_err(|error| Problem::with("signals", error))?;
    raise_at_input(Arc::clone(&stop))?;
    let mut script = Script::new();
    let eeg = outlet(&describe::signal(EEG, SPEC, script.labels())?, config)?;
    let markers = outlet(&describe::markers(MARKERS)?, config)?;
    while !(eeg.have_consumers() && markers.have_consumers()) {
        if stop.wait(Duration::from_millis(5)) {
            break;
        }
    }
    let sent = send(&mut script, &eeg, &markers, &stop)?;
    let flushed = [&eeg, &markers].map(|outlet| outlet.flush(Some(FLUSH_PATIENCE)));
    let lost = eeg.dropped_samples() + markers.dropped_samples();
    let report = json!({
        "samples": script.made(),
        "markers": sent,
        "dropped": lost,
        "flushed": flushed.iter().all(Result::is_ok),
    });
    writeln!(io::stdout(), "{report}")?;
    io::stdout().flush()?;
    // Closing an outlet would end the streams for a receiver that still reads.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    Ok(Exit::Good)
}

/// Says by `stop` when the first line of input comes.
fn raise_at_input(stop: Arc<Stop>) -> io::Result<()> {
    let wait = move || {
        let mut line = String::new();
        // A line, the end and an error all mean that it is time.
        let _ = io::stdin().lock().read_line(&mut line);
        stop.raise();
    };
    thread::Builder::new().spawn(wait).map(drop)
}

/// Sends every sample when its time has come; returns the number of markers.
fn send(script: &mut Script, eeg: &Outlet, markers: &Outlet, stop: &Stop) -> Result<u64, Problem> {
    let began = local_clock();
    let (mut rows, mut stamps, mut sent) = (Vec::new(), Vec::new(), 0);
    loop {
        let next = began + script.made() as f64 / RATE;
        let early = next - local_clock();
        if stop.wait(Duration::try_from_secs_f64(early).unwrap_or_default()) {
            return Ok(sent);
        }
        let due = ((local_clock() - began) * RATE) as u64;
        rows.clear();
        stamps.clear();
        while script.made() <= due && stamps.len() < CATCH_UP {
            stamps.push(began + script.made() as f64 / RATE);
            rows.resize(stamps.len() * CHANNEL_COUNT, 0.0_f32);
            let row = rows.len() - CHANNEL_COUNT;
            script.next_sample(rows.get_mut(row..).unwrap_or_default());
        }
        eeg.push_chunk_stamped(&rows, &stamps, Flush::Now).map_err(|error| Problem::with(EEG, error))?;
        while let Some(marker) = script.next_marker() {
            let stamp = began + marker.sample as f64 / RATE;
            markers
                .push_strings(&[marker.text.as_bytes()], stamp, Flush::Now)
                .map_err(|error| Problem::with(MARKERS, error))?;
            sent += 1;
        }
    }
}

fn outlet(info: &StreamInfo, config: &Arc<Context>) -> Result<Outlet, Problem> {
    Outlet::in_context(info, &OutletOptions::default(), Arc::clone(config))
        .map_err(|error| Problem::with(info.name(), error))
}

/// The most samples of one push: a process stopped for a while does not send all at once.
const CATCH_UP: usize = 1000;
const FLUSH_PATIENCE: Duration = Duration::from_secs(5);
