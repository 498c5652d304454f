//! A signal generator: something to look at without an amplifier.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::time::Instant;

use crate::buffer::definition;
use crate::recording::Target;
use crate::wire::{DataType, Event, Header};

/// What to generate: sines of the same frequency, each channel shifted against the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Number of channels.
    pub channel_count: u32,
    /// Sampling rate in Hz.
    pub rate: f32,
    /// Samples of a block.
    pub block: u32,
    /// Frequency in Hz.
    pub frequency: f64,
    /// Amplitude, in the unit of the samples.
    pub amplitude: f64,
    /// Samples between two events of the kind `generated`; 0 for none.
    pub event_every: u32,
}

impl Default for Signal {
    fn default() -> Self {
        Self { channel_count: 16, rate: 256.0, block: 16, frequency: 10.0, amplitude: 100.0, event_every: 0 }
    }
}

impl Signal {
    /// A header with float32 samples and the names `1`, `2` …
    pub fn header(&self) -> Header {
        let names = (1..=self.channel_count).map(|number| number.to_string());
        Header::new(self.channel_count, self.rate, DataType::Float32).with_channel_names(names)
    }

    /// The values from sample `first` on: samples × channels.
    pub fn values(&self, first: u64, count: u32) -> Vec<f32> {
        let channels = f64::from(self.channel_count.max(1));
        let mut values = Vec::new();
        for sample in first..first + u64::from(count) {
            // The rest of the division first: the sine of a huge number would lose its phase.
            let cycles = (sample as f64 * self.frequency / f64::from(self.rate)).fract();
            for channel in 0..self.channel_count {
                let phase = core::f64::consts::TAU * (cycles + f64::from(channel) / channels);
                values.push((self.amplitude * phase.sin()) as f32);
            }
        }
        values
    }

    /// The events of samples `first..first + count`; each has its number as its value.
    pub fn events(&self, first: u64, count: u32) -> Vec<Event> {
        if self.event_every == 0 {
            return Vec::new();
        }
        let every = u64::from(self.event_every);
        let numbers = first.div_ceil(every).max(1)..(first + u64::from(count)).div_ceil(every).max(1);
        let wrapped = |number: u64| (number & 0x7FFF_FFFF) as i32;
        numbers.map(|number| Event::number(wrapped(number * every), "generated", wrapped(number))).collect()
    }
}

/// Generates a signal into `target` in real time until told to stop, or until so many samples are out.
///
/// Returns how many samples went out.
///
/// - Errors: those of the target.
pub fn generate<T: Target>(
    signal: &Signal,
    target: &mut T,
    samples: Option<u64>,
    stop: &AtomicBool,
) -> Result<u64, T::Error> {
    target.put_header(&signal.header())?;
    let started = Instant::now();
    let mut first = 0;
    while !stop.load(Ordering::Relaxed) {
        let left = samples.map_or(u64::MAX, |samples| samples - first);
        let count = u32::try_from(left).unwrap_or(u32::MAX).min(signal.block.max(1));
        if count == 0 {
            break;
        }
        let due = (first + u64::from(count)) as f64 / f64::from(signal.rate);
        crate::recording::sleep_until(started, Duration::try_from_secs_f64(due).unwrap_or_default(), stop);
        let values = signal.values(first, count);
        let Ok(block) = definition::<f32>(signal.channel_count, values.len()) else { break };
        target.put_sample_bytes(block, bytemuck::cast_slice(&values))?;
        let events = signal.events(first, count);
        if !events.is_empty() {
            target.put_events(&events)?;
        }
        first += u64::from(count);
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;

    #[test]
    fn blocks_continue_each_other() {
        let signal = Signal { event_every: 7, ..Signal::default() };
        let whole = signal.values(0, 100);
        let parts: Vec<f32> =
            [(0, 33), (33, 1), (34, 66)].iter().flat_map(|(f, n)| signal.values(*f, *n)).collect();
        assert_eq!(whole, parts);
        let numbers = |events: Vec<Event>| events.iter().map(|event| event.sample).collect::<Vec<_>>();
        let parts: Vec<Event> =
            [(0, 33), (33, 1), (34, 66)].iter().flat_map(|(f, n)| signal.events(*f, *n)).collect();
        assert_eq!(numbers(parts), (7..100).step_by(7).collect::<Vec<_>>());
    }

    #[test]
    fn as_many_samples_go_out_as_wanted() {
        let mut buffer = Buffer::default();
        let signal = Signal { rate: 1e6, event_every: 10, ..Signal::default() };
        assert_eq!(generate(&signal, &mut buffer, Some(1000), &AtomicBool::new(false)), Ok(1000));
        let totals = buffer.totals().unwrap();
        assert_eq!((totals.samples, totals.events), (1000, 99));
    }
}
