//! `schwann export`: a recording in the formats of other programs.

use core::ops::ControlFlow;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use schwann_export::{Entities, Format, Options, Report, Resampled, Written, bids, export};
use serde_json::{Value, json};

use super::certify;
use super::opening::Opening;
use super::survey::Progress;
use crate::exit::{Exit, Outcome, Problem, told};
use crate::stop;
use crate::terminal::{Shown, plural, printable, short_time, thousands};

/// Write a recording in the formats of other programs.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann export session.xdf --to brainvision          session.vhdr, session.vmrk, session.eeg
  schwann export session.xdf --to edf -o out/s.edf     another name; several streams get their names added
  schwann export session.xdf --to nwb --stream EEG     only streams with this name or type
  schwann export session.xdf --to edf --resample 250   every stream with a rate at 250 Hz, at the same times
  schwann export session.xdf --to xdfz                 compressed; the same certificate holds
  schwann export session.xdf.age --to xdf              opened with the lab's archive key
  schwann export session.xdf --bids study --subject 01 --task rest

brainvision, edf and bdf hold streams with a rate, a file each, with all markers in each. Gaps are filled and marked
BAD_gap. nwb, mcap, csv and npz hold every stream with the time of each sample.
Times are on the recorder's clock, by the measured clock offsets; streams with a rate are evened out between gaps. How far
that moves a time is printed.
--resample gives all streams with a rate the same one, in samples at the same times: whole multiples of its period on the
recorder's clock. A zero-phase filter keeps frequencies below 0.8 of half the lower rate within 0.05 %. It attenuates those above
that half by 80 dB. At a gap, the filter repeats the nearest sample. Gaps stay gaps.
Whole numbers that fit are exact; what a format rounds is printed. No existing file is replaced.

Exit code 0 if all is in the files, 1 if a stream or a part of it was left out, the recording is damaged, or the lab's keys to
sign with cannot be read.")]
#[command(group(clap::ArgGroup::new("what").required(true).args(["to", "bids"])))]
pub(crate) struct Arguments {
    /// The recording.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    #[command(flatten)]
    opening: Opening,
    /// The format.
    #[arg(long, value_name = "FORMAT")]
    to: Option<To>,
    /// The file to write, or a folder that exists; by default beside the recording.
    #[arg(short, long, value_name = "FILE", conflicts_with = "bids")]
    output: Option<PathBuf>,
    /// Export only streams with this name or type.
    #[arg(long, value_name = "NAME", conflicts_with = "bids")]
    stream: Vec<String>,
    /// Give every stream with a rate this one, in hertz, on the recorder's clock.
    #[arg(long, value_name = "HZ", conflicts_with = "bids", value_parser = rate)]
    resample: Option<f64>,
    /// Add the recording to the BIDS dataset in this folder: EEG as BrainVision, and the recording in sourcedata.
    #[arg(long, value_name = "FOLDER", requires_all = ["subject", "task"])]
    bids: Option<PathBuf>,
    /// BIDS: the subject, such as 01.
    #[arg(long, value_name = "LABEL", requires = "bids")]
    subject: Option<String>,
    /// BIDS: the session (visit).
    #[arg(long, value_name = "LABEL", requires = "bids")]
    session: Option<String>,
    /// BIDS: the task of the subject.
    #[arg(long, value_name = "LABEL", requires = "bids")]
    task: Option<String>,
    /// BIDS: the repetition; by default the next free one.
    #[arg(long, value_name = "N", requires = "bids")]
    run: Option<u32>,
    /// Print JSON for scripts.
    #[arg(long)]
    json: bool,
}

/// A format.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum To {
    /// BrainVision: a header, markers and the samples
    Brainvision,
    /// EDF+, 16 bits a value
    Edf,
    /// BDF+, 24 bits a value
    Bdf,
    /// Neurodata Without Borders
    Nwb,
    /// MCAP, a message per sample
    Mcap,
    /// Text, a file per stream
    Csv,
    /// NumPy arrays
    Npz,
    /// The recording itself, opened if it was sealed or compressed
    Xdf,
    /// The recording itself, compressed, as pyxdf reads it
    Xdfz,
}

impl From<To> for Format {
    fn from(to: To) -> Self {
        match to {
            To::Brainvision => Self::BrainVision,
            To::Edf => Self::Edf,
            To::Bdf => Self::Bdf,
            To::Nwb => Self::Nwb,
            To::Mcap => Self::Mcap,
            To::Csv => Self::Csv,
            To::Npz => Self::Npz,
            To::Xdf => Self::Xdf,
            To::Xdfz => Self::Xdfz,
        }
    }
}

/// Exports the recording and says what was written.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let is_copy = matches!(arguments.to, Some(To::Xdf | To::Xdfz));
    if is_copy {
        refuse_what_no_copy_heeds(arguments)?;
    }
    let recording = arguments.opening.location(&arguments.file)?;
    let complaint = super::verify::complaint(&recording)?;
    let is_certified = arguments.bids.is_none() && !is_copy;
    let mut progress = Progress::in_passes("exporting");
    // The files of an export that is ended look whole to other programs, so they must go.
    let stop = stop::on_signals()?;
    let mut show = |done, all| {
        progress.show(done, all);
        if stop.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = match (&arguments.bids, arguments.to) {
        (Some(root), _) => bids(recording, root, &entities(arguments), &mut show),
        (None, Some(to)) => {
            let mut options = Options::new(to.into());
            (options.output, options.streams) = (arguments.output.clone(), arguments.stream.clone());
            options.resample = arguments.resample;
            export(recording, &options, &mut show)
        }
        // clap demands one of the two.
        (None, None) => return Ok(Exit::Usage),
    };
    progress.clear();
    let report = report.map_err(|error| Problem::with(arguments.file.display(), error))?;
    let certified = if is_certified { certify(arguments, &report, complaint.is_none())? } else { Exit::Good };
    told(say(arguments, &report, complaint.as_deref()))?;
    Ok(if report.left.is_empty() && complaint.is_none() { certified } else { Exit::Found })
}

