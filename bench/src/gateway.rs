//! What `schwann gateway` adds to the latency: a stream through it beside two that go straight, push by push.
//!
//! The two processes are those of [`crate::sealed::paired`], which explains how streams are compared. The third one's
//! samples pass through the gateway, a program of its own. The two straight ones tell what a difference is worth.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use crate::Reason;
use crate::campaign::CampaignError;
use crate::ffi::Pushes;
use crate::line::{ETHERNET, Line, NEAR};
use crate::record::{KEYS, Reading};
use crate::sealed::lab;
use crate::sealed::paired::{
    CARRIED, Cell, FORWARDED, Restart, Setting, Side, Subject, environment, forward, run,
};
use crate::statistics::paired_t;
use crate::step::Step;
use crate::suite::{Asked, Depth, Missing};
use crate::transfer::interrupted;
use crate::workload::Transport;

/// What brings one stream over.
pub(crate) enum Gateway {
    /// `schwann gateway`, with the words that bring it where it belongs.
    Program { program: PathBuf, way: Way, enter: Vec<OsString> },
    /// A thread of this process that receives and sends, and does nothing else.
    Sockets,
}

/// What it does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    /// It seals plain streams.
    In,
    /// It shows sealed streams in the clear.
    Out,
}

/// A running gateway; ended when dropped. A thread ends with its sender.
pub(crate) struct Running(Option<Child>);

impl Gateway {
    /// Starts it for the stream with this source id, and returns when it has found that.
    pub(crate) fn start(&self, source_id: &str, config: &Path) -> Result<Running, Reason> {
        let Self::Program { program, way, enter } = self else {
            return forward(source_id).map(|()| Running(None));
        };
        let mut words = enter.iter().map(OsString::as_os_str).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().ok_or("no program")?);
        command.args(words).arg("gateway").args((*way == Way::Out).then_some("--out"));
        command
            .arg(format!("source_id='{source_id}'"))
            .envs([("SCHWANN_KEYS", KEYS), ("SCHWANN_SECURITY", "require")]);
        command.env("LSLAPICFG", config).current_dir(config.parent().ok_or("a file in no folder")?);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("piped above")?);
        let running = Running(Some(child));
        let (sender, begun) = mpsc::channel();
        std::thread::spawn(move || {
            said.lines()
                .map_while(Result::ok)
                .filter(|line| line.ends_with("begins"))
                .try_for_each(|_| sender.send(()))
        });
        begun
            .recv_timeout(FINDING_TIMEOUT)
            .map_err(|_| "the gateway did not find the stream, or has ended")?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        let _ = self.0.as_mut().map(Child::kill);
        let _ = self.0.as_mut().map(Child::wait);
    }
}

/// What is compared.
#[derive(Clone, Copy)]
struct Condition {
    name: &'static str,
    /// The gateways on the way, in their order.
    ways: &'static [Way],
    /// The receivers are behind a line.
    is_far: bool,
    /// The straight streams' sender has the original's library, as an old device has.
    is_old: bool,
    /// So have the straight receivers: as it was before the lab had keys.
    was_old: bool,
}

impl Condition {
    /// A sealed lab has no old device that seals: what a gateway takes out comes from our library.
    fn sends_sealed(&self) -> bool {
        self.ways.first() == Some(&Way::Out)
    }

    /// What a gateway brings in is received by our library.
    fn receives_sealed(&self) -> bool {
        self.ways.last() == Some(&Way::In)
    }
}

/// A step for each condition.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let programs = [program()?, asked.ours()?, asked.opponent()?];
    let quick = asked.effort.depth == Depth::Quick;
    let (restarts, seconds) = if quick { (3, 1.0) } else { (asked.effort.count(16, 6), 2.5) };
    let measure = move |setting: &Setting, scratch: &Path| {
        let mut observed = Vec::new();
        for seed in 0..restarts {
            if interrupted() {
                return Err(CampaignError::Interrupted.into());
            }
            observed.push(run(&CELL, seconds, seed as u64, setting, scratch)?);
        }
        Ok::<_, Reason>(observed)
    };
    let scratch = asked.scratch.clone();
    let bare = Step::new("sockets-alone", move |name| Ok(judge(name, &measure(&bare(), &scratch)?, false)));
    let step = |condition: Condition| {
        let (scratch, programs) = (asked.scratch.clone(), programs.clone());
        Step::new(condition.name, move |name| {
            if !scratch.join(KEYS).exists() {
                lab::install_keys(&scratch.join(KEYS))?;
            }
            let line = condition.is_far.then(|| Line::lay(&ETHERNET, 0)).transpose()?;
            Ok(judge(name, &measure(&setting(condition, &programs, line.as_ref()), &scratch)?, true))
        })
    };
    Ok(CONDITIONS.into_iter().map(step).chain([bare]).collect())
}

/// The program `schwann` beside this one.
pub(crate) fn program() -> Result<PathBuf, Missing> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("schwann")));
    beside.filter(|path| path.is_file()).ok_or_else(|| Missing(NO_PROGRAM.to_owned()))
}

