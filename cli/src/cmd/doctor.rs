//! `schwann doctor`: why a stream is not seen.

use core::net::IpAddr;
use std::io::{self, BufRead as _, Write as _};

use serde_json::json;

use crate::{
    doctor::{self, Finding, Weight},
    exit::{Exit, Outcome, Problem},
    terminal::{Shown, printable},
};

/// Find out why a stream is not seen, and what to do about it.
///
/// It looks at the configuration and tries every network of this computer. It searches for streams of all sessions in several ways, and
/// tries their ports. It changes nothing unless you agree to it with --fix. Each finding is one sentence and one command.
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
    if let Some(host) = arguments.host.as_deref().filter(|host| is_of_no_one(host)) {
        return Err(Problem::Failed(format!("{host:?} is no computer's name or address; name one computer")));
    }
    let facts = doctor::look(arguments.host.as_deref());
    let findings = doctor::judge(&facts);
    let unread = doctor::unread(&facts);
    let mut out = io::stdout().lock();
    if arguments.json {
        let told = doctor::told(&facts);
        writeln!(
            out,
            "{:#}",
            Shown(&json!({
                "streams": facts.stream_count(), "own_streams": facts.own_stream_count(), "findings": findings, "host": told,
                "unread": unread
            }))
        )?;
    } else {
        print(&mut out, &findings, facts.stream_count(), facts.own_stream_count(), unread.as_deref())?;
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
    for finding in findings {
        let Some(words) = doctor::mend::runnable(finding) else { continue };
        eprint!("Run: {}  [y/N] ", printable(doctor::mend::command(finding)));
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if matches!(answer.trim(), "y" | "yes") && !doctor::mend::run(&words) {
            eprintln!("schwann: that did not work");
        }
    }
    writeln!(io::stdout().lock(), "Look again: schwann doctor")
}

/// Prints what was found, and calls all well only if nothing was left unread.
fn print(
    out: &mut impl io::Write,
    findings: &[Finding],
    streams: usize,
    own: usize,
    unread: Option<&str>,
) -> io::Result<()> {
    for (number, finding) in findings.iter().enumerate() {
        let mark = match finding.weight {
            Weight::Fault => "FAULT  ",
            Weight::Warning => "warning",
        };
        let before = if number > 0 { "\n" } else { "" };
        writeln!(out, "{before}{mark}  {}\n         $ {}", finding.what, finding.fix)?;
    }
    let plural = if streams == 1 { "" } else { "s" };
    let elsewhere = if streams > 0 && own == streams { ONLY_OWN } else { "" };
    if findings.is_empty() {
        let well = if elsewhere.is_empty() && unread.is_none() { "All is well: " } else { "" };
        writeln!(out, "{well}{streams} stream{plural} found, and every one can be received.{elsewhere}")?;
    } else {
        writeln!(out, "\n{streams} stream{plural} found.{elsewhere}")?;
    }
    unread.map_or(Ok(()), |unread| writeln!(out, "{unread}"))
}

/// Said where nothing is known of the way to other computers.
const ONLY_OWN: &str =
    " All are of this computer: none of another one was seen. To look at another one: schwann doctor HOST";

/// Whether a name or an address is that of no computer, or of all.
fn is_of_no_one(host: &str) -> bool {
    let is_of_many = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unspecified() || ip.is_multicast(),
    };
    host.trim().is_empty() || host.contains('/') || host.parse().is_ok_and(is_of_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(findings: &[Finding], streams: usize, own: usize, unread: Option<&str>) -> String {
        let mut out = Vec::new();
        print(&mut out, findings, streams, own, unread).expect("memory takes it");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn doctor_calls_all_well_only_if_it_saw_a_stream_of_another_computer_and_the_firewall() {
        assert!(printed(&[], 3, 2, None).starts_with("All is well: 3 streams found"));
        let told = printed(&[], 3, 2, Some("The firewall was not asked."));
        assert!(
            told.starts_with("3 streams found") && told.ends_with("received.\nThe firewall was not asked.\n")
        );
        let only_own = printed(&[], 2, 2, None);
        assert!(!only_own.contains("All is well") && only_own.contains("schwann doctor HOST"), "{only_own}");
        let what = String::from("A VPN.");
        let finding = Finding { code: "vpn", weight: Weight::Warning, what, fix: String::from("date") };
        assert!(printed(&[finding], 1, 1, None).contains("1 stream found. All are of this computer"));
    }
}
