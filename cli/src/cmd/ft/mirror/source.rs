//! The streams of a mirror.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use schwann::inlet::{InletOptions, StreamEvent};
use schwann::resolver::{ContinuousResolver, FORGET_AFTER};
use schwann::{Context, Error, Inlet, StreamInfo};
use schwann_fieldtrip::wire::{DataType, Event, Header};
use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::{Endpoint, IpVersion};
use schwann_recorder::{Chunk, Selector, Stop, Values, any_of};

use super::super::publish::PUBLISHED;
use super::sink::Sink;
use crate::exit::Problem;

/// The streams that there are.
pub(super) struct Lab {
    config: Arc<Context>,
    resolver: ContinuousResolver,
    stream: Selector,
    markers: Vec<Selector>,
    /// Marker streams that were there before, by UID.
    known: Vec<String>,
    /// Where streams of samples did not answer: the others have their turn first.
    silent: Vec<[Endpoint; 2]>,
}

impl Lab {
    /// Begins to look for streams.
    pub(super) fn search(
        stream: &Selector,
        markers: &[Selector],
        config: Arc<Context>,
    ) -> Result<Self, Problem> {
        let condition = any_of(markers.iter().chain([stream])).unwrap_or_default();
        let resolver = ContinuousResolver::by_predicate(Arc::clone(&config), &condition, FORGET_AFTER);
        let resolver = resolver.map_err(|error| Problem::with("search", error))?;
        Ok(Self {
            config,
            resolver,
            stream: stream.clone(),
            markers: markers.to_vec(),
            known: Vec::new(),
            silent: Vec::new(),
        })
    }

    /// Connects to the stream that is wanted, if it is there. One that is announced and does not answer is given up.
    ///
    /// - Errors: it is there and cannot be a buffer.
    pub(super) fn find_signal(&mut self, stop: &Stop) -> Result<Option<Signal>, Problem> {
        let found: Vec<_> =
            self.resolver.results().into_iter().filter(|info| self.stream.chooses(info)).collect();
        let fitting: Vec<_> = found.iter().filter(|info| data_type(info).is_some()).collect();
        let Some(&first) = fitting.first() else {
            return match found.first() {
                None => Ok(None),
                Some(info) => Err(Problem::with(
                    info.name(),
                    "a buffer holds numbers; name a stream of numbers, and this one with --markers",
                )),
            };
        };
        let untried = fitting.iter().find(|info| !self.silent.contains(&place(info)));
        if untried.is_none() {
            self.silent.clear();
        }
        let info = untried.map_or(first, |info| *info);
        let signal = Signal::open(info, &self.config, stop)?;
        if signal.is_none() {
            // What is announced no more needs no memory.
            self.silent.retain(|silent| fitting.iter().any(|info| place(info) == *silent));
            self.silent.push(place(info));
        }
        Ok(signal)
    }

    /// Adds the marker streams that are new.
    pub(super) fn add_markers(&mut self, markers: &mut Vec<MarkerSource>) -> Result<(), Problem> {
        for info in self.resolver.results() {
            let uid = info.uid().to_string_lossy().into_owned();
            let is_wanted = self.markers.iter().any(|selector| selector.chooses(&info));
            // A stream that comes back has another UID, and its inlet finds it by itself.
            let is_return = markers.iter().any(|marker| marker.takes_back(&info));
            // Events of a buffer, ours among them: they would go round for ever.
            let is_published = info.source_id().to_string_lossy().starts_with(PUBLISHED);
            if !is_wanted || is_return || is_published || self.known.contains(&uid) {
                continue;
            }
            self.known.push(uid);
            markers.push(MarkerSource::open(&info, &self.config)?);
        }
        Ok(())
    }
}

/// The stream whose samples are mirrored.
pub(super) struct Signal {
    inlet: Inlet,
    chunk: Chunk,
    header: Header,
    name: String,
}

impl Signal {
    /// Connects; nothing if the stream went away or does not answer, or we are to stop.
    fn open(info: &StreamInfo, config: &Arc<Context>, stop: &Stop) -> Result<Option<Self>, Problem> {
        let wrong = |error: Error| Problem::with(info.name(), error);
        let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(config)).map_err(wrong)?;
        let deadline = Instant::now() + ANSWER_PATIENCE;
        let may_wait = || !stop.is_raised() && Instant::now() < deadline;
        let full = loop {
            match inlet.full_info(CONNECT_PATIENCE) {
                Ok(full) => break full,
                Err(Error::Timeout) if may_wait() => {}
                Err(Error::Timeout | Error::Lost) => return Ok(None),
                Err(error) => return Err(wrong(error)),
            }
        };
        let chunk = loop {
            match Chunk::open(&inlet, CONNECT_PATIENCE) {
                Ok(chunk) => break chunk,
                Err(Error::Timeout) if may_wait() => {}
                Err(Error::Timeout | Error::Lost) => return Ok(None),
                Err(error) => return Err(wrong(error)),
            }
        };
        let Some((chunk, header)) = chunk.zip(header(&full)) else { return Ok(None) };
        // Measured from now on, so that it is known when the first marker comes.
        let _ = inlet.clock_offset(0.0);
        Ok(Some(Self { inlet, chunk, header, name: info.name().to_string_lossy().into_owned() }))
    }

    /// Replaces the samples by newly arrived ones, waiting for the first.
    pub(super) fn pull(&mut self, patience: Duration) -> Result<(), Error> {
        self.chunk.pull(&self.inlet, patience.as_secs_f64())
    }

    /// Appends the samples to a buffer.
    pub(super) fn put_into(&self, sink: &mut Sink, stop: &Stop) -> Result<(), Problem> {
        let channels = self.header.channel_count;
        let all = self.chunk.count() * self.inlet.channel_count();
        macro_rules! put {
            ($values:expr) => {
                sink.put_samples(channels, $values.get(..all).unwrap_or_default(), stop)
            };
        }
        match self.chunk.values() {
            Values::Double64(values) => put!(values),
            Values::Float32(values) => put!(values),
            Values::Int16(values) => put!(values),
            Values::Int32(values) => put!(values),
            Values::Int64(values) => put!(values),
            Values::Int8(values) => put!(values),
            // Refused when the stream was found.
            Values::Text(_) => Ok(()),
        }
    }

    /// The next thing that happened to the connection.
    pub(super) fn next_event(&self) -> Option<StreamEvent> {
        self.inlet.next_event(0.0)
    }

    /// Number of samples pulled.
    pub(super) fn count(&self) -> usize {
        self.chunk.count()
    }

    /// Their stamps, in seconds on the sender's clock.
    pub(super) fn stamps(&self) -> &[f64] {
        self.chunk.stamps()
    }

    /// What the buffer is told about the stream.
    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Samples that arrived and were not pulled in time.
    pub(super) fn dropped(&self) -> u64 {
        self.inlet.dropped_samples()
    }
}

