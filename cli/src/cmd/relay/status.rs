//! `schwann relay status`: who sends what through a hub, how far behind it is, and who has it on disk.

use core::time::Duration;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use schwann::security::Roles;
use schwann_hub::{
    Access, Address, Backlog, ClockBound, Far, FarRun, News, Problem as HubProblem, Range, Ranges, Wanted,
    read_statuses,
};
use schwann_recorder::{Selector, all_or_any};
use serde_json::{Value, json};

use super::{default_journal, failed, history};
use crate::exit::{Exit, Outcome, Problem};
use crate::hubs::{backlog_json, by_wall_json, receipts_json};
use crate::lab;
use crate::table::{Align, Cell, Column, Table};
use crate::terminal::{Destination, Palette, Shown, plural, printable};

/// Show what goes through a hub: streams, sites, backlog, and who has receipted how far.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
LATEST is the newest block that came while this command listened. It may be old if its sender did not answer. RECEIPTS names each recorder and the last
block on its disk. `without 7` means that seven earlier blocks have no receipt from it. BACKLOG is what the stream's `schwann relay out` still has to hand over to the hub. For
a stream of another site, BACKLOG is empty if less than a second is waiting, and `unknown` if its sender does not answer.

Exit code 1 if the hub is not reached, a backlog does not shrink, or this computer's `schwann relay out` lost samples.")]
pub(super) struct Status {
    /// Which streams: names, types, source ids or conditions; all if there is none.
    #[arg(value_name = "QUERY")]
    queries: Vec<Selector>,
    /// The hub, as `schwann hub up` printed it [default: that of the configuration, `relay.hub`].
    #[arg(long, value_name = "URL")]
    hub: Option<Address>,
    /// How long to listen.
    #[arg(long, value_name = "N", default_value_t = 4.0, value_parser = crate::stop::seconds)]
    seconds: f64,
    /// Where this computer's journals are [default: the folder relay/out among the keys].
    #[arg(long, value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Listens, and shows.
pub(super) fn run(arguments: &Status) -> Outcome {
    let config = lab::config();
    let access = Access::of(&config, Roles::SUBSCRIBE).map_err(failed)?;
    let hub = super::hub(arguments.hub.as_ref(), &config)?;
    let far = Far::open(&hub, &access, history(&config)?, Wanted::Live);
    let mut far = far.map_err(|error| Problem::with("relay", error))?;
    let problem = listen(&mut far, arguments);
    let edges = read_statuses(&arguments.journal.clone().unwrap_or_else(default_journal));
    let runs = shown(far.runs().values(), &arguments.queries);
    let is_well = problem.is_none() && edges.iter().all(is_edge_well);
    if arguments.json {
        let streams: Vec<_> = runs.iter().map(|run| to_json(run, &edges)).collect();
        let page = json!({
            "hub": problem.map_or_else(|| String::from("connected"), |why| why.to_string()),
            "streams": streams,
            "edges": edges,
        });
        writeln!(io::stdout().lock(), "{}", Shown(&page))?;
    } else {
        show(&runs, &edges, problem.as_ref())?;
        if runs.is_empty() && problem.is_none() {
            writeln!(io::stdout().lock(), "{}", nothing(&far))?;
        }
    }
    Ok(if is_well { Exit::Good } else { Exit::Found })
}

/// Hears the hub for the time that is asked for; what is wrong with the connection at the end of it.
fn listen(far: &mut Far, arguments: &Status) -> Option<HubProblem> {
    let begun = Instant::now();
    let listen = crate::stop::seconds_or_forever(arguments.seconds);
    let mut problem = Some(HubProblem::Silent(String::from("it has not answered yet")));
    // Over a slow line the hub, and then a key, may come later: nothing is said to be absent before.
    let is_unsure = |far: &Far| {
        let none = shown(far.runs().values(), &arguments.queries).is_empty();
        none && (!far.has_read() || !far.runs().is_empty())
    };
    while begun.elapsed() < listen
        || (problem.is_none() && is_unsure(far) && begun.elapsed() < listen.saturating_add(LATE))
    {
        for news in far.hear(HEAR) {
            match news {
                News::Connected => problem = None,
                News::Disconnected(why) => problem = Some(why),
                _ => {}
            }
        }
    }
    problem
}

/// The latest run of each stream of a device, if it is wanted: the hub tells of those of 90 days.
fn shown<'a>(runs: impl Iterator<Item = &'a FarRun>, queries: &[Selector]) -> Vec<&'a FarRun> {
    let all: Vec<_> = runs.collect();
    let is_latest = |run: &&FarRun| {
        let mut others =
            all.iter().filter(|one| (one.stream(), one.device()) == (run.stream(), run.device()));
        others.all(|other| other.began() <= run.began())
    };
    all.iter().copied().filter(is_latest).filter(|run| is_shown(run, queries)).collect()
}

