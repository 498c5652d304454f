//! Streams of other sites, as outlets of this network: original name, type, source id and description.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use schwann::security::refused_from_hub;
use schwann::{Context, Outlet, OutletOptions, StreamInfo};
use schwann_proto::wire::sample::Layout;
use schwann_recorder::{Selector, all_or_any};
use schwann_relay::{BlockKind, BlockPlace, Range, RunId};

use crate::far::{ClockBound, Far, FarRun, News, Origin};
use crate::samples;

/// The outlets of remote streams.
pub struct Inbound {
    context: Arc<Context>,
    selectors: Vec<Selector>,
    hub: String,
    channels: BTreeMap<Origin, Channel>,
    /// Runs of which it was said that their edge does not answer.
    unanswered: BTreeSet<RunId>,
    remarks: Vec<String>,
    /// Whether blocks are missing in a stream that has ended here.
    has_left_out: bool,
}

/// One remote stream.
struct Channel {
    outlet: Outlet,
    layout: Layout,
    name: String,
    run: RunId,
    /// The block that goes out next; nothing before the first.
    next: Option<u64>,
    /// Blocks that wait for one before them.
    held: BTreeMap<u64, Vec<u8>>,
    /// Since when they wait.
    since: Option<Instant>,
    raw: Vec<u8>,
    heard: Instant,
    samples: u64,
    left_out: u64,
}

impl Inbound {
    /// Makes outlets in `context` of the streams that one of `selectors` chooses; of all, if there is none.
    #[must_use]
    pub fn new(context: Arc<Context>, selectors: Vec<Selector>, hub: String) -> Self {
        Self {
            context,
            selectors,
            hub,
            channels: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            remarks: Vec::new(),
            has_left_out: false,
        }
    }

    /// Does what the news say.
    pub fn take(&mut self, news: Vec<News>, far: &Far) {
        for one in news {
            match one {
                News::Block { run, place, content, .. } => {
                    if let Some(known) = far.runs().get(&run) {
                        self.block(known, place, content);
                    }
                }
                News::Disconnected(problem) => self.remarks.push(problem.to_string()),
                News::Connected => self.remarks.push(String::from("the hub is reached")),
                News::Described(_) | News::Newest { .. } | News::Word(..) => {}
            }
        }
        self.look_after(far);
    }

    /// What happened since this was last called.
    pub fn take_remarks(&mut self) -> Vec<String> {
        core::mem::take(&mut self.remarks)
    }

    fn block(&mut self, run: &FarRun, place: BlockPlace, content: Vec<u8>) {
        let origin = run.origin();
        let is_here = self.channels.get(&origin).is_some_and(|channel| channel.run == run.id());
        if !is_here && !self.begin(run) {
            return;
        }
        let Some(channel) = self.channels.get_mut(&origin) else { return };
        channel.heard = Instant::now();
        if place.kind == BlockKind::End && channel.next.is_none_or(|next| next == place.number) {
            self.end(origin, "has ended");
            return;
        }
        if let Err(why) = channel.take(place.number, content) {
            refused_from_hub("block", &origin.stream.to_string(), &why);
        }
    }

    /// Begins to serve a run; says whether it is wanted and can be.
    fn begin(&mut self, run: &FarRun) -> bool {
        let Some(info) = run.info().filter(|info| all_or_any(&self.selectors, info)) else { return false };
        let Some(layout) = samples::layout(info) else { return false };
        // A hub may give any earlier run again, and pieces of one come when others ask for them.
        let Some(clock) = run.clock().filter(|_| run.goes_on()) else {
            self.tell_unanswered(run, &info.name().to_string_lossy());
            return false;
        };
        let described = described(info, run, clock, &self.hub);
        match Outlet::in_context(&described, &OutletOptions::default(), Arc::clone(&self.context)) {
            Ok(outlet) => {
                outlet.set_clock_shift(-clock.offset);
                let name = info.name().to_string_lossy().into_owned();
                let bound = clock.bound * 1e3;
                let here = format!("{name} of {} is here; its clock is known to {bound:.1} ms", run.device());
                self.remarks.push(here);
                self.channels.insert(run.origin(), Channel::new(outlet, layout, name, run.id()));
                true
            }
            Err(error) => {
                self.remarks.push(format!("{}: {error}", info.name().to_string_lossy()));
                false
            }
        }
    }

    /// Says once of a stream why it is not offered, unless a run of it is.
    fn tell_unanswered(&mut self, run: &FarRun, name: &str) {
        let is_told =
            run.known_since().elapsed() < ANSWER_PATIENCE || self.channels.contains_key(&run.origin());
        if !is_told && self.unanswered.insert(run.id()) {
            self.remarks.push(format!(
                "{name} of {}: samples come, but its sender does not answer; they may be old, so the stream is not offered. Look \
                 whether `schwann relay out` runs there",
                run.device()
            ));
        }
    }

