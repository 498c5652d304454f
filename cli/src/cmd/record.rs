//! `schwann record`: live streams into a crash-safe file.

mod names;
mod view;

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use schwann_recorder::{Hidden, Phase, Recorder, RecordingStream, Search, Selector, Verdict, verdicts};
use view::{Scene, View};

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

Exit code 0 if something was recorded, every query found a stream, every sample that arrived is in the file, no
stream had gaps or disconnected, and none was in trouble at the end; 1 if not.")]
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
    let stop = stop::on_signals()?;
    let mut search = Search::start(Arc::clone(&config), &arguments.queries, &arguments.require)
        .map_err(|error| Problem::with("search", error))?;
    let required = search.wait_for_required(stop::seconds_or_forever(arguments.wait), &stop);
    let required = required.map_err(|missing| Problem::Failed(format!("{missing}; nothing was recorded")))?;
    let Some(first) = required else { return Ok(Exit::Found) };
    let path = arguments.name.path()?;
    if let Some(folder) = path.parent().filter(|_| arguments.name.makes_folders()) {
        fs::create_dir_all(folder).map_err(|error| Problem::with(folder.display(), error))?;
    }
    let hidden = Hidden::look(Arc::clone(&config));
    let mut recorder =
        Recorder::create(&path, config).map_err(|error| Problem::with(path.display(), error))?;
    let mut view = View::new(arguments.json);
    search.forget(&recorder.admit(&first)?);
    let end = arguments.seconds.map(|seconds| Instant::now() + stop::seconds_or_forever(seconds));
    loop {
        let new = search.new_streams(&recorder.streams());
        search.forget(&recorder.admit(&new)?);
        let health = recorder.health();
        view.show(&scene(arguments, &search, &hidden, &recorder), &path, &health)?;
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) || health.failure.is_some() {
            break;
        }
        if stop.wait(left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)) {
            break;
        }
    }
    let last = scene(arguments, &search, &hidden, &recorder);
    finish(arguments, recorder, last, path, &mut view)
}

/// All that a recording shows of itself now.
fn scene(arguments: &Arguments, search: &Search, hidden: &Hidden, recorder: &Recorder) -> Scene {
    let streams = recorder.streams();
    streams.iter().for_each(|stream| hidden.note_found(&stream.info));
    Scene {
        verdicts: verdicts(&streams),
        unmatched: search.unmatched(&streams),
        unseen: hidden.unseen(),
        waiting: recorder.waiting(),
        takes_all: arguments.queries.is_empty(),
        streams,
    }
}

/// Completes the file. What `last` says of connections, rates and stamps is judged while the streams still ran.
fn finish(arguments: &Arguments, recorder: Recorder, last: Scene, path: PathBuf, view: &mut View) -> Outcome {
    let lost = arguments.require.iter().any(|selector| {
        let is_there =
            |stream: &RecordingStream| selector.chooses(&stream.info) && stream.phase == Phase::Recording;
        !last.streams.iter().any(is_there)
    });
    let (summary, streams) = recorder.finish().map_err(|failure| {
        Problem::Failed(format!(
            "{}: {failure}; what was recorded before is in the file and readable",
            path.display()
        ))
    })?;
    let last = Scene { streams, ..last };
    view.conclude(&last, &path, summary.file_bytes, lost)?;
    let is_whole = |(stream, verdict): (&RecordingStream, &Verdict)| {
        // A sender that ended before its recording is in the events of the file, and no fault.
        let is_in_trouble = stream.phase == Phase::Recording && verdict.trouble().is_some();
        let was_recorded = match stream.phase {
            Phase::Connecting => stream.refusal.is_none(),
            Phase::Recording | Phase::Recovering | Phase::Lost => true,
            Phase::Unreadable => false,
        };
        let is_complete = stream.reading.gap_count == 0 && stream.unrecorded == 0 && stream.recoveries == 0;
        was_recorded && is_complete && !is_in_trouble
    };
    let well = !last.streams.is_empty()
        && last.waiting == 0
        && last.streams.iter().zip(&last.verdicts).all(is_whole);
    Ok(if well && !lost && last.unmatched.is_empty() { Exit::Good } else { Exit::Found })
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
