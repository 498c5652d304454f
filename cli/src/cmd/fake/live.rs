//! Made-up streams on the network.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Context, StreamInfo, local_clock};
use schwann_proto::stream::ChannelFormat;

use super::fault::Faults;
use super::{Arguments, ClockStep};
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::signal::describe;
use crate::signal::{Kind, Source, Spec};
use crate::stop;
use crate::terminal::{Destination, Screen, plural, stopwatch, thousands};

/// Sends until the time is over, or Ctrl-C.
pub(super) fn send(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let config = lab::config();
    let mut fakes = Vec::new();
    for (place, &spec) in (0_u64..).zip(&arguments.streams) {
        fakes.push(Fake::new(spec, arguments, place, &config)?);
    }
    let mut screen = Screen::new(io::stdout());
    let began = local_clock();
    let mut painted: Option<Instant> = None;
    loop {
        let now = local_clock();
        let is_over = arguments.seconds.is_some_and(|seconds| now - began >= f64::from(seconds));
        let mut next = f64::INFINITY;
        for fake in &mut fakes {
            fake.send_until(now, began)?;
            next = next.min(began + fake.due());
        }
        let every = if screen.destination() == Destination::Terminal { PAINT_EVERY } else { LINE_EVERY };
        if is_over || painted.is_none_or(|painted| painted.elapsed() >= every) {
            painted = Some(Instant::now());
            screen.paint(&text(&fakes, now - began))?;
        }
        let wait = (next - local_clock()).clamp(stop::SHORTEST_WAIT, PAINT_EVERY.as_secs_f64());
        if is_over || stop.wait(Duration::from_secs_f64(wait)) {
            return Ok(Exit::Good);
        }
    }
}

fn text(fakes: &[Fake], elapsed: f64) -> String {
    let streams = plural(fakes.len(), "stream");
    let mut out = format!("sending {streams}, {}, Ctrl-C ends it\n", stopwatch(elapsed));
    for fake in fakes {
        let left_out = match fake.dropped {
            0 => String::new(),
            dropped => format!(", {} left out", thousands(dropped)),
        };
        out.push_str(&format!(
            "  {}: {}{left_out}, {}\n",
            fake.signal.info().name(),
            plural(fake.sent as usize, "sample"),
            plural(fake.signal.consumer_count(), "receiver")
        ));
    }
    out
}

/// One made-up stream, with its markers if it has any.
struct Fake {
    spec: Spec,
    source: Source,
    signal: Outlet,
    markers: Option<Outlet>,
    /// Samples per second as they really come.
    true_rate: f64,
    dropout: f64,
    clock_step: Option<ClockStep>,
    faults: Faults,
    /// Another stream that claims to be this one; it sends nothing of its own.
    _twin: Option<Outlet>,
    chance: u64,
    made: u64,
    sent: u64,
    dropped: u64,
}

impl Fake {
    fn new(spec: Spec, arguments: &Arguments, place: u64, config: &Arc<Context>) -> Result<Self, Problem> {
        let seed = arguments.seed.wrapping_add(place);
        let source = Source::new(spec, seed);
        let name = if place == 0 { format!("Fake {spec}") } else { format!("Fake {spec} #{}", place + 1) };
        let info = describe::signal(&name, spec, source.labels())?;
        let outlet = |info: &StreamInfo| {
            Outlet::in_context(info, &OutletOptions::default(), Arc::clone(config))
                .map_err(|error| Problem::with(&name, error))
        };
        let markers = match spec.kind {
            Kind::Eeg => Some(outlet(&describe::markers(&format!("{name} markers"))?)?),
            Kind::Counter | Kind::Sine => None,
        };
        let faults = Faults::new(&arguments.fault);
        Ok(Self {
            spec,
            source,
            _twin: faults.has_twin().then(|| outlet(&info)).transpose()?,
            signal: outlet(&info)?,
            markers,
            true_rate: spec.rate * (1.0 + arguments.drift_ppm * 1e-6) * faults.rate_factor(),
            dropout: arguments.dropout,
            clock_step: arguments.clock_step,
            faults,
            chance: seed,
            made: 0,
            sent: 0,
            dropped: 0,
        })
    }

    /// When the next sample is due, in seconds from the beginning.
    fn due(&self) -> f64 {
        self.made as f64 / self.true_rate
    }

    /// Sends every sample whose time has come.
    fn send_until(&mut self, now: f64, began: f64) -> Result<(), Problem> {
        let block = ((self.spec.rate / 10.0) as u64).max(1);
        let until = self.faults.sent_until(now - began);
        while self.due() <= until {
            // A piece ends where the next decision about leaving out is due.
            let due = (until * self.true_rate) as u64 + 1;
            let end = due.min((self.made / block + 1) * block);
            if self.made.is_multiple_of(block) {
                self.chance = next_random(self.chance);
            }
            self.send_piece(end, began)?;
        }
        Ok(())
    }

    fn send_piece(&mut self, end: u64, began: f64) -> Result<(), Problem> {
        let stamps: Vec<_> = (self.made..end).map(|sample| self.stamp(sample, began)).collect();
        let is_sent = self.faults.is_sent(self.due())
            && (self.chance >> 11) as f64 / (1_u64 << 53) as f64 >= self.dropout;
        let value_count = stamps.len() * self.spec.channel_count;
        let (signal, source) = (&self.signal, &mut self.source);
        // What is left out is made all the same, so that the rest is as it would be.
        let pushed = if self.spec.format == ChannelFormat::Int16 {
            let mut values = vec![0; value_count];
            source.fill_int16(&mut values);
            is_sent.then(|| signal.push_chunk_stamped(&values, &stamps, Flush::Now))
        } else {
            let mut values = vec![0.0_f32; value_count];
            source.fill(&mut values);
            is_sent.then(|| signal.push_chunk_stamped(&values, &stamps, Flush::Now))
        };
        self.made = end;
        pushed.transpose().map_err(|error| self.wrong(error))?;
        if is_sent {
            self.sent += stamps.len() as u64;
        } else {
            self.dropped += stamps.len() as u64;
        }
        self.send_markers(began)
    }

    fn send_markers(&mut self, began: f64) -> Result<(), Problem> {
        for moment in self.source.take_moments() {
            let stamp = self.stamp(moment.sample, began);
            if let Some(markers) = &self.markers {
                markers
                    .push_strings(&[moment.what.as_bytes()], stamp, Flush::Now)
                    .map_err(|error| self.wrong(error))?;
            }
        }
        Ok(())
    }

    fn wrong(&self, error: schwann::Error) -> Problem {
        Problem::with(self.signal.info().name(), error)
    }

    fn stamp(&self, sample: u64, began: f64) -> f64 {
        let time = sample as f64 / self.true_rate;
        let step = self.clock_step.filter(|step| time >= step.after).map_or(0.0, |step| step.by);
        self.faults.stamp(began + time + step, time, sample, 1.0 / self.true_rate)
    }
}

/// Source: Sebastiano Vigna, splitmix64 (public domain), one step.
fn next_random(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const PAINT_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(10);
