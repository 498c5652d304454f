//! `schwann demo`: everything at work on one computer, and checked.
//!
//! ```text
//!   this program, started again                 this program
//!   script ── outlets (EEG, markers) ═══ TCP ═══ inlets ── check against the script ── recording
//! ```
//!
//! The two processes share only a network of their own (see [`crate::lab`]) and a pipe. By the pipe, this one
//! ends the other.

mod check;
mod script;
mod sender;
mod view;

use core::time::Duration;
use std::env;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use schwann::resolver::resolve_bypred;
use schwann::{Config, Context, StreamInfo};
use schwann_recorder::{Meter, Recorder, RecordingStream, Stop};
use schwann_xdf::Survey;
use serde_json::Value;

use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use check::Tally;
use view::{Verdict, View};

/// See it work: send, receive, check and record a synthetic EEG on this computer.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann demo                    until Ctrl-C
  schwann demo --seconds 10       ten seconds, then the verdict
  schwann demo --seconds 10 --json | jq .lag_p99

One process sends 64 channels of EEG at 1,000 Hz and markers; another receives them, compares every value with the
sent one, and records them. It works without a network, and no other program sees it.

Exit code 0 if every sample arrived as it was sent and is in the recording, 1 if not.")]
pub(crate) struct Arguments {
    /// End after this many seconds of stream.
    #[arg(long, value_name = "N", value_parser = stop::seconds)]
    seconds: Option<f64>,
    /// Record to this file instead of a new one in ~/schwann-recordings.
    #[arg(short, long, value_name = "FILE.xdf")]
    output: Option<PathBuf>,
    /// Print the verdict as JSON, and nothing else; no dashboard.
    #[arg(long)]
    json: bool,
    /// Serve no dashboard.
    #[arg(long)]
    no_dash: bool,
    /// Be the sending process, on the network of this configuration.
    #[arg(long, hide = true, value_name = "CONFIG")]
    send: Option<String>,
}

/// Runs the demonstration.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(text) = &arguments.send {
        return sender::run(&config(text)?);
    }
    let stop = stop::on_signals()?;
    let text = lab::private_config();
    let config = config(&text)?;
    let path = arguments.output.clone().map_or_else(new_recording, Ok)?;
    let mut sender = Sender::start(&text)?;
    let streams = find(&config, &mut sender)?;
    let tallies = [check::SharedTally::default(), check::SharedTally::default()];
    let recorder = record(&path, &config, &streams, &tallies)?;
    let mut view = View::new(arguments.json, arguments.seconds);
    show(arguments, &config, &stop, &recorder, &tallies, &mut sender, &mut view)?;
    let sent = sender.stop()?;
    wait_for_all(&recorder, &sent);
    let health = recorder.health();
    let finished = recorder.finish();
    let finished = finished.map_err(|failure| Problem::with(path.display(), failure))?;
    drop((sender, health));
    let tallies = tallies.map(|tally| tally.tally());
    let recorded = recorded(&path)?;
    let (file_bytes, streams) = (finished.summary.file_bytes, finished.streams);
    let verdict = Verdict { sent, tallies, recorded, file_bytes, path, streams };
    view.conclude(&verdict)?;
    Ok(if verdict.is_good() { Exit::Good } else { Exit::Found })
}

fn config(text: &str) -> Result<Arc<Context>, Problem> {
    let config = Config::parse(text).map_err(|error| Problem::with("configuration", error))?;
    Ok(Arc::new(Context::new(config)))
}

/// Begins to record both streams, and to check them.
fn record(
    path: &Path,
    config: &Arc<Context>,
    (eeg, markers): &(StreamInfo, StreamInfo),
    [samples, texts]: &[check::SharedTally; 2],
) -> Result<Recorder, Problem> {
    let mut recorder =
        Recorder::create(path, Arc::clone(config)).map_err(|error| Problem::with(path.display(), error))?;
    recorder.add(eeg, Meter::strict(script::RATE), check::samples(samples.clone()))?;
    recorder.add(markers, Meter::new(0.0), check::markers(texts.clone()))?;
    Ok(recorder)
}

/// Shows what happens until it is time to end.
fn show(
    arguments: &Arguments,
    config: &Arc<Context>,
    stop: &Stop,
    recorder: &Recorder,
    tallies: &[check::SharedTally; 2],
    sender: &mut Sender,
    view: &mut View,
) -> Result<(), Problem> {
    let mut dashboard = None;
    let end = arguments.seconds.map(|seconds| (seconds * script::RATE).max(1.0) as u64);
    let began = Instant::now();
    loop {
        let streams = recorder.streams();
        let seen: Vec<Tally> = tallies.iter().map(check::SharedTally::tally).collect();
        view.show(&streams, &seen, recorder.path(), &recorder.health())?;
        let arrived = streams.first().map_or(0, |stream| stream.reading.sample_count);
        // The sender begins with its first receiver, and that must be the recorder.
        if arrived > 0 && dashboard.is_none() && !arguments.no_dash && !arguments.json {
            dashboard = Some(view.open_dashboard(config));
        }
        // A demonstration that shows nothing must not last for ever.
        let shows_nothing = arrived == 0 && began.elapsed() > START_TIMEOUT;
        let is_over = end.is_some_and(|end| arrived >= end) || sender.is_gone() || shows_nothing;
        if is_over || stop.wait(PAINT_EVERY) {
            return Ok(());
        }
    }
}

