//! What is in a recording, as far as one must know before writing: the first pass, which keeps no samples.

use std::collections::BTreeMap;

use schwann_xdf::{
    ClockMap, ClockOffset, Event as Found, Format, Location, ReadError, StreamHeader, Values, is_time,
    root_child_text,
};

use crate::Progress;
use crate::channel::{Channel, channels, file_part};
use crate::error::ExportError;
use crate::number::{Numeric, on_numbers, put_text};
use crate::pass::{SHOWN_EVERY_BYTES, tell};
use crate::timing::{Learner, Stamper, Timing};

/// What is in a recording.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The streams with samples, in the order of the file.
    pub(crate) streams: Vec<Stream>,
    /// Markers and notes of all streams, in the order of their times.
    pub(crate) events: Vec<Event>,
    /// How many there are, also where they were not asked for.
    pub(crate) event_count: u64,
    /// When the recording began, as its header says; empty if it does not.
    pub(crate) datetime: String,
    pub(crate) damage_count: usize,
}

/// One stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) header: StreamHeader,
    pub(crate) channels: Vec<Channel>,
    /// What tells its files from those of other streams.
    pub(crate) part: String,
    pub(crate) samples: u64,
    pub(crate) timing: Timing,
    /// What places its stamps on the recorder's clock.
    pub(crate) clock: ClockMap,
    /// Smallest and largest number of each channel, if they were asked for; infinite if there are none.
    pub(crate) ranges: Vec<(f64, f64)>,
    /// Characters of the longest text, and bytes of all.
    pub(crate) longest_text: usize,
    pub(crate) text_bytes: u64,
    /// Its samples that cannot be events beside other streams, because their stamp is no time.
    pub(crate) untimed_events: u64,
}

/// Something that happened at a time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// In seconds on the recorder's clock.
    pub(crate) at: f64,
    pub(crate) text: String,
    /// The id of its stream.
    pub(crate) stream: u32,
}

/// What to learn.
pub(crate) struct Wanted<'a> {
    /// Names or types of streams; all if there are none.
    pub(crate) names: &'a [String],
    /// Whether the numbers' ranges are needed.
    pub(crate) ranges: bool,
    /// Whether the format has events beside its streams, which are kept in memory.
    pub(crate) events: bool,
}

/// A stream, as far as it has been read.
struct Learnt {
    header: StreamHeader,
    learner: Learner,
    offsets: Vec<ClockOffset>,
    ranges: Vec<(f64, f64)>,
    longest_text: usize,
    text_bytes: u64,
    /// Stamps and texts, if it is a stream of events.
    events: Option<Vec<(f64, String)>>,
}

/// A recording, as far as it has been read.
#[derive(Default)]
struct Gathered {
    learnt: BTreeMap<u32, Learnt>,
    /// Names and types of all streams.
    there: Vec<(String, String)>,
    datetime: String,
    damage_count: usize,
    event_bytes: usize,
}

impl Gathered {
    fn take(&mut self, found: Found<'_>, wanted: &Wanted<'_>) -> Result<(), ExportError> {
        match found {
            Found::FileHeader { xml } => {
                self.datetime = root_child_text(xml, "datetime").unwrap_or_default();
            }
            Found::StreamHeader(header) => {
                self.there.push((header.name.clone(), header.content_type.clone()));
                if wanted.has(header) {
                    self.learnt.insert(header.id, Learnt::new(header.clone(), wanted));
                }
            }
            Found::ClockOffset { stream, collected, offset } => {
                if let Some(stream) = self.learnt.get_mut(&stream) {
                    stream.offsets.push(ClockOffset { collected, offset });
                }
            }
            Found::Samples { stream, stamps, values } => {
                if let Some(stream) = self.learnt.get_mut(&stream) {
                    self.event_bytes += stream.take(stamps, values);
                }
            }
            Found::Damage(_) => self.damage_count += 1,
            _ => {}
        }
        if self.event_bytes > EVENT_BYTES_MAX { Err(ExportError::Events) } else { Ok(()) }
    }
}

impl Plan {
    /// Reads a recording once.
    ///
    /// - Errors: [`ExportError::Read`], [`ExportError::Events`], [`ExportError::NoSuchStream`], [`ExportError::Stopped`].
    pub(crate) fn make(
        recording: &Location,
        wanted: &Wanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Self, ExportError> {
        let mut reader = recording.reader()?;
        let (mut gathered, mut shown) = (Gathered::default(), 0);
        while let Some(found) = reader.next_event().map_err(ReadError::Io)? {
            gathered.take(found, wanted)?;
            let (done, all) = reader.progress();
            if done >= shown {
                tell(progress, done, all)?;
                shown = done + SHOWN_EVERY_BYTES;
            }
        }
        let Gathered { learnt, there, datetime, damage_count, .. } = gathered;
        wanted.check(there)?;
        Ok(Self::of(learnt.into_values(), wanted.events, datetime, damage_count))
    }

    fn of(
        learnt: impl Iterator<Item = Learnt>,
        keeps_events: bool,
        datetime: String,
        damage_count: usize,
    ) -> Self {
        let (mut streams, mut events) = (Vec::<Stream>::new(), Vec::new());
        for one in learnt {
            let mut stream = one.settle(&mut events);
            // Some file systems take large and small letters for the same.
            let is_taken =
                |part: &str| streams.iter().any(|other| other.part.to_lowercase() == part.to_lowercase());
            while is_taken(&stream.part) {
                stream.part = format!("{}-{}", stream.part, stream.header.id);
            }
            streams.push(stream);
        }
        events.sort_by(|one, other| one.at.total_cmp(&other.at));
        let unkept = streams.iter().filter(|stream| stream.is_events() && !keeps_events);
        let event_count = events.len() as u64 + unkept.map(|stream| stream.samples).sum::<u64>();
        Self { streams, events, event_count, datetime, damage_count }
    }

    /// Streams with numbers and a rate, and with samples.
    pub(crate) fn signals(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|stream| stream.is_signal())
    }

