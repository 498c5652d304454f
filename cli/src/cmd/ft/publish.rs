//! `schwann ft publish`: a FieldTrip buffer as a live stream.

mod stamps;

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Context, StreamInfo, local_clock};
use schwann_fieldtrip::wire::{DataType, Event, Header};
use schwann_fieldtrip::{Block, ClientError, Follower, Start, Update};
use schwann_proto::stream::ChannelFormat;

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use stamps::Stamps;

/// Show a FieldTrip buffer as a live stream, and its events as markers, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft publish buffer://localhost:1972
  schwann ft publish buffer://meg:1972 --name MEG --type MEG

The stream has the labels of the header; a second one, of type Markers, has the events as TYPE:VALUE. A buffer has
no times. Samples are stamped on arrival, smoothed by the sampling rate. An event has exactly the stamp of its
sample. Unsigned numbers travel in the next wider signed type. If the buffer goes away, the command waits for it.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// Name of the stream.
    #[arg(long, default_value = "FieldTrip")]
    name: String,
    /// Its content type.
    #[arg(long = "type", value_name = "TYPE", default_value = "EEG")]
    content_type: String,
    /// Begin with what the buffer holds already.
    #[arg(long)]
    oldest: bool,
}

/// Publishes.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let config = lab::config();
    let start = if arguments.oldest { Start::Oldest } else { Start::Newest };
    let mut follower = Follower::new(arguments.place.connect()?, start).with_longest_block(LONGEST_BLOCK);
    let mut publisher = None;
    let mut lost = (0, 0);
    while !stop.is_raised() {
        match follower.next_update(LOOK_EVERY) {
            Ok(Some(Update::Header(header))) => {
                Publisher::begin(&mut publisher, arguments, header, &config)?;
            }
            Ok(Some(Update::Lost { samples, events })) => lost = (lost.0 + samples, lost.1 + events),
            Ok(update) => {
                if let Some(publisher) = &mut publisher {
                    publisher.take(update)?;
                }
            }
            Err(ClientError::Unreachable(_) | ClientError::Disconnected(_) | ClientError::TimedOut) => {
                stop.wait(LOOK_EVERY);
            }
            Err(error) => return Err(arguments.place.problem(error)),
        }
    }
    if lost == (0, 0) {
        return Ok(Exit::Good);
    }
    eprintln!("schwann: {} samples and {} events were overwritten before they were read", lost.0, lost.1);
    Ok(Exit::Found)
}

/// An acquisition as streams.
struct Publisher {
    header: Header,
    samples: Outlet,
    markers: Outlet,
    stamps: Stamps,
    /// Events whose samples have not come yet.
    pending: Vec<(Event, Instant)>,
}

impl Publisher {
    /// Begins an acquisition; one like the last goes on in the same streams.
    fn begin(
        publisher: &mut Option<Self>,
        arguments: &Arguments,
        header: Header,
        config: &Arc<Context>,
    ) -> Result<(), Problem> {
        let stamps = Stamps::new(rate(&header));
        if let Some(present) = publisher.as_mut().filter(|present| present.header == header) {
            present.stamps = stamps;
            present.pending.clear();
            return Ok(());
        }
        // The outlets of before have the same source ids: they go first.
        *publisher = None;
        let address = &arguments.place.address;
        let open = |info: StreamInfo| {
            let outlet = Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(config));
            outlet.map_err(|error| Problem::with(info.name(), error))
        };
        let samples = open(describe(arguments, &header)?)?;
        let name = format!("{} events", arguments.name);
        let source = format!("{PUBLISHED}{address}-events");
        let markers =
            StreamInfo::new(name.as_str(), "Markers", 1, 0.0, ChannelFormat::String, source.as_str());
        let markers = open(markers.map_err(|error| Problem::with(&name, error))?)?;
        writeln!(io::stdout(), "{}: {header}", arguments.name)?;
        *publisher = Some(Self { header, samples, markers, stamps, pending: Vec::new() });
        Ok(())
    }

    fn take(&mut self, update: Option<Update>) -> Result<(), Problem> {
        match update {
            Some(Update::Samples(block)) => {
                let stamp = self.stamps.append(block.first, block.definition.sample_count, local_clock());
                push(&self.samples, self.header.data_type, &block, stamp)
                    .map_err(|error| Problem::with("stream", error))?;
            }
            Some(Update::Events { events, .. }) => {
                let now = Instant::now();
                self.pending.extend(events.into_iter().map(|event| (event, now)));
            }
            _ => {}
        }
        self.push_events()
    }

    /// Pushes the events whose samples have come, and events that have waited for too
    /// long.
    fn push_events(&mut self) -> Result<(), Problem> {
        let mut outcome = Ok(());
        let (stamps, markers) = (&self.stamps, &self.markers);
        self.pending.retain(|(event, arrived)| {
            let stamp = u32::try_from(event.sample).map_or(Some(local_clock()), |sample| stamps.of(sample));
            let Some(stamp) = stamp.or((arrived.elapsed() > GRACE).then(local_clock)) else { return true };
            let text = marker(event);
            outcome = outcome.and(markers.push_strings(&[text.as_bytes()], stamp, Flush::Now));
            false
        });
        outcome.map_err(|error| Problem::with("events", error))
    }
}

