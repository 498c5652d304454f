//! What is wrong with the streams that were found, and which were not.

use schwann::security::{Explained, Refusal};
use schwann_recorder::Trouble;
use schwann_recorder::words::quoted;

use super::host::is_told_of_host;
use super::refused::mending;
use super::{add, address, allow_there};
use crate::{
    doctor::{
        Finding, Weight,
        facts::{Facts, Stream},
        firewall::Manager,
        ports::Knock,
    },
    lab,
    sys::commands,
    terminal::printable,
};

pub(super) fn streams(facts: &Facts, findings: &mut Vec<Finding>) {
    for stream in &facts.streams {
        judge_stream(stream, facts, findings);
    }
    let session = &facts.config.lab.session_id;
    let mut others: Vec<_> =
        facts.streams.iter().map(|stream| stream.info.session_id().to_string()).collect();
    others.retain(|other| other != session);
    others.sort_unstable();
    others.dedup();
    let has_own = facts.streams.iter().any(|stream| stream.info.session_id().to_string() == *session);
    for other in others {
        let names = names(facts, |stream| stream.info.session_id().to_string() == other);
        let weight = if has_own { Weight::Warning } else { Weight::Fault };
        add(
            findings,
            weight,
            "session",
            format!(
                "{names} belongs to the LSL session {other:?}, and this computer to {session:?}, so it is not seen here."
            ),
            format!("schwann config set lab.SessionID {}", quoted(&other)),
        );
    }
    duplicates(facts, findings);
}

fn judge_stream(stream: &Stream, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, host) = (stream.info.name(), stream.info.hostname());
    let version = stream.info.version();
    if version / 100 > 1 {
        let text = format!("{}.{:02}", version / 100, version % 100);
        let what = format!("{name} of {host} speaks protocol {text}, which this program does not know.");
        return add(findings, Weight::Fault, "version", what, "schwann --version    # then get a newer one");
    }
    judge_data(stream, facts, findings);
    judge_clock(stream, facts, findings);
    if let Some(what) = lab::admitted(&facts.config, &stream.info, stream.protection) {
        let fix = format!(
            "on {host}: schwann gateway    # seals it; a computer with Schwann joins: schwann keys join"
        );
        add(findings, Weight::Warning, "plain-admitted", format!("{}.", printable(&what)), fix);
    }
    // Without usable keys nothing answers, and no stream is to blame.
    if let Some(trouble) = stream.trouble.filter(|_| facts.unsealed.is_none()) {
        judge_samples(stream, trouble, findings);
    }
}

/// Whether its samples can come by TCP.
fn judge_data(stream: &Stream, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, host) = (stream.info.name(), stream.info.hostname());
    match stream.data {
        Knock::Open => {}
        Knock::Refused => add(
            findings,
            Weight::Fault,
            "data-refused",
            format!(
                "{name} of {host} was found, but its data port is closed: it is just ending, or something is in between."
            ),
            "schwann doctor    # again, in a few seconds",
        ),
        Knock::Silent | Knock::Unreachable => add(
            findings,
            Weight::Fault,
            "data-blocked",
            format!("{name} of {host} is seen, but its data does not come through: a firewall blocks TCP."),
            format!("on {host}: {}", allow_there(facts, Manager::Unknown, "tcp")),
        ),
    }
}

/// Whether its clock can be asked by UDP, and soon enough.
fn judge_clock(stream: &Stream, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, host) = (stream.info.name(), stream.info.hostname());
    match stream.round_trip {
        Some(seconds) if seconds > SLOW_SECONDS => add(
            findings,
            Weight::Warning,
            "clock-uncertain",
            format!(
                "The clock of {host} is known only to within ± {:.0} ms, because the path to it is slow.",
                seconds * 500.0
            ),
            format!("{}    # then use a cable instead of radio", commands::ping(&address(stream))),
        ),
        None if stream.refusal.is_some() => {
            let refusal = stream.refusal.unwrap_or(Refusal::MembersOnly);
            add(
                findings,
                Weight::Fault,
                "sealed",
                format!("{name} of {host} cannot be received: {}.", Explained(refusal)),
                mending(refusal, facts),
            );
        }
        // Without usable keys nothing answers, and the network is not to blame.
        None if facts.unsealed.is_some() => {}
        None if stream.data == Knock::Open => add(
            findings,
            Weight::Fault,
            "clock-blocked",
            format!(
                "The clock of {host} does not answer, so stamps of {name} cannot be compared with others."
            ),
            format!("on {host}: {}", allow_there(facts, Manager::Unknown, "udp")),
        ),
        _ => {}
    }
}