fn setting(condition: Condition, [program, ours, original]: &[PathBuf; 3], line: Option<&Line>) -> Setting {
    let Condition { ways, is_old, was_old, .. } = condition;
    let (near, far) = line.map_or_else(Default::default, |line| (line.near(), line.far()));
    let asks = if line.is_some() { NEAR } else { Ipv4Addr::LOCALHOST };
    let side = |streams: &[(usize, bool)], seals: bool, enter: &[OsString]| Side {
        streams: streams
            .iter()
            .map(|&(stream, is_old)| {
                let library = if is_old { original.clone() } else { ours.clone() };
                (stream, Transport::Lsl { library, pushes: Pushes::default() }, seals && !is_old)
            })
            .collect(),
        environment: environment(&[
            ("SCHWANN_KEYS", KEYS),
            ("SCHWANN_SECURITY", if seals { "require" } else { "off" }),
        ]),
        enter: enter.to_vec(),
        asks,
        behind: "",
    };
    let (sealed, opened) = (condition.sends_sealed(), condition.receives_sealed());
    // Straight, the streams are as at their sender.
    let straight = side(&[(0, was_old), (1, was_old)], sealed, &far);
    let gateway = |&way| {
        let enter = if way == Way::In { near.clone() } else { far.clone() };
        Gateway::Program { program: program.clone(), way, enter }
    };
    // What a gateway takes out is beside its receiver, which must not find the first form of it.
    let here = if opened { asks } else { Ipv4Addr::LOCALHOST };
    let turned = Side { asks: here, ..side(&[(CARRIED, was_old && !opened)], opened, &far) };
    Setting {
        // A sealed stream comes from our library in any case.
        sender: side(&[(0, is_old), (1, is_old), (CARRIED, is_old && !sealed)], sealed, &near),
        receivers: vec![straight, turned],
        gateways: ways.iter().map(gateway).collect(),
    }
}

/// The same streams over nothing but sockets: the least that any program on the way costs.
fn bare() -> Setting {
    let side = |streams: &[usize], behind| Side {
        streams: streams.iter().map(|&stream| (stream, Subject::least().transport(stream), false)).collect(),
        environment: environment(&[]),
        enter: Vec::new(),
        asks: Ipv4Addr::LOCALHOST,
        behind,
    };
    Setting {
        sender: side(&[0, 1, CARRIED], ""),
        receivers: vec![side(&[0, 1], ""), side(&[CARRIED], FORWARDED)],
        gateways: vec![Gateway::Sockets],
    }
}

/// What the restarts say: the streams' medians, the two straight ones against each other, and the gateway's ratio, which
/// has a limit if it is ours.
fn judge(step: &str, observed: &[Restart], is_ours: bool) -> Vec<Reading> {
    let column = |stream: usize| observed.iter().map(|one| one.p50_us[stream]).collect::<Vec<f64>>();
    let [first, second, through] = [0, 1, CARRIED].map(column);
    let straight: Vec<f64> = first.iter().zip(&second).map(|(a, b)| f64::midpoint(*a, *b)).collect();
    let ratio = |over: &[f64], under: &[f64]| {
        over.iter().zip(under).map(|(over, under)| over / under).collect::<Vec<_>>()
    };
    let figure = |subject, values| Reading::named(step, subject, "median from push to pull", "µs", values);
    let turned = ratio(&through, &straight);
    let turned = Reading::named(step, "through the gateway", "through / straight", "times", turned);
    vec![
        figure("straight", straight.clone()),
        figure("through the gateway", through.clone()),
        Reading::named(step, "straight", "the second / the first", "times", ratio(&second, &first)),
        if is_ours { turned.held_against(format!("<= {LIMIT}"), met(&straight, &through)) } else { turned },
    ]
}

/// Whether the limit is met; nothing if that is open.
fn met(straight: &[f64], through: &[f64]) -> Option<bool> {
    let limit: Vec<f64> = straight.iter().map(|straight| LIMIT * straight).collect();
    match paired_t(&limit, through, 0.95)?.interval {
        interval if interval.high < 0.0 => Some(true),
        interval if interval.low > 0.0 => Some(false),
        _ => None,
    }
}

const PLAIN: Condition =
    Condition { name: "in", ways: &[Way::In], is_far: false, is_old: false, was_old: false };
const OLD: Condition = Condition { name: "in-instead-of-liblsl", is_old: true, was_old: true, ..PLAIN };
const CONDITIONS: [Condition; 9] = [
    PLAIN,
    Condition { name: "out", ways: &[Way::Out], ..PLAIN },
    Condition { name: "in-from-liblsl", is_old: true, ..PLAIN },
    OLD,
    Condition { name: "out-instead-of-liblsl", ways: &[Way::Out], ..OLD },
    Condition { name: "in-ethernet", is_far: true, ..PLAIN },
    Condition { name: "out-ethernet", ways: &[Way::Out], is_far: true, ..PLAIN },
    Condition { name: "in-ethernet-instead-of-liblsl", is_far: true, ..OLD },
    Condition { name: "both-ethernet-instead-of-liblsl", ways: &[Way::In, Way::Out], is_far: true, ..OLD },
];

const CELL: Cell = Cell { channels: 64, rate: 500.0, inlets: 1 };
/// How much longer a sample may take than on the straight way.
const LIMIT: f64 = 1.3;
const NO_PROGRAM: &str = "no `schwann` beside this program: cargo build --release -p schwann-cli";
/// The gateway looks for streams every few seconds.
const FINDING_TIMEOUT: Duration = Duration::from_secs(30);
