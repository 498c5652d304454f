//! Follows one stream: receives it on a connection of its own, measures it, and feeds the views of browsers.
//!
//! Nothing here waits for a browser, and no recorder waits for anything here: every inlet has its own connection, and
//! what is received is kept in bounded memory.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use schwann::{
    Config, Error, Inlet, StreamInfo,
    inlet::{InletOptions, Protection, StreamEvent},
    local_clock,
    security::Explained,
};
use schwann_proto::stream::ChannelFormat;

use crate::live::course::Gap;

use super::{
    decimate::{Decimator, Selection},
    gauge::{Continuity, Gauge},
    history::History,
    labels::{Labels, labels},
    marker::{Marker, Markers},
};

/// One stream of the lab.
#[derive(Debug)]
pub(super) struct Monitor {
    /// Number of the row, the same as long as the dashboard runs.
    pub(super) id: u32,
    inlet: Inlet,
    format: ChannelFormat,
    nominal_rate: f64,
    kind: Kind,
    markers: Arc<Markers>,
    state: Mutex<State>,
    stopping: AtomicBool,
}

/// What is drawn of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Traces.
    Signal,
    /// Events in the lane.
    Markers,
}

/// How a stream is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    /// It was found, and has not sent yet.
    Connecting,
    /// Samples come.
    Live,
    /// The connection stands, but no samples come.
    Silent,
    /// The sender is gone.
    Stopped,
}

/// What a row of the list shows.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) health: Health,
    /// Whether others can read it on its way; nothing before it is connected.
    pub(super) protection: Option<Protection>,
    /// Who sends it, if that is proven.
    pub(super) sender: Option<String>,
    /// Why there is no session with the sender, and the command that mends it.
    pub(super) refusal: Option<String>,
    pub(super) rate: Option<f64>,
    pub(super) lag: Option<[f64; 2]>,
    pub(super) clock_offset: Option<f64>,
    pub(super) clock_uncertainty: Option<f64>,
    pub(super) total: u64,
    pub(super) gap_count: u64,
    pub(super) missing: u64,
    pub(super) dropped: u64,
    pub(super) spark: Vec<i16>,
}

#[derive(Debug)]
struct State {
    link: Link,
    since: f64,
    gauge: Gauge,
    history: History,
    spark: Decimator,
    spark_columns: Vec<super::decimate::Column>,
    views: Vec<Weak<Mutex<Decimator>>>,
    labels: Arc<Labels>,
    clock: Option<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Link {
    Connected,
    Gone,
    New,
}

/// Samples on their way from the inlet to the state, so that the state is locked once for many.
struct Batch {
    stamps: Vec<f64>,
    bytes: Vec<u8>,
    texts: Vec<String>,
    sample_len: usize,
}

impl Monitor {
    /// Begins to follow a stream, in a thread that ends after [`Self::stop`].
    pub(super) fn start(
        id: u32,
        info: &StreamInfo,
        config: &Arc<Config>,
        markers: &Arc<Markers>,
    ) -> Result<Arc<Self>, Error> {
        let options = InletOptions { buffer_length: buffer_seconds(info), ..InletOptions::default() };
        let inlet = Inlet::with_config(info, &options, Arc::clone(config))?;
        let monitor = Arc::new(Self::new(id, info, inlet, Arc::clone(markers)));
        let (follower, describer) = (Arc::clone(&monitor), Arc::clone(&monitor));
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
            thread.map_err(|_| Error::System("a thread"))
        };
        spawn("dash-monitor", Box::new(move || follower.run()))?;
        spawn("dash-labels", Box::new(move || describer.fetch_labels()))?;
        Ok(monitor)
    }