/// A stream whose samples become events.
pub(super) struct MarkerSource {
    inlet: Inlet,
    info: StreamInfo,
    is_lost: bool,
}

/// A marker on its way.
pub(super) struct Marker {
    /// When, in seconds on the clock of its sender.
    pub(super) stamp: f64,
    /// What; its sample is filled in later.
    pub(super) event: Event,
}

impl MarkerSource {
    fn open(info: &StreamInfo, config: &Arc<Context>) -> Result<Self, Problem> {
        let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(config));
        let inlet = inlet.map_err(|error| Problem::with(info.name(), error))?;
        // The first question only begins the measurement.
        let _ = inlet.clock_offset(0.0);
        Ok(Self { inlet, info: info.clone(), is_lost: false })
    }

    /// Takes what has arrived.
    pub(super) fn pull(&mut self, mut each: impl FnMut(Marker)) {
        let kind = self.info.name().to_string_lossy();
        while !self.is_lost {
            let mut values = Vec::new();
            match self.inlet.pull_strings(0.0, |text| values.push(text.to_vec())) {
                Ok(Some(stamp)) => {
                    for value in values {
                        each(Marker { stamp, event: self.event(&kind, value) });
                    }
                }
                Err(Error::Lost) => self.is_lost = true,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Seconds to add to its stamps to place them on the clock of `signal`; nothing if still unknown.
    pub(super) fn shift_to(&self, signal: &Signal) -> Option<f64> {
        let (ours, theirs) = (self.inlet.clock_offset(0.0).ok()?, signal.inlet.clock_offset(0.0).ok()?);
        let difference = ours.offset - theirs.offset;
        // Two measurements of one clock differ by no more than their errors; there, the stamps fit as they are.
        let is_same_clock = difference.abs() <= ours.uncertainty + theirs.uncertainty;
        Some(if is_same_clock { 0.0 } else { difference })
    }

    /// Whether its inlet takes this for the same stream after a restart.
    fn takes_back(&self, info: &StreamInfo) -> bool {
        !self.is_lost
            && !info.source_id().is_empty()
            && (info.source_id(), info.name()) == (self.info.source_id(), self.info.name())
    }

    fn event(&self, kind: &str, value: Vec<u8>) -> Event {
        let is_text = self.info.channel_format() == ChannelFormat::String;
        let number = core::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
        match number.filter(|_| !is_text) {
            Some(number) => Event::number(0, kind, number),
            None => Event { value, ..Event::text(0, kind, "") },
        }
    }
}

/// Where a stream is; a made-up one may have another UID each time.
fn place(info: &StreamInfo) -> [Endpoint; 2] {
    [IpVersion::V4, IpVersion::V6].map(|version| info.endpoint(version).clone())
}

/// What a buffer is told about a stream; nothing if it cannot hold it.
fn header(info: &StreamInfo) -> Option<Header> {
    let header = Header::new(info.channel_count(), info.nominal_rate() as f32, data_type(info)?);
    let labels = labels(info);
    Some(if labels.is_empty() { header } else { header.with_channel_names(labels) })
}

fn data_type(info: &StreamInfo) -> Option<DataType> {
    Some(match info.channel_format() {
        ChannelFormat::Double64 => DataType::Float64,
        ChannelFormat::Float32 => DataType::Float32,
        ChannelFormat::Int16 => DataType::Int16,
        ChannelFormat::Int32 => DataType::Int32,
        ChannelFormat::Int64 => DataType::Int64,
        ChannelFormat::Int8 => DataType::Int8,
        ChannelFormat::String | ChannelFormat::Undefined => return None,
    })
}

/// Reads `desc/channels/channel/label`: one per channel, or none if the stream has none.
///
/// - Source: the metadata conventions of XDF, <https://github.com/sccn/xdf/wiki/Meta-Data>.
fn labels(info: &StreamInfo) -> Vec<String> {
    let label = |node| info.document().child_value_named(node, "label").to_string_lossy().trim().to_owned();
    let mut labels: Vec<_> = info.described_channels().map(label).collect();
    if labels.iter().all(String::is_empty) {
        return Vec::new();
    }
    labels.resize(info.channel_count() as usize, String::new());
    labels
}

/// Seconds before a connection attempt looks whether to stop.
const CONNECT_PATIENCE: f64 = 0.5;
/// How long a stream may take to answer before another has its turn, and its absence is said.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
