//! `schwann` without a command: is everything there, and is it good right now?

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use schwann::inlet::Protection;
use schwann::resolver::{ContinuousResolver, FORGET_AFTER, ResolveError};
use schwann::security::{self, Explained};
use schwann::{Context, Error};
use schwann_recorder::{
    Elsewhere, Hidden, Limits, Probes, Reach, StreamState, Trouble, Unseen, Verdict, twins,
};
use serde_json::{Value, json};

use crate::exit::{Exit, Outcome, Problem};
use crate::hubs::{Hubs, Named};
use crate::lab;
use crate::stop;
use crate::table::{Align, Cell, Column, Table};
use crate::terminal::{Destination, Look, Palette, Screen, plural, printable, short_time, thousands};

/// How to look at the lab.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Look once, for two seconds at most, and end; 1 if there is no stream or one is not well.
    #[arg(long)]
    once: bool,
    /// Print JSON for scripts, once.
    #[arg(long)]
    json: bool,
    /// What streams may do: usual, eeg, markers, or a TOML file with a table [limits].
    #[arg(long, value_name = "PROFILE", default_value = "usual")]
    limits: Limits,
    #[command(flatten)]
    hubs: Named,
}

/// Shows every stream there is.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut screen = Screen::new(io::stdout());
    let again = screen.destination() == Destination::Terminal && !arguments.once && !arguments.json;
    let stop = stop::on_signals()?;
    let config = lab::config();
    lab::renew_in_background(&config);
    let mut lab = Lab::open(config, arguments)?;
    let palette = Palette::of(screen.destination());
    loop {
        lab.update();
        let states = lab.states();
        if again {
            screen.paint(&lab.page(&states, palette, screen.width()))?;
        } else if lab.is_complete(&states) || stop.is_raised() {
            if arguments.json {
                writeln!(io::stdout(), "{:#}", lab.json(&states))?;
            } else {
                screen.paint(&lab.page(&states, palette, screen.width()))?;
            }
            let is_calm = states.iter().all(|judged| judged.verdict.is_calm());
            let is_there = !states.is_empty() || !lab.hubs.rows().is_empty();
            let well = is_there && is_calm && lab.probes.waiting() == 0 && lab.hubs.troubles() == 0;
            return Ok(if well { Exit::Good } else { Exit::Found });
        }
        if stop.wait(PAINT_EVERY) && again {
            return Ok(Exit::Good);
        }
    }
}

/// The streams of the lab.
struct Lab {
    config: Arc<Context>,
    resolver: ContinuousResolver,
    opened: Instant,
    limits: Limits,
    probes: Probes,
    hidden: Hidden,
    problems: Vec<String>,
    hubs: Hubs,
}

impl Lab {
    fn open(config: Arc<Context>, arguments: &Arguments) -> Result<Self, Problem> {
        let resolver =
            ContinuousResolver::all(Arc::clone(&config), FORGET_AFTER).map_err(|error| match error {
                ResolveError::Unsealed => Problem::with("search", security::reason()),
                error => Problem::with("search", error),
            })?;
        Ok(Self {
            hidden: Hidden::look(Arc::clone(&config)),
            probes: Probes::new(Arc::clone(&config)),
            hubs: Hubs::open(&config, &arguments.hubs),
            config,
            resolver,
            opened: Instant::now(),
            limits: arguments.limits,
            problems: Vec::new(),
        })
    }

    /// Takes in what was found, and lets go of what has been away for long.
    fn update(&mut self) {
        self.hubs.update();
        let found = self.resolver.results();
        found.iter().for_each(|info| self.hidden.note_found(info));
        for (info, error) in self.probes.update(&found) {
            let problem = match error {
                Error::Unsealed => format!("{}: {}", info.name(), security::reason()),
                error => format!("{}: {error}", info.name()),
            };
            if !self.problems.contains(&problem) && self.problems.len() < PROBLEMS_MOST {
                self.problems.push(problem);
            }
        }
    }

