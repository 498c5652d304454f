//! `schwann play`: the streams of a recording, live again.

mod stage;
mod tape;

use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use schwann::local_clock;
use schwann_recorder::Stop;
use schwann_xdf::IndexedRecording;

use super::opening::Opening;
use super::survey::{self, Progress};
use crate::exit::{Exit, Outcome, Problem, told};
use crate::lab;
use crate::stop;
use crate::terminal::{Destination, Look, Palette, Screen, plural, printable, stopwatch, thousands};
use stage::{Player, Stretch};

/// Play a recording: its streams live again, with their timing, metadata and markers.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann play session.xdf                      once, as it was recorded
  schwann play session.xdf --loop --speed 4     again and again, four times as fast
  schwann play session.xdf --from 12:30 --until 13:00   half a minute of it
  schwann play session.xdf --as Rehearsal       under another name
  schwann play session.xdf --wait 2             not before every stream has two receivers

A recording with an index begins at once, at any place: only what is played is read. One without is read through first.

Stamps are those of the recording on the recorder's clock, moved to now. Their distances stay, also between streams.
Source ids stay as well, so a program finds a stream as it would find the amplifier. A program that waits for the
amplifier may take the player for it; --as gives the player another name.

Exit code 0 if all that was to be played could be read, 1 if the recording is damaged: what is whole is played.")]
pub(crate) struct Arguments {
    /// The recording.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    #[command(flatten)]
    opening: Opening,
    /// Speed, in multiples of the original.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Begin at this time in the recording: seconds, MM:SS or HH:MM:SS.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0")]
    from: f64,
    /// End at this time in the recording [default: its end].
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<f64>,
    /// Repeat until Ctrl-C.
    #[arg(long = "loop")]
    again: bool,
    /// Name of the stream; with several streams, the beginning of their names.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Wait until every stream has a receiver, or RECEIVERS of them.
    #[arg(long, value_name = "RECEIVERS", num_args = 0..=1, default_value_t = 0, default_missing_value = "1")]
    wait: usize,
}

/// Plays.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let mut player = player(arguments)?;
    let mut view = View::new();
    while !player.all_have_receivers(arguments.wait) {
        view.show(&player, 0.0, "waiting for receivers of")?;
        if stop.wait(PAINT_EVERY / 5) {
            return Ok(Exit::Good);
        }
    }
    player.begin(local_clock());
    loop {
        view.round += 1;
        let is_whole = play_round(&mut player, &mut view, &stop)?;
        if !is_whole || !arguments.again {
            view.conclude(&player, player.elapsed(local_clock()))?;
            if is_whole {
                player.flush()?;
            }
            return Ok(if player.damage_count() == 0 { Exit::Good } else { Exit::Found });
        }
        player.begin_again(local_clock())?;
    }
}

/// Opens the recording, and makes its streams known.
fn player(arguments: &Arguments) -> Result<Player, Problem> {
    let file = &arguments.file;
    let location = arguments.opening.location(file)?;
    let mut progress = Progress::new("reading");
    let recording = IndexedRecording::open(location.clone(), |done, all| progress.show(done, all));
    progress.clear();
    let recording = recording.map_err(|error| Problem::with(file.display(), error))?;
    recording.damage().iter().for_each(|damage| tape::tell(file, damage));
    let stretch = Stretch { from: arguments.from, until: arguments.until.unwrap_or(f64::INFINITY) };
    let name = arguments.name.as_deref();
    Player::new(&location, stretch, recording, name, arguments.speed, &lab::config())
}

