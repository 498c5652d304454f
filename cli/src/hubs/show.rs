//! What goes through hubs, for people and for scripts.

use std::collections::BTreeMap;

use schwann_hub::{Address, Backlog, ClockBound, Range, Ranges, Remote, RemoteState, RemoteStream};
use schwann_recorder::Trouble;
use serde_json::{Value, json};

use super::{Examined, Hubs, is_wrong};
use crate::cmd::relay::status;
use crate::table::Cell;
use crate::terminal::{Look, plural, rate, short_time};

impl Hubs {
    /// A row for each stream: its cells are those of the list of streams.
    pub(crate) fn rows(&self) -> Vec<Vec<Cell>> {
        let rows = |remote: &Remote| {
            let hub = format!("hub {}", place(remote.address()));
            remote.streams().iter().map(|stream| row(stream, &hub)).collect::<Vec<_>>()
        };
        self.remotes.iter().flat_map(rows).collect()
    }

    /// What is wrong, who has receipted what, and what this computer still has to hand over.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = self.problems.clone();
        for remote in &self.remotes {
            let address = remote.address();
            lines.extend(remote.problem().map(|problem| format!("hub {address}: {problem}")));
            let streams = remote.streams();
            lines.extend(streams.iter().filter_map(receipts));
            lines.extend(streams.iter().filter_map(backlog));
            let stamps = streams.iter().filter(|stream| stream.state == RemoteState::Stamps);
            lines.extend(stamps.filter_map(|stream| trouble(stream, address)).map(|(what, _)| what));
            let locked = streams.iter().filter(|stream| stream.state == RemoteState::NoKey).count();
            if locked > 0 {
                lines.push(format!(
                    "hub {address}: keys of {locked} streams did not come; compare `schwann keys status` at both sites"
                ));
            }
        }
        lines.extend(self.edges.iter().filter_map(edge));
        lines
    }

    /// What is wrong, each with the command that helps.
    pub(super) fn examined(&self) -> Vec<Examined> {
        let configured = |what: &String| Examined {
            is_fault: true,
            what: format!("Streams of other sites are not seen: {what}."),
            fix: String::from("schwann config edit    # relay.hub; keys: schwann keys status"),
        };
        let mut found: Vec<_> = self.problems.iter().map(configured).collect();
        self.remotes.iter().for_each(|remote| examine(remote, &mut found));
        let edges = self.edges.iter().filter(|edge| !status::is_edge_well(edge));
        found.extend(edges.filter_map(edge).map(|what| Examined {
            is_fault: false,
            what: format!("{what}."),
            fix: String::from("schwann relay status"),
        }));
        found
    }

    /// All of it for scripts.
    pub(crate) fn json(&self) -> Value {
        let hub = |remote: &Remote| {
            json!({
                "address": remote.address().to_string(),
                "problem": remote.problem().map(ToString::to_string),
                "streams": remote.streams().iter().map(stream_json).collect::<Vec<_>>(),
            })
        };
        let hubs: Vec<_> = self.remotes.iter().map(hub).collect();
        json!({ "hubs": hubs, "problems": self.problems, "edges": self.edges })
    }
}

/// What is wrong with a hub and the streams that come through it.
fn examine(remote: &Remote, found: &mut Vec<Examined>) {
    let address = remote.address();
    found.extend(remote.problem().map(|problem| Examined {
        is_fault: true,
        what: format!("The hub {address} is not reached, so streams of other sites are not seen: {problem}."),
        fix: String::from("schwann hub up    # on the computer of the hub"),
    }));
    for stream in remote.streams() {
        let wrong = trouble(&stream, address);
        let waits = backlog(&stream).map(|what| (format!("{what}."), BACKLOG_FIX));
        let one = |(what, fix)| Examined { is_fault: false, what, fix: String::from(fix) };
        found.extend(wrong.into_iter().chain(waits).map(one));
    }
}

fn name(stream: &RemoteStream) -> String {
    let named = stream.info.as_ref().map(|info| info.name().to_string_lossy().into_owned());
    named.unwrap_or_else(|| format!("stream {}", stream.stream))
}

