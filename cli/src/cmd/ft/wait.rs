//! `schwann ft wait`: until there is enough in a buffer.

use core::time::Duration;
use std::io::{self, Write as _};
use std::time::Instant;

use schwann_fieldtrip::ClientError;
use schwann_fieldtrip::wire::{NEVER, Totals};

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome};
use crate::stop;
use crate::terminal::plural;

/// Wait until a buffer has so many samples or events, and print both counts.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft wait --samples 1000
  schwann ft wait --events 1 --timeout 30 && echo go

If the buffer has no header yet, the command waits for one. Exit code 0 if either number was reached, 1 if the time
ran out.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// How many samples.
    #[arg(long, value_name = "N", required_unless_present = "events", value_parser = clap::value_parser!(u32).range(1..))]
    samples: Option<u32>,
    /// How many events.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    events: Option<u32>,
    /// How long to wait, in seconds; by default without end.
    #[arg(long, value_name = "S", value_parser = stop::seconds)]
    timeout: Option<f64>,
}

/// Waits.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let mut client = arguments.place.connect()?;
    // The protocol waits for more than a number.
    let more_than = |count: Option<u32>| count.map_or(NEVER, |count| count - 1);
    let threshold = Totals { samples: more_than(arguments.samples), events: more_than(arguments.events) };
    let end = Instant::now() + stop::seconds_or_forever(arguments.timeout.unwrap_or(f64::INFINITY));
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match client.wait(threshold, left.min(LOOK_EVERY)) {
            Ok(totals) if is_reached(totals, threshold) => {
                writeln!(
                    io::stdout(),
                    "{}, {}",
                    plural(totals.samples as usize, "sample"),
                    plural(totals.events as usize, "event")
                )?;
                return Ok(Exit::Good);
            }
            Ok(_) if stop.is_raised() || left.is_zero() => return Ok(Exit::Found),
            Ok(_) => {}
            // No header yet.
            Err(ClientError::Refused(_)) => {
                if stop.wait(left.min(LOOK_EVERY)) || left.is_zero() {
                    return Ok(Exit::Found);
                }
            }
            Err(error) => return Err(arguments.place.problem(error)),
        }
    }
}

fn is_reached(totals: Totals, threshold: Totals) -> bool {
    let above = |total, threshold| threshold != NEVER && total > threshold;
    above(totals.samples, threshold.samples) || above(totals.events, threshold.events)
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
