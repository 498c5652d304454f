//! `schwann verify`: whether a recording can be trusted.

use std::io::{self, Write as _};
use std::path::PathBuf;

use super::survey::{self, Progress, bytes};
use crate::exit::{Exit, Outcome};

/// Check that a recording is whole: every chunk, every footer, every count.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann verify session.xdf && echo fit to publish
  schwann verify --json *.xdf

Exit code 0 if every file is whole, 1 if one is not. `schwann repair` salvages a damaged file.")]
pub(crate) struct Arguments {
    /// The recordings.
    #[arg(value_name = "FILE.xdf", required = true)]
    files: Vec<PathBuf>,
    /// Print JSON for scripts, one line per file.
    #[arg(long)]
    json: bool,
}

/// Prints a verdict per file.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut exit = Exit::Good;
    for file in &arguments.files {
        let survey = survey::of(file, &mut Progress::new("checking"))?;
        if !survey.is_sound() {
            exit = Exit::Found;
        }
        let mut out = io::stdout().lock();
        if arguments.json {
            let mut json = survey::json(&survey);
            json["file"] = file.display().to_string().into();
            writeln!(out, "{json}")?;
            continue;
        }
        let samples: u64 = survey.streams.iter().map(|stream| stream.sample_count).sum();
        let verdict = if survey.is_sound() { "whole" } else { "NOT WHOLE" };
        writeln!(out, "{}: {verdict}: {} streams, {samples} samples", file.display(), survey.streams.len())?;
        for stream in &survey.streams {
            if let Some(complaint) = survey::footer_complaint(stream) {
                writeln!(out, "  stream {} ({}): {complaint}", stream.header.id, stream.header.name)?;
            }
        }
        for damage in &survey.damage {
            writeln!(out, "  at byte {}: {}, {} skipped", damage.at, damage.kind, bytes(damage.bytes))?;
        }
        let unlisted = survey.damage_count - survey.damage.len() as u64;
        if unlisted > 0 {
            writeln!(out, "  and in {unlisted} more places")?;
        }
    }
    Ok(exit)
}
