//! `schwann ft mirror`: a live stream as a FieldTrip buffer.

mod sink;
mod source;
mod timeline;

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use schwann::inlet::StreamEvent;
use schwann::{Context, Error};
use schwann_fieldtrip::Address;
use schwann_fieldtrip::wire::{Event, Header};
use schwann_recorder::{Selector, Stop, may_be_sealed};

use crate::cmd::ft::door::Company;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use sink::Sink;
use source::{Lab, Marker, MarkerSource, Signal};
use timeline::Timeline;

/// Show a live stream as a FieldTrip buffer, markers as events, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft mirror BioSemi                          at buffer://localhost:1972
  schwann ft mirror \"type='EEG'\" localhost:1973      another stream beside it
  schwann ft mirror BioSemi --markers Triggers       events from the stream Triggers alone
  schwann ft mirror BioSemi meg:1972 --into          into a running server

Samples have the stream's own type, and the header has its labels. A marker becomes an event at the sample with the
nearest stamp, also from another computer with another clock. It waits for that sample. The type of the event is the
name of the marker stream, its value the text of the marker. Markers from `schwann ft publish` are left out: a
buffer already has these events.

If the stream goes away, the command waits for it. It goes on where it stopped: the buffer has every sample that
arrived, once, and events stay at their samples. Sealed streams work like any other. With a key installed, only
programs of this user on this computer may connect. --others admits all others; they then read the sealed data in
the clear.

Exit code 0 if every sample that arrived is in the buffer, 1 if not, or if there was no stream.")]
pub(crate) struct Arguments {
    /// The stream: its name, type or source id, or a condition.
    #[arg(value_name = "NAME")]
    stream: Selector,
    /// Where to serve the buffer.
    #[arg(value_name = "ADDRESS", default_value_t)]
    address: Address,
    /// Write to the server at ADDRESS instead of serving.
    #[arg(long)]
    into: bool,
    #[command(flatten)]
    company: Company,
    /// Streams that become events.
    #[arg(long, value_name = "QUERY", default_value = "type='Markers'")]
    markers: Vec<Selector>,
    /// Leave markers out.
    #[arg(long, conflicts_with = "markers")]
    no_markers: bool,
}

/// Mirrors.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let config = lab::config();
    let door = || may_be_sealed(&config).then(|| arguments.company.door(&arguments.address)).transpose();
    let sink = match arguments.into {
        true => Sink::connect(&arguments.address)?,
        false => Sink::serve(&arguments.address, door()?.flatten())?,
    };
    writeln!(io::stdout(), "{}", sink.address())?;
    let markers = if arguments.no_markers { &[][..] } else { &arguments.markers[..] };
    let mut mirror = Mirror::new(&arguments.stream, markers, config, sink)?;
    while !stop.is_raised() {
        mirror.step(&stop)?;
    }
    mirror.finish(&stop)
}

/// A stream on its way into a buffer.
struct Mirror {
    lab: Lab,
    signal: Option<Signal>,
    /// When the stream of samples went away; until it is known whether it came back with another clock.
    away_since: Option<Instant>,
    header: Option<Header>,
    markers: Vec<MarkerSource>,
    timeline: Timeline,
    pending: Vec<Pending>,
    sink: Sink,
    sample_count: u64,
    event_count: u64,
    dropped: u64,
    looked: Option<Instant>,
    begun: Instant,
    /// It was said that the stream is not there.
    has_told_absence: bool,
}

/// A marker whose sample is not known yet.
struct Pending {
    marker: Marker,
    /// Which of the marker streams it is from.
    source: usize,
    arrived: Instant,
}

impl Mirror {
    fn new(
        stream: &Selector,
        markers: &[Selector],
        config: Arc<Context>,
        sink: Sink,
    ) -> Result<Self, Problem> {
        Ok(Self {
            lab: Lab::search(stream, markers, config)?,
            signal: None,
            away_since: None,
            header: None,
            markers: Vec::new(),
            timeline: Timeline::default(),
            pending: Vec::new(),
            sink,
            sample_count: 0,
            event_count: 0,
            dropped: 0,
            looked: None,
            begun: Instant::now(),
            has_told_absence: false,
        })
    }