/// What comes of a stream that can be reached.
fn judge_samples(stream: &Stream, trouble: Trouble, findings: &mut Vec<Finding>) {
    let (name, host) = (stream.info.name(), stream.info.hostname());
    let watch =
        format!("schwann watch {}    # shows its samples as they come", quoted(&name.to_string_lossy()));
    let (code, weight, fix) = match trouble {
        Trouble::NoSamples { .. } | Trouble::Stopped { .. } => ("no-samples", Weight::Fault, watch),
        Trouble::Rate { .. } => {
            ("rate", Weight::Fault, "schwann    # shows the rate all the while".to_owned())
        }
        Trouble::InvalidStamps { .. }
        | Trouble::Ahead { .. }
        | Trouble::Behind { .. }
        | Trouble::TimeBase { .. }
        | Trouble::ClockStep { .. } => ("stamps", Weight::Fault, watch),
        Trouble::Drift { .. }
        | Trouble::Jitter { .. }
        | Trouble::Backward { .. }
        | Trouble::Duplicates { .. }
        | Trouble::Bursts { .. } => (trouble.code(), Weight::Warning, watch),
        Trouble::Gaps { .. } => {
            ("gaps", Weight::Warning, "schwann    # shows the gaps all the while".to_owned())
        }
        Trouble::Refused => {
            let what = format!("{name} of {host} gives this computer no session.");
            let fix = "schwann keys status    # here and there; compare the lines lab and in force";
            return add(findings, Weight::Fault, "sealed", what, fix);
        }
        Trouble::NotConnected | Trouble::Away | Trouble::Gone => {
            let what = format!(
                "{name} of {host} accepts a connection but sends nothing: its program hangs, or has just ended."
            );
            let fix = format!("start the program again that sends {name}; then: schwann doctor");
            return add(findings, Weight::Fault, "no-answer", what, fix);
        }
        // Twins have a finding of their own for all of them, and a clock that does not answer as well.
        _ => return,
    };
    let Some(why) = trouble.explained() else { return };
    add(findings, weight, code, format!("{name} of {host} {why}."), fix);
}

/// Streams that are there and that no search finds.
pub(super) fn unseen(facts: &Facts, findings: &mut Vec<Finding>) {
    for unseen in facts.unseen.iter().filter(|unseen| !is_told_of_host(unseen, facts)) {
        let fix = "schwann keys status    # here and there; compare the lines lab and in force";
        add(findings, Weight::Fault, "hidden", format!("{}.", printable(&unseen.to_string())), fix);
    }
    if facts.unvisited > 0 {
        let what = format!("{} more streams were found, and not looked at.", facts.unvisited);
        add(findings, Weight::Warning, "too-many", what, "schwann    # shows them all");
    }
}

/// No stream at all is seen, and no fault says why.
pub(super) fn none(facts: &Facts, findings: &mut Vec<Finding>) {
    let is_explained = findings.iter().any(|finding| finding.weight == Weight::Fault);
    if facts.stream_count() > 0 || is_explained {
        return;
    }
    // What need do no harm is the cause here.
    if let Some(cause) = findings.iter_mut().find(|finding| matches!(finding.code, "container" | "wsl")) {
        cause.weight = Weight::Fault;
        return;
    }
    // A computer with a hub may be there for streams of other sites alone.
    let weight = if facts.config.raw("relay", "hub").is_some() { Weight::Warning } else { Weight::Fault };
    let what = "No stream is seen in this network, and nothing on this computer explains it: none is sent, or the computer that \
                sends does not answer.";
    let fix =
        "schwann doctor HOST    # the computer that sends; one of another lab answers only if it is named";
    add(findings, weight, "no-stream", what.to_owned(), fix);
}

fn duplicates(facts: &Facts, findings: &mut Vec<Finding>) {
    let key = |stream: &Stream| {
        let info = &stream.info;
        [info.name(), info.stream_type(), info.source_id()].map(|text| text.to_string())
    };
    let mut keys: Vec<_> = facts.streams.iter().filter(|stream| stream.has_twin).map(key).collect();
    keys.sort_unstable();
    for group in keys.chunk_by(|one, other| one == other).filter(|group| group.len() > 1) {
        let ([name, _, source], count) = (&group[0], group.len());
        add(
            findings,
            Weight::Fault,
            "duplicate-source",
            format!(
                "{count} streams are called {name} and have the source id {source:?}, so a receiver cannot find its own again."
            ),
            format!("give each sender a source id of its own instead of {source:?}"),
        );
    }
}

fn names(facts: &Facts, is_meant: impl Fn(&Stream) -> bool) -> String {
    let mut names: Vec<_> = facts
        .streams
        .iter()
        .filter(|stream| is_meant(stream))
        .map(|stream| stream.info.name().to_string())
        .collect();
    names.sort_unstable();
    match &names[..] {
        [one] => one.clone(),
        [one, more @ ..] => format!("{one} (and {} more)", more.len()),
        [] => String::new(),
    }
}

/// Round trips beyond this make stamps less exact than one sample of most recordings.
const SLOW_SECONDS: f64 = 0.02;
