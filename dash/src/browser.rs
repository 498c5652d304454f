//! One open page: takes its wishes, sends it the list, the markers and the traces.
//!
//! There is no queue to overflow. An update is made when the connection has room for it. While a slow browser does
//! not read, only this thread waits, and its view drops its oldest columns.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{
    collections::BTreeMap,
    io,
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use schwann::local_clock;
use serde_json::{Value, json};
use tungstenite::{Error, Message};

use super::{
    analysis::{Analyse, channel_quality},
    chores::{Busy, Chore, Chores},
    history::{HISTORY_SECONDS, ROOM_BYTES},
    lab::Lab,
    link::Link,
    list,
    live::{self, Live},
    order::Order,
    outlets::{Description, Outlets, Reason, Samples, check_time},
    role::Role,
    view::View,
    wish::{Request, Wish},
};

/// Serves a page, whose link is of this role, until it is closed or the dashboard ends.
///
/// - Errors: those of the connection.
pub(super) fn attend(
    link: Link,
    rest: Vec<u8>,
    lab: &Lab,
    role: Role,
    stopping: &AtomicBool,
) -> io::Result<()> {
    let mut browser = Browser {
        live: Live::new(link, rest, WISH_LIMIT)?,
        lab,
        role,
        views: BTreeMap::new(),
        outlets: Outlets::default(),
        seen_markers: 0,
        next_list: Instant::now(),
        pulses: 0,
        chores: Chores::new(),
        analyse: None,
        next_analysis: Instant::now(),
        next_quality: Instant::now(),
    };
    live::ended(browser.run(stopping))
}

struct Browser<'a> {
    live: Live,
    lab: &'a Lab,
    /// What its link lets it do.
    role: Role,
    views: BTreeMap<u32, View>,
    outlets: Outlets,
    seen_markers: u64,
    next_list: Instant,
    /// How many times more the list is not sent.
    pulses: usize,
    chores: Chores,
    /// What is computed again and again.
    analyse: Option<Analyse>,
    next_analysis: Instant,
    next_quality: Instant,
}