/// What is wrong with a stream of another site, and the command that helps. What waits there is said by [`backlog`].
fn trouble(stream: &RemoteStream, address: &Address) -> Option<(String, &'static str)> {
    let name = format!("{} of {}", name(stream), stream.site);
    let send = "schwann relay out    # at that site; here: schwann relay status";
    Some(match stream.state {
        RemoteState::Behind | RemoteState::Early | RemoteState::Well => return None,
        RemoteState::Contradicted => (
            format!(
                "By the wall clocks of both sites, the clock of {name} is not where it was measured: a wall clock is wrong by \
                 more than its time service says."
            ),
            "chronyc tracking    # at both sites; on Windows: w32tm /query /status",
        ),
        RemoteState::Unanswered => (
            format!(
                "Samples of {name} come through the hub {address}, but their sender does not answer: they may be old."
            ),
            send,
        ),
        RemoteState::Revoked => (
            format!(
                "The device of {name} was revoked: nothing more of it is taken, though the hub {address} carries it."
            ),
            "schwann keys issued    # on the lab's computer: which devices are out",
        ),
        RemoteState::Stamps => {
            let said = stream.stamps.map(Trouble::sentence).unwrap_or_default();
            (format!("{name} {said}."), "schwann --once    # at that site: what is wrong with its stamps")
        }
        state => (
            format!("{name} does not come through the hub {address}: {}.", word(state).1.to_lowercase()),
            send,
        ),
    })
}

fn word(state: RemoteState) -> (Look, &'static str) {
    match state {
        RemoteState::Behind => (Look::Wrong, "BACKLOG"),
        RemoteState::Contradicted => (Look::Wrong, "CLOCK"),
        RemoteState::Early => (Look::Faint, "early"),
        RemoteState::NoKey => (Look::Wrong, "NO KEY"),
        RemoteState::Revoked => (Look::Wrong, "REVOKED"),
        RemoteState::Silent => (Look::Wrong, "SILENT"),
        RemoteState::Stamps => (Look::Wrong, "STAMPS"),
        RemoteState::Unanswered => (Look::Wrong, "NO ANSWER"),
        RemoteState::Well => (Look::Good, "well"),
    }
}

/// A hub as the list has room for it.
fn place(address: &Address) -> &str {
    address.url().rsplit("//").next().unwrap_or_default()
}

fn row(stream: &RemoteStream, hub: &str) -> Vec<Cell> {
    let (look, state) = word(stream.state);
    let dash = || Cell::from("-");
    let Some(info) = &stream.info else {
        let mut row = vec![Cell::from(name(stream)), Cell::looking(look, state), dash(), dash(), dash()];
        row.extend([stream.site.as_str().into(), dash(), dash(), dash(), hub.into()]);
        return row;
    };
    let rate = match info.nominal_rate() {
        0.0 => String::from("irregular"),
        nominal => rate(stream.rate, nominal),
    };
    let clock = |clock: &ClockBound| {
        Cell::from(format!("{} ± {}", short_time(clock.offset), short_time(clock.bound)))
    };
    vec![
        name(stream).into(),
        Cell::looking(look, state),
        info.stream_type().to_string_lossy().into(),
        format!("{} x {}", info.channel_count(), info.channel_format().name()).into(),
        rate.into(),
        format!("{} at {}", info.hostname().to_string_lossy(), stream.site).into(),
        stream.lag.map_or_else(dash, |lag| short_time(lag).into()),
        dash(),
        stream.clock.as_ref().map_or_else(dash, clock),
        hub.into(),
    ]
}

/// What a stream's sender still has to hand over to the hub; nothing if that is only what is always on its way.
fn backlog(stream: &RemoteStream) -> Option<String> {
    let backlog = stream.backlog.filter(|backlog| backlog.is_behind())?;
    let name = name(stream);
    Some(format!(
        "{name} of {}: backlog {}; they wait at its site for the hub",
        stream.site,
        status::said(backlog)
    ))
}

