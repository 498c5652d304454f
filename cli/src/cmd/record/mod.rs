//! `schwann record`: live streams into a crash-safe file.

mod names;
mod view;

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use schwann::resolver::ContinuousResolver;
use schwann::{Config, StreamInfo};

use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::live::meter::Meter;
use crate::live::query::{Selector, any_of};
use crate::live::recorder::{Phase, Recorder, StreamStatus};
use crate::stop::Stop;
use view::View;

/// Record live streams to an XDF file, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann record -o session.xdf                             every stream there is, and those that come later
  schwann record -o session.xdf EEG Markers                 streams with these names, types or source ids
  schwann record -o s.xdf \"type='EEG' and channel_count>8\"  a condition, as every LSL program has it
  schwann record -o s.xdf --require EEG --require Markers   not without these
  schwann record --bids study --subject 01 --task rest      study/sub-01/eeg/sub-01_task-rest_run-001_eeg.xdf

A recorder that is killed leaves a readable file that lacks less than a second. Losses and recoveries of a
stream are in the file as a stream of type RecorderEvents. A file that exists is never replaced.

A disk that is full ends the recording with exit code 3; what was written before is whole and readable.

Exit code 0 if something was recorded, every sample that arrived is in the file, and no stream has a gap or was
away in between; 1 if not.")]
pub(crate) struct Arguments {
    /// What to record: names, types, source ids or conditions; all streams if there is none.
    #[arg(value_name = "QUERY")]
    queries: Vec<Selector>,
    #[command(flatten)]
    name: names::Name,
    /// Record this, and do not begin without it.
    #[arg(long, value_name = "QUERY")]
    require: Vec<Selector>,
    /// How long to wait for required streams.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    wait: f64,
    /// End after so many seconds.
    #[arg(long, value_name = "N")]
    seconds: Option<f64>,
    /// Print JSON, one line per second and one at the end.
    #[arg(long)]
    json: bool,
}

/// Records.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = lab::config();
    let stop = Stop::on_signals()?;
    let mut search = Search::start(arguments, &config)?;
    let Some(first) = search.wait_for_required(arguments, &stop)? else { return Ok(Exit::Found) };
    let path = arguments.name.path()?;
    if let Some(folder) = path.parent().filter(|_| arguments.name.makes_folders()) {
        fs::create_dir_all(folder).map_err(|error| Problem::with(folder.display(), error))?;
    }
    let mut recorder = Recorder::create(&path, config)?;
    let mut view = View::new(arguments.json);
    add(&mut recorder, first)?;
    let end = arguments.seconds.map(|seconds| Instant::now() + seconds_or_forever(seconds));
    loop {
        let new = search.new_streams(&recorder.streams());
        add(&mut recorder, new)?;
        let health = recorder.health();
        view.show(&recorder.streams(), &path, &health)?;
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) || health.failure.is_some() {
            break;
        }
        if stop.wait(left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)) {
            break;
        }
    }
    finish(arguments, recorder, path, &mut view)
}

fn finish(arguments: &Arguments, recorder: Recorder, path: PathBuf, view: &mut View) -> Outcome {
    let lost_required = |streams: &[StreamStatus]| {
        arguments.require.iter().any(|selector| {
            !streams.iter().any(|stream| selector.chooses(&stream.info) && stream.phase == Phase::Recording)
        })
    };
    let lost = lost_required(&recorder.streams());
    let (summary, streams) = recorder.finish().map_err(|failure| {
        Problem::Failed(format!(
            "{}: {failure}; what was recorded before is in the file and readable",
            path.display()
        ))
    })?;
    view.conclude(&streams, &path, summary.file_bytes, lost)?;
    let is_whole = |stream: &StreamStatus| {
        let reading = &stream.reading;
        reading.gap_count == 0 && stream.unrecorded == 0 && stream.recoveries == 0
    };
    let well = !streams.is_empty() && streams.iter().all(is_whole);
    Ok(if well && !lost { Exit::Good } else { Exit::Found })
}

