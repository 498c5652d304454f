//! `schwann ft playback`: a recording folder into a buffer.

use std::io::{self, Write as _};
use std::path::PathBuf;

use schwann_fieldtrip::recording::{RecordedAcquisition, acquisitions, play};

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;
use crate::terminal::{printable, printable_path};

/// Play a recording folder into a buffer, with its timing and events.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft playback session1                      every acquisition in it, as it was
  schwann ft playback session1/0002 --speed 10      the second, ten times as fast
  schwann ft playback session1 --speed inf          at once")]
pub(crate) struct Arguments {
    /// The folder, or one acquisition's folder in it.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    place: BufferAddress,
    /// Speed, in multiples of the original; inf for at once.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
}

/// Plays.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let wrong = |error| Problem::Failed(format!("{error}"));
    let folders = acquisitions(&arguments.folder).map_err(wrong)?;
    let mut client = arguments.place.connect()?;
    let mut exit = Exit::Good;
    for folder in folders {
        let mut acquisition = RecordedAcquisition::open(&folder).map_err(wrong)?;
        let (samples, events) = (acquisition.sample_count(), acquisition.events().len());
        writeln!(
            io::stdout(),
            "{}: {}; {samples} samples, {events} events",
            printable_path(&folder),
            printable(&acquisition.header().to_string())
        )?;
        let missing = acquisition.missing_sample_count();
        if missing > 0 {
            exit = Exit::Found;
            writeln!(
                io::stdout(),
                "  {missing} samples more were recorded: their values are MISSING from its files"
            )?;
        }
        let played = play(&mut acquisition, &mut client, arguments.speed, stop.flag()).map_err(wrong)?;
        played.map_err(|error| arguments.place.problem(error))?;
        if stop.is_raised() {
            break;
        }
    }
    Ok(exit)
}

fn speed(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|speed: &f64| *speed > 0.0).ok_or("a number above 0, or inf")
}
