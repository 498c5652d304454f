//! `schwann ft record`: a buffer into a recording folder.

use std::io::{self, Write as _};
use std::path::PathBuf;

use schwann_fieldtrip::recording::{Recording, RecordingError, record_follower};
use schwann_fieldtrip::{Follower, Start};

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;

/// Record what a buffer gets to a folder, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft record session1
  schwann ft record session1 buffer://meg:1972 --newest

The folder is in the format of the original's recorder: MATLAB and `schwann ft playback` read it. If the recorder is
killed, the written part survives. If the server goes away, the command waits for it. `schwann ft serve --record`
misses nothing, however busy the computer is.

Exit code 0 if the folder has everything, 1 if the buffer overwrote some of it before the recorder read it.")]
pub(crate) struct Arguments {
    /// The folder to write; it must not exist yet.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    place: BufferAddress,
    /// Leave out what the buffer holds already.
    #[arg(long)]
    newest: bool,
}

/// Records.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let start = if arguments.newest { Start::Newest } else { Start::Oldest };
    let mut follower = Follower::new(arguments.place.connect()?, start).with_longest_block(LONGEST_BLOCK);
    let wrong = |error| Problem::Failed(format!("{error}"));
    let mut recording = Recording::create(&arguments.folder).map_err(wrong)?;
    writeln!(io::stdout(), "recording to {}", arguments.folder.display())?;
    let recorded = record_follower(&mut follower, &mut recording, stop.flag());
    let (samples, events) = recorded.map_err(|error| match error {
        RecordingError::Server(_) => Problem::with(
            &arguments.place.address,
            format_args!("{error}; see what answers there with `schwann ft get`"),
        ),
        error => wrong(error),
    })?;
    recording.finish().map_err(wrong)?;
    if (samples, events) == (0, 0) {
        return Ok(Exit::Good);
    }
    eprintln!("schwann: {samples} samples and {events} events were overwritten before they were read");
    Ok(Exit::Found)
}

/// A ring can hold gigabytes, more than one reply should bring.
const LONGEST_BLOCK: u32 = 4096;
