//! `schwann verify`: whether a recording can be trusted.

use std::io::{self, Write as _};
use std::path::PathBuf;

use schwann_recorder::findings;

use super::survey::{self, Progress, bytes};
use crate::exit::{Exit, Outcome};
use crate::terminal::plural;

/// Check that a recording is whole: every chunk, every footer, every count; not the values.
///
/// It sees what is missing, cut off, or damaged so that it cannot be read. XDF has no checksums: a value that was
/// overwritten by another one is not seen. It also lists what the recorded streams show: gaps, clock resets, stamps
/// that go back, missing clock offsets, wrong rates.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann verify session.xdf && echo nothing is missing
  schwann verify --json *.xdf

Exit code 0 if every file is whole, 1 if one is not, whatever its streams show. `schwann repair` salvages a damaged file. To see later whether a
value was changed, keep a checksum beside the file from the beginning: sha256sum session.xdf > session.xdf.sha256")]
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
            json["values_checked"] = false.into();
            writeln!(out, "{json}")?;
            continue;
        }
        let samples = survey.streams.iter().map(|stream| stream.sample_count as usize).sum();
        let (verdict, limit) = match survey.is_sound() {
            true => ("whole", "; values were not checked, because XDF has no checksums"),
            false => ("NOT WHOLE", ""),
        };
        let streams = plural(survey.streams.len(), "stream");
        let samples = plural(samples, "sample");
        writeln!(out, "{}: {verdict}: {streams}, {samples}{limit}", file.display())?;
        for (stream, found) in survey.streams.iter().zip(findings(&survey)) {
            let name = format!("  stream {} ({})", stream.header.id, stream.header.name);
            if let Some(complaint) = survey::footer_complaint(stream) {
                writeln!(out, "{name}: {complaint}")?;
            }
            for one in found {
                writeln!(out, "{name} {one}")?;
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