    /// The state of every stream, by name, and what it means.
    fn states(&self) -> Vec<Judged> {
        let states = self.probes.states();
        let is_there = |state: &&StreamState| state.reach == Reach::Connected;
        let there = states.iter().filter(is_there).map(|state| &state.info);
        let mut are_twins = twins(there).into_iter();
        let has_twin: Vec<_> =
            states.iter().map(|state| is_there(&state) && are_twins.next().unwrap_or_default()).collect();
        let judged = states.into_iter().zip(has_twin).map(|(state, has_twin)| {
            let troubles = state.troubles(has_twin, &self.limits);
            let verdict = state.verdict_by(has_twin, &self.limits);
            Judged { state, verdict, troubles }
        });
        judged.collect()
    }

    /// Whether all there is to know is known, or it is time to say what is known.
    fn is_complete(&self, states: &[Judged]) -> bool {
        if !self.hubs.is_complete() {
            return false;
        }
        let elapsed = self.opened.elapsed();
        let is_known = |Judged { state, verdict, .. }: &Judged| {
            let is_judged = !matches!(verdict, Verdict::Early | Verdict::Waiting);
            state.clock.is_some() && is_judged && state.reach == Reach::Connected
        };
        elapsed >= COMPLETE_AT_LAST
            || (elapsed >= COMPLETE_AT_FIRST
                && self.hidden.has_looked()
                && !states.is_empty()
                && states.iter().all(is_known))
    }

    fn page(&self, states: &[Judged], palette: Palette, room: Option<usize>) -> String {
        let (remote, far_troubles) = (self.hubs.rows(), self.hubs.troubles());
        let count = states.len() + remote.len();
        let troubled =
            states.iter().filter(|judged| judged.verdict.trouble().is_some()).count() + far_troubles;
        let early = states.iter().filter(|judged| judged.verdict == Verdict::Early).count();
        let verdict = match (count, troubled) {
            (0, 0) if self.opened.elapsed() < COMPLETE_AT_LAST => {
                palette.paint(Look::Faint, "looking for streams".to_owned())
            }
            (0, 0) => palette.paint(Look::Warning, "NO STREAM; why: schwann doctor".to_owned()),
            (0, _) => palette.paint(Look::Wrong, "NO STREAM, and a hub is NOT WELL".to_owned()),
            (_, 0) if self.probes.waiting() > 0 => {
                palette.paint(Look::Wrong, "MORE STREAMS than can be looked at".to_owned())
            }
            (all, 0) if early > 0 => {
                palette.paint(Look::Faint, format!("{}, looking at {early}", plural(all, "stream")))
            }
            (1, 0) => palette.paint(Look::Good, "1 stream, well".to_owned()),
            (all, 0) => palette.paint(Look::Good, format!("{}, all well", plural(all, "stream"))),
            (all, n) => palette.paint(Look::Wrong, format!("{}, {n} NOT WELL", plural(all, "stream"))),
        };
        let hidden = self.hidden.unseen();
        let unseen = match hidden.len() {
            0 => String::new(),
            count => palette.paint(Look::Warning, format!(", {count} NOT SEEN")).to_string(),
        };
        let mut out = format!(
            "{}  {verdict}{unseen}  {}\n",
            palette.paint(Look::Strong, "schwann"),
            palette.paint(
                Look::Faint,
                format!(
                    "session {}; encryption {}",
                    self.config.lab.session_id,
                    security::summary(&self.config.trust())
                )
            ),
        );
        if count > 0 || !hidden.is_empty() {
            let mut table = Table::new(&COLUMNS);
            for Judged { state, verdict, .. } in states {
                table.push(row(state, *verdict));
            }
            remote.into_iter().for_each(|row| table.push(row));
            hidden.iter().for_each(|unseen| table.push(hidden_row(unseen)));
            out.push('\n');
            out.push_str(&table.text(palette, room));
        }
        for Judged { state, troubles, .. } in states {
            for why in troubles.iter().filter_map(|trouble| trouble.explained()) {
                let (name, host) = (state.info.name(), state.info.hostname());
                out.push_str(&format!("  {} of {} {why}\n", name, host));
            }
        }
        for (state, refusal) in states.iter().filter_map(|one| Some((&one.state, one.state.refusal?))) {
            let name = state.info.name();
            out.push_str(&format!("  {name} of {}: {}\n", state.info.hostname(), Explained(refusal)));
        }
        let admitted = states
            .iter()
            .filter_map(|one| lab::admitted(&self.config, &one.state.info, one.state.protection));
        admitted.for_each(|text| out.push_str(&format!("  {}\n", printable(&text))));
        for unseen in &hidden {
            out.push_str(&format!("  {}\n", printable(&unseen.to_string())));
        }
        // A machine of the lab that waits for a new device is found like a stream, and is none.
        let is_stream = |one: &Elsewhere| one.session_id != super::keys::wire::SESSION;
        for stream in self.hidden.elsewhere().into_iter().filter(is_stream) {
            out.push_str(&format!("  {}\n", printable(&self.how_to_see(&stream))));
        }
        self.hubs.lines().iter().for_each(|line| out.push_str(&format!("  {}\n", printable(line))));
        if self.probes.waiting() > 0 {
            out.push_str(&format!(
                "  {} more are announced and not looked at: too many do not answer, and may be made up\n",
                self.probes.waiting()
            ));
        }
        for problem in &self.problems {
            out.push_str(&format!("  {}\n", printable(problem)));
        }
        out
    }

