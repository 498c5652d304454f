//! `schwann repair`: salvages every whole sample of a damaged recording.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schwann_recorder::certificate::certificate_path;
use schwann_recorder::{Limits, sealing};
use schwann_xdf::{Recipients, Repair, RepairError, Survey};
use serde_json::json;

use super::certify;
use super::opening::Opening;
use super::survey::{Progress, bytes};
use super::verify::Examined;
use crate::exit::{Exit, Outcome, Problem, told};
use crate::terminal::{Shown, plural, printable_path};

/// Write every whole sample of a damaged recording into a new one.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann repair session.xdf                 writes session-repaired.xdf
  schwann repair session.xdf -o rescued.xdf

A whole recording is copied only if -o names the copy. The damaged file is not touched. Samples, stamps, clock
offsets and headers are copied bit by bit, but for texts that are no UTF-8. Unreadable parts are left out. If a stamp was in such
a part, and others follow from it, their times are guesses. Footers are written anew where they are
missing or disagree.
Exit code 0 if nothing was damaged or left out, 1 if something was, or the lab's keys to sign with cannot be read.")]
pub(crate) struct Arguments {
    /// The damaged recording.
    #[arg(value_name = "FILE.xdf")]
    file: PathBuf,
    /// The new recording; it must not exist yet. By default FILE-repaired.xdf.
    #[arg(long, short, value_name = "FILE.xdf")]
    output: Option<PathBuf>,
    #[command(flatten)]
    opening: Opening,
    /// Seal the new recording to this key, too. If the old one is sealed, the new one is sealed to the archive key.
    #[arg(long, value_name = "KEY")]
    to: Vec<Recipients>,
    /// Print JSON for scripts.
    #[arg(long)]
    json: bool,
}

/// Repairs the recording and says what was salvaged.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let recording = arguments.opening.location(&arguments.file)?;
    let output = arguments.output.clone().unwrap_or_else(|| beside(&arguments.file));
    let examined = Examined::of(&recording, &Limits::USUAL)?;
    let complaint = examined.complaint();
    // A copy of a sound recording may be large and helps only a script, which names it.
    if arguments.output.is_none() && examined.survey.is_sound() {
        let Some(complaint) = complaint else { return say_sound(arguments, &examined.survey) };
        eprintln!("schwann: {complaint}; {NO_VALUES}, and no file was written");
        return Ok(Exit::Found);
    }
    let sealed_to = sealed_to(&output, &arguments.to)?;
    let mut progress = Progress::new("repairing");
    let done = schwann_xdf::repair(recording.clone(), &output, &sealed_to, |at, all| progress.show(at, all));
    progress.clear();
    let done = done.map_err(|error| match error {
        RepairError::Read(error) => Problem::with(arguments.file.display(), error),
        RepairError::Write(error) => Problem::with(output.display(), error),
        other => Problem::with(arguments.file.display(), other),
    })?;
    let certified = certify(arguments, &output, complaint.is_none())?;
    told(say_done(arguments, &output, &done))?;
    let is_mended = done.damage_count > 0 || done.footer_count > 0 || done.replaced_text_count > 0;
    if let (Some(complaint), false) = (&complaint, is_mended) {
        eprintln!("schwann: {complaint}; {NO_VALUES}");
    }
    let is_all_there = !is_mended && done.unknown_chunk_count == 0;
    Ok(if complaint.is_none() && is_all_there { certified } else { Exit::Found })
}

