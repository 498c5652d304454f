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
        let posts = Posts { queue: posts, number: 0, skipped: 0 };
        let watch = move || watch(&lab, posts, &for_watcher);
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

/// The way to the thread that posts.
#[derive(Debug)]
struct Posts {
    queue: SyncSender<Value>,
    /// Of the last one.
    number: u64,
    /// How many had no place since the last one that had.
    skipped: u64,
}

impl Posts {
    /// Gives one its number and the count of those skipped before it, and passes it on if there is a place.
    fn pass(&mut self, post: impl FnOnce(u64, u64) -> Value) {
        self.number += 1;
        let post = post(self.number, self.skipped);
        self.skipped = if self.queue.try_send(post).is_ok() { 0 } else { self.skipped + 1 };
    }
}

fn watch(lab: &Lab, mut posts: Posts, end: &End) {
    let mut streams: HashMap<u32, Seen> = HashMap::new();
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
                posts.pass(|number, skipped| post(row, is_lost, number, skipped));
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
        if !deliver(poster, &post, |pause| end.sleep(pause)) {
            return;
        }
    }
}

/// Posts until it has worked, or too many tries have failed; says whether to go on with the next one.
///
/// - `sleep` says whether it is over.
fn deliver(poster: &mut Poster, post: &Value, mut sleep: impl FnMut(Duration) -> bool) -> bool {
    let body = post.to_string();
    let mut pause = FIRST_PAUSE;
    for number in 1..=TRIES {
        if poster.post(&body) == Posted::Done {
            return true;
        }
        if number < TRIES && sleep(pause) {
            return false;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    poster.give_up(&post["number"]);
    true
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);
/// So many looks in a row decide.
const LOOKS: u32 = 2;
/// Of one post, within about seven minutes.
const TRIES: u32 = 12;
/// Posts that wait for a receiver.
const WAITING_MOST: usize = 256;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_stream_is_lost_once_and_back_once() {
        let mut seen = Seen::default();
        let looks = [false, true, false, true, true, true, false, false, false];
        let changes: Vec<bool> = looks.into_iter().map(|is_lost| seen.look(is_lost)).collect();
        assert_eq!(changes, [false, false, false, false, true, false, false, true, false]);
    }

    #[test]
    fn a_post_that_no_receiver_takes_is_given_up() {
        // A port that was just given back has no listener.
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        let hook = WebHook { url: format!("http://{port}/"), authority: None };
        let mut poster = Poster::new(&hook).expect("an address");
        let mut pauses = Vec::new();
        let mut sleep = |pause: Duration| {
            pauses.push(pause.as_secs());
            false
        };
        assert!(deliver(&mut poster, &json!({"number": 1}), &mut sleep), "the next one has its turn");
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]);
        assert!(!deliver(&mut poster, &json!({"number": 2}), |_| true), "the end is noticed");
    }

    #[test]
    fn posts_without_a_place_are_counted_in_the_next_one_that_has_one() {
        let (queue, waiting) = sync_channel(2);
        let mut posts = Posts { queue, number: 0, skipped: 0 };
        let mut pass = || posts.pass(|number, skipped| json!([number, skipped]));
        (0..5).for_each(|_| pass());
        assert_eq!(waiting.recv(), Ok(json!([1, 0])));
        pass();
        assert_eq!(waiting.recv(), Ok(json!([2, 0])));
        pass();
        let rest: Vec<Value> = waiting.try_iter().collect();
        assert_eq!(rest, [json!([6, 3]), json!([7, 0])]);
    }
}
