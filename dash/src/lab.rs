//! All streams of the lab: finds them, has each one followed, and knows which row each belongs to.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use schwann::{
    Context, StreamInfo,
    resolver::{ContinuousResolver, FORGET_AFTER, ResolveError},
};

use super::{
    follow::Seats, history::Room, marker::Markers, monitor::Monitor, pen::Pen, reading::Health,
    recording::Desk,
};

/// The streams that were seen since the start.
#[derive(Debug)]
pub(super) struct Lab {
    inside: Arc<Inside>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Inside {
    context: Arc<Context>,
    /// The same in the session of what the dashboard sends and records.
    home: Arc<Context>,
    rows: Mutex<Rows>,
    markers: Arc<Markers>,
    pen: Pen,
    desk: Arc<Desk>,
    seats: Seats,
    /// What all rows remember with.
    room: Arc<Room>,
    stopping: AtomicBool,
}

#[derive(Debug, Default)]
struct Rows {
    monitors: Vec<Arc<Monitor>>,
    next_id: u32,
}

impl Lab {
    /// Begins to look for streams of some sessions; none means the session of the configuration. The first is that of
    /// what the dashboard sends and records. Recordings go into a folder.
    ///
    /// - Errors: [`ResolveError`] if the system refuses a thread.
    pub(super) fn open(
        context: &Arc<Context>,
        sessions: &[String],
        recordings: &Path,
    ) -> Result<Self, ResolveError> {
        let resolver = match sessions {
            [] => ContinuousResolver::all(Arc::clone(context), FORGET_AFTER)?,
            sessions => ContinuousResolver::new(Arc::clone(context), &query(sessions), FORGET_AFTER)?,
        };
        let home = sessions.first().map_or_else(
            || Arc::clone(context),
            |session| Arc::new(context.reconfigured(|config| config.lab.session_id.clone_from(session))),
        );
        let inside = Arc::new(Inside {
            context: Arc::clone(context),
            rows: Mutex::default(),
            markers: Arc::default(),
            pen: Pen::new(Arc::clone(&home), source()),
            desk: Arc::new(Desk::new(Arc::clone(&home), recordings.to_owned())),
            home,
            seats: Seats::default(),
            room: Arc::default(),
            stopping: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&inside);
        let run = move || for_thread.run(&resolver);
        let thread = thread::Builder::new().name("dash-lab".to_owned()).spawn(run);
        let thread = thread.map_err(|error| ResolveError::System(error.kind()))?;
        Ok(Self { inside, thread: Some(thread) })
    }

    /// The streams in the order in which they were found.
    pub(super) fn rows(&self) -> Vec<Arc<Monitor>> {
        self.inside.lock().monitors.clone()
    }

    /// The stream of a row.
    pub(super) fn row(&self, id: u32) -> Option<Arc<Monitor>> {
        self.inside.lock().monitors.iter().find(|monitor| monitor.id == id).cloned()
    }

    /// Forgets streams that have stopped. A sender that comes back gets a new row.
    pub(super) fn dismiss(&self, ids: &[u32]) {
        let is_over = |row: &Arc<Monitor>| ids.contains(&row.id) && row.health() == Health::Stopped;
        let over: Vec<_> = self.inside.lock().monitors.extract_if(.., |row| is_over(row)).collect();
        over.iter().for_each(|row| row.stop());
    }

    /// What writes markers of the dashboard's own.
    pub(super) fn pen(&self) -> &Pen {
        &self.inside.pen
    }

    /// The recorder.
    pub(super) fn desk(&self) -> &Arc<Desk> {
        &self.inside.desk
    }

    /// Where pages' streams are sent.
    pub(super) fn home(&self) -> &Arc<Context> {
        &self.inside.home
    }

    /// What happened, from all marker streams.
    pub(super) fn markers(&self) -> &Markers {
        &self.inside.markers
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.inside.stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        self.inside.lock().monitors.drain(..).for_each(|monitor| monitor.stop());
    }
}

impl Inside {
    fn run(&self, resolver: &ContinuousResolver) {
        // Also those that a row had before: a search remembers a stream for a while after its successor has come.
        let mut seen: Vec<String> = Vec::new();
        while !self.stopping.load(Ordering::Relaxed) {
            let found: Vec<_> = resolver
                .results()
                .into_iter()
                .map(|info| (info.uid().to_string_lossy().into_owned(), info))
                .collect();
            let rows: Vec<_> = self.lock().monitors.iter().map(Row::new).collect();
            seen.retain(|uid| is_found(&found, uid));
            seen.extend(rows.iter().map(|row| row.uid.clone()));
            seen.sort_unstable();
            seen.dedup();
            for row in &rows {
                if is_found(&found, &row.uid) {
                    row.monitor.note_found();
                } else if row.monitor.is_forsaken() {
                    row.monitor.stop();
                }
            }
            for (uid, info) in &found {
                match place(uid, info, &rows, &seen, &found) {
                    RowMatch::New => self.add(info),
                    // One that cannot be received, such as one of a later protocol, is tried again.
                    RowMatch::Row(row) if self.may_follow(row, &rows) => {
                        let _tried_again = row.follow(info, &self.context, &self.seats);
                    }
                    RowMatch::Row(_) | RowMatch::Known => {}
                }
            }
            self.pen.tick();
            thread::sleep(LOOK);
        }
    }

    /// Whether a row may be followed once more: streams that have answered before do not wait for made-up ones.
    fn may_follow(&self, row: &Monitor, rows: &[Row]) -> bool {
        row.unanswered().is_none() || has_seat(rows.iter().map(|row| &row.monitor), &self.seats)
    }

