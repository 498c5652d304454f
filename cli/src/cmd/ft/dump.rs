//! `schwann ft dump`: everything that a buffer gets, as text.

use core::time::Duration;
use std::io::{self, Write};

use schwann_fieldtrip::wire::DataType;
use schwann_fieldtrip::{ClientError, Follower, Start, Update};

use super::place::{BufferAddress, write_rows};
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;

/// Print all that a buffer gets, as it comes, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft dump                      headers, events, and how many samples came
  schwann ft dump --values             the samples, too: a line each, tabs between channels
  schwann ft dump --oldest --values    beginning with what the buffer holds already

Lines that begin with # are not samples. If the server goes away, the command waits for it.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// Begin with what the buffer holds already.
    #[arg(long)]
    oldest: bool,
    /// Print the samples.
    #[arg(long)]
    values: bool,
    /// End after so many samples.
    #[arg(long, value_name = "N")]
    samples: Option<u64>,
}

/// Follows and prints.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let start = if arguments.oldest { Start::Oldest } else { Start::Newest };
    let mut follower = Follower::new(arguments.place.connect()?, start).with_longest_block(LONGEST_BLOCK);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut left = arguments.samples.unwrap_or(u64::MAX);
    while !stop.is_raised() && left > 0 {
        match follower.next_update(LOOK_EVERY) {
            Ok(Some(update)) => left -= print(&mut out, update, left, arguments.values)?,
            Ok(None) => {}
            Err(ClientError::Unreachable(_) | ClientError::Disconnected(_) | ClientError::TimedOut) => {
                stop.wait(LOOK_EVERY);
            }
            Err(error) => return Err(arguments.place.problem(error)),
        }
        out.flush()?;
    }
    Ok(Exit::Good)
}

/// Prints one update, of samples at most so many; returns how many those were.
fn print(out: &mut impl Write, update: Update, most: u64, values: bool) -> Result<u64, Problem> {
    match update {
        Update::Header(header) => writeln!(out, "# {header}")?,
        Update::Events { events, .. } => {
            for event in events {
                writeln!(out, "# {event}")?;
            }
        }
        Update::Lost { samples, events } => {
            writeln!(out, "# lost: {samples} samples, {events} events")?;
        }
        Update::Samples(block) => {
            let count = u64::from(block.definition.sample_count).min(most);
            match DataType::parse(block.definition.data_type).filter(|_| values) {
                Some(data_type) => {
                    write_rows(out, data_type, block.definition.channel_count, &block.values, count)?;
                }
                None => writeln!(out, "# samples {} to {}", block.first, u64::from(block.first) + count - 1)?,
            }
            return Ok(count);
        }
        _ => {}
    }
    Ok(0)
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Few enough to be printed before the ring has moved on.
const LONGEST_BLOCK: u32 = 4096;
