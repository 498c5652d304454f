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
use crate::line::{ETHERNET, Line, NEAR};
use crate::record::{KEYS, Reading};
use crate::sealed::lab;
use crate::sealed::paired::{CARRIED, Cell, Restart, Setting, Side, Subject, environment, run};
use crate::statistics::paired_t;
use crate::step::Step;
use crate::suite::{Asked, Depth, Missing};
use crate::transfer::interrupted;

/// A gateway to be started for one stream.
pub(crate) struct Gateway {
    program: PathBuf,
    way: Way,
    enter: Vec<OsString>,
}

/// What it does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// It seals plain streams.
    In,
    /// It shows sealed streams in the clear.
    Out,
}

/// A running gateway; ended when dropped.
pub(crate) struct Running(Child);

impl Gateway {
    /// Starts it for the stream with this source id, and returns when it has found that.
    pub(crate) fn start(&self, source_id: &str, config: &Path) -> Result<Running, Reason> {
        let mut words = self.enter.iter().map(OsString::as_os_str).chain([self.program.as_os_str()]);
        let mut command = Command::new(words.next().ok_or("no program")?);
        command.args(words).arg("gateway").args((self.way == Way::Out).then_some("--out"));
        command
            .arg(format!("source_id='{source_id}'"))
            .envs([("SCHWANN_KEYS", KEYS), ("SCHWANN_SECURITY", "require")]);
        command.env("LSLAPICFG", config).current_dir(config.parent().ok_or("a file in no folder")?);
        let mut running = Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
        let said = BufReader::new(running.0.stdout.take().ok_or("piped above")?);
        let (sender, begun) = mpsc::channel();
        std::thread::spawn(move || {
            said.lines()
                .map_while(Result::ok)
                .filter(|line| line.ends_with("begins"))
                .try_for_each(|_| sender.send(()))
        });
        begun.recv_timeout(PATIENCE).map_err(|_| "the gateway did not find the stream, or has ended")?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is compared.
#[derive(Clone, Copy)]
struct Condition {
    name: &'static str,
    way: Way,
    /// The receivers are behind a line.
    is_far: bool,
    /// The sender has the original's library, as an old device has.
    is_old: bool,
    /// So have the straight receivers: as it was before the lab had keys.
    was_old: bool,
}

const PLAIN: Condition = Condition { name: "in", way: Way::In, is_far: false, is_old: false, was_old: false };
const CONDITIONS: [Condition; 6] = [
    PLAIN,
    Condition { name: "out", way: Way::Out, ..PLAIN },
    Condition { name: "in-from-liblsl", is_old: true, ..PLAIN },
    Condition { name: "in-instead-of-liblsl", is_old: true, was_old: true, ..PLAIN },
    Condition { name: "in-ethernet", is_far: true, ..PLAIN },
    Condition { name: "out-ethernet", way: Way::Out, is_far: true, ..PLAIN },
];

/// A step for each condition.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let programs = [program()?, asked.ours()?, asked.opponent()?];
    let quick = asked.effort.depth == Depth::Quick;
    let (restarts, seconds) = if quick { (3, 1.0) } else { (asked.effort.count(16, 6), 2.5) };
    let step = |condition: Condition| {
        let (scratch, programs) = (asked.scratch.clone(), programs.clone());
        Step::new(condition.name, move |name| {
            if !scratch.join(KEYS).exists() {
                lab::install_keys(&scratch.join(KEYS))?;
            }
            let line = condition.is_far.then(|| Line::lay(&ETHERNET, 0)).transpose()?;
            let setting = setting(condition, &programs, line.as_ref());
            let mut observed = Vec::new();
            for seed in 0..restarts {
                if interrupted() {
                    return Err(CampaignError::Interrupted.into());
                }
                observed.push(run(&CELL, seconds, seed as u64, &setting, &scratch)?);
            }
            Ok(judge(name, &observed))
        })
    };
    Ok(CONDITIONS.into_iter().map(step).collect())
}

/// The program `schwann` beside this one.
pub(crate) fn program() -> Result<PathBuf, Missing> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("schwann")));
    beside.filter(|path| path.is_file()).ok_or_else(|| Missing(NO_PROGRAM.to_owned()))
}

fn setting(condition: Condition, [program, ours, original]: &[PathBuf; 3], line: Option<&Line>) -> Setting {
    let Condition { way, is_old, was_old, .. } = condition;
    let (near, far) = line.map_or_else(Default::default, |line| (line.near(), line.far()));
    let side = |is_old: bool, policy, enter: &[OsString]| Side {
        subject: Subject::Library(if is_old { original.clone() } else { ours.clone() }),
        environment: environment(&[("SCHWANN_KEYS", KEYS), ("SCHWANN_SECURITY", policy)]),
        enter: enter.to_vec(),
    };
    // Straight, the streams are as at their sender; beyond the gateway, they are in the other form.
    let (sent, turned) = if way == Way::In { ("off", "require") } else { ("require", "off") };
    let receivers = vec![(side(was_old, sent, &far), vec![0, 1]), (side(false, turned, &far), vec![CARRIED])];
    Setting {
        sender: side(is_old, sent, &near),
        receivers,
        address: if line.is_some() { NEAR } else { Ipv4Addr::LOCALHOST },
        seals: way == Way::Out,
        gateway: Some(Gateway {
            program: program.clone(),
            way,
            enter: if way == Way::In { near } else { far },
        }),
    }
}

/// What the restarts say: the streams' medians, the two straight ones against each other, and the gateway's ratio.
fn judge(step: &str, observed: &[Restart]) -> Vec<Reading> {
    let column = |stream: usize| observed.iter().map(|one| one.p50_us[stream]).collect::<Vec<f64>>();
    let [first, second, through] = [0, 1, CARRIED].map(column);
    let straight: Vec<f64> = first.iter().zip(&second).map(|(a, b)| f64::midpoint(*a, *b)).collect();
    let ratio = |over: &[f64], under: &[f64]| {
        over.iter().zip(under).map(|(over, under)| over / under).collect::<Vec<_>>()
    };
    let limit: Vec<f64> = straight.iter().map(|straight| LIMIT * straight).collect();
    let met = paired_t(&limit, &through, 0.95).and_then(|t| match t.interval {
        interval if interval.high < 0.0 => Some(true),
        interval if interval.low > 0.0 => Some(false),
        _ => None,
    });
    let figure = |subject, values| Reading::named(step, subject, "median from push to pull", "µs", values);
    vec![
        figure("straight", straight.clone()),
        figure("through the gateway", through.clone()),
        Reading::named(step, "straight", "the second / the first", "times", ratio(&second, &first)),
        Reading::named(
            step,
            "through the gateway",
            "through / straight",
            "times",
            ratio(&through, &straight),
        )
        .held_against(format!("<= {LIMIT}"), met),
    ]
}

const CELL: Cell = Cell { channels: 64, rate: 500.0, inlets: 1 };
/// How much longer a sample may take than on the straight way.
const LIMIT: f64 = 1.3;
const NO_PROGRAM: &str = "no `schwann` beside this program: cargo build --release -p schwann-cli";
/// The gateway looks for streams every few seconds.
const PATIENCE: Duration = Duration::from_secs(30);
