//! `schwann record`: live streams into a crash-safe file.

mod control;
#[cfg(feature = "hub")]
mod hub;
mod keys;
mod names;
mod profile;
mod view;

use core::net::SocketAddr;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use keys::{Keyboard, Wish};
use schwann::Context;
use schwann_recorder::control::{Control, ControlError, Ended, Settings, Status};
use schwann_recorder::remote::{Heard, Remote};
use schwann_recorder::{Hidden, Limits, RecordingStream, Selector, Stop, sealing};
use schwann_xdf::Recipients;
use view::{Scene, View};

/// Record live streams to an XDF file, until Ctrl-C.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  schwann record                                            every stream, in a file that is named by the time
  schwann record -o session.xdf                             every stream there is, and those that come later
  schwann record -o session.xdf EEG Markers                 streams with these names, types or source ids
  schwann record -o s.xdf \"type='EEG' and channel_count>8\"  a condition, as every LSL program has it
  schwann record -o s.xdf --require EEG --require Markers   not without these
  schwann record --bids study --subject 01 --task rest      among the source data of the dataset study
  schwann record --profile study.toml --subject 02          what the table [record] of this file says
  schwann record --split 60                                 another file every hour, without losing a sample
  schwann record --remote --folder data                     scripts that drive LabRecorder drive this
  schwann record --control --folder data                    programs drive it over HTTP and WebSocket
  schwann record -o session.xdfz                            compressed, as pyxdf reads it
  schwann record --seal -o session.xdf                      session.xdf.age, which only the archive key opens
  schwann record --hub URL -o far.xdf EEG                   a stream of another site; see `schwann relay --help`

Keys: n goes on in the next file (the next run), a adds a note, s stops.
BIDS takes no XDF among its raw data, so recordings lie in sourcedata/; schwann export --bids makes the raw data.

A recorder that is killed leaves a readable file that lacks less than a second. Losses and recoveries of a
stream are in the file as a stream of type RecorderEvents. A file that exists is never replaced.

If the recorder is killed, a sealed recording lacks up to five seconds, or less if samples come fast. It is in the format of age:
schwann keys archive makes the key, and age -d opens it, too. Its certificate lies open, with the names of streams.

A disk that is full ends the recording with exit code 3; what was written before is whole and readable.

Exit code 0 if something was recorded, every query found a stream, every sample that arrived is in the file, no
stream was away or had more gaps than allowed, and none was refused or in trouble at the end; 1 if not. A sender
without a source id cannot come back: its end is no fault, and the last lines say how long it was away. Without --limits,
no gap is allowed.")]
pub(crate) struct Arguments {
    /// What to record: names, types, source ids or conditions; all streams if there is none.
    #[arg(value_name = "QUERY")]
    queries: Vec<Selector>,
    #[command(flatten)]
    name: names::Name,
    /// Record this, and do not begin without it.
    #[arg(long, value_name = "QUERY")]
    require: Vec<Selector>,
    /// Read options that the command line lacks from the tables [record] and [limits] of this TOML file.
    #[arg(long, value_name = "FILE.toml")]
    profile: Option<PathBuf>,
    /// Limits by which streams are judged: usual, eeg, markers, or a TOML file with a table [limits] [default: the table [limits]
    /// of --profile, else usual].
    #[arg(long, value_name = "LIMITS")]
    limits: Option<Limits>,
    /// How long to wait for required streams; 10 seconds if not said.
    #[arg(long, value_name = "SECONDS", value_parser = stop::seconds)]
    wait: Option<f64>,
    /// End after so many seconds. With --hub they count from the first block that comes; if none does within 30, it ends.
    #[arg(long, value_name = "N", value_parser = stop::seconds)]
    seconds: Option<f64>,
    /// Begin a new file every MINUTES; no sample is lost between files.
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    split: Option<Duration>,
    /// Wait for LabRecorder's remote control commands, by default on this computer's port 22345.
    #[arg(long, value_name = "IP:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:22345")]
    remote: Option<SocketAddr>,
    /// Obey remote control from other users and other computers, too: every program that reaches the address drives the recorder.
    #[arg(long, requires = "remote")]
    remote_anyone: bool,
    #[command(flatten)]
    control: control::Access,
    /// Seal the recording, so that only the holder of the lab's archive key can read it; FILE.xdf.age is written.
    #[arg(long)]
    seal: bool,
    /// Seal it to this public key of age, too, or if there is no archive key, to this one alone.
    #[arg(long, value_name = "KEY")]
    to: Vec<Recipients>,
    /// Record streams of other sites, which `schwann relay out` gives to this hub; an interrupted recording continues.
    #[cfg(feature = "hub")]
    #[arg(long, value_name = "URL", conflicts_with_all = ["remote", "control", "require", "limits", "split", "seal", "to"])]
    hub: Option<schwann_hub::Address>,
    /// Print JSON, one line per second and one at the end.
    #[arg(long)]
    json: bool,
}