    /// The stream of this id.
    pub(crate) fn index(&self, id: u32) -> Option<usize> {
        self.streams.iter().position(|stream| stream.header.id == id)
    }
}

impl Stream {
    /// Gives out the time of one sample after the other.
    pub(crate) fn stamper(&self) -> Stamper {
        self.timing.stamper(&self.clock)
    }

    /// Whether it has numbers, a rate, and samples.
    pub(crate) fn is_signal(&self) -> bool {
        self.header.format != Format::String && self.header.nominal_rate > 0.0 && self.samples > 0
    }

    /// Whether its samples are among the events of the plan.
    pub(crate) fn is_events(&self) -> bool {
        self.header.is_events()
    }

    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.channels.iter().map(|channel| channel.label.as_str())
    }
}

impl Wanted<'_> {
    fn has(&self, header: &StreamHeader) -> bool {
        let is = |name: &String| *name == header.name || *name == header.content_type;
        self.names.is_empty() || self.names.iter().any(is)
    }

    /// Refuses names that are none of these names and types.
    fn check(&self, there: Vec<(String, String)>) -> Result<(), ExportError> {
        let is_there = |name: &String| there.iter().any(|(own, kind)| name == own || name == kind);
        let missing: Vec<_> = self.names.iter().filter(|name| !is_there(name)).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(ExportError::NoSuchStream { missing, there: there.into_iter().map(|(name, _)| name).collect() })
    }
}

impl Learnt {
    fn new(header: StreamHeader, wanted: &Wanted<'_>) -> Self {
        let is_number = header.format != Format::String;
        let count = if wanted.ranges && is_number { header.channel_count } else { 0 };
        Self {
            learner: Learner::new(&header),
            offsets: Vec::new(),
            ranges: vec![(f64::INFINITY, f64::NEG_INFINITY); count],
            longest_text: 0,
            text_bytes: 0,
            events: (wanted.events && header.is_events()).then(Vec::new),
            header,
        }
    }

    /// Takes in samples; returns how many bytes of memory their events took.
    fn take(&mut self, stamps: &[f64], values: &Values) -> usize {
        self.learner.take(stamps);
        if !self.ranges.is_empty() {
            on_numbers!(values, numbers => widen(&mut self.ranges, numbers), _texts => ());
        }
        if let Values::String(texts) = values {
            for text in texts {
                self.longest_text = self.longest_text.max(text.chars().count());
                self.text_bytes += text.len() as u64;
            }
        }
        let Some(events) = &mut self.events else { return 0 };
        let (mut bytes, channels) = (0, self.header.channel_count);
        for (row, stamp) in stamps.iter().enumerate() {
            let mut text = String::new();
            for channel in 0..channels {
                if channel > 0 {
                    text.push('\t');
                }
                put_text(values, row * channels + channel, &mut text);
            }
            bytes += text.len() + EVENT_BYTES;
            events.push((*stamp, text));
        }
        bytes
    }

    fn settle(self, events: &mut Vec<Event>) -> Stream {
        let samples = self.learner.count();
        let clock = ClockMap::fit(&self.offsets);
        let timing = self.learner.finish(&clock);
        let mut stamper = timing.stamper(&clock);
        let own = self.events.into_iter().flatten().map(|(stamp, text)| Event {
            at: stamper.next(stamp),
            text,
            stream: self.header.id,
        });
        let (own, untimed): (Vec<_>, Vec<_>) = own.partition(|event| is_time(event.at));
        events.extend(own);
        Stream {
            channels: channels(&self.header),
            part: file_part(&self.header.name),
            header: self.header,
            samples,
            timing,
            clock,
            ranges: self.ranges,
            longest_text: self.longest_text,
            text_bytes: self.text_bytes,
            untimed_events: untimed.len() as u64,
        }
    }
}

fn widen<T: Numeric>(ranges: &mut [(f64, f64)], numbers: &[T]) {
    for row in numbers.chunks_exact(ranges.len()) {
        for ((least, most), number) in ranges.iter_mut().zip(row) {
            let number = number.as_f64();
            // What is no number changes neither, and neither does what is infinite.
            if number < *least && number.is_finite() {
                *least = number;
            }
            if number > *most && number.is_finite() {
                *most = number;
            }
        }
    }
}

/// Events are kept in memory.
const EVENT_BYTES_MAX: usize = 64 << 20;
/// What an event takes beside its text.
const EVENT_BYTES: usize = 80;