/// Plays to the end of the recording; whether that came before Ctrl-C.
fn play_round(player: &mut Player, view: &mut View, stop: &Stop) -> Result<bool, Problem> {
    let mut long_pause = None;
    while let Some(due) = player.push_until(local_clock())? {
        let pause = due - local_clock();
        if pause > LONG_PAUSE_SECONDS && long_pause.replace(due) != Some(due) {
            eprintln!(
                "schwann: the next sample is due in {}: the stamps jump there, or are of different clocks; to see which: \
                 schwann verify FILE.xdf; to play a part: --from and --until",
                survey::seconds(pause)
            );
        }
        view.show(player, player.elapsed(local_clock()), "playing")?;
        let wait = (due - local_clock()).clamp(stop::SHORTEST_WAIT, PAINT_EVERY.as_secs_f64());
        if stop.wait(Duration::from_secs_f64(wait)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What playing shows.
struct View {
    screen: Screen<io::Stdout>,
    palette: Palette,
    shown: Option<Instant>,
    /// How often the recording has begun.
    round: u64,
}

impl View {
    fn new() -> Self {
        let screen = Screen::new(io::stdout());
        Self { palette: Palette::of(screen.destination()), screen, shown: None, round: 0 }
    }

    fn show(&mut self, player: &Player, elapsed: f64, what: &str) -> Result<(), Problem> {
        let every = if self.screen.destination() == Destination::Terminal { PAINT_EVERY } else { LINE_EVERY };
        if self.shown.is_some_and(|shown| shown.elapsed() < every) {
            return Ok(());
        }
        self.shown = Some(Instant::now());
        // A rehearsal goes on without a reader of that.
        told(self.screen.paint(&self.text(player, elapsed, what)))
    }

    fn conclude(&mut self, player: &Player, elapsed: f64) -> Result<(), Problem> {
        let mut text = self.text(player, elapsed, "played");
        if player.damage_count() > 0 {
            let places = plural(player.damage_count(), "place");
            text.push_str(&format!("the recording is DAMAGED in {places}; what is whole was played\n"));
        }
        told(self.screen.paint(&text))?;
        self.screen.keep();
        Ok(())
    }

    fn text(&self, player: &Player, elapsed: f64, what: &str) -> String {
        let streams: Vec<_> = player.streams().collect();
        let sent: usize = streams.iter().map(|stream| stream.sent).sum();
        let all: Option<u64> = streams.iter().map(|stream| stream.sample_count).sum();
        let receivers: usize = streams.iter().map(|stream| stream.receivers).sum();
        let mut out = format!(
            "{} {}: {} of {}, {} samples, {}{}\n",
            self.palette.paint(Look::Strong, what),
            plural(streams.len(), "stream"),
            stopwatch(elapsed),
            stopwatch(player.duration().ceil()),
            of_all(sent, all),
            plural(receivers, "receiver"),
            if self.round > 1 { format!(", round {}", self.round) } else { String::new() },
        );
        if self.screen.destination() == Destination::Terminal || self.shown.is_none() {
            for stream in streams {
                out.push_str(&format!(
                    "  {}: {} samples, {}\n",
                    printable(&stream.name),
                    of_all(stream.sent, stream.sample_count),
                    plural(stream.receivers, "receiver")
                ));
            }
        }
        out
    }
}

/// How many samples were sent, and of how many if that is known.
fn of_all(sent: usize, all: Option<u64>) -> String {
    let sent = thousands(sent as u64);
    all.map_or_else(|| sent.clone(), |all| format!("{sent} of {}", thousands(all)))
}

/// Reads a time into a recording, in seconds.
fn time(text: &str) -> Result<f64, &'static str> {
    let parts: Option<Vec<f64>> = text.split(':').map(|part| part.parse().ok()).collect();
    let parts =
        parts.filter(|parts| parts.len() <= 3 && parts.iter().all(|part| *part >= 0.0 && part.is_finite()));
    let seconds = parts.map(|parts| parts.iter().fold(0.0, |sum, part| sum * 60.0 + part));
    seconds.ok_or("a time into the recording, such as 90, 1:30 or 0:01:30")
}

fn speed(text: &str) -> Result<f64, &'static str> {
    let speed = text.parse().ok().filter(|speed: &f64| (SPEED_MIN..=SPEED_MAX).contains(speed));
    speed.ok_or("a number from 0.001 to 1000")
}

const SPEED_MIN: f64 = 0.001;
const SPEED_MAX: f64 = 1000.0;
const PAINT_EVERY: Duration = Duration::from_millis(100);
/// A longer pause is said.
const LONG_PAUSE_SECONDS: f64 = 60.0;
const LINE_EVERY: Duration = Duration::from_secs(10);
