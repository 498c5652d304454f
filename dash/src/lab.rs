//! All streams of the lab: finds them, has each one followed, and knows which row each belongs to.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
mod places;
mod rows;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use schwann::{
    Context, StreamInfo,
    resolver::{ContinuousResolver, FORGET_AFTER, ResolveError},
    security::expires_in_days,
};

use self::{
    places::{Places, Row, RowMatch},
    rows::{FOLLOWED_MOST, Rows},
};
use super::{
    follow::Seats,
    history::Room,
    marker::Markers,
    monitor::{Left, Monitor},
    pen::Pen,
    reading::Health,
    recording::Desk,
    remote::RemoteSource,
};

/// The streams that were seen since the start.
#[derive(Debug)]
pub(super) struct Lab {
    inside: Arc<Inside>,
    remote: Option<RemoteSource>,
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
            desk: Arc::new(Desk::new(Arc::clone(&home), recordings.to_owned(), source())),
            home,
            seats: Seats::default(),
            room: Arc::default(),
            stopping: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&inside);
        let run = move || for_thread.run(&resolver);
        let thread = thread::Builder::new().name("dash-lab".to_owned()).spawn(run);
        let thread = thread.map_err(|error| ResolveError::System(error.kind()))?;
        Ok(Self { inside, remote: None, thread: Some(thread) })
    }

    /// The same with streams of other sites beside it.
    pub(super) fn beside(mut self, remote: Option<RemoteSource>) -> Self {
        self.remote = remote;
        self
    }

    /// What is known of streams of other sites; null if nothing looks at them.
    pub(super) fn remote(&self) -> Option<serde_json::Value> {
        self.remote.as_ref().map(RemoteSource::look)
    }

    /// The streams in the order in which they were found.
    pub(super) fn rows(&self) -> Vec<Arc<Monitor>> {
        self.inside.lock().monitors.clone()
    }

    /// How many streams are there beside the rows, for want of room.
    pub(super) fn unlisted(&self) -> usize {
        self.inside.lock().unlisted
    }

    /// The stream of a row.
    pub(super) fn row(&self, id: u32) -> Option<Arc<Monitor>> {
        self.inside.lock().monitors.iter().find(|monitor| monitor.id == id).cloned()
    }

    /// Follows a stream that is listed alone, in place of one that no page shows if need be.
    pub(super) fn receive(&self, id: u32) {
        let rows = self.inside.lock();
        let Some(row) = rows.monitors.iter().find(|row| row.id == id && row.health() == Health::Listed)
        else {
            return;
        };
        if rows.followed() >= FOLLOWED_MOST {
            let unseen = rows.monitors.iter().rev().find(|row| row.is_followed() && !row.is_seen());
            let Some(unseen) = unseen else { return };
            unseen.rest();
        }
        // One that cannot be received says so in its row.
        row.follow(&row.info(), &self.inside.context, &self.inside.seats);
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

    /// In how many days this device's certificate expires, if that is soon.
    pub(super) fn key_days(&self) -> Option<u64> {
        self.inside.context.trust().ok().and_then(|trust| expires_in_days(&trust))
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
        let mut seen: HashSet<String> = HashSet::new();
        while !self.stopping.load(Ordering::Relaxed) {
            let found: HashMap<String, StreamInfo> = resolver
                .results()
                .into_iter()
                .map(|info| (info.uid().to_string_lossy().into_owned(), info))
                .collect();
            let rows: Vec<_> = self.lock().monitors.iter().map(Row::new).collect();
            seen.retain(|uid| found.contains_key(uid));
            seen.extend(rows.iter().map(|row| row.uid.clone()));
            self.look_after(&rows, &found);
            let without_room = self.place(&Places::new(&rows, &seen, &found), &found);
            self.lock().count_unlisted(without_room, |uid| found.contains_key(uid));
            self.follow_listed(&found);
            self.pen.tick();
            thread::sleep(LOOK * (1 + found.len() as u32 / MANY).min(SLOWEST_LOOK));
        }
    }

    /// Gives each stream that is found its row; returns how many have none, for want of room.
    fn place(&self, places: &Places<'_>, found: &HashMap<String, StreamInfo>) -> usize {
        let mut without_room = 0;
        for (uid, info) in found {
            match places.of(uid, info) {
                // Where one found no room, no other looks for it.
                RowMatch::New => without_room += usize::from(without_room > 0 || !self.list(info)),
                // One that cannot be received, such as one of a later protocol, is tried again.
                RowMatch::Row(row) if self.may_follow(row) => {
                    row.follow(info, &self.context, &self.seats);
                }
                RowMatch::Row(_) | RowMatch::Known => {}
            }
        }
        without_room
    }

    /// Notes who is there still, and lets go of who is not.
    fn look_after(&self, rows: &[Row], found: &HashMap<String, StreamInfo>) {
        for row in rows {
            let monitor = &row.monitor;
            if found.contains_key(&row.uid) {
                monitor.note_found();
            } else if monitor.is_forsaken() {
                monitor.stop();
            } else if monitor.health() == Health::Listed && monitor.leave() == Left::Unknown {
                self.lock().monitors.retain(|other| other.id != monitor.id);
            }
        }
    }

    /// Whether a row may be followed once more: streams that have answered before do not wait for made-up ones.
    fn may_follow(&self, row: &Monitor) -> bool {
        row.has_answered() || self.lock().has_seat(&self.seats)
    }

    /// Gives a stream a row, if need be that of one that has been gone longest; says whether there was one.
    fn list(&self, info: &StreamInfo) -> bool {
        let mut rows = self.lock();
        if !rows.make_room() {
            return false;
        }
        let (id, markers, room) = (rows.next_id, Arc::clone(&self.markers), Arc::clone(&self.room));
        rows.next_id += 1;
        rows.monitors.push(Arc::new(Monitor::new(id, info, markers, room)));
        true
    }

    /// Follows streams that are listed alone, as many as may be: first who has waited longest.
    fn follow_listed(&self, found: &HashMap<String, StreamInfo>) {
        let rows = self.lock();
        for row in rows.waiting() {
            if rows.followed() >= FOLLOWED_MOST || !rows.has_seat(&self.seats) && !rows.give_way(&self.seats)
            {
                return;
            }
            let Some(info) = found.get(&*row.info().uid().to_string_lossy()) else { continue };
            // One that cannot be received is tried again after the others.
            row.follow(info, &self.context, &self.seats);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
/// Above so many streams looks are less frequent.
const MANY: u32 = 500;
/// How much less at most.
const SLOWEST_LOOK: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_become_a_query() {
        let sessions = ["default".to_owned(), "it's".to_owned()];
        assert_eq!(query(&sessions), "session_id='default' or session_id=\"it's\"");
    }
}
