//! One restart of the two processes, and what it says.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::ends::{ENDS, End, NAMES, Task};
use super::{CARRIED, Cell, Subject};
use crate::Reason;
use crate::clock::now_ns;
use crate::gateway::Gateway;
use crate::record::KEYS;
use crate::statistics::median;
use crate::transfer::{End as _, Place, Process, discovery};
use crate::worker::{Event, Job, Order};

/// What one restart measured, per stream: in the clear, in the clear again, sealed.
#[derive(Clone, Debug)]
pub(crate) struct Restart {
    /// From the beginning of the push to the return of the pull, over all inlets of the stream.
    pub(crate) p50_us: [f64; ENDS],
}

/// A process at an end.
pub(crate) struct Side {
    pub(crate) subject: Subject,
    pub(crate) environment: BTreeMap<String, String>,
    /// The words that bring it where it belongs.
    pub(crate) enter: Vec<OsString>,
}

/// Who takes part in a restart.
pub(crate) struct Setting {
    pub(crate) sender: Side,
    /// With the streams that each takes.
    pub(crate) receivers: Vec<(Side, Vec<usize>)>,
    /// Where the sender is.
    pub(crate) address: Ipv4Addr,
    /// Whether the sender's library must seal.
    pub(crate) seals: bool,
    /// What brings the last stream over, if its receiver does not take it from its sender.
    pub(crate) gateway: Option<Gateway>,
}

impl Setting {
    /// Two processes on this computer, with the same library or none. All streams are sealed but two.
    pub(super) fn sealed(subject: &Subject) -> Self {
        let clear = format!("{}=off; {}=off", NAMES[0], NAMES[1]);
        let side = || Side {
            subject: subject.clone(),
            environment: environment(&[
                ("SCHWANN_SECURITY", "require"),
                ("SCHWANN_SECURITY_STREAMS", &clear),
                ("SCHWANN_KEYS", KEYS),
            ]),
            enter: Vec::new(),
        };
        let (sender, receivers) = (side(), vec![(side(), (0..ENDS).collect())]);
        Self { sender, receivers, address: Ipv4Addr::LOCALHOST, seals: true, gateway: None }
    }
}

/// Variables with their values.
pub(crate) fn environment(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Runs the cell once in new processes. The keys are in the folder [`KEYS`] of `scratch`.
pub(crate) fn run(
    cell: &Cell,
    seconds: f64,
    seed: u64,
    setting: &Setting,
    scratch: &Path,
) -> Result<Restart, Reason> {
    let session = format!("paired-{}-{:x}", std::process::id(), now_ns());
    let config = scratch.join("lsl_api.cfg");
    std::fs::write(&config, discovery::private(&session, discovery::free_ports(), setting.address))?;
    let patience = Duration::from_secs_f64(3.0 * seconds) + SETUP_PATIENCE;
    let start = |end, Side { subject, environment, enter }: &Side, streams: Vec<usize>| {
        let (subject, session, seals) = (subject.clone(), session.clone(), setting.seals);
        let task = Task { cell: *cell, end, subject, seconds, seed, seals, session, streams };
        let place = Place { files: Some((&config, scratch)), environment: Some(environment), enter };
        Process::start(&Job::Paired(task), &place, patience)
    };
    const OUT_OF_TURN: &str = "a process spoke out of turn";
    let mut sender = start(End::Sender, &setting.sender, (0..ENDS).collect())?;
    let Event::Ready { .. } = sender.hear()? else { return Err(OUT_OF_TURN.into()) };
    let carried = Task::source_of(&session, CARRIED);
    let _gateway = setting.gateway.as_ref().map(|gateway| gateway.start(&carried, &config)).transpose()?;
    let receivers =
        setting.receivers.iter().map(|(side, streams)| start(End::Receiver, side, streams.clone()));
    let mut receivers = receivers.collect::<Result<Vec<_>, _>>()?;
    for receiver in &mut receivers {
        let Event::Open = receiver.hear()? else { return Err(OUT_OF_TURN.into()) };
    }
    sender.say(Order::Go)?;
    let Event::Pushed(begun) = sender.hear()? else { return Err(OUT_OF_TURN.into()) };
    let mut inlets = Vec::new();
    for receiver in &mut receivers {
        let Event::Arrived(arrived) = receiver.hear()? else { return Err(OUT_OF_TURN.into()) };
        inlets.extend(arrived);
    }
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

/// First samples that do not count: caches and the scheduler get to know the streams.
const WARM_UP: usize = 20;
/// Time that processes may need beyond the samples themselves, to start, to find each other and to drain.
const SETUP_PATIENCE: Duration = Duration::from_secs(100);