/// Records.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let arguments = &profile::applied(arguments)?;
    let config = lab::config();
    lab::hush_refusals(config.config());
    lab::look_after_certificate(&config);
    let stop = stop::on_signals()?;
    #[cfg(feature = "hub")]
    if let Some(address) = &arguments.hub {
        return hub::run(arguments, address, &config, &stop);
    }
    let mut settings = Settings::new(arguments.name.naming());
    settings.wanted.clone_from(&arguments.queries);
    settings.required.clone_from(&arguments.require);
    settings.split_every = arguments.split;
    settings.limits = arguments.limits.unwrap_or_default();
    settings.sealed_to = sealed_to(arguments, &config, settings.naming.is_sealed())?;
    let control =
        Control::open(Arc::clone(&config), settings).map_err(|error| Problem::with("search", error))?;
    let remote =
        arguments.remote.map(|address| serve(&control, address, arguments.remote_anyone)).transpose()?;
    let controlled = arguments.control.serve(&control, arguments.name.folder())?;
    let hidden = Hidden::look(Arc::clone(&config));
    if remote.is_none() && controlled.is_none() {
        let patience = stop::seconds_or_forever(arguments.wait.unwrap_or(WAIT_SECONDS));
        if control.start_when_complete(patience, &stop).map_err(failed)?.is_none() {
            return Ok(Exit::Found);
        }
    }
    let desk = Desk { arguments, control, remote, controlled, hidden, config };
    desk.attend(&stop)
}

/// To whom the recordings are sealed.
fn sealed_to(arguments: &Arguments, config: &Context, is_named: bool) -> Result<Option<Recipients>, Problem> {
    let mut more = Recipients::default();
    arguments.to.iter().for_each(|key| more.add(key));
    let all = sealing::recipients(config, arguments.seal || is_named, &more);
    all.map_err(|error| Problem::Failed(error.to_string()))
}

fn serve(control: &Control, address: SocketAddr, is_for_anyone: bool) -> Result<Remote, Problem> {
    let heard = if is_for_anyone { Heard::Anyone } else { Heard::OwnPrograms };
    Remote::serve(control.clone(), address.ip(), address.port(), heard)
        .map_err(|error| Problem::with(format!("remote control at {address}"), error))
}

fn failed(error: ControlError) -> Problem {
    match error {
        ControlError::Create(path, error) => Problem::with(path.display(), error),
        error => Problem::Failed(error.to_string()),
    }
}

/// Where a person sits who records.
struct Desk<'a> {
    arguments: &'a Arguments,
    control: Control,
    remote: Option<Remote>,
    controlled: Option<control::Door>,
    hidden: Hidden,
    config: Arc<Context>,
}