/// Who has how much of a stream on disk.
fn receipts(stream: &RemoteStream) -> Option<String> {
    let name = name(stream);
    let newest = stream.newest?;
    let one = |(device, here): (&String, &Ranges)| format!("{device} has {} on disk", share(here, newest));
    let said: Vec<_> = stream.receipts.iter().map(one).collect();
    (!said.is_empty()).then(|| format!("{name} of {}: {}", stream.site, said.join(", ")))
}

/// How much of blocks 0 to `newest` is among these.
fn share(here: &Ranges, newest: u64) -> String {
    match here.missing(Range { first: 0, last: newest }).count() {
        0 => String::from("all of it"),
        missing => format!("all but {}", plural(usize::try_from(missing).unwrap_or(usize::MAX), "block")),
    }
}

/// What is to say of an edge of this computer; nothing if the hub has all of it.
fn edge(edge: &Value) -> Option<String> {
    let name = edge["name"].as_str().unwrap_or_default();
    if !status::is_edge_well(edge) {
        return Some(format!("{name} to the hub: {}", status::edge_trouble(edge)));
    }
    status::is_behind(edge).then(|| format!("{name} to the hub: backlog {}", status::backlog(edge)))
}

/// What a sender still has to hand over; null if it does not answer.
pub(crate) fn backlog_json(backlog: Option<Backlog>) -> Value {
    json!(backlog.map(|backlog| json!({
        "blocks": backlog.blocks,
        "seconds": backlog.seconds,
        "is_behind": backlog.is_behind(),
    })))
}

/// What the wall clocks of both ends say of the offset; null where a time service gives no bound.
pub(crate) fn by_wall_json(clock: ClockBound) -> Value {
    json!(clock.by_wall.map(|(offset, bound)| json!({ "offset": offset, "bound": bound })))
}

/// By device: first and last block of each part that it has on disk.
pub(crate) fn receipts_json(receipts: &BTreeMap<String, Ranges>) -> Value {
    receipts.iter().map(|(device, ranges)| (device.clone(), json!(pairs(ranges)))).collect()
}

/// First and last block of each part.
pub(crate) fn pairs(ranges: &Ranges) -> Vec<[u64; 2]> {
    ranges.as_slice().iter().map(|range| [range.first, range.last]).collect()
}

fn stream_json(stream: &RemoteStream) -> Value {
    let info = stream.info.as_ref();
    json!({
        "name": info.map(|info| info.name().to_string_lossy()),
        "type": info.map(|info| info.stream_type().to_string_lossy()),
        "source_id": info.map(|info| info.source_id().to_string_lossy()),
        "hostname": info.map(|info| info.hostname().to_string_lossy()),
        "channel_count": info.map(schwann::StreamInfo::channel_count),
        "nominal_rate": info.map(schwann::StreamInfo::nominal_rate),
        "site": stream.site,
        "stream": stream.stream.to_string(),
        "state": word(stream.state).1.to_lowercase(),
        "is_wrong": is_wrong(stream),
        "newest_block": stream.newest,
        "rate": stream.rate,
        "lag": stream.lag,
        "backlog": backlog_json(stream.backlog),
        "clock_offset": stream.clock.as_ref().map(|clock| clock.offset),
        "clock_uncertainty": stream.clock.as_ref().map(|clock| clock.bound),
        "clock_by_wall": stream.clock.map(by_wall_json),
        "receipts": receipts_json(&stream.receipts),
    })
}

const BACKLOG_FIX: &str = "schwann relay status    # at that site: why, and how long it takes";

#[cfg(test)]
mod tests {
    use schwann_hub::{Range, Ranges};

    use super::share;

    #[test]
    fn who_has_the_newest_block_alone_does_not_have_all() {
        let share = |parts: &[(u64, u64)]| {
            let ranges = parts.iter().map(|(first, last)| Range { first: *first, last: *last });
            share(&ranges.collect::<Ranges>(), 9)
        };
        assert_eq!(share(&[(0, 9)]), "all of it");
        assert_eq!(share(&[(0, 12)]), "all of it");
        assert_eq!(share(&[(0, 3), (5, 9)]), "all but 1 block");
        assert_eq!(share(&[(7, 9)]), "all but 7 blocks");
        assert_eq!(share(&[(0, 7)]), "all but 2 blocks");
    }
}