impl Browser<'_> {
    fn run(&mut self, stopping: &AtomicBool) -> Result<(), Error> {
        self.greet()?;
        while !stopping.load(Ordering::Relaxed) {
            match self.live.hear()? {
                Some(Message::Text(text)) => self.take_request(&text)?,
                Some(Message::Close(_)) => return Ok(()),
                Some(_) | None => {}
            }
            self.send_traces()?;
            self.send_markers()?;
            while let Some(answer) = self.chores.answer() {
                self.send(answer)?;
            }
            if is_due(&mut self.next_list, LIST_INTERVAL) {
                self.send_list()?;
            }
            if is_due(&mut self.next_quality, QUALITY_INTERVAL) {
                self.judge_quality();
            }
            if is_due(&mut self.next_analysis, ANALYSIS_INTERVAL) {
                self.analyse();
            }
        }
        self.live.close()
    }

    fn greet(&mut self) -> Result<(), Error> {
        self.send(json!({
            "type": "hello",
            "version": env!("CARGO_PKG_VERSION"),
            "role": self.role,
            "now": local_clock(),
            "kept_seconds": HISTORY_SECONDS,
            "kept_bytes": ROOM_BYTES,
        }))
    }

    /// Does what the page asks for, or says why not.
    fn take_request(&mut self, text: &str) -> Result<(), Error> {
        let arrival = local_clock();
        let asked: Request = match serde_json::from_str(text) {
            Ok(asked) => asked,
            Err(error) => {
                let reason = format!("This is no message that is known: {error}");
                return self.reply(None, Err(reason), Value::Null);
            }
        };
        if self.role < asked.role() {
            return self.reply(asked.number(), Err(self.role.refusal(asked.role())), Value::Null);
        }
        self.obey(asked, arrival)
    }

    /// Does what this browser may ask for.
    fn obey(&mut self, asked: Request, arrival: f64) -> Result<(), Error> {
        match asked {
            Request::Analyse(analyse) => {
                self.analyse = Some(analyse);
                self.next_analysis = Instant::now();
                Ok(())
            }
            Request::Clock { sent, request } => self.send(clock(request, sent, arrival, local_clock())),
            Request::Show(wish) => self.show(&wish),
            Request::Hide { views } => {
                self.views.retain(|view, _| !views.contains(view));
                Ok(())
            }
            Request::Mark { text, time, request } => self.mark(&text, time.unwrap_or(arrival), request),
            Request::Outlet { description, request } => self.open_outlet(&description, request),
            Request::Receive { streams } => {
                streams.iter().take(MAX_VIEWS).for_each(|&stream| self.lab.receive(stream));
                Ok(())
            }
            Request::Push(samples) => self.push(&samples),
            Request::Record { order, request } => self.begin_order(order, request),
            Request::Close { outlet } => {
                self.outlets.close(outlet);
                Ok(())
            }
            Request::Dismiss { streams } => self.dismiss(&streams),
        }
    }

    fn open_outlet(&mut self, description: &Description, request: Option<u32>) -> Result<(), Error> {
        let opened = self.outlets.open(description, self.lab.home());
        self.reply(request, opened, json!({ "type": "opened", "outlet": description.outlet }))
    }

    fn mark(&mut self, text: &str, time: f64, request: Option<u32>) -> Result<(), Error> {
        let written = check_time(time).and_then(|()| self.lab.pen().write(text, time));
        self.reply(request, written, json!({ "type": "marked", "text": text, "time": time }))
    }

    fn push(&mut self, samples: &Samples) -> Result<(), Error> {
        match self.outlets.push(samples) {
            Ok(()) => Ok(()),
            Err(reason) => self.reply(None, Err(reason), Value::Null),
        }
    }

    fn dismiss(&mut self, streams: &[u32]) -> Result<(), Error> {
        self.lab.dismiss(streams);
        self.pulses = 0;
        self.send_list()
    }

    fn begin_order(&mut self, order: Order, request: Option<u32>) -> Result<(), Error> {
        let desk = Arc::clone(self.lab.desk());
        let obey = move || vec![answer(request, desk.obey(&order), json!({ "type": "recorder" }))];
        let begun = self.chores.begin(Chore::Order, obey);
        begun.or_else(|Busy| self.reply(request, Err(String::from(BUSY)), Value::Null))
    }

    /// Answers a request: by what it asked for, or why there is none.
    fn reply(&mut self, request: Option<u32>, outcome: Result<(), Reason>, done: Value) -> Result<(), Error> {
        self.send(answer(request, outcome, done))
    }

    fn show(&mut self, wish: &Wish) -> Result<(), Error> {
        let mut view = match self.open_view(wish) {
            Ok(view) => view,
            Err(reason) => return self.reply(None, Err(reason), Value::Null),
        };
        let description = view.describe(wish);
        self.views.insert(wish.view, view);
        self.send(description)?;
        self.send_traces()
    }

    fn open_view(&mut self, wish: &Wish) -> Result<View, Reason> {
        let before = self.views.remove(&wish.view);
        if self.views.len() >= MAX_VIEWS {
            return Err(format!("A page shows {MAX_VIEWS} streams at most."));
        }
        let unknown = || format!("There is no stream {}.", wish.stream);
        let monitor = self.lab.row(wish.stream).ok_or_else(unknown)?;
        View::open(wish, monitor, before).ok_or_else(|| String::from(NOT_SHOWN))
    }

    fn send_traces(&mut self) -> Result<(), Error> {
        for view in self.views.values_mut() {
            if let Some(frame) = view.frame() {
                self.live.send(Message::binary(frame))?;
            }
        }
        Ok(())
    }

    fn send_markers(&mut self) -> Result<(), Error> {
        let markers = self.lab.markers().since(&mut self.seen_markers);
        if markers.is_empty() {
            return Ok(());
        }
        self.send(json!({ "type": "markers", "markers": markers }))
    }

    /// Sends the list, or of a long one that all goes on: such a list costs more and changes no faster.
    fn send_list(&mut self) -> Result<(), Error> {
        if self.pulses > 0 {
            self.pulses -= 1;
            return self.send(json!({ "type": "pulse", "now": local_clock() }));
        }
        let rows = list::rows(&self.lab.rows());
        self.pulses = (rows.len() / MANY).min(PULSES_MOST);
        let gaps: Vec<_> = self.views.values().map(|view| list::gaps(&view.monitor)).collect();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        self.send(json!({
            "type": "streams", "now": local_clock(), "wall": wall, "streams": rows, "shown": gaps,
            "recorder": self.lab.desk().status(), "key_days": self.lab.key_days(),
            "remote": self.lab.remote(), "unlisted": self.lab.unlisted(),
        }))
    }

    fn judge_quality(&self) {
        let shown = |(&id, view): (&u32, &View)| {
            (id, Arc::clone(&view.monitor), view.selection.processing.clone(), view.edge())
        };
        let views: Vec<_> = self.views.iter().map(shown).collect();
        let judge = move || {
            let found =
                views.iter().map(|(id, monitor, shown, edge)| channel_quality(monitor, shown, *id, *edge));
            found.collect()
        };
        // What is not done yet is asked for again with the next turn.
        let _ = self.chores.begin(Chore::Quality, judge);
    }

    fn analyse(&self) {
        let Some(analyse) = self.analyse.clone() else { return };
        let Some(view) = self.views.get(&analyse.view) else { return };
        let (monitor, selection, edge) = (Arc::clone(&view.monitor), view.selection.clone(), view.edge());
        let run = move || {
            analyse.run(&monitor, &selection.processing, selection.window(), edge).into_iter().collect()
        };
        // One that is at work still is enough.
        let _ = self.chores.begin(Chore::Analysis, run);
    }

    fn send(&mut self, value: Value) -> Result<(), Error> {
        self.live.send(Message::text(value.to_string()))
    }
}