    /// Takes in what has arrived, waiting a little for it.
    fn step(&mut self, stop: &Stop) -> Result<(), Problem> {
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK_EVERY) {
            self.looked = Some(Instant::now());
            self.lab.add_markers(&mut self.markers)?;
            if self.signal.is_none() {
                self.find_signal(stop)?;
            }
            self.tell_absence();
        }
        if self.signal.is_none() {
            stop.wait(LONGEST_PULL);
        }
        self.take_samples(stop)?;
        self.take_markers();
        self.place_markers(|pending| pending.arrived.elapsed() >= GRACE, stop)
    }

    /// Says once that the stream was never reached: an empty buffer must not look like a silent one.
    fn tell_absence(&mut self) {
        if self.header.is_none() && !self.has_told_absence && self.begun.elapsed() > ABSENT_AFTER {
            self.has_told_absence = true;
            eprintln!("schwann: {NOT_REACHED} yet, so the buffer is empty; why: schwann doctor");
        }
    }

    /// Takes in the rest, and says how much there was.
    fn finish(mut self, stop: &Stop) -> Outcome {
        self.take_samples(stop)?;
        self.take_markers();
        self.place_markers(|_| true, stop)?;
        self.dropped += self.signal.as_ref().map_or(0, Signal::dropped);
        writeln!(io::stdout(), "{} samples, {} events", self.sample_count, self.event_count)?;
        if self.header.is_none() {
            eprintln!("schwann: {NOT_REACHED}; why: schwann doctor");
            return Ok(Exit::Found);
        }
        if self.dropped == 0 {
            return Ok(Exit::Good);
        }
        eprintln!("schwann: {} samples arrived faster than they could be written", self.dropped);
        Ok(Exit::Found)
    }

    fn find_signal(&mut self, stop: &Stop) -> Result<(), Problem> {
        let Some(signal) = self.lab.find_signal(stop)? else { return Ok(()) };
        // The same stream again goes on in the same acquisition; anything else begins one.
        if self.header.as_ref() != Some(signal.header()) {
            self.place_markers(|_| true, stop)?;
            self.sink.put_header(signal.header(), stop)?;
            self.timeline = Timeline::default();
            self.header = Some(signal.header().clone());
        }
        writeln!(io::stdout(), "{}: {}", signal.name(), signal.header())?;
        self.signal = Some(signal);
        Ok(())
    }

    fn take_samples(&mut self, stop: &Stop) -> Result<(), Problem> {
        let Some(signal) = &mut self.signal else { return Ok(()) };
        let pulled = signal.pull(LONGEST_PULL);
        // Before the samples: on a busy computer one pull brings the news of another clock and samples of that clock.
        self.follow_clock(stop)?;
        self.put_samples(stop)?;
        match pulled {
            Ok(()) => Ok(()),
            Err(Error::Lost) => {
                if let Some(lost) = self.signal.take() {
                    eprintln!("schwann: {} is gone; waiting for another", lost.name());
                    self.dropped += lost.dropped();
                }
                Ok(())
            }
            Err(error) => Err(Problem::with("stream", error)),
        }
    }

    /// Begins the timeline again if the stream of samples has another clock now.
    fn follow_clock(&mut self, stop: &Stop) -> Result<(), Problem> {
        let Some(signal) = &self.signal else { return Ok(()) };
        if has_another_clock(signal, &mut self.away_since) {
            // Markers from before the stream went away belong to earlier samples, even if the new clock says otherwise.
            let away_since = self.away_since.take();
            self.place_markers(|pending| away_since.is_none_or(|since| pending.arrived <= since), stop)?;
            self.timeline.begin_again();
        }
        Ok(())
    }

    /// Writes the samples of the last pull.
    fn put_samples(&mut self, stop: &Stop) -> Result<(), Problem> {
        let Some(signal) = &mut self.signal else { return Ok(()) };
        if signal.count() > 0 {
            signal.put_into(&mut self.sink, stop)?;
            self.timeline.append(signal.stamps());
            self.sample_count += signal.count() as u64;
        }
        Ok(())
    }

    fn take_markers(&mut self) {
        let pending = &mut self.pending;
        for (source, stream) in self.markers.iter_mut().enumerate() {
            stream.pull(|marker| pending.push(Pending { marker, source, arrived: Instant::now() }));
        }
    }

    /// Writes the markers whose samples are known, and others that must not wait longer at the next sample.
    fn place_markers(&mut self, is_late: impl Fn(&Pending) -> bool, stop: &Stop) -> Result<(), Problem> {
        // Without a header there is no buffer to write to.
        if self.header.is_none() || self.pending.is_empty() {
            return Ok(());
        }
        let mut events = Vec::new();
        let (signal, markers, timeline) = (&self.signal, &self.markers, &self.timeline);
        self.pending.retain(|pending| {
            let shift = signal.as_ref().zip(markers.get(pending.source)).and_then(|(s, m)| m.shift_to(s));
            let place = shift.and_then(|shift| timeline.sample_at(pending.marker.stamp + shift));
            if let Some(sample) = place.or(is_late(pending).then(|| timeline.next_sample())) {
                events.push((sample, pending.marker.event.clone()));
                return false;
            }
            true
        });
        self.event_count += events.len() as u64;
        self.sink.put_events(events, stop)
    }
}

/// Says what happened to a stream, and returns whether it has another clock now.
fn has_another_clock(signal: &Signal, away_since: &mut Option<Instant>) -> bool {
    let mut is_another_clock = false;
    while let Some(event) = signal.next_event() {
        match event {
            StreamEvent::ClockReset => is_another_clock = true,
            StreamEvent::OtherDevice => {
                eprintln!("schwann: {} comes from another device than before", signal.name());
            }
            StreamEvent::Recovering => {
                *away_since = Some(Instant::now());
                eprintln!("schwann: {} went away; looking for it", signal.name());
            }
            _ => {}
        }
    }
    is_another_clock
}

/// An event at a sample of the acquisition.
type Placed = (u64, Event);

/// Longest wait for samples before markers are looked at.
const LONGEST_PULL: Duration = Duration::from_millis(10);
/// Between two looks at which streams there are.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a stream may take to be reached before its absence is said.
const ABSENT_AFTER: Duration = Duration::from_secs(5);
const NOT_REACHED: &str = "no such stream was reached";
/// How long a marker waits for a sample that is as new. A stream that is silent for longer is interrupted.
const GRACE: Duration = Duration::from_secs(5);
