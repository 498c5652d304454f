//! One restart of the two processes, and what it says.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::ends::{ENDS, End, NAMES, Task};
use super::{CARRIED, Cell, Subject};
use crate::Reason;
use crate::clock::now_ns;
use crate::gateway::Gateway;
use crate::record::KEYS;
use crate::statistics::median;
use crate::transfer::{Place, Process, discovery};
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
    /// Where it looks for streams.
    pub(crate) asks: Ipv4Addr,
    /// What the names of its sockets have besides: [`FORWARDED`](super::FORWARDED) or nothing.
    pub(crate) behind: &'static str,
}

/// Who takes part in a restart.
pub(crate) struct Setting {
    pub(crate) sender: Side,
    /// With the streams that each takes.
    pub(crate) receivers: Vec<(Side, Vec<usize>)>,
    /// Whether the sender's library must seal; of two, that of the last stream.
    pub(crate) seals: bool,
    /// The library of the last stream at its sender, if it is not that of the others.
    pub(crate) carried: Option<PathBuf>,
    /// What brings the last stream over, one behind the other; none if its receiver takes it from its sender.
    pub(crate) gateways: Vec<Gateway>,
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
            asks: Ipv4Addr::LOCALHOST,
            behind: "",
        };
        let (sender, receivers) = (side(), vec![(side(), (0..ENDS).collect())]);
        Self { sender, receivers, seals: true, carried: None, gateways: Vec::new() }
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
    let ports = discovery::free_ports();
    let configured = |asks: Ipv4Addr| {
        let config = scratch.join(format!("lsl_api-{asks}.cfg"));
        std::fs::write(&config, discovery::private(&session, ports, asks)).map(|()| config)
    };
    let patience = Duration::from_secs_f64(3.0 * seconds) + SETUP_PATIENCE;
    let start = |end, side: &Side, carried: Option<&PathBuf>, streams: Vec<usize>| {
        let (subject, carried, session) =
            (side.subject.clone(), carried.cloned(), session.clone() + side.behind);
        let seals = setting.seals;
        let task = Task { cell: *cell, end, subject, carried, seconds, seed, seals, session, streams };
        let files = Some((&*configured(side.asks)?, scratch));
        let place = Place { files, environment: Some(&side.environment), enter: &side.enter };
        Ok::<_, Reason>(Process::start(&Job::Paired(task), &place, patience)?)
    };
    let mut sender = start(End::Sender, &setting.sender, setting.carried.as_ref(), (0..ENDS).collect())?;
    let Event::Ready { .. } = sender.hear()? else { return Err(OUT_OF_TURN.into()) };
    let carried = Task::source_of(&session, CARRIED);
    let config = configured(setting.sender.asks)?;
    let gateways = setting.gateways.iter().map(|gateway| gateway.start(&carried, &config));
    let _gateways = gateways.collect::<Result<Vec<_>, _>>()?;
    let receivers =
        setting.receivers.iter().map(|(side, streams)| start(End::Receiver, side, None, streams.clone()));
    observe(&mut sender, &mut receivers.collect::<Result<Vec<_>, _>>()?)
}

/// Lets the sender begin, and waits until all has arrived.
fn observe(sender: &mut Process, receivers: &mut [Process]) -> Result<Restart, Reason> {
    for receiver in &mut *receivers {
        let Event::Open = receiver.hear()? else { return Err(OUT_OF_TURN.into()) };
    }
    sender.say(&Order::Go);
    let Event::Pushed(begun) = sender.hear()? else { return Err(OUT_OF_TURN.into()) };
    let mut latencies: [Vec<f64>; ENDS] = core::array::from_fn(|_| Vec::new());
    for receiver in receivers {
        let Event::Arrived(inlets) = receiver.hear()? else { return Err(OUT_OF_TURN.into()) };
        for (stream, arrivals) in inlets {
            let begun = begun.get(stream).ok_or("an inlet of no stream")?;
            if arrivals.len() != begun.len() {
                return Err(format!("{} of {} samples arrived", arrivals.len(), begun.len()).into());
            }
            let spent = begun
                .iter()
                .zip(&arrivals)
                .map(|(begun, arrived)| arrived.saturating_sub(*begun) as f64 / 1e3);
            latencies[stream].extend(spent.skip(WARM_UP));
        }
    }
    Ok(Restart { p50_us: latencies.each_ref().map(|values| median(values)) })
}

const OUT_OF_TURN: &str = "a process spoke out of turn";
/// First samples that do not count: caches and the scheduler get to know the streams.
const WARM_UP: usize = 20;
/// Time that processes may need beyond the samples themselves, to start, to find each other and to drain.
const SETUP_PATIENCE: Duration = Duration::from_secs(100);
