//! `schwann verify`: whether a recording can be trusted.

mod account;
mod certified;
mod page;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use schwann_recorder::words::quoted;
use schwann_recorder::{Limits, findings_by};
use schwann_xdf::{Comparison, Location, ReadError, Survey};
use serde_json::{Value, json};

use super::opening::Opening;
use super::survey::{self, Progress, bytes};
use crate::exit::{Exit, Outcome, Problem, told};
use crate::terminal::{Shown, plural, printable, printable_path};
use certified::Certified;
pub(super) use certified::text_of;

/// Check that a recording is whole: every chunk, every footer, every count, and every byte if it has checksums.
///
/// It sees what is missing, cut off, or damaged. `schwann record` writes checksums, so even one flipped bit is detected. In
/// files of other recorders, an overwritten value goes undetected. It also lists what the recorded streams show: foreign
/// clocks, drift, steps, missing clock offsets, wrong rates, jitter, gaps.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann verify session.xdf && echo nothing is missing
  schwann verify --json *.xdf
  schwann verify session.xdf --html session.html    a page with timeline, clocks, jitter and certificate

Exit code 0 if every file is whole, 1 if one is not, whatever its streams show. `schwann repair` salvages a damaged file. Checksums
find accidents, not forgery: an attacker can change a value and its checksum. The certificate beside the file, session.xdf.cert.json,
is compared with it. If the lab has keys, the certificate is signed, and verify detects any change to either.")]
pub(crate) struct Arguments {
    /// The recordings.
    #[arg(value_name = "FILE.xdf", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    opening: Opening,
    /// Write a page on the one recording for a person who reviews it; a browser shows it without a network.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print JSON for scripts, one line per file.
    #[arg(long)]
    json: bool,
    /// Limits by which streams are judged: usual, eeg, markers, or a TOML file with a table [limits].
    #[arg(long, value_name = "LIMITS", default_value = "usual")]
    limits: Limits,
}

/// Prints a verdict per file.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.html.is_some() && arguments.files.len() != 1 {
        return Err(Problem::Failed("--html is a page on one recording: name one".to_owned()));
    }
    let (mut exit, mut unread) = (Exit::Good, None);
    for file in &arguments.files {
        match verify_one(file, arguments) {
            Ok(true) => {}
            Ok(false) => exit = Exit::Found,
            // The others are looked at all the same; the last of these is what the program says at its end.
            Err(problem) => {
                if let Some(before) = unread.replace(problem) {
                    eprintln!("schwann: {before}");
                }
            }
        }
    }
    unread.map_or(Ok(exit), Err)
}

/// Prints the verdict on one file; says whether it is whole.
fn verify_one(file: &Path, arguments: &Arguments) -> Result<bool, Problem> {
    let recording = arguments.opening.location(file)?;
    if let Err(ReadError::NotXdf) = recording.reader()
        && let Some(agrees) = verify_other(&recording, arguments.json)?
    {
        return Ok(agrees);
    }
    let examined = Examined::of(&recording, &arguments.limits)?;
    if let Some(page) = &arguments.html {
        write_page(page, file, &examined.html()).map_err(|error| Problem::with(page.display(), error))?;
    }
    let mut out = io::stdout().lock();
    told(match arguments.json {
        true => writeln!(out, "{}", Shown(&examined.json())),
        false => examined.print(&mut out),
    })?;
    Ok(examined.is_whole)
}

/// Why something that is made of a recording is not to be trusted as the recording was: it is not whole. Nothing if it is.
pub(super) fn complaint(recording: &Location) -> Result<Option<String>, Problem> {
    Ok(Examined::of(recording, &Limits::USUAL)?.complaint())
}

/// All that was found out about a recording.
pub(super) struct Examined<'a> {
    recording: &'a Location,
    pub(super) survey: Survey,
    compared: Comparison,
    certified: Certified,
    limits: &'a Limits,
    is_whole: bool,
}

impl<'a> Examined<'a> {
    pub(super) fn of(recording: &'a Location, limits: &'a Limits) -> Result<Self, Problem> {
        let survey = survey::of(recording, &mut Progress::new("checking"))?;
        let compared = survey::compared(recording, &survey)?;
        let certified = Certified::of(recording)?;
        let is_whole = certified.agrees()
            && survey.is_sound()
            && (compared.is_whole() || !compared.has_checksums)
            // Neither a stream nor a checksum: that is the beginning of a recording, and no more.
            && (compared.has_checksums || !survey.streams.is_empty());
        Ok(Self { recording, survey, compared, certified, limits, is_whole })
    }

