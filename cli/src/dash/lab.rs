//! All streams of the lab: finds them, has each one followed, and knows which row each belongs to.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use schwann::{
    Config, StreamInfo, local_clock,
    resolver::{ContinuousResolver, ResolveError},
};

use super::{
    marker::Markers,
    monitor::{Health, Monitor},
};

/// The streams that were seen since the start.
#[derive(Debug)]
pub(super) struct Lab {
    inside: Arc<Inside>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Inside {
    config: Arc<Config>,
    rows: Mutex<Vec<Arc<Monitor>>>,
    markers: Arc<Markers>,
    stopping: AtomicBool,
}

impl Lab {
    /// Begins to look for streams of some sessions; none means the session of the configuration.
    ///
    /// - Errors: [`ResolveError`] if the system refuses a thread.
    pub(super) fn open(config: &Arc<Config>, sessions: &[String]) -> Result<Self, ResolveError> {
        let resolver = match sessions {
            [] => ContinuousResolver::all(Arc::clone(config), FORGET_AFTER)?,
            sessions => ContinuousResolver::new(Arc::clone(config), &query(sessions), FORGET_AFTER)?,
        };
        let inside = Arc::new(Inside {
            config: Arc::clone(config),
            rows: Mutex::default(),
            markers: Arc::default(),
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
        self.inside.lock().clone()
    }

    /// The stream of a row.
    pub(super) fn row(&self, id: u32) -> Option<Arc<Monitor>> {
        self.inside.lock().iter().find(|monitor| monitor.id == id).cloned()
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
        self.inside.lock().drain(..).for_each(|monitor| monitor.stop());
    }
}

impl Inside {
    fn run(&self, resolver: &ContinuousResolver) {
        let mut waiting: Vec<(String, f64)> = Vec::new();
        // Also those that a row had before: a search remembers a stream for a while after its successor has come.
        let mut seen: Vec<String> = Vec::new();
        while !self.stopping.load(Ordering::Relaxed) {
            let found = resolver.results();
            let known: Vec<_> = self.lock().iter().map(|row| (Arc::clone(row), row.info())).collect();
            let now = local_clock();
            let is_found = |uid: &str| found.iter().any(|info| info.uid().to_string_lossy() == uid);
            waiting.retain(|(uid, _)| is_found(uid));
            seen.retain(|uid| is_found(uid));
            seen.extend(known.iter().map(|(_, info)| info.uid().to_string_lossy().into_owned()));
            seen.sort_unstable();
            seen.dedup();
            for info in found
                .iter()
                .filter(|info| seen.iter().all(|uid| info.uid().to_string_lossy() != uid.as_str()))
            {
                match place(info, &known) {
                    Place::New => self.add(info, None),
                    Place::Replaces(row) => self.add(info, Some(row)),
                    // Its inlet is about to find it; if not, it is a stream of its own.
                    Place::Returns => {
                        let uid = info.uid().to_string_lossy().into_owned();
                        match waiting.iter().find(|(waits, _)| *waits == uid) {
                            None => waiting.push((uid, now)),
                            Some((_, since)) if now - since > RETURN_SECONDS => self.add(info, None),
                            Some(_) => {}
                        }
                    }
                }
            }
            thread::sleep(LOOK);
        }
    }

    /// Follows a stream, in a row of its own or in that of its predecessor.
    fn add(&self, info: &StreamInfo, predecessor: Option<u32>) {
        let count = self.lock().len();
        if predecessor.is_none() && count >= MAX_ROWS {
            return;
        }
        let id = predecessor.unwrap_or(count as u32);
        // A stream that cannot be received, such as one of a later protocol, is tried again with the next look.
        let Ok(monitor) = Monitor::start(id, info, &self.config, &self.markers) else { return };
        let mut rows = self.lock();
        match rows.iter_mut().find(|row| row.id == id) {
            Some(row) => core::mem::replace(row, monitor).stop(),
            None => rows.push(monitor),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Monitor>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a stream that was found, and that no row has, belongs.
enum Place {
    New,
    /// It takes the row of a stream that stopped for good.
    Replaces(u32),
    /// The inlet of a row looks for it.
    Returns,
}

fn place(info: &StreamInfo, known: &[(Arc<Monitor>, StreamInfo)]) -> Place {
    let stopped = known.iter().find(|(row, other)| is_same(info, other) && row.health() == Health::Stopped);
    match stopped {
        None => Place::New,
        Some((row, _)) if info.source_id().is_empty() => Place::Replaces(row.id),
        Some(_) => Place::Returns,
    }
}

/// Whether one stream is the other one after a restart.
fn is_same(one: &StreamInfo, other: &StreamInfo) -> bool {
    let key = |info: &StreamInfo| {
        let texts = [info.name(), info.stream_type(), info.source_id(), info.hostname()];
        (texts.map(|text| text.to_string_lossy().into_owned()), info.channel_count(), info.channel_format())
    };
    key(one) == key(other)
}

/// Sessions are matched by XPath, which has no escape for quotes; names with both kinds match nothing.
fn query(sessions: &[String]) -> String {
    let terms = sessions.iter().map(|session| {
        let quote = if session.contains('\'') { '"' } else { '\'' };
        format!("session_id={quote}{}{quote}", session.replace(quote, ""))
    });
    terms.collect::<Vec<_>>().join(" or ")
}

const FORGET_AFTER: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(200);
/// Streams that are followed at most.
const MAX_ROWS: usize = 200;
const RETURN_SECONDS: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_become_a_query() {
        let sessions = ["default".to_owned(), "it's".to_owned()];
        assert_eq!(query(&sessions), "session_id='default' or session_id=\"it's\"");
    }
}