impl Desk<'_> {
    /// Shows where things stand and does what is wished, until the end.
    fn attend(&self, stop: &Stop) -> Outcome {
        let mut view = View::new(self.arguments.json);
        let mut keyboard = view.is_for_a_person().then(Keyboard::open).flatten();
        if let Some(door) = &self.controlled {
            view.tell_control(door)?;
        }
        let mut told = Told::default();
        loop {
            let status = self.control.status();
            let is_recording = status.recording.is_some();
            let prompt = keyboard.as_ref().map(|keyboard| keyboard.prompt(is_recording));
            view.show(&self.scene(&status), prompt.as_deref());
            for remark in told.news(&status, self.waits_for_commands()).into_iter().chain(self.turned_away())
            {
                view.remark(&remark);
            }
            let wishes = keyboard.as_mut().map(Keyboard::wishes).unwrap_or_default();
            let quits = wishes.into_iter().any(|wish| self.obey(wish, &mut view));
            let left = self.left(&status);
            let is_over = !is_recording && !self.waits_for_commands();
            if quits || is_over || left.is_some_and(|left| left.is_zero()) {
                break;
            }
            if stop.wait(left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)) {
                break;
            }
        }
        drop(keyboard);
        self.conclude(&mut view, &mut told)
    }

    /// How long is left of the recording, if it is to end by itself.
    fn left(&self, status: &Status) -> Option<Duration> {
        let (seconds, recording) = (self.arguments.seconds?, status.recording.as_ref()?);
        Some(stop::seconds_or_forever(seconds).saturating_sub(Duration::from_secs_f64(recording.seconds)))
    }

    /// Does what was typed; says whether to end.
    fn obey(&self, wish: Wish, view: &mut View) -> bool {
        let done = match wish {
            Wish::Quit => return true,
            Wish::Stop if !self.waits_for_commands() => return true,
            Wish::Stop => self.control.stop().map(drop),
            Wish::Start => self.control.start().map(drop),
            Wish::NextRun => self.control.next_run().map(drop),
            Wish::Annotate(text) => self.control.annotate(&text),
        };
        if let Err(error) = done {
            view.remark(&error.to_string());
        }
        false
    }

    /// Whether another start may come from somewhere.
    fn waits_for_commands(&self) -> bool {
        self.remote.is_some() || self.controlled.is_some()
    }

    fn turned_away(&self) -> Option<String> {
        let stranger = self.remote.as_ref()?.turned_away()?;
        Some(format!("remote control turned {stranger} away; --remote-anyone admits every program"))
    }

    /// All that a recording shows of itself now.
    fn scene(&self, status: &Status) -> Scene {
        // What was found answers, also if it is not to be recorded.
        status.found.iter().for_each(|info| self.hidden.note_found(info));
        let unseen = self.hidden.unseen();
        let takes_all = self.arguments.queries.is_empty();
        let remote = self.remote.as_ref().map(|remote| remote.address());
        let Some(now) = &status.recording else { return Scene::idle(remote, status.found.len(), unseen) };
        let admitted = self.admitted(&now.streams);
        Scene { unseen, takes_all, admitted, ..Scene::of(now, status.complete.len()) }
    }

    /// What is said of the streams that come in the clear.
    fn admitted(&self, streams: &[RecordingStream]) -> Vec<String> {
        let of_stream = |one: &RecordingStream| lab::admitted(&self.config, &one.info, one.protection);
        streams.iter().filter_map(of_stream).collect()
    }

    /// Completes the file. What is said of connections, rates and stamps is judged while the streams still ran.
    fn conclude(&self, view: &mut View, told: &mut Told) -> Outcome {
        let stopped = self.control.stop();
        let status = self.control.status();
        match stopped {
            Ok(_) | Err(ControlError::Idle) => {}
            Err(error) => return Err(failed(error)),
        }
        if let Some(failure) = status.failures.first() {
            return Err(Problem::Failed(failure.to_string()));
        }
        told.news(&status, false).iter().for_each(|remark| view.remark(remark));
        let takes_all = self.arguments.queries.is_empty();
        let before = status.complete.len().saturating_sub(status.ended.len());
        for ended in &status.ended {
            let (unseen, admitted) = (self.hidden.unseen(), self.admitted(&ended.streams));
            let scene = Scene { unseen, takes_all, admitted, ..Scene::of_ended(ended, before) };
            // If no one reads it, the exit code tells.
            let _ = view.conclude(&scene, ended.lost_required);
        }
        let is_well = !status.ended.is_empty()
            && status.remarks.is_empty()
            && status.ended.iter().all(|ended: &Arc<Ended>| ended.is_well());
        Ok(if is_well { Exit::Good } else { Exit::Found })
    }
}

/// How much of what happened was told.
#[derive(Default)]
struct Told {
    remarks: usize,
    failures: usize,
}

impl Told {
    /// What is to be told now. A failure that ends the program is what it says last.
    fn news(&mut self, status: &Status, goes_on: bool) -> Vec<String> {
        let kept = self.remarks.saturating_sub(status.remarks_passed);
        let mut news = status.remarks.get(kept..).unwrap_or_default().to_vec();
        self.remarks = status.remarks_passed + status.remarks.len();
        if goes_on {
            let failures = status.failures.get(self.failures..).unwrap_or_default();
            news.extend(failures.iter().map(ToString::to_string));
            self.failures = status.failures.len();
        }
        news
    }
}

/// Reads a time in minutes.
fn minutes(text: &str) -> Result<Duration, &'static str> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| *minutes >= MINUTES_MIN);
    let split = minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    split.ok_or("a number of minutes, 0.01 at least")
}

/// How long required streams are waited for if nothing is said.
const WAIT_SECONDS: f64 = 10.0;
const LOOK_EVERY: Duration = Duration::from_millis(100);
const MINUTES_MIN: f64 = 0.01;
