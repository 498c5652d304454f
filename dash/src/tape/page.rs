//! One open page that looks at a recording.

use core::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{collections::BTreeMap, io, sync::Arc, time::Instant};

use schwann_xdf::ReadError;
use serde_json::{Value, json};
use tungstenite::{Error, Message};

use super::Tape;
use crate::{
    analysis::{Analyse, channel_quality},
    browser::{MAX_VIEWS, WISH_LIMIT},
    link::Link,
    live::{self, Live},
    monitor::Monitor,
    view::View,
    wish::{Request, Wish},
};

/// Serves a page until it is closed or the dashboard ends.
///
/// - Errors: those of the connection.
pub(crate) fn attend(link: Link, rest: Vec<u8>, tape: &Tape, stopping: &AtomicBool) -> io::Result<()> {
    let live = Live::new(link, rest, WISH_LIMIT)?;
    let (monitors, views) = (tape.monitors(), BTreeMap::new());
    let mut page = Page { live, tape, monitors, views, told: 0, next: Instant::now(), sight: 0.0..0.0 };
    live::ended(page.run(stopping))
}

struct Page<'a> {
    live: Live,
    tape: &'a Tape,
    /// What is known of each stream, with the samples that are in sight.
    monitors: Vec<Arc<Monitor>>,
    views: BTreeMap<u32, View>,
    /// Which version of the verdicts it knows.
    told: u64,
    next: Instant,
    /// The stretch whose events it knows.
    sight: Range<f64>,
}

impl Page<'_> {
    fn run(&mut self, stopping: &AtomicBool) -> Result<(), Error> {
        let span = &self.tape.span;
        self.send(&json!({
            "type": "hello", "version": env!("CARGO_PKG_VERSION"), "role": "look", "now": span.end,
            "kept_seconds": span.end - span.start, "kept_bytes": 0,
            "recording": { "path": self.tape.path.display().to_string(), "from": span.start, "until": span.end },
        }))?;
        while !stopping.load(Ordering::Relaxed) {
            self.tell()?;
            match self.live.hear()? {
                Some(Message::Text(text)) => self.take(&text)?,
                Some(Message::Close(_)) => return Ok(()),
                Some(_) | None => {}
            }
        }
        self.live.close()
    }

    /// Says what is new, and now and then that there is a connection.
    fn tell(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + INTERVAL;
        let version = self.tape.judged.version();
        if version == self.told {
            return self.send(&json!({ "type": "pulse", "now": self.tape.span.end }));
        }
        self.told = version;
        self.send_streams()?;
        let place = |id| self.tape.tracks.iter().position(|track| track.id == id);
        self.send(&self.tape.judged.message(place))
    }

    fn send_streams(&mut self) -> Result<(), Error> {
        let end = self.tape.span.end;
        let shown = self.views.values().filter_map(|view| {
            let track = self.tape.tracks.get(view.monitor.id as usize)?;
            let judged = self.tape.judged.of(track.id)?;
            Some(json!({ "stream": view.monitor.id, "gaps": judged.gaps }))
        });
        let shown: Vec<_> = shown.collect();
        self.send(&json!({
            "type": "streams", "now": end, "wall": self.tape.wall.map(|wall| wall + end),
            "streams": self.tape.rows(&self.monitors), "shown": shown, "key_days": null,
            "recorder": { "folder": "", "recording": null, "ended": null, "remarks": [], "failure": null },
        }))
    }

    fn take(&mut self, text: &str) -> Result<(), Error> {
        match serde_json::from_str(text) {
            Ok(Request::Show(wish)) => self.show(wish),
            Ok(Request::Hide { views }) => {
                self.views.retain(|view, _| !views.contains(view));
                Ok(())
            }
            Ok(Request::Analyse(analyse)) => self.analyse(&analyse),
            Ok(Request::Clock { sent, request }) => {
                // The time of a recording stands still.
                let end = self.tape.span.end;
                self.send(&crate::browser::clock(request, sent, end, end))
            }
            Ok(Request::Receive { .. }) => Ok(()),
            Ok(other) => self.refuse(other.number(), NOT_LIVE),
            Err(error) => self.refuse(None, &format!("This is no message that is known: {error}")),
        }
    }

    fn refuse(&mut self, request: Option<u32>, reason: &str) -> Result<(), Error> {
        self.send(&json!({ "type": "refused", "reason": reason, "request": request }))
    }

    fn show(&mut self, mut wish: Wish) -> Result<(), Error> {
        let before = self.views.remove(&wish.view);
        if before.as_ref().is_none_or(|before| before.monitor.id != wish.stream) {
            // Its gaps are not known to the page yet.
            self.told = 0;
        }
        if self.views.len() >= MAX_VIEWS {
            return Ok(());
        }
        let place = wish.stream as usize;
        let Some(monitor) = self.monitors.get(place).map(Arc::clone) else { return Ok(()) };
        let span = &self.tape.span;
        let until = *wish.until.get_or_insert(span.end);
        let Some(mut selection) = wish.selection(&monitor, LONGEST.max(span.end - span.start)) else {
            return Ok(());
        };
        let columns = match self.tape.look_back(place, &monitor, &mut selection, until) {
            Ok(columns) => columns,
            Err(error) => return self.refuse(None, &unreadable(&error)),
        };
        let sight = until - selection.window()..until;
        let mut view = View::still(&wish, monitor, selection, columns, before);
        let description = view.describe(&wish);
        let frame = view.frame();
        self.send(&description)?;
        if let Some(frame) = frame {
            self.live.send(Message::binary(frame))?;
        }
        let quality = channel_quality(&view.monitor, &view.selection.processing, wish.view, until);
        self.views.insert(wish.view, view);
        self.send(&quality)?;
        self.send_markers(sight)
    }

    fn send_markers(&mut self, sight: Range<f64>) -> Result<(), Error> {
        if sight == self.sight {
            return Ok(());
        }
        match self.tape.markers(&self.monitors, sight.clone()) {
            Err(error) => self.refuse(None, &unreadable(&error)),
            Ok((markers, is_all)) => {
                self.sight = sight;
                self.send(&json!({ "type": "markers", "markers": markers, "is_all": is_all }))
            }
        }
    }

    fn analyse(&mut self, analyse: &Analyse) -> Result<(), Error> {
        let Some(view) = self.views.get(&analyse.view) else { return Ok(()) };
        let selection = &view.selection;
        let found = analyse.run(&view.monitor, &selection.processing, selection.window(), view.edge());
        found.map_or(Ok(()), |found| self.send(&found))
    }

    fn send(&mut self, value: &Value) -> Result<(), Error> {
        self.live.send(Message::text(value.to_string()))
    }
}

fn unreadable(error: &ReadError) -> String {
    format!("The recording cannot be read: {error}")
}

const INTERVAL: Duration = Duration::from_millis(250);
/// A window may be longer than the recording.
const LONGEST: f64 = 600.0;
const NOT_LIVE: &str = "This is a recording; only live streams can do that.";