    fn new(id: u32, info: &StreamInfo, inlet: Inlet, markers: Arc<Markers>) -> Self {
        let (format, rate) = (info.channel_format(), info.nominal_rate());
        let sample_len = format.value_size().unwrap_or(0) * inlet.channel_count();
        let kind = kind(info);
        let spark = Selection {
            channels: vec![0],
            column_seconds: SPARK_SECONDS / SPARK_COLUMNS as f64,
            columns: SPARK_COLUMNS,
            high_pass: 0.0,
        };
        let state = State {
            link: Link::New,
            since: local_clock(),
            gauge: Gauge::new(rate),
            history: History::new(sample_len, rate),
            spark: Decimator::new(format, rate, spark),
            spark_columns: Vec::new(),
            views: Vec::new(),
            labels: Arc::new(Labels::default()),
            clock: None,
        };
        let (state, stopping) = (Mutex::new(state), AtomicBool::new(false));
        Self { id, inlet, format, nominal_rate: rate, kind, markers, state, stopping }
    }

    /// Tells the threads to end; does not wait for them.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.inlet.close_stream();
    }

    /// Opens a view: what is remembered is in it at once, and new samples follow.
    ///
    /// It ends when the caller drops it.
    pub(super) fn open_view(&self, selection: Selection) -> Arc<Mutex<Decimator>> {
        let mut decimator = Decimator::new(self.format, self.nominal_rate, selection);
        let mut state = self.lock();
        let mut before = None;
        for (stamp, sample) in state.history.iter() {
            if before.is_some_and(|before| stamp - before > 1.0) {
                decimator.interrupt();
            }
            decimator.add(stamp, sample);
            before = Some(stamp);
        }
        let view = Arc::new(Mutex::new(decimator));
        state.views.push(Arc::downgrade(&view));
        view
    }

    /// The stream as it is described now; a sender that comes back may be another one.
    pub(super) fn info(&self) -> StreamInfo {
        self.inlet.info()
    }

    /// What is drawn of it.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Names and units of its channels, as far as they are known by now.
    pub(super) fn labels(&self) -> Arc<Labels> {
        Arc::clone(&self.lock().labels)
    }

    /// How it is doing.
    pub(super) fn health(&self) -> Health {
        health(&self.lock(), local_clock())
    }

    /// Its newest gaps, oldest first.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        self.lock().gauge.gaps().copied().collect()
    }

    /// All that its row shows.
    pub(super) fn reading(&self) -> Reading {
        let (dropped, protection) = (self.inlet.dropped_samples(), self.inlet.protection());
        let sender = self.inlet.peer().map(|peer| peer.statement.name.as_str().to_owned());
        let refusal = self.inlet.refusal().map(|refusal| Explained(refusal).to_string());
        let (now, state) = (local_clock(), self.lock());
        Reading {
            health: health(&state, now),
            protection,
            sender,
            refusal,
            rate: state.gauge.rate(now),
            lag: state.gauge.lag(),
            clock_offset: state.clock.map(|[offset, _]| offset),
            clock_uncertainty: state.clock.map(|[_, uncertainty]| uncertainty),
            total: state.gauge.course().sample_count(),
            gap_count: state.gauge.course().gap_count(),
            missing: state.gauge.course().missing(),
            dropped,
            spark: sparkline(&state, now),
        }
    }

    fn fetch_labels(&self) {
        if let Ok(info) = self.inlet.full_info(LABEL_SECONDS) {
            self.lock().labels = Arc::new(labels(&info));
        }
    }

    /// Receives until the stream is lost or nobody wants it any more.
    fn run(&self) {
        let mut batch = Batch::new(self.format, self.inlet.channel_count());
        let mut next_clock = 0.0;
        while !self.stopping.load(Ordering::Relaxed) {
            self.take_in_events();
            if local_clock() >= next_clock {
                self.ask_clock();
                next_clock = local_clock() + CLOCK_SECONDS;
            }
            let Ok(fresh) = self.receive(&mut batch) else { return self.change_link(Link::Gone) };
            let more_waits = batch.is_full();
            self.take_in(&mut batch, fresh);
            if !more_waits {
                // Many samples at a time cost less than each by itself, and no eye sees the difference.
                thread::sleep(PAUSE);
            }
        }
    }

    /// Fills the batch with what has come, then waits for one more sample; returns how old that was when it came.
    fn receive(&self, batch: &mut Batch) -> Result<Option<f64>, Error> {
        while !batch.is_full() && batch.pull(&self.inlet, 0.0)?.is_some() {}
        if batch.is_full() {
            return Ok(None);
        }
        let Some(stamp) = batch.pull(&self.inlet, WAIT_SECONDS)? else { return Ok(None) };
        Ok(Some(local_clock() - stamp))
    }

    fn take_in(&self, batch: &mut Batch, age: Option<f64>) {
        let mut state = self.lock();
        let state = &mut *state;
        let [offset, _] = state.clock.unwrap_or_default();
        if let Some(age) = age {
            state.gauge.add_lag(age - offset);
        }
        if !batch.stamps.is_empty() {
            state.gauge.arrived(local_clock());
            // While the sender is gone, samples that came before may still wait.
            if state.link == Link::New {
                state.link = Link::Connected;
            }
        }
        let views: Vec<_> = state.views.iter().filter_map(Weak::upgrade).collect();
        let mut views: Vec<_> =
            views.iter().map(|view| view.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        for (row, &stamp) in batch.stamps.iter().enumerate() {
            let (stamp, sample) = (stamp + offset, batch.sample(row));
            if state.gauge.add(stamp) == Continuity::Broken {
                views.iter_mut().for_each(|view| view.interrupt());
            }
            state.spark.add(stamp, sample);
            state.history.add(stamp, sample);
            views.iter_mut().for_each(|view| view.add(stamp, sample));
        }
        if self.kind == Kind::Markers {
            self.publish(batch, offset);
        }
        batch.clear();
        state.views.retain(|view| view.strong_count() > 0);
        state.spark_columns.extend(state.spark.take());
        let surplus = state.spark_columns.len().saturating_sub(SPARK_COLUMNS);
        state.spark_columns.drain(..surplus);
    }

    fn publish(&self, batch: &Batch, offset: f64) {
        for (row, &stamp) in batch.stamps.iter().enumerate() {
            let text = batch.texts.get(row).cloned().or_else(|| {
                super::decimate::value(self.format, batch.sample(row), 0).map(|value| value.to_string())
            });
            self.markers.add(Marker {
                stream: self.id,
                time: stamp + offset,
                text: text.unwrap_or_default(),
            });
        }
    }

    fn take_in_events(&self) {
        while let Some(event) = self.inlet.next_event(0.0) {
            match event {
                StreamEvent::Connected => self.change_link(Link::Connected),
                StreamEvent::Lost | StreamEvent::Recovering => self.change_link(Link::Gone),
                _ => self.lock().clock = None,
            }
        }
    }

    fn change_link(&self, link: Link) {
        let mut state = self.lock();
        if state.link != link {
            (state.link, state.since) = (link, local_clock());
            state.gauge.disconnected();
        }
    }

    /// Takes the newest clock offset; the first question makes the engine measure it, and nobody waits.
    fn ask_clock(&self) {
        if let Ok(estimate) = self.inlet.clock_offset(0.0) {
            self.lock().clock = Some([estimate.offset, estimate.uncertainty]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    fn new(format: ChannelFormat, channel_count: usize) -> Self {
        let sample_len = format.value_size().unwrap_or(0) * channel_count;
        Self { stamps: Vec::new(), bytes: Vec::new(), texts: Vec::new(), sample_len }
    }

    /// Pulls one sample into the batch; returns its stamp on the sender's clock.
    fn pull(&mut self, inlet: &Inlet, timeout: f64) -> Result<Option<f64>, Error> {
        let stamp = if self.sample_len == 0 {
            let mut text = String::new();
            let stamp = inlet.pull_strings(timeout, |part| append(&mut text, part))?;
            self.texts.extend(stamp.map(|_| text));
            stamp
        } else {
            let used = self.stamps.len() * self.sample_len;
            self.bytes.resize(used + self.sample_len, 0);
            inlet.pull_raw_sample(self.bytes.get_mut(used..).unwrap_or_default(), timeout)?
        };
        self.stamps.extend(stamp);
        Ok(stamp)
    }

    fn sample(&self, row: usize) -> &[u8] {
        let start = row * self.sample_len;
        self.bytes.get(start..start + self.sample_len).unwrap_or_default()
    }

    fn is_full(&self) -> bool {
        self.stamps.len() >= BATCH_SAMPLES || self.stamps.len() * self.sample_len >= BATCH_BYTES
    }

    fn clear(&mut self) {
        self.stamps.clear();
        self.texts.clear();
    }
}

/// How much an inlet keeps while we draw, in seconds; what is lost here is lost for the picture alone.
fn buffer_seconds(info: &StreamInfo) -> i32 {
    let value_size = info.channel_format().value_size().unwrap_or(0);
    let bytes_per_second = info.nominal_rate() * f64::from(info.channel_count()) * value_size as f64;
    // What fits, because thousands of fast channels would fill the memory in a moment.
    (INLET_BYTES / bytes_per_second).clamp(1.0, INLET_SECONDS) as i32
}

fn append(text: &mut String, part: &[u8]) {
    if !text.is_empty() && !part.is_empty() {
        text.push_str(", ");
    }
    let part = String::from_utf8_lossy(part);
    text.extend(part.chars().take(TEXT_CHARS.saturating_sub(text.len())));
}

fn kind(info: &StreamInfo) -> Kind {
    let named = info.stream_type().to_string_lossy().to_lowercase().contains("marker");
    let is_text = info.channel_format() == ChannelFormat::String;
    let is_number = named && info.nominal_rate() == 0.0 && info.channel_count() == 1;
    if is_text || is_number { Kind::Markers } else { Kind::Signal }
}

fn health(state: &State, now: f64) -> Health {
    match state.link {
        Link::Gone => Health::Stopped,
        _ if state.gauge.is_silent(now, state.since) => Health::Silent,
        Link::New => Health::Connecting,
        Link::Connected => Health::Live,
    }
}

/// Lowest and highest value of the first channel per column, oldest first, scaled to 0..=100; -1 where there is none.
fn sparkline(state: &State, now: f64) -> Vec<i16> {
    let columns = &state.spark_columns;
    let numbers = columns.iter().flat_map(|column| &column.extremes).filter(|value| value.is_finite());
    let low = numbers.clone().copied().fold(f32::INFINITY, f32::min);
    let high = numbers.copied().fold(f32::NEG_INFINITY, f32::max);
    let newest = (now / state.spark.selection().column_seconds).floor() as i64;
    let mut spark = vec![-1; 2 * SPARK_COLUMNS];
    for column in columns {
        let place = column.index - newest + SPARK_COLUMNS as i64 - 1;
        let place = usize::try_from(place).ok().and_then(|place| spark.as_chunks_mut::<2>().0.get_mut(place));
        let (Some(place), [bottom, top]) = (place, &*column.extremes) else { continue };
        *place = [*bottom, *top].map(|value| match value {
            // Strings have no height: where there was one, there is a tick.
            value if value.is_nan() => 50,
            value if high > low => ((value - low) / (high - low) * 100.0) as i16,
            _ => 50,
        });
    }
    spark
}

const BATCH_BYTES: usize = 8 << 20;
const BATCH_SAMPLES: usize = 8192;
const CLOCK_SECONDS: f64 = 1.0;
const INLET_BYTES: f64 = 256e6;
const INLET_SECONDS: f64 = 10.0;
const LABEL_SECONDS: f64 = 10.0;
const PAUSE: Duration = Duration::from_millis(15);
const SPARK_COLUMNS: usize = 60;
const SPARK_SECONDS: f64 = 12.0;
const TEXT_CHARS: usize = 200;
const WAIT_SECONDS: f64 = 0.25;