/// Whether a run is one of now, and wanted.
fn is_shown(run: &FarRun, queries: &[Selector]) -> bool {
    let Some(info) = run.info() else { return queries.is_empty() && run.newest().is_some() };
    all_or_any(queries, info)
}

fn show(runs: &[&FarRun], edges: &[Value], problem: Option<&HubProblem>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if let Some(problem) = problem {
        writeln!(out, "hub        {problem}")?;
    }
    let palette = Palette::of(Destination::of(&io::stdout()));
    let mut table = Table::new(&COLUMNS);
    runs.iter().for_each(|run| table.push(row(run, edges)));
    write!(out, "{}", table.text(palette, None))?;
    for edge in edges.iter().filter(|edge| !is_edge_well(edge)) {
        let trouble = format!("{}: {}", edge["name"].as_str().unwrap_or_default(), edge_trouble(edge));
        writeln!(out, "{}", printable(&trouble))?;
    }
    Ok(())
}

fn row(run: &FarRun, edges: &[Value]) -> Vec<Cell> {
    let (name, kind) = named(run);
    let receipts: Vec<_> = run.receipts().iter().filter_map(receipted).collect();
    let latest = match run.newest() {
        _ if run.is_revoked() => String::from("revoked"),
        None => String::from("silent"),
        Some(block) if run.goes_on() => block.to_string(),
        Some(block) => format!("{block}, may be old"),
    };
    vec![
        name.into(),
        kind.into(),
        run.device().into(),
        latest.into(),
        edge_of(run, edges).map_or_else(|| far_backlog(run), backlog).into(),
        if receipts.is_empty() { "none".into() } else { receipts.join(", ").into() },
    ]
}

/// Why no stream is shown.
fn nothing(far: &Far) -> &'static str {
    match (far.has_read(), far.runs().is_empty()) {
        (false, _) => "The hub has not told yet what it has; listen longer with --seconds 30.",
        (true, true) => "No stream goes through this hub now; `schwann relay out` at a site sends some.",
        (true, false) => {
            "No stream is wanted and sent now, or the keys have not come; listen longer with --seconds 30."
        }
    }
}

fn named(run: &FarRun) -> (String, String) {
    run.info().map_or_else(
        || (String::from("(no key yet)"), String::new()),
        |info| {
            (info.name().to_string_lossy().into_owned(), info.stream_type().to_string_lossy().into_owned())
        },
    )
}

/// The last block that a device has on disk, and how many before it are not known to be there.
fn receipted((device, here): (&String, &Ranges)) -> Option<String> {
    let last = here.highest()?;
    Some(match here.missing(Range { first: 0, last }).count() {
        0 => format!("{device} {last}"),
        missing => format!("{device} {last} without {missing}"),
    })
}

fn edge_of<'a>(run: &FarRun, edges: &'a [Value]) -> Option<&'a Value> {
    let stream = run.stream().to_string();
    edges.iter().find(|edge| edge["stream"] == stream.as_str())
}

/// What the edge of a run at another site says that it still has to hand over.
fn far_backlog(run: &FarRun) -> String {
    run.backlog().map_or_else(|| String::from("unknown"), said)
}

