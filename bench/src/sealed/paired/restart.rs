//! One restart of the two processes, and what it says.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::{CARRIED, Cell, Subject};
use crate::Reason;
use crate::clock::now_ns;
use crate::gateway::Gateway;
use crate::payload::Tally;
use crate::record::KEYS;
use crate::statistics::median;
use crate::transfer::{Placement, Process, conduct, discovery, out_of_turn};
use crate::worker::{self, Event, Job, Ports, ReceiverReport, SenderReport, Task};
use crate::workload::Transport;

/// What one restart measured, per stream: in the clear, in the clear again, sealed.
#[derive(Clone, Debug)]
pub(crate) struct Restart {
    /// From the beginning of the push to the return of the pull, over all inlets of the stream.
    pub(crate) p50_us: [f64; ENDS],
}

impl Restart {
    /// What the last stream takes longer than those in the clear.
    pub(super) fn added_us(&self) -> f64 {
        let [first, second, carried] = self.p50_us;
        carried - f64::midpoint(first, second)
    }
}

/// A process at an end.
pub(crate) struct Side {
    /// The streams, what carries each, and whether that must say that it seals.
    pub(crate) streams: Vec<(usize, Transport, bool)>,
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
    pub(crate) receivers: Vec<Side>,
    /// What brings the last stream over, one behind the other; none if its receiver takes it from its sender.
    pub(crate) gateways: Vec<Gateway>,
}

impl Setting {
    /// Two processes on this computer, with the same library or none. All streams are sealed but two.
    pub(super) fn sealed(subject: &Subject) -> Self {
        let clear = format!("{}=off; {}=off", NAMES[0], NAMES[1]);
        let is_library = matches!(subject, Subject::Library(_));
        let side = || Side {
            streams: (0..ENDS).map(|stream| (stream, subject.transport(stream), is_library)).collect(),
            environment: environment(&[
                ("SCHWANN_SECURITY", "require"),
                ("SCHWANN_SECURITY_STREAMS", &clear),
                ("SCHWANN_KEYS", KEYS),
            ]),
            enter: Vec::new(),
            asks: Ipv4Addr::LOCALHOST,
            behind: "",
        };
        Self { sender: side(), receivers: vec![side()], gateways: Vec::new() }
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
    let start = |end: worker::Side, side: &Side, inlets: usize| {
        let task = |(stream, transport, sealed): (usize, Transport, bool)| Task {
            side: end,
            name: NAMES[stream].to_owned(),
            transport,
            workload: cell.workload(seconds, seed),
            source_id: source(&format!("{session}{}", side.behind), stream),
            sender: side.asks,
            listen: side.asks,
            sealed,
        };
        let files = Some((&*configured(side.asks)?, scratch));
        let place = Placement { files, environment: Some(&side.environment), enter: &side.enter };
        let tasks = vec![side.streams.clone(); inlets].concat().into_iter().map(task).collect();
        Ok::<_, Reason>(Process::start(&Job::Transfer(tasks), &place, patience)?)
    };
    let mut sender = start(worker::Side::Sender, &setting.sender, 1)?;
    let Event::Ready { .. } = sender.hear()? else { return Err(out_of_turn().into()) };
    let (carried, config) = (source(&session, CARRIED), configured(setting.sender.asks)?);
    let gateways = setting.gateways.iter().map(|gateway| gateway.start(&carried, &config));
    let _gateways = gateways.collect::<Result<Vec<_>, _>>()?;
    let end = worker::Side::Receiver { ports: Ports::default() };
    let receivers = setting.receivers.iter().map(|side| start(end, side, cell.inlets));
    let (sent, received) = conduct(&mut sender, &mut receivers.collect::<Result<Vec<_>, _>>()?)?;
    let streams = setting.receivers.iter().flat_map(|side| vec![side.streams.clone(); cell.inlets].concat());
    Restart::of(&sent, streams.map(|(stream, ..)| stream).zip(&received))
}

/// The source id of a stream of a session.
fn source(session: &str, stream: usize) -> String {
    format!("{session}-{stream}")
}

impl Restart {
    /// From what was sent to each stream, and what each inlet received. All must have come, in order, with its values.
    fn of<'a>(
        sent: &[SenderReport],
        received: impl Iterator<Item = (usize, &'a ReceiverReport)>,
    ) -> Result<Self, Reason> {
        let mut latencies: [Vec<f64>; ENDS] = core::array::from_fn(|_| Vec::new());
        for (stream, inlet) in received {
            let sent = sent.get(stream).ok_or("an inlet of no stream")?;
            if inlet.tally != (Tally { received: sent.sent, ..Tally::default() }) {
                return Err(
                    format!("{} samples were not delivered as sent: {:?}", sent.sent, inlet.tally).into()
                );
            }
            let spent = sent.pushes.iter().zip(&inlet.arrivals);
            let spent = spent.map(|(push, (_, arrived))| arrived.saturating_sub(push.begun) as f64 / 1e3);
            latencies[stream].extend(spent.skip(WARM_UP));
        }
        Ok(Self { p50_us: latencies.each_ref().map(|values| median(values)) })
    }
}

const ENDS: usize = 3;
/// The streams: in the clear, in the clear again, sealed.
const NAMES: [&str; ENDS] = ["PairedPlain", "PairedAgain", "PairedSealed"];
/// First samples that do not count: caches and the scheduler get to know the streams.
const WARM_UP: usize = 20;
/// Time that processes may need beyond the samples themselves, to start, to find each other and to drain.
const SETUP_PATIENCE: Duration = Duration::from_secs(100);
