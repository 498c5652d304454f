//! `schwann ft generate`: a signal in a buffer, without an amplifier.

use std::io::{self, Write as _};

use schwann_fieldtrip::{Signal, generate};

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome};
use crate::stop;

/// Write sines into a buffer in real time, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft generate                                     16 channels at 256 Hz into buffer://localhost:1972
  schwann ft generate --channels 64 --rate 1000 --event-every 500")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// Number of channels.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    channels: u32,
    /// Sampling rate in Hz.
    #[arg(long, value_name = "HZ", default_value_t = 256.0, value_parser = positive)]
    rate: f32,
    /// Samples of a block.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    block: u32,
    /// Frequency of the sines in Hz.
    #[arg(long, value_name = "HZ", default_value_t = 10.0)]
    frequency: f64,
    /// Their amplitude.
    #[arg(long, value_name = "X", default_value_t = 100.0)]
    amplitude: f64,
    /// Samples between two events; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    event_every: u32,
    /// End after so many samples.
    #[arg(long, value_name = "N")]
    samples: Option<u64>,
}

/// Generates.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let mut client = arguments.place.connect()?;
    let signal = Signal {
        channel_count: arguments.channels,
        rate: arguments.rate,
        block: arguments.block,
        frequency: arguments.frequency,
        amplitude: arguments.amplitude,
        event_every: arguments.event_every,
    };
    let count = generate(&signal, &mut client, arguments.samples, stop.flag())
        .map_err(|error| arguments.place.problem(error))?;
    writeln!(io::stdout(), "{count} samples")?;
    Ok(Exit::Good)
}

pub(super) fn positive(text: &str) -> Result<f32, &'static str> {
    text.parse().ok().filter(|rate: &f32| rate.is_finite() && *rate > 0.0).ok_or("a number above 0")
}
