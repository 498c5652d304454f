//! The lab as a person sees it: a verdict in one line, a table of streams, and a line for each thing to know or mend.

use schwann::inlet::Protection;
use schwann::security::{self, Explained};
use schwann_recorder::{Elsewhere, StreamState, Unseen, Verdict};

use super::{COMPLETE_AT_LAST, Judged, Lab, PROBLEMS_MOST};
use crate::lab;
use crate::table::{Align, Cell, Column, Table};
use crate::terminal::{Look, Palette, plural, printable, rate, short_time, thousands};

impl Lab {
    pub(super) fn page(&self, states: &[Judged], palette: Palette, room: Option<usize>) -> String {
        let (remote, hidden) = (self.hubs.rows(), self.hidden.unseen());
        let mut out = self.title(states, remote.len(), hidden.len(), palette);
        if states.len() + remote.len() + hidden.len() > 0 {
            let mut table = Table::new(&COLUMNS);
            for Judged { state, verdict, .. } in states {
                table.push(row(state, *verdict));
            }
            remote.into_iter().for_each(|row| table.push(row));
            hidden.iter().for_each(|unseen| table.push(hidden_row(unseen)));
            out.push('\n');
            out.push_str(&table.text(palette, room));
        }
        for remark in self.remarks(states, &hidden) {
            out.push_str(&format!("  {remark}\n"));
        }
        out
    }

    fn title(&self, states: &[Judged], remote: usize, hidden: usize, palette: Palette) -> String {
        let lacking = |count, how: &str| match count {
            0 => String::new(),
            count => palette.paint(Look::Warning, format!(", {count} {how}")).to_string(),
        };
        let unseen = lacking(hidden, "NOT SEEN") + &lacking(self.problems.len(), "NOT RECEIVED");
        let session = format!(
            "session {}; encryption {}",
            self.config.lab.session_id,
            security::summary(&self.config.trust())
        );
        let (look, verdict) = self.verdict(states, remote);
        format!(
            "{}  {}{unseen}  {}\n",
            palette.paint(Look::Strong, "schwann"),
            palette.paint(look, verdict),
            palette.paint(Look::Faint, session),
        )
    }

    /// How many streams there are, and whether they are well.
    fn verdict(&self, states: &[Judged], remote: usize) -> (Look, String) {
        let troubled = states.iter().filter(|judged| judged.verdict.trouble().is_some()).count();
        let early = states.iter().filter(|judged| judged.verdict == Verdict::Early).count();
        match (states.len() + remote, troubled + self.hubs.troubles()) {
            (0, 0) if self.opened.elapsed() < COMPLETE_AT_LAST => {
                (Look::Faint, "looking for streams".to_owned())
            }
            (0, 0) => (Look::Warning, "NO STREAM; why: schwann doctor".to_owned()),
            (0, _) => (Look::Wrong, "NO STREAM, and a hub is NOT WELL".to_owned()),
            (_, 0) if self.probes.waiting() > 0 => {
                (Look::Wrong, "MORE STREAMS than can be looked at".to_owned())
            }
            (all, 0) if early > 0 => (Look::Faint, format!("{}, looking at {early}", plural(all, "stream"))),
            (1, 0) => (Look::Good, "1 stream, well".to_owned()),
            (all, 0) => (Look::Good, format!("{}, all well", plural(all, "stream"))),
            (all, n) => (Look::Wrong, format!("{}, {n} NOT WELL", plural(all, "stream"))),
        }
    }

    /// What there is to know or to mend, each in a line.
    fn remarks(&self, states: &[Judged], hidden: &[Unseen]) -> Vec<String> {
        let mut remarks = Vec::new();
        for Judged { state, troubles, .. } in states {
            let (name, host) = (state.info.name(), state.info.hostname());
            let whys = troubles.iter().filter_map(|trouble| trouble.explained());
            remarks.extend(whys.map(|why| format!("{name} of {host} {why}")));
        }
        for (state, refusal) in states.iter().filter_map(|one| Some((&one.state, one.state.refusal?))) {
            let (name, host) = (state.info.name(), state.info.hostname());
            remarks.push(format!("{name} of {host}: {}", Explained(refusal)));
        }
        // A machine of the lab that waits for a new device is found like a stream, and is none.
        let is_stream = |one: &Elsewhere| one.session_id != crate::cmd::keys::wire::SESSION;
        let elsewhere = self.hidden.elsewhere().into_iter().filter(is_stream);
        let foreign = states
            .iter()
            .filter_map(|one| lab::admitted(&self.config, &one.state.info, one.state.protection))
            .chain(hidden.iter().map(ToString::to_string))
            .chain(elsewhere.map(|stream| self.how_to_see(&stream)))
            .chain(self.hubs.lines());
        remarks.extend(foreign);
        if self.probes.waiting() > 0 {
            remarks.push(format!(
                "{} more are announced and not looked at: too many do not answer, and may be made up",
                self.probes.waiting()
            ));
        }
        remarks.extend(self.problems.iter().take(PROBLEMS_MOST).cloned());
        // Names are in them.
        remarks.iter().map(|remark| printable(remark).into_owned()).collect()
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
}

fn row(state: &StreamState, verdict: Verdict) -> Vec<Cell> {
    let (info, reading) = (&state.info, &state.reading);
    let text = |text: &schwann_proto::wire::xml::Text| Cell::from(text.to_string_lossy());
    let gaps = match reading.gap_count {
        0 => Cell::from(if info.nominal_rate() == 0.0 { "-" } else { "none" }),
        count => Cell::looking(Look::Wrong, format!("{count} ({})", thousands(reading.missing))),
    };
    // The error of an offset is half of the round trip at most.
    let clock = state.clock.map_or_else(
        || "-".to_owned(),
        |clock| format!("{} ± {}", short_time(clock.offset), short_time(clock.uncertainty / 2.0)),
    );
    vec![
        text(info.name()),
        judged(verdict),
        text(info.stream_type()),
        format!("{} x {}", info.channel_count(), info.channel_format().name()).into(),
        rate(reading.rate, info.nominal_rate()).into(),
        text(info.hostname()),
        reading.lag_p50.map_or_else(|| "-".to_owned(), short_time).into(),
        gaps,
        clock.into(),
        protection(state),
    ]
}

fn judged(verdict: Verdict) -> Cell {
    let look = match verdict {
        Verdict::Well => Look::Good,
        Verdict::Waiting | Verdict::Early => Look::Faint,
        Verdict::Trouble(_) => Look::Wrong,
    };
    Cell::looking(look, verdict.to_string())
}

/// How a stream travels, and from whom.
fn protection(state: &StreamState) -> Cell {
    match (state.refusal, state.protection, &state.peer) {
        (Some(_), _, _) => Cell::looking(Look::Wrong, "refused"),
        (None, Some(Protection::Sealed), Some(peer)) => {
            Cell::looking(Look::Good, format!("sealed, {}", peer.statement.name.as_str()))
        }
        (None, Some(Protection::Sealed), None) => Cell::looking(Look::Good, "sealed"),
        (None, Some(Protection::Plain), _) => Cell::from("plain"),
        (None, None, _) => Cell::from("-"),
    }
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
