//! `schwann info`: what is in a recording.

use std::io::{self, Write};
use std::path::PathBuf;

use schwann_recorder::Limits;
use schwann_xdf::StreamSurvey;

use super::opening::Opening;
use super::survey::{self, Progress, bytes, seconds};
use crate::exit::{Exit, Outcome};
use crate::terminal::{plural, times};

/// Show what is in a recording: streams, counts, rates, gaps, clocks.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann info session.xdf
  schwann info --json session.xdf | jq '.streams[].effective_rate'

It also reads damaged recordings and counts all readable samples. `schwann verify` judges.")]
pub(crate) struct Arguments {
    /// The recording.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    #[command(flatten)]
    opening: Opening,
    /// Print JSON for scripts.
    #[arg(long)]
    json: bool,
}

/// Prints what is in the recording.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let recording = arguments.opening.location(&arguments.file)?;
    let survey = survey::of(&recording, &mut Progress::new("reading"))?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", survey::json(&survey, &Limits::USUAL))?;
        return Ok(Exit::Good);
    }
    let began =
        if survey.datetime.is_empty() { String::new() } else { format!(", begun {}", survey.datetime) };
    writeln!(
        out,
        "{}: {}, {}{began}",
        arguments.file.display(),
        plural(survey.streams.len(), "stream"),
        bytes(survey.file_bytes)
    )?;
    for stream in &survey.streams {
        print_stream(&mut out, stream)?;
    }
    if survey.damage_count > 0 {
        writeln!(
            out,
            "\nDAMAGED in {}, {} unreadable; see: schwann verify {}",
            plural(survey.damage_count as usize, "place"),
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
    writeln!(out, "      {} over {duration}", plural(stream.sample_count as usize, "sample"))?;
    let missing = plural(stream.gaps.iter().map(|gap| gap.missing as usize).sum(), "sample");
    match stream.gap_count {
        0 if header.nominal_rate == 0.0 => {}
        0 => writeln!(out, "      no gaps")?,
        1 => writeln!(out, "      1 gap: {}, about {missing}", seconds(stream.gap_seconds))?,
        n => writeln!(out, "      {n} gaps: {} in all, about {missing}", seconds(stream.gap_seconds))?,
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
                format!(", RESET {}", times(clock.reset_count as u64))
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