    /// Lets all streams go, and says what was left out. Says whether nothing was.
    pub fn finish(&mut self) -> bool {
        let is_whole = self.channels.values().all(|channel| channel.left_out == 0) && !self.has_left_out;
        let origins: Vec<_> = self.channels.keys().copied().collect();
        origins.into_iter().for_each(|origin| self.end(origin, "has ended"));
        is_whole
    }

    fn end(&mut self, origin: Origin, how: &str) {
        if let Some(channel) = self.channels.remove(&origin) {
            // A consumer has what was pushed once the kernel has it.
            let _ = channel.outlet.flush(Some(FLUSH));
            let left_out = match channel.left_out {
                0 => String::new(),
                count => format!(", {count} blocks are not among them"),
            };
            self.has_left_out |= channel.left_out > 0;
            self.remarks.push(format!("{} {how}: {} samples{left_out}", channel.name, channel.samples));
        }
    }

    fn look_after(&mut self, far: &Far) {
        let (mut ended, mut revoked) = (Vec::new(), Vec::new());
        for (origin, channel) in &mut self.channels {
            let run = far.runs().get(&channel.run);
            let lost = run.map(|run| run.follower().report().lost).unwrap_or_default();
            if let Some(clock) = run.and_then(FarRun::clock) {
                channel.outlet.set_clock_shift(-clock.offset);
            }
            let known_lost = channel.next.is_some_and(|next| lost.contains(next));
            if known_lost || channel.since.is_some_and(|since| since.elapsed() > REORDER_TIMEOUT) {
                channel.skip();
            }
            if run.is_some_and(FarRun::is_revoked) {
                revoked.push(*origin);
                continue;
            }
            let heard = run.map_or(channel.heard, |run| run.heard().max(channel.heard));
            if heard.elapsed() > SILENCE {
                ended.push(*origin);
            }
        }
        ended.into_iter().for_each(|origin| self.end(origin, "is silent, and is taken away"));
        revoked
            .into_iter()
            .for_each(|origin| self.end(origin, "is taken away, because its device was revoked"));
    }
}

impl Channel {
    fn new(outlet: Outlet, layout: Layout, name: String, run: RunId) -> Self {
        Self {
            outlet,
            layout,
            name,
            run,
            next: None,
            held: BTreeMap::new(),
            since: None,
            raw: Vec::new(),
            heard: Instant::now(),
            samples: 0,
            left_out: 0,
        }
    }

    fn take(&mut self, number: u64, content: Vec<u8>) -> Result<(), &'static str> {
        let next = *self.next.get_or_insert(number);
        if number < next {
            self.left_out = self.left_out.saturating_add(1);
            return Ok(());
        }
        self.held.insert(number, content);
        if self.held.len() > MOST_HELD {
            self.skip();
        }
        self.push_held()
    }

    /// Pushes what follows without a hole.
    fn push_held(&mut self) -> Result<(), &'static str> {
        while let Some(content) = self.next.and_then(|next| self.held.remove(&next)) {
            let pushed = samples::push(&self.layout, &content, &self.outlet, &mut self.raw);
            self.samples += pushed.ok_or("its samples are not of this stream")?;
            self.next = self.next.and_then(|next| next.checked_add(1));
            self.since = None;
        }
        if !self.held.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Goes on behind a hole: an outlet cannot go back.
    fn skip(&mut self) {
        let Some(lowest) = self.held.keys().next().copied() else { return };
        if let Some(next) = self.next.filter(|next| *next < lowest) {
            let hole = Range { first: next, last: lowest.saturating_sub(1) };
            self.left_out = self.left_out.saturating_add(hole.len());
        }
        self.next = Some(lowest);
        // What is malformed was named when it was tried first.
        let _ = self.push_held();
    }
}

/// The description with an element that says where the stream comes from.
fn described(info: &StreamInfo, run: &FarRun, clock: ClockBound, hub: &str) -> StreamInfo {
    let mut info = info.clone();
    let site = info.hostname().to_string_lossy().into_owned();
    let root = info.document().document_element();
    let desc = info.desc();
    let document = info.document_mut();
    let desc = desc.or_else(|| root.and_then(|root| document.append_child(root, "desc")));
    if let Some(relay) = desc.and_then(|desc| document.append_child(desc, "relay")) {
        let bound = format!("{:.6}", clock.bound);
        let device = run.device();
        for (name, value) in
            [("site", site.as_str()), ("device", device), ("hub", hub), ("clock_bound", bound.as_str())]
        {
            document.append_child_value(relay, name, value);
        }
    }
    info
}

/// How long blocks wait for one before them.
const REORDER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a stream may be silent: three announcements are missing then.
const SILENCE: Duration = Duration::from_secs(35);
/// How long a run may leave questions unanswered before that is said.
const ANSWER_PATIENCE: Duration = Duration::from_secs(6);
const FLUSH: Duration = Duration::from_secs(2);
/// Blocks that wait for one before them at most.
const MOST_HELD: usize = 1024;