fn rate(header: &Header) -> f64 {
    let rate = f64::from(header.rate);
    if rate.is_finite() && rate > 0.0 { rate } else { 0.0 }
}

fn marker(event: &Event) -> String {
    let text = |data_type, bytes: &[u8]| match data_type {
        DataType::Char => String::from_utf8_lossy(bytes).into_owned(),
        _ => {
            let numbers = schwann_fieldtrip::to_f64(data_type, bytes);
            numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
        }
    };
    format!("{}:{}", text(event.kind_type, &event.kind), text(event.value_type, &event.value))
}

fn describe(arguments: &Arguments, header: &Header) -> Result<StreamInfo, Problem> {
    let format = match header.data_type {
        DataType::Char | DataType::Uint8 | DataType::Int16 => ChannelFormat::Int16,
        DataType::Uint16 | DataType::Int32 => ChannelFormat::Int32,
        DataType::Uint32 | DataType::Int64 => ChannelFormat::Int64,
        DataType::Int8 => ChannelFormat::Int8,
        DataType::Float32 => ChannelFormat::Float32,
        DataType::Uint64 | DataType::Float64 => ChannelFormat::Double64,
    };
    let wrong = |error: &dyn core::fmt::Display| Problem::with(&arguments.name, error);
    let channel_count = i32::try_from(header.channel_count).map_err(|error| wrong(&error))?;
    let source = format!("{PUBLISHED}{}", arguments.place.address);
    let (name, content_type) = (arguments.name.as_str(), arguments.content_type.as_str());
    let mut info = StreamInfo::new(name, content_type, channel_count, rate(header), format, source.as_str())
        .map_err(|error| wrong(&error))?;
    let names = header.channel_names();
    if let Some(desc) = info.desc().filter(|_| !names.is_empty()) {
        let document = info.document_mut();
        if let Some(channels) = document.append_child(desc, "channels") {
            for name in &names {
                let channel = document.append_child(channels, "channel");
                // A channel without a label is a channel.
                let _ = channel.and_then(|channel| document.append_child_value(channel, "label", name));
            }
        }
    }
    Ok(info)
}

fn push(outlet: &Outlet, data_type: DataType, block: &Block, stamp: f64) -> Result<(), schwann::Error> {
    macro_rules! as_they_are {
        ($number:ty) => {
            outlet.push_chunk(&block.numbers::<$number>().unwrap_or_default(), stamp, Flush::Now)
        };
    }
    macro_rules! widened {
        ($numbers:expr, $wide:ty) => {{
            let wide: Vec<$wide> = $numbers.iter().map(|&number| <$wide>::from(number)).collect();
            outlet.push_chunk(&wide, stamp, Flush::Now)
        }};
    }
    match data_type {
        DataType::Char | DataType::Uint8 => widened!(block.values, i16),
        DataType::Uint16 => widened!(block.numbers::<u16>().unwrap_or_default(), i32),
        DataType::Uint32 => widened!(block.numbers::<u32>().unwrap_or_default(), i64),
        DataType::Uint64 => outlet.push_chunk(&block.to_f64(), stamp, Flush::Now),
        DataType::Int8 => as_they_are!(i8),
        DataType::Int16 => as_they_are!(i16),
        DataType::Int32 => as_they_are!(i32),
        DataType::Int64 => as_they_are!(i64),
        DataType::Float32 => as_they_are!(f32),
        DataType::Float64 => as_they_are!(f64),
    }
}

/// What the source ids of published buffers begin with.
pub(super) const PUBLISHED: &str = "schwann-ft-";
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LONGEST_BLOCK: u32 = 4096;
/// How long an event waits for its sample.
const GRACE: Duration = Duration::from_secs(5);
