//! Tells another program that a stream is lost or back: a web-hook.
//!
//! One thread looks at the streams and another one posts. So a slow or dead receiver holds up neither streams nor
//! pages. A failed post is tried again for some minutes. If too many wait meanwhile, they are counted and not kept.

use core::time::Duration;
use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use self::poster::Posted;
pub(crate) use self::poster::Poster;
pub use self::poster::{HookError, WebHook};
use super::{lab::Lab, monitor::Monitor, reading::Health};

mod poster;

/// Posts to a program until it is dropped.
#[derive(Debug)]
pub(super) struct Hook {
    end: Arc<End>,
    watcher: Option<JoinHandle<()>>,
}

/// Says that it is over, also to who sleeps.
#[derive(Debug, Default)]
struct End {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Hook {
    /// Begins to tell of the streams of a lab.
    ///
    /// - Errors: the system refuses a thread.
    pub(super) fn start(mut poster: Poster, lab: &Arc<Lab>) -> io::Result<Self> {
        let (posts, waiting) = sync_channel(WAITING_MOST);
        let end = Arc::<End>::default();
        let for_poster = Arc::clone(&end);
        // It may be in the middle of a request when all else ends, which waits for no receiver.
        let post = move || post_all(&mut poster, &waiting, &for_poster);
        let _ = thread::Builder::new().name("dash-hook".to_owned()).spawn(post)?;
        let (lab, for_watcher) = (Arc::clone(lab), Arc::clone(&end));
        let watch = move || watch(&lab, &posts, &for_watcher);
        let watcher = thread::Builder::new().name("dash-watch".to_owned()).spawn(watch)?;
        Ok(Self { end, watcher: Some(watcher) })
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        *self.end.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.changed.notify_all();
        if let Some(watcher) = self.watcher.take() {
            // A panic of the thread was reported when it happened.
            let _ = watcher.join();
        }
    }
}

impl End {
    /// Sleeps; says whether it is over.
    fn sleep(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_over, time, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What a stream was at the last looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    is_lost: bool,
    /// For how many looks it has been otherwise.
    otherwise: u32,
}

impl Seen {
    /// Takes a look; says whether the stream was lost or came back, which a single look does not decide.
    fn look(&mut self, is_lost: bool) -> bool {
        self.otherwise = if is_lost == self.is_lost { 0 } else { self.otherwise + 1 };
        let has_changed = self.otherwise >= LOOKS;
        if has_changed {
            *self = Self { is_lost, otherwise: 0 };
        }
        has_changed
    }
}

fn watch(lab: &Lab, posts: &SyncSender<Value>, end: &End) {
    let mut streams: HashMap<u32, Seen> = HashMap::new();
    let (mut number, mut skipped) = (0_u64, 0_u64);
    while !end.sleep(LOOK) {
        let rows = lab.rows();
        streams.retain(|id, _| rows.iter().any(|row| row.id == *id));
        for row in rows.iter().filter(|row| row.has_answered()) {
            let is_lost = match row.health() {
                Health::Silent | Health::Stopped => true,
                Health::Live => false,
                Health::Connecting | Health::Listed => continue,
            };
            if streams.entry(row.id).or_default().look(is_lost) {
                number += 1;
                let post = post(row, is_lost, number, skipped);
                skipped = if posts.try_send(post).is_ok() { 0 } else { skipped + 1 };
            }
        }
    }
}

fn post(row: &Monitor, is_lost: bool, number: u64, skipped: u64) -> Value {
    let info = row.info();
    let name = info.name().to_string_lossy();
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    json!({
        "event": if is_lost { "lost" } else { "back" },
        "text": if is_lost { format!("{name} is lost.") } else { format!("{name} is back.") },
        "number": number,
        "skipped": skipped,
        "time": time,
        "stream": {
            "name": name,
            "type": info.stream_type().to_string_lossy(),
            "host": info.hostname().to_string_lossy(),
            "source": info.source_id().to_string_lossy(),
        },
    })
}

fn post_all(poster: &mut Poster, waiting: &Receiver<Value>, end: &End) {
    // The watcher's end closes the queue.
    while let Ok(post) = waiting.recv() {
        let body = post.to_string();
        let mut pause = FIRST_PAUSE;
        for _ in 0..TRIES {
            if poster.post(&body) == Posted::Done {
                break;
            }
            if end.sleep(pause) {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);
/// So many looks in a row decide.
const LOOKS: u32 = 2;
/// About eight minutes.
const TRIES: u32 = 12;
/// Posts that wait for a receiver.
const WAITING_MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_lost_once_and_back_once() {
        let mut seen = Seen::default();
        let looks = [false, true, false, true, true, true, false, false, false];
        let changes: Vec<bool> = looks.into_iter().map(|is_lost| seen.look(is_lost)).collect();
        assert_eq!(changes, [false, false, false, false, true, false, false, true, false]);
    }
}