    /// Why what is made of it is not to be trusted as it was; nothing if it is whole.
    pub(super) fn complaint(&self) -> Option<String> {
        let path = self.recording.path().to_string_lossy();
        (!self.is_whole).then(|| format!("{path} is NOT WHOLE; why: schwann verify {}", quoted(&path)))
    }

    fn json(&self) -> Value {
        let Self { recording, survey, compared, certified, limits, is_whole } = self;
        let mut json = survey::json(survey, limits);
        json["file"] = recording.path().display().to_string().into();
        json["values_checked"] = compared.has_checksums.into();
        json["certificate"] = certified.json();
        json["sound"] = (*is_whole).into();
        json["changed"] = json!(compared.changed);
        json["unchecked_bytes"] =
            if compared.has_checksums { compared.uncovered } else { survey.file_bytes }.into();
        json
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let samples = self.survey.streams.iter().map(|stream| stream.sample_count as usize).sum();
        let (verdict, limit) = match (self.is_whole, self.compared.has_checksums) {
            (true, true) => ("whole", "; every byte is as recorded"),
            (true, false) => ("whole", "; values were not checked, because its recorder wrote no checksums"),
            (false, _) => ("NOT WHOLE", ""),
        };
        let streams = plural(self.survey.streams.len(), "stream");
        let samples = plural(samples, "sample");
        let file = printable_path(self.recording.path());
        writeln!(out, "{file}: {verdict}: {streams}, {samples}{limit}")?;
        self.certified.print(out)?;
        self.print_streams(out)?;
        self.print_damage(out)
    }

    fn print_streams(&self, out: &mut impl Write) -> io::Result<()> {
        for (stream, found) in self.survey.streams.iter().zip(findings_by(&self.survey, self.limits)) {
            let name = format!("  stream {} ({})", stream.header.id, printable(&stream.header.name));
            for complaint in survey::complaints(stream) {
                writeln!(out, "{name}: {complaint}")?;
            }
            for one in found {
                writeln!(out, "{name} {one}")?;
            }
        }
        Ok(())
    }

    fn print_damage(&self, out: &mut impl Write) -> io::Result<()> {
        let (survey, compared) = (&self.survey, &self.compared);
        for damage in &survey.damage {
            writeln!(out, "  at byte {}: {}, {} skipped", damage.at, damage.kind, bytes(damage.bytes))?;
        }
        if survey.streams.is_empty() && !compared.has_checksums {
            writeln!(out, "  no stream is in it: the recording was cut off at its beginning")?;
        }
        if let Some(at) = survey.displaced_checksum {
            writeln!(
                out,
                "  the checksum at byte {at} belongs elsewhere: bytes before it are missing, or were added"
            )?;
        }
        for (from, to) in &compared.changed {
            writeln!(out, "  CHANGED since it was recorded: somewhere from byte {from} to {to}")?;
        }
        if compared.has_checksums && compared.uncovered > 0 {
            writeln!(
                out,
                "  at its end, {} have no checksum: the recording was cut off",
                bytes(compared.uncovered)
            )?;
        }
        let unlisted = survey.damage_count - survey.damage.len() as u64;
        if unlisted > 0 {
            writeln!(out, "  and in {unlisted} more places")?;
        }
        Ok(())
    }
}

/// Compares a file that is no recording with the certificate beside it, such as an export has; says whether they agree.
/// Nothing if it has no certificate.
fn verify_other(file: &Location, as_json: bool) -> Result<Option<bool>, Problem> {
    let certified = Certified::of(file)?;
    if matches!(certified, Certified::None) {
        return Ok(None);
    }
    let agrees = certified.agrees();
    told(say_other(file, &certified, as_json))?;
    Ok(Some(agrees))
}

fn say_other(file: &Location, certified: &Certified, as_json: bool) -> io::Result<()> {
    let agrees = certified.agrees();
    let mut out = io::stdout().lock();
    if as_json {
        let json =
            json!({"file": file.path().to_string_lossy(), "certificate": certified.json(), "sound": agrees});
        return writeln!(out, "{}", Shown(&json));
    }
    let verdict = if agrees { "as it is certified" } else { "NOT as it is certified" };
    let name = printable_path(file.path());
    writeln!(out, "{name}: {verdict}; no recording, so nothing else was looked at")?;
    certified.print(&mut out)
}

/// Writes the page as a new file, as private as the recording.
fn write_page(page: &Path, recording: &Path, html: &str) -> io::Result<()> {
    let mut file = schwann_xdf::private_as(recording).write(true).create_new(true).open(page)?;
    file.write_all(html.as_bytes())
}