    /// Why a stream of another session is not seen, and what to change.
    fn how_to_see(&self, stream: &Elsewhere) -> String {
        let Elsewhere { name, hostname, session_id } = stream;
        format!(
            "{name} of {hostname} is in the session {session_id:?}, and this computer looks in {:?}; to see it: \
             SessionID={session_id} in the section [lab] of {}",
            self.config.lab.session_id,
            lab::config_path()
        )
    }

    fn json(&self, states: &[Judged]) -> Value {
        json!({
            "session": self.config.lab.session_id,
            "seconds": self.opened.elapsed().as_secs_f64(),
            "streams": states.iter().map(|judged| state_json(judged, &self.limits)).collect::<Vec<_>>(),
            "refused": self.hidden.unseen().iter().map(|unseen| json!({
                "name": unseen.name,
                "address": unseen.address,
                "refusal": unseen.reason,
            })).collect::<Vec<_>>(),
            "not_looked_at": self.probes.waiting(),
            "problems": self.problems,
            "remote": self.hubs.json(),
        })
    }
}

/// The state of a stream, and what it means.
struct Judged {
    state: StreamState,
    verdict: Verdict,
    /// All that is wrong with it.
    troubles: Vec<Trouble>,
}

fn row(state: &StreamState, verdict: Verdict) -> Vec<Cell> {
    let (info, reading) = (&state.info, &state.reading);
    let text = |text: &schwann_proto::wire::xml::Text| Cell::from(text.to_string_lossy());
    let rate = match (reading.rate, info.nominal_rate()) {
        (None, 0.0) => "irregular".to_owned(),
        (None, nominal) => format!("? of {nominal} Hz"),
        (Some(rate), 0.0) => format!("{rate:.1} Hz, irregular"),
        (Some(rate), nominal) => format!("{rate:.2} of {nominal} Hz"),
    };
    let gaps = match reading.gap_count {
        0 => Cell::from(if info.nominal_rate() == 0.0 { "-" } else { "none" }),
        count => Cell::looking(Look::Wrong, format!("{count} ({})", thousands(reading.missing))),
    };
    // The error of an offset is half of the round trip at most.
    let clock = state.clock.map_or_else(
        || "-".to_owned(),
        |clock| format!("{} ± {}", short_time(clock.offset), short_time(clock.uncertainty / 2.0)),
    );
    let protection = match (state.refusal, state.protection, &state.peer) {
        (Some(_), _, _) => Cell::looking(Look::Wrong, "refused"),
        (None, Some(Protection::Sealed), Some(peer)) => {
            Cell::looking(Look::Good, format!("sealed, {}", peer.statement.name.as_str()))
        }
        (None, Some(Protection::Sealed), None) => Cell::looking(Look::Good, "sealed"),
        (None, Some(Protection::Plain), _) => Cell::from("plain"),
        (None, None, _) => Cell::from("-"),
    };
    let look = match verdict {
        Verdict::Well => Look::Good,
        Verdict::Waiting | Verdict::Early => Look::Faint,
        Verdict::Trouble(_) => Look::Wrong,
    };
    let state = Cell::looking(look, verdict.to_string());
    vec![
        text(info.name()),
        state,
        text(info.stream_type()),
        format!("{} x {}", info.channel_count(), info.channel_format().name()).into(),
        rate.into(),
        text(info.hostname()),
        reading.lag_p50.map_or_else(|| "-".to_owned(), short_time).into(),
        gaps,
        clock.into(),
        protection,
    ]
}