    /// Follows a stream in a row of its own; where there is no room, in that of the one that has been gone longest.
    fn add(&self, info: &StreamInfo) {
        let mut rows = self.lock();
        if !make_room(&mut rows.monitors, &self.seats) {
            return;
        }
        if rows.monitors.len() >= MAX_ROWS {
            let gone = rows.monitors.iter().enumerate().filter_map(|(at, row)| Some((at, row.gone()?)));
            let Some((longest, _)) = gone.max_by(|(_, one), (_, other)| one.total_cmp(other)) else { return };
            rows.monitors.remove(longest);
        }
        let monitor =
            Arc::new(Monitor::new(rows.next_id, info, Arc::clone(&self.markers), Arc::clone(&self.room)));
        // A stream that cannot be received, such as one of a later protocol, is tried again with the next look.
        if monitor.follow(info, &self.context, &self.seats).is_ok() {
            rows.next_id += 1;
            rows.monitors.push(monitor);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one more stream may be followed that has not answered yet. Any computer may announce thousands of streams, and
/// each takes threads and a socket, until it has ended and not only until it was told to.
fn has_seat<'a>(monitors: impl Iterator<Item = &'a Arc<Monitor>>, seats: &Seats) -> bool {
    let answered = monitors.filter(|row| row.is_answered()).count();
    seats.taken().saturating_sub(answered) < UNANSWERED_MOST
}

/// Says whether there is room for one more stream that has not answered yet. If not, the oldest of them gives way once it
/// has had its time.
fn make_room(monitors: &mut Vec<Arc<Monitor>>, seats: &Seats) -> bool {
    let unanswered = monitors.iter().enumerate().filter_map(|(at, row)| Some((at, row.unanswered()?)));
    let unanswered: Vec<_> = unanswered.collect();
    if unanswered.len() < UNANSWERED_MOST && has_seat(monitors.iter(), seats) {
        return true;
    }
    let longest = unanswered.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((at, _)) = longest.filter(|(_, seconds)| *seconds >= GIVES_WAY_SECONDS) else { return false };
    monitors.remove(at).stop();
    has_seat(monitors.iter(), seats)
}

/// A row with what is compared.
struct Row {
    monitor: Arc<Monitor>,
    info: StreamInfo,
    uid: String,
}

impl Row {
    fn new(monitor: &Arc<Monitor>) -> Self {
        let info = monitor.info();
        Self { monitor: Arc::clone(monitor), uid: info.uid().to_string_lossy().into_owned(), info }
    }

    /// Whether its sender is likely to have ended.
    fn is_vacant(&self, found: &[(String, StreamInfo)]) -> bool {
        match self.monitor.health() {
            Health::Stopped => true,
            Health::Silent => !is_found(found, &self.uid),
            Health::Connecting | Health::Live => false,
        }
    }
}

/// Where a stream that was found belongs.
enum RowMatch<'a> {
    New,
    /// It is the stream of this row, back or tried once more.
    Row(&'a Arc<Monitor>),
    /// It is followed already, or was until it ended.
    Known,
}

fn place<'a>(
    uid: &str,
    info: &StreamInfo,
    rows: &'a [Row],
    seen: &[String],
    found: &[(String, StreamInfo)],
) -> RowMatch<'a> {
    if let Some(row) = rows.iter().find(|row| row.uid == uid) {
        return if row.monitor.is_due() { RowMatch::Row(&row.monitor) } else { RowMatch::Known };
    }
    if seen.iter().any(|seen| seen == uid) {
        return RowMatch::Known;
    }
    let before = rows.iter().find(|row| is_same(info, &row.info) && row.is_vacant(found));
    before.map_or(RowMatch::New, |row| RowMatch::Row(&row.monitor))
}

fn is_found(found: &[(String, StreamInfo)], uid: &str) -> bool {
    found.iter().any(|(found, _)| found == uid)
}

/// Whether one stream is the other one after a restart.
fn is_same(one: &StreamInfo, other: &StreamInfo) -> bool {
    let key = |info: &StreamInfo| {
        let texts = [info.name(), info.stream_type(), info.source_id(), info.hostname()];
        let rate = info.nominal_rate().to_bits();
        (
            texts.map(|text| text.to_string_lossy().into_owned()),
            info.channel_count(),
            info.channel_format(),
            rate,
        )
    };
    key(one) == key(other)
}

/// What tells the markers of this dashboard from those of others.
fn source() -> String {
    format!("schwann-dash-{}", std::process::id())
}

/// Sessions are matched by XPath, which has no escape for quotes; names with both kinds match nothing.
fn query(sessions: &[String]) -> String {
    let terms = sessions.iter().map(|session| {
        let quote = if session.contains('\'') { '"' } else { '\'' };
        format!("session_id={quote}{}{quote}", session.replace(quote, ""))
    });
    terms.collect::<Vec<_>>().join(" or ")
}

const LOOK: Duration = Duration::from_millis(200);
/// Streams of a lab answer within some milliseconds.
const GIVES_WAY_SECONDS: f64 = 2.0;
/// Rows at most.
const MAX_ROWS: usize = 200;
/// Streams that are followed and have not answered yet, with those that are ending.
const UNANSWERED_MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_become_a_query() {
        let sessions = ["default".to_owned(), "it's".to_owned()];
        assert_eq!(query(&sessions), "session_id='default' or session_id=\"it's\"");
    }
}