fn add(recorder: &mut Recorder, streams: Vec<StreamInfo>) -> Result<(), Problem> {
    for info in streams {
        recorder.add(&info, Meter::new(info.nominal_rate()), Box::new(|_| {}))?;
    }
    Ok(())
}

/// Looks for streams all the time.
struct Search {
    resolver: ContinuousResolver,
    /// Streams that are recorded or were, by UID.
    known: Vec<String>,
}

impl Search {
    fn start(arguments: &Arguments, config: &Arc<Config>) -> Result<Self, Problem> {
        let config = Arc::clone(config);
        // Required streams beside no query mean: all streams, and these in any case.
        let condition = if arguments.queries.is_empty() {
            None
        } else {
            any_of(arguments.queries.iter().chain(&arguments.require))
        };
        let resolver = match condition {
            None => ContinuousResolver::all(config, FORGET_AFTER),
            Some(condition) => ContinuousResolver::by_predicate(config, &condition, FORGET_AFTER),
        };
        let resolver = resolver.map_err(|error| Problem::with("search", error))?;
        Ok(Self { resolver, known: Vec::new() })
    }

    /// Waits for every required stream; returns what is there then, or nothing if told to stop before.
    fn wait_for_required(
        &mut self,
        arguments: &Arguments,
        stop: &Stop,
    ) -> Result<Option<Vec<StreamInfo>>, Problem> {
        let until = Instant::now() + seconds_or_forever(arguments.wait);
        loop {
            let found = self.resolver.results();
            let missing: Vec<_> = arguments
                .require
                .iter()
                .filter(|selector| !found.iter().any(|info| selector.chooses(info)))
                .map(Selector::to_string)
                .collect();
            if missing.is_empty() {
                return Ok(Some(self.new_streams(&[])));
            }
            if Instant::now() >= until {
                let there: Vec<_> =
                    found.iter().map(|info| info.name().to_string_lossy().into_owned()).collect();
                let there = if there.is_empty() { "none at all".to_owned() } else { there.join(", ") };
                return Err(Problem::Failed(format!(
                    "required streams are not there after {} s: {}; found: {there}; nothing was recorded",
                    arguments.wait,
                    missing.join(", ")
                )));
            }
            if stop.wait(LOOK_EVERY) {
                return Ok(None);
            }
        }
    }

    /// Returns the streams that were not there before, and are not the return of one that is being recorded.
    fn new_streams(&mut self, recorded: &[StreamStatus]) -> Vec<StreamInfo> {
        let found = self.resolver.results();
        let present: Vec<_> = found.iter().map(uid).collect();
        // A stream that came back has another UID.
        self.known.extend(recorded.iter().map(|stream| uid(&stream.info)));
        self.known.sort();
        self.known.dedup();
        let mut new = Vec::new();
        for info in found {
            let is_return = recorded.iter().any(|stream| {
                let is_away = stream.phase == Phase::Recovering || !present.contains(&uid(&stream.info));
                stream.phase != Phase::Lost && is_away && is_same_source(&stream.info, &info)
            });
            if !self.known.contains(&uid(&info)) && !is_return {
                self.known.push(uid(&info));
                new.push(info);
            }
        }
        new
    }
}

/// Whether an inlet of `recorded` would take `found` for the same stream after a restart.
fn is_same_source(recorded: &StreamInfo, found: &StreamInfo) -> bool {
    !recorded.source_id().is_empty()
        && recorded.source_id() == found.source_id()
        && recorded.name() == found.name()
        && recorded.stream_type() == found.stream_type()
        && recorded.channel_count() == found.channel_count()
        && recorded.channel_format() == found.channel_format()
}

fn uid(info: &StreamInfo) -> String {
    info.uid().to_string_lossy().into_owned()
}

fn seconds_or_forever(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(A_YEAR).min(A_YEAR)
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Source: liblsl's default of a continuous resolver.
const FORGET_AFTER: Duration = Duration::from_secs(5);
const A_YEAR: Duration = Duration::from_secs(31_536_000);
