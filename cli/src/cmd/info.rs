//! `schwann info`: what is in a recording.

use std::io::{self, Write};
use std::path::PathBuf;

use schwann_xdf::StreamSurvey;

use super::survey::{self, Progress, bytes, seconds};
use crate::exit::{Exit, Outcome};

/// Show what is in a recording: streams, counts, rates, gaps, clocks.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann info session.xdf
  schwann info --json session.xdf | jq '.streams[].effective_rate'

Damage does not stop it: all that can be read is counted. `schwann verify` judges.")]
pub(crate) struct Arguments {
    /// The recording.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    /// Print JSON for scripts.
    #[arg(long)]
    json: bool,
}

/// Prints what is in the recording.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let survey = survey::of(&arguments.file, &mut Progress::new("reading"))?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", survey::json(&survey))?;
        return Ok(Exit::Good);
    }
    let began =
        if survey.datetime.is_empty() { String::new() } else { format!(", begun {}", survey.datetime) };
    let count = survey.streams.len();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(
        out,
        "{}: {count} stream{plural}, {}{began}",
        arguments.file.display(),
        bytes(survey.file_bytes)
    )?;
    for stream in &survey.streams {
        print_stream(&mut out, stream)?;
    }
    if survey.damage_count > 0 {
        writeln!(
            out,
            "\nDAMAGED in {} place(s), {} unreadable; see: schwann verify {}",
            survey.damage_count,
            bytes(survey.damaged_bytes),
            arguments.file.display()
        )?;
    }
    Ok(Exit::Good)
}

fn print_stream(out: &mut impl Write, stream: &StreamSurvey) -> io::Result<()> {
    let header = &stream.header;
    let host = if header.hostname.is_empty() { String::new() } else { format!(", from {}", header.hostname) };
    let kind = if header.content_type.is_empty() { "no type" } else { &header.content_type };
    writeln!(out, "\n{:>4}  {} ({kind}{host})", header.id, header.name)?;
    let rate = match header.nominal_rate {
        0.0 => "irregular".to_owned(),
        rate if stream.effective_rate > 0.0 => format!("{rate} Hz, measured {:.4} Hz", stream.effective_rate),
        rate => format!("{rate} Hz"),
    };
    writeln!(out, "      {} x {}, {rate}", header.channel_count, header.format.name())?;
    let duration = seconds(stream.duration.as_secs_f64());
    writeln!(out, "      {} samples over {duration}", stream.sample_count)?;
    let missing: u64 = stream.gaps.iter().map(|gap| gap.missing).sum();
    match stream.gap_count {
        0 if header.nominal_rate == 0.0 => {}
        0 => writeln!(out, "      no gaps")?,
        1 => writeln!(out, "      1 gap: {}, about {missing} samples", seconds(stream.gap_seconds))?,
        n => {
            writeln!(out, "      {n} gaps: {} in all, about {missing} samples", seconds(stream.gap_seconds))?
        }
    }
    match stream.backward_count {
        0 => {}
        1 => writeln!(out, "      once a stamp goes backwards")?,
        n => writeln!(out, "      {n} times a stamp goes backwards")?,
    }
    let clock = &stream.clock;
    match clock.offset_count {
        0 => writeln!(out, "      clock: never measured")?,
        n => writeln!(
            out,
            "      clock: {n} measurements, offset {:.6} s, drift {:+.2} ppm, scatter {:.1} µs{}",
            clock.last_offset,
            clock.drift_ppm,
            clock.residual * 1e6,
            if clock.reset_count > 0 {
                format!(", RESET {} time(s)", clock.reset_count)
            } else {
                String::new()
            }
        )?,
    }
    if let Some(complaint) = survey::footer_complaint(stream) {
        writeln!(out, "      {complaint}")?;
    }
    Ok(())
}