fn refuse_what_no_copy_heeds(arguments: &Arguments) -> Result<(), Problem> {
    let refused = [("--resample", arguments.resample.is_some()), ("--stream", !arguments.stream.is_empty())];
    let given = refused.iter().find(|(_, is_given)| *is_given);
    given.map_or(Ok(()), |(name, _)| {
        Err(Problem::Failed(format!(
            "--to xdf and xdfz copy the recording as it is; leave out {name}, or name another format"
        )))
    })
}

/// Says what was written, and why the recording is not whole.
fn say(arguments: &Arguments, report: &Report, complaint: Option<&str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if arguments.json {
        let mut json = json(report);
        json["is_whole"] = complaint.is_none().into();
        return writeln!(out, "{:#}", Shown(&json));
    }
    print(&mut out, report)?;
    complaint.iter().try_for_each(|complaint| writeln!(out, "{}", printable(complaint)))
}

fn entities(arguments: &Arguments) -> Entities {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut entities = Entities::new(&text(&arguments.subject), &text(&arguments.task));
    (entities.session, entities.run) = (arguments.session.clone(), arguments.run);
    entities
}

/// Writes a certificate beside each file, if the recording has one: it names that.
///
/// A copy of the recording itself has the recording's, and a BIDS dataset takes no file of other kinds.
fn certify(arguments: &Arguments, report: &Report, is_whole: bool) -> Result<Exit, Problem> {
    let mut certified = Exit::Good;
    for made in &report.made {
        let content = File::open(made).map_err(|error| Problem::with(made.display(), error))?;
        if certify::made(made, content, "exported", &arguments.file, is_whole)? == Exit::Found {
            certified = Exit::Found;
        }
    }
    Ok(certified)
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for one in &report.resampled {
        let Resampled { stream, from, to, pass, stop, .. } = one;
        let text = format!(
            "{stream}: RESAMPLED from {from:.4} Hz to {to} Hz; all up to {pass:.4} Hz, nothing from {stop:.4} Hz on"
        );
        writeln!(out, "{}", printable(&text))?;
    }
    for file in &report.files {
        writeln!(out, "{}", printable(&sentence(file)))?;
    }
    if report.events > 0 {
        writeln!(out, "{} in the files", plural(report.events as usize, "event"))?;
    }
    for left in &report.left {
        writeln!(out, "LEFT OUT {}: {}", printable(&left.stream), left.why)?;
    }
    if report.damage_count > 0 {
        let places = plural(report.damage_count, "place");
        writeln!(out, "the recording is DAMAGED in {places}; what is whole was exported")?;
    }
    Ok(())
}

fn sentence(file: &Written) -> String {
    let rate = if file.rate > 0.0 { format!(" at {} Hz", file.rate) } else { String::new() };
    let samples = plural(file.samples as usize, "sample");
    let mut text = format!("{}: {}, {samples}{rate}", file.path.display(), file.stream);
    if file.filled > 0 {
        text.push_str(&format!(", {} put into gaps", thousands(file.filled)));
    }
    if file.padded > 0 {
        text.push_str(&format!(", {} added to fill the last block", thousands(file.padded)));
    }
    if file.rate > 0.0 || file.time_error > 0.0 {
        text.push_str(&format!("; times within {}", short_time(file.time_error)));
    }
    if file.changed_labels > 0 {
        text.push_str(&format!("; {} changed", plural(file.changed_labels as usize, "label")));
    }
    match file.value_error {
        0.0 => text.push_str("; values exact"),
        error => text.push_str(&format!("; values within {error:.3e}")),
    }
    text
}

fn json(report: &Report) -> Value {
    json!({
        "files": report.files.iter().map(|file| json!({
            "path": file.path.display().to_string(),
            "stream": file.stream,
            "sample_count": file.samples,
            "rate": file.rate,
            "filled": file.filled,
            "padded": file.padded,
            "time_error": file.time_error,
            "value_error": file.value_error,
            "changed_labels": file.changed_labels,
        })).collect::<Vec<_>>(),
        "resampled": report.resampled.iter().map(|one| json!({
            "stream": one.stream, "from": one.from, "to": one.to, "pass": one.pass, "stop": one.stop,
        })).collect::<Vec<_>>(),
        "left_out": report.left.iter().map(|left| json!({ "stream": left.stream, "why": left.why })).collect::<Vec<_>>(),
        "event_count": report.events,
        "damage_count": report.damage_count,
    })
}

/// Reads a rate in hertz.
fn rate(text: &str) -> Result<f64, &'static str> {
    let rate = text.parse().ok().filter(|rate: &f64| (RATE_MIN..=RATE_MAX).contains(rate));
    rate.ok_or("a rate from 0.001 to 1000000 hertz")
}

const RATE_MIN: f64 = 1e-3;
const RATE_MAX: f64 = 1e6;