/// The other process.
struct Sender {
    process: Child,
    orders: Option<ChildStdin>,
    report: BufReader<ChildStdout>,
}

/// What the other process says that it sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Sent {
    samples: u64,
    markers: u64,
    /// Samples that this process was too slow for.
    dropped: u64,
}

impl Sender {
    fn start(config: &str) -> Result<Self, Problem> {
        let program = env::current_exe().map_err(|error| Problem::with("this program", error))?;
        let mut process = Command::new(&program)
            .args(["demo", "--send", config])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Problem::with(program.display(), error))?;
        let report = process.stdout.take().map(BufReader::new);
        let (orders, Some(report)) = (process.stdin.take(), report) else {
            return Err(Problem::with(program.display(), "no pipe to it"));
        };
        Ok(Self { process, orders, report })
    }

    /// Whether it ended by itself, which it never should.
    fn is_gone(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Makes it end its streams, and returns what it sent.
    fn stop(&mut self) -> Result<Sent, Problem> {
        let mut line = String::new();
        self.orders
            .as_mut()
            .ok_or(io::ErrorKind::BrokenPipe.into())
            .and_then(|orders| orders.write_all(b"end\n").and_then(|()| orders.flush()))
            .and_then(|()| self.report.read_line(&mut line))
            .map_err(|error| Problem::with("the sending process", error))?;
        let report: Value = serde_json::from_str(&line).map_err(|_| {
            Problem::Failed("the sending process ended without an error message; run it again".to_owned())
        })?;
        let count = |key: &str| report[key].as_u64().unwrap_or_default();
        Ok(Sent { samples: count("samples"), markers: count("markers"), dropped: count("dropped") })
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Its input ends, and so does it.
        self.orders = None;
        // A process that is gone already cannot be waited for.
        let _ = self.process.wait();
    }
}

/// Finds both streams, as any program would.
fn find(config: &Arc<Context>, sender: &mut Sender) -> Result<(StreamInfo, StreamInfo), Problem> {
    let query = format!("name='{EEG}' or name='{MARKERS}'");
    let began = Instant::now();
    while began.elapsed() < START_TIMEOUT && !sender.is_gone() {
        let found =
            resolve_bypred(config, &query, 2, ONE_SEARCH).map_err(|error| Problem::with("search", error))?;
        let named = |name: &str| found.iter().find(|info| *info.name() == name).cloned();
        if let (Some(eeg), Some(markers)) = (named(EEG), named(MARKERS)) {
            return Ok((eeg, markers));
        }
    }
    if sender.is_gone() {
        return Err(Problem::Failed(String::from("the sending process could not send; it says above why")));
    }
    Err(Problem::Failed(format!(
        "the streams of the sending process were not found on 127.0.0.1 within {} s; is loopback up? schwann doctor says it",
        START_TIMEOUT.as_secs()
    )))
}

/// Waits until everything that was sent has arrived, or no more comes.
fn wait_for_all(recorder: &Recorder, sent: &Sent) {
    let stop = Stop::default();
    let until = Instant::now() + ARRIVAL_TIMEOUT;
    let arrived = |streams: &[RecordingStream]| {
        streams.iter().map(|stream| stream.reading.sample_count).sum::<u64>() >= sent.samples + sent.markers
    };
    while !arrived(&recorder.streams()) && Instant::now() < until {
        stop.wait(Duration::from_millis(5));
    }
}

/// Reads the recording back, and returns how many samples and markers it holds; none if it is not whole.
fn recorded(path: &Path) -> Result<Option<[u64; 2]>, Problem> {
    let survey = Survey::of(path, |_, _| {}).map_err(|error| Problem::with(path.display(), error))?;
    let count = |name| {
        let stream = survey.streams.iter().find(|stream| stream.header.name == name);
        stream.map_or(0, |stream| stream.sample_count)
    };
    Ok(survey.is_sound().then(|| [count(EEG), count(MARKERS)]))
}

/// Returns the path of a new recording in the home folder.
fn new_recording() -> Result<PathBuf, Problem> {
    let folder = env::home_dir().unwrap_or_else(env::temp_dir).join("schwann-recordings");
    std::fs::create_dir_all(&folder).map_err(|error| Problem::with(folder.display(), error))?;
    (1..=u32::MAX)
        .map(|number| folder.join(format!("demo-{number:03}.xdf")))
        .find(|path| !path.exists())
        .ok_or_else(|| Problem::with(folder.display(), "no name is free"))
}

/// Names of the streams, which are their source ids, too.
const EEG: &str = "Schwann demo EEG";
const MARKERS: &str = "Schwann demo markers";

const PAINT_EVERY: Duration = Duration::from_millis(100);
/// For the other process to start and be found, on a very busy computer.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const ONE_SEARCH: Duration = Duration::from_secs(2);
/// For what has been sent to arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(5);
