//! `schwann ft get`: what is in a buffer.

use std::io::{self, Write as _};

use schwann_fieldtrip::wire::DataType;
use schwann_fieldtrip::{Client, ClientError};

use super::place::{BufferAddress, write_rows};
use crate::exit::{Exit, Outcome, Problem};
use crate::terminal::plural;

/// Print the header of a buffer, or samples of it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft get                                  the header and the counts
  schwann ft get --samples 0:99                   the first hundred samples, a line each, tabs between channels
  schwann ft get --samples 0:99 --raw > x.bin     as bytes, in this machine's order

Samples and events are counted from 0, as the protocol counts them.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// Which samples, both included.
    #[arg(long, value_name = "FIRST:LAST", value_parser = range)]
    samples: Option<(u32, u32)>,
    /// Write bytes instead of text.
    #[arg(long, requires = "samples")]
    raw: bool,
}

/// Reads and prints.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut client = arguments.place.connect()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let Some((first, last)) = arguments.samples else {
        let (header, totals) = client.header().map_err(|error| arguments.place.problem(error))?;
        writeln!(
            out,
            "{header}\n{}, {}",
            plural(totals.samples as usize, "sample"),
            plural(totals.events as usize, "event")
        )?;
        out.flush()?;
        return Ok(Exit::Good);
    };
    let block = match client.samples(first, last) {
        Err(ClientError::Refused(_)) => return Err(absent(arguments, &mut client)),
        block => block.map_err(|error| arguments.place.problem(error))?,
    };
    if arguments.raw {
        out.write_all(&block.values)?;
    } else {
        let data_type = DataType::parse(block.definition.data_type);
        let data_type = data_type.ok_or_else(|| {
            Problem::with(&arguments.place.address, "samples of a type that does not exist")
        })?;
        write_rows(&mut out, data_type, block.definition.channel_count, &block.values, u64::MAX)?;
    }
    out.flush()?;
    Ok(Exit::Good)
}

/// What the buffer holds, for a user who asked for something else.
fn absent(arguments: &Arguments, client: &mut Client) -> Problem {
    let (_, totals) = match client.header() {
        Ok(header) => header,
        Err(error) => return arguments.place.problem(error),
    };
    let what = match totals.samples.checked_sub(1) {
        None => "it has no samples yet".to_owned(),
        Some(last) => {
            format!("its newest sample is {last}, and it keeps only the latest; ask for some of those")
        }
    };
    Problem::with(&arguments.place.address, format!("these samples are not there: {what}"))
}

fn range(text: &str) -> Result<(u32, u32), &'static str> {
    let wanted = "FIRST:LAST, two whole numbers from 0, the second not below the first";
    let (first, last) = text.split_once(':').ok_or(wanted)?;
    let parsed = first.parse().ok().zip(last.parse().ok());
    parsed.filter(|(first, last)| first <= last).ok_or(wanted)
}
