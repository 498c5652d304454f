//! `schwann info`: what is in a recording.

mod indexed;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use schwann_recorder::Limits;
use schwann_xdf::{ClockQuality, Location, StreamHeader, StreamSurvey, Survey, Wrapping};

use super::opening::Opening;
use super::survey::{self, Progress, bytes, seconds};
use crate::exit::{Exit, Outcome};
use crate::terminal::{Readable, Shown, plural, printable, printable_path, times};

/// Show what is in a recording: streams, counts, rates, gaps, clocks.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann info session.xdf
  schwann info --full night.xdf
  schwann info --json session.xdf | jq '.streams[].effective_rate'

A recording of more than 64 MB that has a sound index is answered from its index and footers, at once. These tell counts, times
and clocks; gaps, stamps that go back and damage are then not looked for, and info says so. --full reads the whole file.
--quick takes the index of smaller files too. --json reads the whole file, so that every name has its value; with --quick,
what the index cannot know is null.

A file whose index is missing, damaged or contradicts its footers is read through. It also reads damaged recordings and
counts all readable samples. `schwann verify` judges.")]
pub(crate) struct Arguments {
    /// The recording.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    #[command(flatten)]
    opening: Opening,
    /// Read the whole file, also if it has an index.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Read only the index of the file, if it has a sound one.
    #[arg(long)]
    quick: bool,
    /// Print JSON for scripts.
    #[arg(long)]
    json: bool,
}

/// Prints what is in the recording.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let recording = arguments.opening.location(&arguments.file)?;
    let indexed = if arguments.wants_index(&recording) { indexed::open(&recording)? } else { None };
    let mut out = io::stdout().lock();
    if let Some(indexed) = indexed {
        match arguments.json {
            true => writeln!(out, "{:#}", Shown(&indexed::json(&indexed)))?,
            false => indexed::print(&mut out, &arguments.file, &indexed)?,
        }
        return Ok(Exit::Good);
    }
    let survey = survey::of(&recording, &mut Progress::new("reading"))?;
    match arguments.json {
        true => writeln!(out, "{:#}", Shown(&survey::json(&survey, &Limits::USUAL)))?,
        false => print(&mut out, &arguments.file, &survey)?,
    }
    Ok(Exit::Good)
}

impl Arguments {
    /// Whether an index, if there is one, is to answer.
    fn wants_index(&self, recording: &Location) -> bool {
        // What is compressed must be read to its end for the index, too. What cannot be read is said by what reads it.
        let is_packed = recording.wrapping().is_ok_and(|wrapping| wrapping == Wrapping::Gzip);
        let is_large = || self.file.metadata().is_ok_and(|file| file.len() > READ_WHOLE_BYTES);
        !is_packed && !self.full && (self.quick || (!self.json && is_large()))
    }
}

fn print(out: &mut impl Write, file: &Path, survey: &Survey) -> io::Result<()> {
    print_title(out, file, survey.streams.len(), survey.file_bytes, &survey.datetime)?;
    for stream in &survey.streams {
        print_stream(out, stream)?;
    }
    if survey.damage_count > 0 {
        writeln!(
            out,
            "\nDAMAGED in {}, {} unreadable; see: schwann verify {}",
            plural(survey.damage_count as usize, "place"),
            bytes(survey.damaged_bytes),
            printable_path(file)
        )?;
    }
    Ok(())
}

fn print_title(
    out: &mut impl Write,
    file: &Path,
    stream_count: usize,
    file_bytes: u64,
    datetime: &str,
) -> io::Result<()> {
    let began = if datetime.is_empty() { String::new() } else { format!(", begun {datetime}") };
    let (file, streams) = (printable_path(file), plural(stream_count, "stream"));
    writeln!(out, "{file}: {streams}, {}{}", bytes(file_bytes), printable(&began))
}

fn print_header(out: &mut impl Write, header: &StreamHeader, measured: &str) -> io::Result<()> {
    let host = if header.hostname.is_empty() { String::new() } else { format!(", from {}", header.hostname) };
    let kind = if header.content_type.is_empty() { "no type" } else { &header.content_type };
    writeln!(out, "\n{}", printable(&format!("{:>4}  {} ({kind}{host})", header.id, header.name)))?;
    let rate = match header.nominal_rate {
        0.0 => "irregular".to_owned(),
        rate => format!("{} Hz{measured}", Readable(rate)),
    };
    writeln!(out, "      {} x {}, {rate}", header.channel_count, header.format.name())
}

fn print_clock(out: &mut impl Write, clock: &ClockQuality) -> io::Result<()> {
    match clock.offset_count {
        0 => writeln!(out, "      clock: never measured"),
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
        ),
    }
}

fn print_stream(out: &mut impl Write, stream: &StreamSurvey) -> io::Result<()> {
    let header = &stream.header;
    let measured = match stream.effective_rate {
        rate if rate > 0.0 => format!(", measured {:.4} Hz", Readable(rate)),
        _ => String::new(),
    };
    print_header(out, header, &measured)?;
    let over = match (stream.sample_count, stream.first_stamp) {
        (1.., None) => "; none has a time".to_owned(),
        _ => format!(" over {}", seconds(stream.duration.as_secs_f64())),
    };
    writeln!(out, "      {}{over}", plural(stream.sample_count as usize, "sample"))?;
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
    if stream.invalid_stamp_count > 0 {
        let samples = plural(stream.invalid_stamp_count as usize, "sample");
        writeln!(out, "      {samples} whose stamp is no time, such as NaN")?;
    }
    print_clock(out, &stream.clock)?;
    for complaint in survey::complaints(stream) {
        writeln!(out, "      {complaint}")?;
    }
    Ok(())
}

/// A smaller recording is read whole: that takes no longer than a person notices.
const READ_WHOLE_BYTES: u64 = 64_000_000;