/// The answer to a request: what it asked for, or why there is none.
pub(super) fn answer(request: Option<u32>, outcome: Result<(), Reason>, done: Value) -> Value {
    let mut answer = match outcome {
        Ok(()) => done,
        Err(reason) => json!({ "type": "refused", "reason": reason }),
    };
    if let (Some(request), Some(fields)) = (request, answer.as_object_mut()) {
        fields.insert("request".to_owned(), request.into());
    }
    answer
}

/// The answer to a question of the clock: when it was `received`, and what time it is `now`, both in seconds on the lab's clock.
pub(super) fn clock(request: Option<u32>, sent: f64, received: f64, now: f64) -> Value {
    answer(request, Ok(()), json!({ "type": "clock", "sent": sent, "received": received, "now": now }))
}

/// Whether something is due; then it is due again after the interval.
fn is_due(next: &mut Instant, interval: Duration) -> bool {
    let now = Instant::now();
    let is_due = now >= *next;
    if is_due {
        *next = now + interval;
    }
    is_due
}

const BUSY: &str = "The recorder has not done yet what it was told before.";
const NOT_SHOWN: &str = "Streams of numbers are shown, in a window of so many seconds.";
const ANALYSIS_INTERVAL: Duration = Duration::from_secs(1);
const LIST_INTERVAL: Duration = Duration::from_millis(250);
/// Above so many streams the list comes less often.
const MANY: usize = 250;
/// Streams that one page shows at a time.
pub(crate) const MAX_VIEWS: usize = 8;
const QUALITY_INTERVAL: Duration = Duration::from_secs(2);
/// Once a second there is a list.
const PULSES_MOST: usize = 3;
/// The longest message of a page, in bytes.
pub(crate) const WISH_LIMIT: usize = 128 << 10;
