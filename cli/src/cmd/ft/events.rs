//! `schwann ft events`: the events of a buffer.

use std::io::{self, Write as _};

use schwann_fieldtrip::wire::{Event, NOW};

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome};

/// Print the events that a buffer keeps, or add one.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft events                                 the kept events
  schwann ft events --put trigger=7                 a number, at the sample that comes next
  schwann ft events --put stimulus=left --sample 4  text, at sample 4

`schwann ft dump` prints events as they come.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// Add this event; a whole number becomes one, anything else is text.
    #[arg(long, value_name = "TYPE=VALUE", value_parser = pair)]
    put: Option<(String, String)>,
    /// Sample of the event, counted from 0; by default the next one.
    #[arg(long, value_name = "N", requires = "put", value_parser = clap::value_parser!(i32).range(0..))]
    sample: Option<i32>,
}

/// Prints or adds.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut client = arguments.place.connect()?;
    let wrong = |error| arguments.place.problem(error);
    if let Some((kind, value)) = &arguments.put {
        let sample = arguments.sample.unwrap_or(NOW);
        let event = match value.parse() {
            Ok(number) => Event::number(sample, kind, number),
            Err(_) => Event::text(sample, kind, value),
        };
        client.put_events(&[event]).map_err(wrong)?;
        return Ok(Exit::Good);
    }
    let mut out = io::stdout().lock();
    for event in client.all_events().map_err(wrong)? {
        writeln!(out, "{event}")?;
    }
    Ok(Exit::Good)
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (kind, value) = text.split_once('=').ok_or("TYPE=VALUE")?;
    Ok((kind.to_owned(), value.to_owned()))
}