fn say_done(arguments: &Arguments, output: &Path, done: &Repair) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if arguments.json {
        let json = json!({
            "output": output.display().to_string(),
            "stream_count": done.stream_count,
            "sample_count": done.sample_count,
            "footer_count": done.footer_count,
            "replaced_text_count": done.replaced_text_count,
            "guessed_stamp_count": done.guessed_stamp_count,
            "unknown_chunk_count": done.unknown_chunk_count,
            "damage_count": done.damage_count,
            "damaged_bytes": done.damaged_bytes,
        });
        return writeln!(out, "{}", Shown(&json));
    }
    writeln!(
        out,
        "{}: {} of {} salvaged; {}, {} left out, {} written anew",
        printable_path(output),
        plural(done.sample_count as usize, "sample"),
        plural(done.stream_count, "stream"),
        plural(done.damage_count as usize, "damaged place"),
        bytes(done.damaged_bytes),
        plural(done.footer_count, "footer"),
    )?;
    if done.guessed_stamp_count > 0 {
        let samples = plural(done.guessed_stamp_count as usize, "sample");
        writeln!(
            out,
            "  the times of {samples} are guesses, because damage took the stamps that tell them: see verify"
        )?;
    }
    if done.unknown_chunk_count > 0 {
        let chunks = plural(done.unknown_chunk_count as usize, "chunk");
        writeln!(out, "  {chunks} of kinds that are not known here LEFT OUT: keep the old file for them")?;
    }
    let texts = plural(done.replaced_text_count as usize, "text");
    match done.replaced_text_count {
        0 => Ok(()),
        _ => writeln!(out, "  {texts} with bytes that are no UTF-8: the copy has \u{fffd} for each of them"),
    }
}

fn say_sound(arguments: &Arguments, survey: &Survey) -> Outcome {
    let samples = survey.streams.iter().map(|stream| stream.sample_count).sum::<u64>();
    let mut out = io::stdout().lock();
    if arguments.json {
        let json = json!({
            "output": null,
            "stream_count": survey.streams.len(),
            "sample_count": samples,
            "footer_count": 0,
            "replaced_text_count": 0,
            "guessed_stamp_count": 0,
            "unknown_chunk_count": 0,
            "damage_count": 0,
            "damaged_bytes": 0,
        });
        writeln!(out, "{}", Shown(&json))?;
    } else {
        writeln!(
            out,
            "{}: whole, so there is nothing to repair; no file was written",
            printable_path(&arguments.file)
        )?;
    }
    Ok(Exit::Good)
}

/// Writes the certificate of the new recording, if the old one has one: it names that.
///
/// One that is sealed to others cannot be read here, and gets none, which is said.
fn certify(arguments: &Arguments, output: &Path, is_whole: bool) -> Result<Exit, Problem> {
    let wrong = |error: &dyn core::fmt::Display| Problem::with(output.display(), error);
    if matches!(certificate_path(&arguments.file).try_exists(), Ok(false)) {
        return Ok(Exit::Good);
    }
    let opened = arguments.opening.location(output).and_then(|new| new.open().map_err(|error| wrong(&error)));
    let content = match opened {
        Ok(content) => content,
        Err(problem) => {
            eprintln!("schwann: the new recording has no certificate: {problem}");
            return Ok(Exit::Good);
        }
    };
    certify::made(output, content, "repaired", &arguments.file, is_whole)
}

/// The recipients of the new recording: none, unless its name says that it is sealed.
fn sealed_to(output: &Path, more: &[Recipients]) -> Result<Recipients, Problem> {
    let wrong = |error: &dyn core::fmt::Display| Problem::with(output.display(), error);
    if output.extension().is_none_or(|extension| extension != "age") {
        return match more {
            [] => Ok(Recipients::default()),
            _ => Err(wrong(&"a sealed recording ends in .age: name the new one so with -o")),
        };
    }
    let mut all = sealing::archive_key().map_err(|error| wrong(&error))?.unwrap_or_default();
    more.iter().for_each(|key| all.add(key));
    match all.is_empty() {
        true => Err(wrong(
            &"there is no key to seal it to; name one with --to age1..., or an open file with -o FILE.xdf",
        )),
        false => Ok(all),
    }
}

/// The name of the new recording: sealed if the old one is.
fn beside(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (name, sealed) = name.strip_suffix(".age").map_or((&*name, ""), |name| (name, ".age"));
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-repaired.xdf{sealed}"))
}

const NO_VALUES: &str = "a repair restores neither values that were changed nor times that damage took";
