//! `schwann doctor`: why a stream is not seen.

use std::io::{self, BufRead as _, Write as _};

use schwann_recorder::words::quoted;
use serde_json::json;

use crate::{
    doctor::{self, Finding, Weight},
    exit::{Exit, Outcome},
    terminal::printable,
};

/// Find out why a stream is not seen, and what to do about it.
///
/// It looks at the configuration and tries every network of this computer. It searches streams of all sessions in several ways, and
/// knocks at their ports. It changes nothing, unless you agree to it with --fix. Each finding is one sentence and one command.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann doctor
  schwann doctor eeg-pc
  schwann doctor --fix
  schwann doctor 10.0.0.7 --json | jq -r '.findings[].code'")]
pub(crate) struct Arguments {
    /// The computer whose streams are missing: a name or an address.
    host: Option<String>,
    /// Offer to run each command that this computer can run.
    #[arg(long, conflicts_with = "json")]
    fix: bool,
    /// Print JSON for scripts.
    #[arg(long)]
    json: bool,
}

/// Looks, and prints what was found.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let facts = doctor::look(arguments.host.as_deref());
    let findings = doctor::judge(&facts);
    let mut out = io::stdout().lock();
    if arguments.json {
        let told = doctor::told(&facts);
        writeln!(
            out,
            "{:#}",
            json!({
                "streams": facts.stream_count(), "findings": findings, "host": told, "unread": doctor::unread(&facts)
            })
        )?;
    } else {
        print(&mut out, &findings, facts.stream_count())?;
        if let Some(unread) = doctor::unread(&facts) {
            writeln!(out, "{unread}")?;
        }
        if let Some(told) = doctor::told(&facts) {
            writeln!(out, "{}", told.split('\n').map(printable).collect::<Vec<_>>().join("\n"))?;
        }
        drop(out);
        if arguments.fix {
            mend(&findings)?;
        }
    }
    Ok(if findings.iter().any(|finding| finding.weight == Weight::Fault) { Exit::Found } else { Exit::Good })
}

/// Asks of each command, and runs it.
fn mend(findings: &[Finding]) -> io::Result<()> {
    for words in findings.iter().filter_map(doctor::mend::runnable) {
        let shown: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        eprint!("Run: {}  [y/N] ", printable(&shown.join(" ")));
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if matches!(answer.trim(), "y" | "yes") && !doctor::mend::run(&words) {
            eprintln!("schwann: that did not work");
        }
    }
    writeln!(io::stdout().lock(), "Look again: schwann doctor")
}

fn print(out: &mut impl io::Write, findings: &[Finding], streams: usize) -> io::Result<()> {
    for (number, finding) in findings.iter().enumerate() {
        let mark = match finding.weight {
            Weight::Fault => "FAULT  ",
            Weight::Warning => "warning",
        };
        let before = if number > 0 { "\n" } else { "" };
        writeln!(out, "{before}{mark}  {}\n         $ {}", finding.what, finding.fix)?;
    }
    let plural = if streams == 1 { "" } else { "s" };
    match (findings.len(), streams) {
        (0, 0) => writeln!(
            out,
            "No stream was found, and nothing on this computer explains it: is one being sent? Streams of another lab on \
             another computer do not answer; name that computer: schwann doctor HOST"
        ),
        (0, _) => {
            writeln!(out, "All is well: {streams} stream{plural} found, and every one can be received.")
        }
        (_, _) => writeln!(out, "\n{streams} stream{plural} found."),
    }
}