/// An outlet that refuses this computer; nothing else is known of it.
fn hidden_row(unseen: &Unseen) -> Vec<Cell> {
    let mut row = vec![
        Cell::from(unseen.name.as_ref().unwrap_or(&unseen.address).as_str()),
        Cell::looking(Look::Wrong, "REFUSED"),
    ];
    row.extend((2..COLUMNS.len() - 1).map(|_| Cell::from("-")));
    row.push(Cell::looking(Look::Wrong, "refused"));
    row
}

fn state_json(judged: &Judged, limits: &Limits) -> Value {
    let Judged { state, verdict, troubles } = judged;
    let (info, reading) = (&state.info, &state.reading);
    json!({
        "name": info.name().to_string_lossy(),
        "type": info.stream_type().to_string_lossy(),
        "source_id": info.source_id().to_string_lossy(),
        "uid": info.uid().to_string_lossy(),
        "hostname": info.hostname().to_string_lossy(),
        "channel_count": info.channel_count(),
        "channel_format": info.channel_format().name(),
        "nominal_rate": info.nominal_rate(),
        "rate": reading.rate,
        "sample_count": reading.sample_count,
        "lag_p50": reading.lag_p50,
        "lag_p99": reading.lag_p99,
        "gap_count": reading.gap_count,
        "missing": reading.missing,
        "clock_offset": state.clock.map(|clock| clock.offset),
        "clock_uncertainty": state.clock.map(|clock| clock.uncertainty / 2.0),
        "sealed": state.protection.map(|protection| protection == Protection::Sealed),
        "sender": state.peer.map(|peer| json!({
            "name": peer.statement.name.as_str(),
            "key": peer.statement.device.fingerprint().to_string(),
            "serial": peer.statement.serial,
        })),
        "refusal": state.refusal.map(|refusal| Explained(refusal).to_string()),
        "connection_breaks": state.breaks,
        "verdict": verdict.word(),
        "trouble": verdict.trouble().map(|trouble| trouble.to_string()),
        "explanation": verdict.trouble().and_then(Trouble::explained),
        "troubles": troubles.iter().map(|trouble| trouble_json(*trouble, limits)).collect::<Vec<_>>(),
    })
}

/// One trouble of a stream for scripts.
fn trouble_json(trouble: Trouble, limits: &Limits) -> Value {
    let mark = trouble.mark(limits);
    json!({
        "code": trouble.code(),
        "says": trouble.to_string(),
        "explanation": trouble.explained(),
        "number": mark.map(|mark| mark.number),
        "limit": mark.map(|mark| mark.limit),
        "unit": mark.map(|mark| mark.unit),
    })
}

const COLUMNS: [Column; 10] = [
    ("stream", Align::Left, 0),
    ("is", Align::Left, 0),
    ("type", Align::Left, 7),
    ("channels", Align::Left, 5),
    ("rate", Align::Right, 1),
    ("host", Align::Left, 8),
    ("lag", Align::Right, 3),
    ("gaps", Align::Right, 2),
    ("clock offset", Align::Right, 6),
    ("travels", Align::Left, 4),
];
const PAINT_EVERY: Duration = Duration::from_millis(100);
/// Streams answer a search within this time, unless the network is very slow.
const COMPLETE_AT_FIRST: Duration = Duration::from_millis(1200);
const COMPLETE_AT_LAST: Duration = Duration::from_millis(1900);
/// How many unexamined streams are reported one by one.
const PROBLEMS_MOST: usize = 20;
