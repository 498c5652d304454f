//! `schwann fake`: made-up streams, for trying things out without an amplifier.

mod fault;
mod live;
mod recording;

use std::path::PathBuf;

use fault::{Fault, HELP as FAULTS};

use crate::exit::{Outcome, Problem};
use crate::signal::Spec;

/// Make up streams: realistic EEG with markers, sines, or counters; live, or as a recording.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("\
Examples:
  schwann fake eeg:64@1000                                  live, until Ctrl-C
  schwann fake eeg:8@250 counter:2@100 --seconds 60
  schwann fake eeg --dropout 0.01 --drift-ppm 50            a bad amplifier
  schwann fake eeg --clock-step 2.5@30                      stamps jump by 2.5 s after 30 s
  schwann fake eeg --fault unix                             stamps count from 1970; give --fault twice for two faults
  schwann fake eeg:32@500 --seconds 600 --seed 7 -o fake.xdf

A stream is KIND[:CHANNELS][@RATE][/FORMAT]; the kinds are eeg, sine and counter, the formats float32 and int16,
as in counter:384@30000/int16. EEG has an alpha rhythm that
wakes when the eyes close, blinks, mains hum, drift and electrode pops; a marker stream says when.
The same seed gives the same samples.

{FAULTS}"))]
pub(crate) struct Arguments {
    /// The streams, such as eeg:64@1000.
    #[arg(value_name = "STREAM", required = true)]
    streams: Vec<Spec>,
    /// Write a recording instead; it must not exist yet.
    #[arg(long, short, value_name = "FILE.xdf", conflicts_with_all = ["dropout", "drift_ppm", "clock_step"])]
    output: Option<PathBuf>,
    /// Seconds to send [default: until Ctrl-C], or length of the recording [default: 60].
    #[arg(long, value_name = "S")]
    seconds: Option<u32>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Share of the samples to leave out, a tenth of a second at a time.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    dropout: f64,
    /// Send faster than the stated rate by so many parts per million; slower if negative.
    #[arg(long, value_name = "PPM", default_value_t = 0.0, allow_negative_numbers = true, value_parser = ppm)]
    drift_ppm: f64,
    /// Make stamps jump by SECONDS when AFTER seconds have passed.
    #[arg(long, value_name = "SECONDS@AFTER", allow_hyphen_values = true)]
    clock_step: Option<ClockStep>,
    /// Give the streams this fault.
    #[arg(long, value_name = "FAULT[=AMOUNT]")]
    fault: Vec<Fault>,
}

/// Sends, or writes the recording.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.output {
        Some(output) => recording::write(arguments, output),
        None => match arguments.fault.iter().find(|fault| !fault.is_live()) {
            Some(fault) => {
                Err(Problem::Failed(format!("{fault} can be made in a recording only: add -o FILE.xdf")))
            }
            None => live::send(arguments),
        },
    }
}

/// A jump of the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockStep {
    /// How far it jumps, in seconds.
    by: f64,
    /// When it jumps, in seconds from the beginning.
    after: f64,
}

impl core::str::FromStr for ClockStep {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        text.split_once('@')
            .and_then(|(by, after)| Some(Self { by: number(by)?, after: number(after)? }))
            .ok_or("two numbers, as in 2.5@30")
    }
}

fn share(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|share| (0.0..1.0).contains(share)).ok_or("a number from 0 to less than 1")
}

fn ppm(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|ppm: &f64| ppm.abs() <= PPM_MAX).ok_or("a number from -100000 to 100000")
}

const PPM_MAX: f64 = 100_000.0;

#[cfg(test)]
mod tests {
    use super::ClockStep;

    #[test]
    fn a_clock_step_is_two_numbers() {
        assert_eq!("-2.5@30".parse(), Ok(ClockStep { by: -2.5, after: 30.0 }));
        for wrong in ["", "5", "a@b", "1@inf", "NaN@1"] {
            assert!(wrong.parse::<ClockStep>().is_err(), "{wrong}");
        }
    }
}
