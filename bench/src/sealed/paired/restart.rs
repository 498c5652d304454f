//! One restart of the two processes, and what it says.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::path::Path;

use super::ends::{ENDS, End, NAMES, Task};
use super::{Cell, Subject};
use crate::Reason;
use crate::clock::now_ns;
use crate::record::KEYS;
use crate::statistics::median;
use crate::transfer::{End as _, Place, Process, discovery};
use crate::worker::{Event, Job, Order};

/// What one restart measured, per stream: in the clear, in the clear again, sealed.
#[derive(Clone, Debug)]
pub(super) struct Restart {
    /// From the beginning of the push to the return of the pull, over all inlets of the stream.
    pub(super) p50_us: [f64; ENDS],
}

/// Runs the cell once in new processes. The keys are in the folder [`KEYS`] of `scratch`.
pub(super) fn run(
    cell: &Cell,
    seconds: f64,
    seed: u64,
    subject: &Subject,
    scratch: &Path,
) -> Result<Restart, Reason> {
    let session = format!("paired-{}-{:x}", std::process::id(), now_ns());
    let config = scratch.join("lsl_api.cfg");
    std::fs::write(&config, discovery::private(&session, discovery::free_ports(), Ipv4Addr::LOCALHOST))?;
    let patience = Duration::from_secs_f64(3.0 * seconds) + SETUP_PATIENCE;
    let environment = environment();
    let start = |end| {
        let task =
            Task { cell: *cell, end, subject: subject.clone(), seconds, seed, session: session.clone() };
        let place = Place { files: Some((&config, scratch)), environment: Some(&environment), enter: &[] };
        Process::start(&Job::Paired(task), &place, patience)
    };
    const OUT_OF_TURN: &str = "a process spoke out of turn";
    let mut sender = start(End::Sender)?;
    let Event::Ready { .. } = sender.hear()? else { return Err(OUT_OF_TURN.into()) };
    let mut receiver = start(End::Receiver)?;
    let Event::Open = receiver.hear()? else { return Err(OUT_OF_TURN.into()) };
    sender.say(Order::Go)?;
    let Event::Pushed(begun) = sender.hear()? else { return Err(OUT_OF_TURN.into()) };
    let Event::Arrived(inlets) = receiver.hear()? else { return Err(OUT_OF_TURN.into()) };
    let mut latencies: [Vec<f64>; ENDS] = core::array::from_fn(|_| Vec::new());
    for (stream, arrivals) in inlets {
        let begun = begun.get(stream).ok_or("an inlet of no stream")?;
        if arrivals.len() != begun.len() {
            return Err(format!("{} of {} samples arrived", arrivals.len(), begun.len()).into());
        }
        let spent = begun
            .iter()
            .zip(&arrivals)
            .skip(WARM_UP)
            .map(|(begun, arrived)| (arrived.saturating_sub(*begun)) as f64 / 1000.0);
        latencies[stream].extend(spent);
    }
    Ok(Restart { p50_us: latencies.each_ref().map(|values| median(values)) })
}

/// All streams are sealed but two.
fn environment() -> BTreeMap<String, String> {
    let clear = format!("{}=off; {}=off", NAMES[0], NAMES[1]);
    [("SCHWANN_SECURITY", "require"), ("SCHWANN_SECURITY_STREAMS", &clear), ("SCHWANN_KEYS", KEYS)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// First samples that do not count: caches and the scheduler get to know the streams.
const WARM_UP: usize = 20;
/// Time that processes may need beyond the samples themselves, to start, to find each other and to drain.
const SETUP_PATIENCE: Duration = Duration::from_secs(100);