/// What still has to be handed over, as words; none if that is only what is always on its way.
pub(crate) fn said(backlog: Backlog) -> String {
    if !backlog.is_behind() {
        return String::new();
    }
    let blocks = usize::try_from(backlog.blocks).unwrap_or(usize::MAX);
    format!("{:.1} s in {}", backlog.seconds, plural(blocks, "block"))
}

/// What an edge of this computer still has to hand over, and when it will have.
pub(crate) fn backlog(edge: &Value) -> String {
    let bytes = edge["waiting_bytes"].as_f64().unwrap_or_default();
    let seconds = edge["waiting_seconds"].as_f64().unwrap_or_default();
    let then = match edge["catch_up_seconds"].as_f64() {
        Some(left) if left >= 1.0 => format!(", {left:.0} s to catch up"),
        Some(_) => String::new(),
        None => String::from(", does not shrink"),
    };
    format!("{:.1} MB, {seconds:.1} s{then}", bytes / 1e6)
}

pub(crate) fn is_edge_well(edge: &Value) -> bool {
    edge["is_running"] == true
        && edge["hub"] == "connected"
        && edge["refusal"].is_null()
        && edge["lost"].is_null()
        && unserved(edge) == 0
        && !(edge["catch_up_seconds"].is_null() && is_behind(edge))
}

/// Whether an edge has more to hand over than is always on its way.
pub(crate) fn is_behind(edge: &Value) -> bool {
    edge["is_behind"] == true
}

/// How many members get no keys from it.
fn unserved(edge: &Value) -> u64 {
    edge["unserved_members"].as_u64().unwrap_or_default()
}

/// What is wrong with an edge of this computer.
pub(crate) fn edge_trouble(edge: &Value) -> String {
    if edge["is_running"] != true {
        let blocks = edge["waiting_blocks"].as_u64().unwrap_or_default();
        return format!(
            "`schwann relay out` does not run; {blocks} blocks may wait in its journal: start it again"
        );
    }
    if let Some(lost) = edge["lost"].as_str() {
        return format!("LOST: {lost}");
    }
    if unserved(edge) > 0 {
        return format!("{} members get no keys, because there are too many", unserved(edge));
    }
    let why = edge["refusal"].as_str().or(edge["hub"].as_str().filter(|hub| *hub != "connected"));
    why.map_or_else(|| format!("backlog {}", backlog(edge)), str::to_owned)
}

fn to_json(run: &FarRun, edges: &[Value]) -> Value {
    let (name, kind) = named(run);
    json!({
        "name": name,
        "type": kind,
        "site": run.device(),
        "began": run.began().0,
        "latest_block": run.newest(),
        "sender_answers": run.goes_on(),
        "is_revoked": run.is_revoked(),
        "backlog": backlog_json(run.backlog()),
        "clock": run.clock().map(clock_json),
        "receipts": receipts_json(run.receipts()),
        "edge": edge_of(run, edges),
    })
}

fn clock_json(clock: ClockBound) -> Value {
    json!({
        "offset": clock.offset,
        "bound": clock.bound,
        "by_wall": by_wall_json(clock),
        "is_contradicted": clock.is_contradicted(),
    })
}

const COLUMNS: [Column; 6] = [
    ("STREAM", Align::Left, 0),
    ("TYPE", Align::Left, 3),
    ("SITE", Align::Left, 0),
    ("LATEST", Align::Right, 0),
    ("BACKLOG", Align::Right, 1),
    ("RECEIPTS", Align::Left, 2),
];
/// How much longer it listens while nothing is there and something may come.
const LATE: Duration = Duration::from_secs(15);
const HEAR: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_lost_something_is_not_well() {
        let mut edge = json!({ "is_running": true, "hub": "connected", "refusal": null, "catch_up_seconds": 0.0, "lost": null });
        assert!(is_edge_well(&edge));
        edge["unserved_members"] = json!(3);
        assert!(!is_edge_well(&edge));
        edge["lost"] = json!("3 blocks are damaged on the journal's disk");
        assert!(!is_edge_well(&edge));
        assert_eq!(edge_trouble(&edge), "LOST: 3 blocks are damaged on the journal's disk");
    }
}
